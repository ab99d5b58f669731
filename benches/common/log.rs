//! Event logs as the program writes them: its own rules decide, only the outside world is made up.
//!
//! Invariant: the same wish gives the same log, byte for byte.

use std::path::Path;

use swarm::domain::decide;
use swarm::domain::effect::{self, Effect, Purpose, Saved};
use swarm::domain::event::{Event, Mark};
use swarm::domain::evolve::evolve;
use swarm::domain::ids::{IdeaId, Oid, ProfileName, RunId};
use swarm::domain::observation::{Observation, Recorded, RunEnd, RunEndKind};
use swarm::domain::operation::{Command, NewIdea};
use swarm::domain::outcome::{
    BuildMergeOutcome, InboxArchived, LandOutcome, LendOutcome, Outcome, SaveWorkOutcome,
    SealOutcome, StopDelivered, TreeSetup, VerifyReady, WorktreePrepared, WorktreeReleased,
};
use swarm::domain::settings::{BaselineMode, CanaryMode, Mode, Settings};
use swarm::domain::signal::Signal;
use swarm::domain::state::State;
use swarm::domain::time::Timestamp;
use swarm::domain::usage::{MicroUsd, Tokens, Usage};
use swarm::journal::{Journal, Position, Snapshot, write_snapshot};

use super::Result;

/// 2026-01-01.
const EPOCH_MS: i64 = 1_767_225_600_000;
/// Events written as one batch, all of the same time.
const BATCH: usize = 256;
/// Ideas that wait at any time while others are worked on.
const BACKLOG: u64 = 6;

/// Writes a log, and keeps the state that it leads to.
pub struct Maker {
    /// What the events so far lead to.
    pub state: State,
    journal: Journal,
    waiting: Vec<Event>,
    now: Timestamp,
    ideas: u64,
    commit: Option<Oid>,
    commits: u64,
    /// Provenance records so far.
    recorded: u64,
}

impl Maker {
    /// Begins a log in this folder, which may be missing. All its commits are made up.
    pub fn new(state_dir: &Path) -> Result<Self> {
        Self::begin(state_dir, None, false)
    }

    /// As [`Self::new`], and each iteration gets its provenance record, in the log alone.
    pub fn recording(state_dir: &Path) -> Result<Self> {
        Self::begin(state_dir, None, true)
    }

    /// Begins a log whose every commit is this one, so that a daemon finds the target where the
    /// log says it is.
    pub fn at_commit(state_dir: &Path, commit: &str) -> Result<Self> {
        Self::begin(state_dir, Some(commit.parse()?), false)
    }

    fn begin(state_dir: &Path, commit: Option<Oid>, records: bool) -> Result<Self> {
        if let Some(parent) = state_dir.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let (journal, _) = Journal::open(state_dir)?;
        let mut this = Self {
            state: State::default(),
            journal,
            waiting: Vec::new(),
            now: Timestamp::from_millis(EPOCH_MS),
            ideas: 0,
            commit,
            commits: 0,
            recorded: 0,
        };
        let version = "0.1.0".to_owned();
        this.observe(&Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        })?;
        let (hash, settings) = ("0".repeat(64), Box::new(settings(records)?));
        this.command(&Command::LoadSettings { hash, settings })?;
        this.observe(&Observation::RecoveryDone)?;
        Ok(this)
    }

    /// Works until the log has at least so many events.
    pub fn work_until(&mut self, events: u64) -> Result {
        while self.state.seq < events {
            self.turn()?;
        }
        Ok(())
    }

    /// Works until at least so many ideas are done.
    pub fn work_until_done(&mut self, ideas: u64) -> Result {
        while self.ideas < ideas + BACKLOG {
            self.turn()?;
        }
        Ok(())
    }

    /// Works until at least so many iterations have a provenance record.
    pub fn work_until_recorded(&mut self, records: u64) -> Result {
        while self.recorded < records {
            self.turn()?;
        }
        Ok(())
    }

    /// Completes what is under way, then adds ideas until there are so many; nobody works on them.
    pub fn add_until(&mut self, ideas: u64) -> Result {
        let mode = Mode::SemiAuto;
        self.command(&Command::SetMode { mode })?;
        while !self.state.outbox.is_empty() {
            self.answer_all()?;
        }
        while self.ideas < ideas {
            self.add()?;
        }
        Ok(())
    }

    /// Lets agents say these sentences as learnings for all, each by the agent of this number, of
    /// which there are three. For each sentence the id of the learning that it became or that it
    /// adds to; `None` if this agent had said it already.
    pub fn learn(&mut self, sentences: &[(usize, &str)]) -> Result<Vec<Option<String>>> {
        let runs = self.iterations()?;
        let mut ids = Vec::new();
        for (at, (agent, sentence)) in sentences.iter().enumerate() {
            let seen = Observation::SignalSeen {
                run: runs[agent % runs.len()].clone(),
                offset: at as u64,
                signal: Signal::LearningGlobal((*sentence).to_owned()),
            };
            let events = decide::observation(&self.state, &seen, self.now);
            ids.push(events.iter().find_map(|event| {
                if let Event::Learned(learned) = event {
                    Some(learned.id.clone())
                } else {
                    None
                }
            }));
            self.fold(events)?;
        }
        Ok(ids)
    }

    /// The runs of three iterations that have begun.
    fn iterations(&mut self) -> Result<Vec<RunId>> {
        loop {
            let iteration = |effect: &Effect| {
                if let Effect::Run(effect::Run {
                    run,
                    purpose: Purpose::Iteration { .. },
                    ..
                }) = effect
                {
                    Some(run.clone())
                } else {
                    None
                }
            };
            let runs: Vec<RunId> = self.state.outbox.values().filter_map(iteration).collect();
            if runs.len() == 3 {
                for run in &runs {
                    self.observe(&Observation::RunStarted {
                        run: run.clone(),
                        pid: 4_000,
                        adapter: "command".to_owned(),
                        resumed: false,
                    })?;
                }
                return Ok(runs);
            }
            self.turn()?;
        }
    }

    /// Writes what waits; the end of the log.
    pub fn finish(&mut self) -> Result<Position> {
        self.write()?;
        self.journal.mark::<Event>(self.now)?;
        if self.journal.position().seq > self.state.seq {
            let seq = self.journal.position().seq;
            evolve(&mut self.state, seq, self.now, &Event::Mark(Mark {}));
        }
        Ok(self.journal.position())
    }

    /// Writes a snapshot of the state as it is now.
    pub fn snapshot(&mut self, state_dir: &Path) -> Result {
        let position = self.finish()?;
        let snapshot = Snapshot {
            snapshot_at: self.now,
            swarm_version: "0.1.0".to_owned(),
            position,
            config_hash: self.state.config_hash.clone(),
            state: &self.state,
        };
        write_snapshot(state_dir, &snapshot)?;
        Ok(())
    }

    /// Keeps the backlog filled, and lets the world answer to everything that was asked of it.
    fn turn(&mut self) -> Result {
        // Each attempt here lands, so an idea that nobody has worked on waits.
        while self.ideas < (self.state.ended.len() + self.state.agents.len()) as u64 + BACKLOG {
            self.add()?;
        }
        self.answer_all()
    }

    fn answer_all(&mut self) -> Result {
        let asked: Vec<_> = self
            .state
            .outbox
            .iter()
            .map(|(id, effect)| (*id, effect.clone()))
            .collect();
        for (id, effect) in asked {
            for seen in Self::during(&effect) {
                self.observe(&seen)?;
            }
            let outcome = self.outcome(&effect)?;
            self.observe(&Observation::EffectDone {
                effect: id,
                outcome: Ok(outcome),
            })?;
        }
        self.record_all()
    }

    /// Says that the records are written which the state owes.
    fn record_all(&mut self) -> Result {
        while let Some(run) = self.state.record_due().map(|(run, _)| run.clone()) {
            self.recorded += 1;
            let sha256 = format!("{:064x}", self.recorded);
            let tree = Some(self.oid()?);
            let model = Some("a-model-4-5-20250929".to_owned());
            let recorded = Ok(Recorded {
                sha256,
                tree,
                model,
            });
            self.observe(&Observation::IterationRecorded { run, recorded })?;
        }
        Ok(())
    }

    fn add(&mut self) -> Result {
        self.ideas += 1;
        let number = self.ideas;
        let text = format!(
            "Give the {number}th command a --json option.\n\
             It writes one document with the same data as the table, and its test compares both."
        );
        let after = if number.is_multiple_of(5) {
            vec![IdeaId::numbered(number - 1)]
        } else {
            vec![]
        };
        let tags = if number.is_multiple_of(7) {
            vec!["quick-win".to_owned()]
        } else {
            vec![]
        };
        self.command(&Command::AddIdea(NewIdea {
            text,
            after,
            tags,
            ..NewIdea::default()
        }))
    }

    /// What is seen while an effect is under way.
    fn during(effect: &Effect) -> Vec<Observation> {
        let Effect::Run(effect::Run { run, purpose, .. }) = effect else {
            return vec![];
        };
        let mut seen = vec![Observation::RunStarted {
            run: run.clone(),
            pid: 4_000,
            adapter: "command".to_owned(),
            resumed: false,
        }];
        let signals = match purpose {
            Purpose::Iteration { .. } => vec![Signal::Progress(50), Signal::Complete(None)],
            Purpose::Gate { .. }
            | Purpose::CommitHooks { .. }
            | Purpose::Verify { .. }
            | Purpose::Baseline { .. }
            | Purpose::Canary { .. }
            | Purpose::Setup { .. }
            | Purpose::Hook { .. }
            | Purpose::Synthesis { .. }
            | Purpose::Replay { .. } => vec![],
        };
        for (offset, signal) in (100..).step_by(400).zip(signals) {
            seen.push(Observation::SignalSeen {
                run: run.clone(),
                offset,
                signal,
            });
        }
        seen
    }

    fn outcome(&mut self, effect: &Effect) -> Result<Outcome> {
        Ok(match effect {
            Effect::PrepareWorktree(_) => {
                let head = self.oid()?;
                let base = head.clone();
                let warm = true;
                let setup = TreeSetup::default();
                WorktreePrepared {
                    head,
                    base,
                    warm,
                    setup,
                }
                .into()
            }
            Effect::Run(effect::Run { purpose, .. }) => {
                let iteration = matches!(purpose, Purpose::Iteration { .. });
                let head = if iteration { Some(self.oid()?) } else { None };
                let usage = iteration.then(usage);
                let how = RunEndKind::Exited { code: 0 };
                Outcome::Run(RunEnd {
                    stdout_bytes: 900,
                    duration_ms: 60_000,
                    head,
                    usage,
                    ..RunEnd::new(how)
                })
            }
            Effect::StopRun(_) => StopDelivered.into(),
            Effect::Seal(_) => Outcome::Seal(SealOutcome::Sealed {
                // Work without a commit of its own would never be done.
                head: self.own_commit()?,
                committed: false,
                setup: None,
                links: vec![],
            }),
            Effect::BuildMerge(effect::BuildMerge { known_target, .. }) => {
                let first = self.oid()?;
                let target = known_target.clone().unwrap_or(first);
                Outcome::BuildMerge(BuildMergeOutcome::Built {
                    commit: self.oid()?,
                    target,
                    resolved: vec![],
                })
            }
            Effect::SaveWork(_) => Outcome::SaveWork(SaveWorkOutcome::Saved {
                saved: Saved {
                    tip: self.oid()?,
                    wip: None,
                },
                committed: false,
            }),
            Effect::PrepareVerify(_) => VerifyReady {
                warm: true,
                setup: TreeSetup::default(),
                probe: None,
            }
            .into(),
            Effect::Land(_) => LandOutcome::Landed.into(),
            Effect::LendWorktree(_) => LendOutcome::Lent.into(),
            Effect::ReleaseWorktree(_) => WorktreeReleased::default().into(),
            Effect::ArchiveInbox(_) => InboxArchived.into(),
            Effect::Notify(_) => return Err("there is no webhook".into()),
            Effect::JudgeReplay(_) => return Err("nobody asked for a replay".into()),
            Effect::MakeCheckpoint(_)
            | Effect::DeleteCheckpoint(_)
            | Effect::CheckRollback(_)
            | Effect::MoveTarget(_) => return Err("nobody asked for a checkpoint".into()),
            Effect::PrepareBaseline(_) => return Err("the target is not checked".into()),
            Effect::StartResolution(_) | Effect::FinishResolution(_) => {
                return Err("no conflict was made up".into());
            }
        })
    }

    /// The one commit, or another one each time.
    fn oid(&mut self) -> Result<Oid> {
        if let Some(commit) = &self.commit {
            return Ok(commit.clone());
        }
        self.own_commit()
    }

    /// Another commit each time, which no repository has.
    fn own_commit(&mut self) -> Result<Oid> {
        self.commits += 1;
        Ok(format!(
            "{:040x}",
            u128::from(self.commits) * 0x9e37_79b9_7f4a_7c15_f39c
        )
        .parse()?)
    }

    fn command(&mut self, command: &Command) -> Result {
        let events = decide::command(&self.state, command, self.now)?;
        self.fold(events)
    }

    fn observe(&mut self, seen: &Observation) -> Result {
        let events = decide::observation(&self.state, seen, self.now);
        self.fold(events)
    }

    fn fold(&mut self, mut events: Vec<Event>) -> Result {
        while !events.is_empty() {
            for event in events {
                let seq = self.state.seq + 1;
                evolve(&mut self.state, seq, self.now, &event);
                self.waiting.push(event);
            }
            events = decide::advance(&self.state, self.now);
        }
        if self.waiting.len() >= BATCH {
            self.write()
        } else {
            Ok(())
        }
    }

    fn write(&mut self) -> Result {
        let expected = self.journal.position().seq;
        if !self.waiting.is_empty() {
            self.journal.append(expected, self.now, &self.waiting)?;
            self.waiting.clear();
            self.now = self.now.plus_millis(21_731);
        }
        Ok(())
    }
}

/// What an iteration says it cost.
fn usage() -> Usage {
    Usage {
        tokens: Some(Tokens {
            input: 4_000,
            cached: 90_000,
            cache_written: 6_000,
            output: 2_500,
        }),
        cost: Some(MicroUsd(310_000)),
        model: Some("a-model-4-5-20250929".to_owned()),
        ..Usage::default()
    }
}

fn settings(keep_records: bool) -> Result<Settings> {
    let local: ProfileName = "local".parse()?;
    Ok(Settings {
        mode: Mode::Autopilot,
        target: "main".to_owned(),
        max_parallel: 3,
        attempt_timeout_ms: 1_800_000,
        default_profile: local.clone(),
        profiles: vec![local],
        failures_to_pause: 3,
        crash_retries: 3,
        provider_wait_ms: 300_000,
        max_iterations: 50,
        stuck_threshold: 5,
        same_check_failures: 8,
        auto_commit: true,
        commit_hooks: false,
        setup: vec![],
        quality_commands: vec!["cargo test".to_owned()],
        quality_timeout_ms: 1_800_000,
        max_checks: None,
        baseline: BaselineMode::Off,
        canary: CanaryMode::Off,
        auto_merge: true,
        verify: true,
        conflict_retries: 3,
        cleanup_on_success: true,
        resolver: None,
        grace_ms: 5_000,
        checkpoint_every: 0,
        checkpoint_before_autopilot: false,
        checkpoint_tag: false,
        checkpoints_kept: 50,
        max_worktrees: 4,
        hooks: std::collections::BTreeMap::new(),
        webhook: None,
        accounts: std::collections::BTreeMap::new(),
        auto_resume: true,
        resume_sessions: true,
        prices: std::collections::BTreeMap::new(),
        budget: swarm::domain::settings::Budget::default(),
        agents_may_add: false,
        memory_window: 4096,
        keep_records,
        synthesis: swarm::domain::settings::SynthesisSettings::default(),
    })
}
