//! What lies outside of the daemon and outlives it: runs, the target, what was built and checked.
//! It also watches the log for what must never happen, whatever the crashes.

use std::collections::{BTreeMap, BTreeSet};

use super::choices::Choices;
use super::outcomes::{checkout_blocked, failed, land_blocked, replay_measured};
use super::programs::Programs;
use super::scenario::{exit, good, held};
use super::transfer_samples::imported_tip;
use crate::domain::effect::{self, ConflictLevel, Effect, Purpose, Saved, TargetTree};
use crate::domain::event::{EffectRequested, Event, Findings, ProbeAlarm};
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid, RunId};
use crate::domain::observation::{RunEnd, RunEndKind};
use crate::domain::outcome::{
    BaselineReady, BuildMergeOutcome, CheckRollbackOutcome, CheckpointDeleted, Failure,
    FailureKind, FinishResolutionOutcome, LandOutcome, LeftOut, LendOutcome, MoveTargetOutcome,
    NotifyOutcome, Outcome, ResolutionStarted, Rewrite, SaveWorkOutcome, SealOutcome,
    StopDelivered, TreeSetup, VerifyReady, WorktreePrepared,
};
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen};
use crate::domain::state::{Attempt, State, Task};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// Commits made so far.
    commits: u64,
    /// How runs ended.
    ended: BTreeMap<RunId, RunEnd>,
    /// Runs that were asked to end.
    stopped: BTreeSet<RunId>,
    /// What each merge commit was made of.
    built: BTreeMap<Oid, (Oid, Oid)>,
    /// Quality commands that a merged tree passed.
    passed: BTreeMap<(Oid, Oid), BTreeSet<String>>,
    /// Quality commands that an untouched commit of the target passed.
    untouched: BTreeMap<Oid, BTreeSet<String>>,
    /// The merged trees to which no hook objects.
    free: BTreeSet<(Oid, Oid)>,
    /// What the worktree of controls holds.
    controlled: Option<Oid>,
    /// What the merge worktree holds.
    checked_out: Option<Oid>,
    /// Where the target stands.
    target: Option<Oid>,
    /// Commits that the target was moved to, in order, but for those that a rollback took back.
    landed: Vec<(IdeaId, Oid)>,
    /// The files of checkpoints.
    checkpoints: BTreeMap<CheckpointName, Held>,
    /// The work that checkpoints keep.
    kept: Vec<(CheckpointName, AgentId, Saved)>,
    /// The work of agents that were redirected or lent their worktree; it is never thrown away.
    redirected: Vec<Saved>,
    /// What had landed in the commits that checkpoints are of.
    history: BTreeMap<Oid, Vec<(IdeaId, Oid)>>,
    /// What agents' programs say.
    pub(crate) programs: Programs,
}

/// A checkpoint, as its file has it.
#[derive(Debug)]
struct Held {
    checkpoint: Checkpoint,
    ideas: BTreeMap<IdeaId, IdeaThen>,
}

impl World {
    /// A run dies with everything else.
    pub(crate) fn lose(&mut self, run: &RunId) {
        let lost = RunEnd::new(RunEndKind::Lost);
        self.ended.entry(run.clone()).or_insert(lost);
    }

    /// Whether an effect can come to an outcome by itself; a run that works goes on until it is
    /// stopped.
    pub(crate) fn may_end(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Run(effect::Run { run, .. }) => {
                self.stopped.contains(run) || self.ended.contains_key(run)
            }
            _ => true,
        }
    }

    /// Whether a driver has to wait for another before it begins: a checkpoint for what is landing.
    pub(crate) fn waits(state: &State, effect: &Effect) -> bool {
        effect.is_checkpoint() && state.is_pending(|effect| matches!(effect, Effect::Land(_)))
    }

    /// An event is folded: what must never happen.
    pub(crate) fn look(&mut self, state: &State, event: &Event) {
        self.programs.look(state, event);
        let Event::EffectRequested(EffectRequested { effect, .. }) = event else {
            return;
        };
        if let Effect::Land(effect::Land { commit, .. }) = effect {
            self.must_have_passed(state, commit);
        }
        if let Effect::Run(effect::Run {
            purpose: Purpose::Iteration { agent, .. },
            ..
        }) = effect
        {
            self.must_begin_on_a_passed_target(state, &state.agents[agent]);
        }
    }

    /// No first iteration is paid for on a target that has not passed.
    fn must_begin_on_a_passed_target(&self, state: &State, attempt: &Attempt) {
        let settings = state.settings.as_ref().unwrap();
        let first = attempt.iteration == 1 && attempt.task == Task::Work;
        if !first || attempt.kept.is_some() || !settings.requires_baseline() {
            return;
        }
        let base = attempt.base.as_ref().expect("its worktree is ready");
        let merged = self.built.get(base).and_then(|of| self.passed.get(of));
        let all = [self.untouched.get(base), merged];
        let passed = |command: &String| all.into_iter().flatten().any(|it| it.contains(command));
        assert!(
            settings.quality_commands.iter().all(passed),
            "work begins on {base}, which has not passed {:?}: {all:?}",
            settings.quality_commands
        );
    }

    /// The target never holds what the gate has not passed.
    fn must_have_passed(&self, state: &State, commit: &Oid) {
        let settings = state.settings.as_ref().unwrap();
        let made_of = &self.built[commit];
        assert!(
            !settings.hooks.contains_key(&HookName::PreMerge) || self.free.contains(made_of),
            "{commit} lands although its hook was not asked, or is against it"
        );
        assert!(
            !state.holds_landings(),
            "{commit} lands although its checks are blind or may be"
        );
        let passed = self.passed.get(made_of);
        let passed = |command: &String| passed.is_some_and(|passed| passed.contains(command));
        assert!(
            !settings.verify || settings.quality_commands.iter().all(passed),
            "{commit} lands unverified: {made_of:?} {:?} {:?} {:?}",
            self.passed,
            settings.quality_commands,
            state.queue
        );
    }

    /// What became of the question whether a merged tree may land.
    fn ask_before_landing(
        &mut self,
        state: &State,
        purpose: &Purpose,
        outcome: &Result<RunEnd, Failure>,
    ) {
        let Purpose::Hook {
            hook: HookName::PreMerge,
            idea: Some(idea),
            ..
        } = purpose
        else {
            return;
        };
        let settings = state.settings.as_ref().unwrap();
        let hook = settings.hooks.get(&HookName::PreMerge);
        let veto_on_timeout = hook.is_some_and(|hook| hook.veto_on_timeout);
        let free = outcome.as_ref().is_ok_and(|end| {
            end.how == exit(0) || (end.how == RunEndKind::TimedOut && !veto_on_timeout)
        });
        let commit = state.entry(idea).and_then(|entry| entry.commit.as_ref());
        if let Some(commit) = commit
            && (free || hook.is_none())
        {
            self.free.insert(self.built[commit].clone());
        }
    }

    /// The next commit.
    fn commit(&mut self) -> Oid {
        self.commits += 1;
        format!("{:040x}", 0x1000 + self.commits).parse().unwrap()
    }

    /// What an effect comes to.
    pub(crate) fn outcome(
        &mut self,
        state: &State,
        effect: &Effect,
        choices: &mut Choices,
    ) -> Result<Outcome, Failure> {
        if !self.is_done(effect) && choices.chance(2) {
            if let Effect::Run(effect::Run { run, .. }) = effect {
                self.never_starts(run);
            }
            return Ok(nonsense(effect));
        }
        let of_checkpoints = matches!(
            effect,
            Effect::MakeCheckpoint(_)
                | Effect::DeleteCheckpoint(_)
                | Effect::CheckRollback(_)
                | Effect::MoveTarget(_)
        );
        if of_checkpoints && !self.is_done(effect) && choices.chance(5) {
            return Err(cannot(choices));
        }
        Ok(match effect {
            Effect::Run(it) => self.run(state, it, choices)?.into(),
            Effect::StopRun(it) => self.stop(it, choices)?.into(),
            Effect::BuildMerge(it) => self.build(it, choices)?.into(),
            Effect::PrepareVerify(it) => self.check_out(it, choices)?.into(),
            Effect::PrepareBaseline(it) => self.check_out_target(it, choices)?.into(),
            Effect::Land(it) => self.land(it, choices)?.into(),
            Effect::StartResolution(_) => self.start_resolution(choices)?.into(),
            Effect::FinishResolution(_) => self.finish_resolution(choices)?.into(),
            Effect::Seal(effect) => self.seal(effect, choices)?.into(),
            Effect::SaveWork(_) => self.save_work(choices)?.into(),
            Effect::MakeCheckpoint(it) => self.keep(state, it, choices)?.into(),
            Effect::DeleteCheckpoint(it) => self.forget(it).into(),
            Effect::CheckRollback(it) => self.check(it, choices)?.into(),
            Effect::MoveTarget(it) => self.go_back(it, choices)?.into(),
            Effect::PrepareWorktree(it) => {
                self.must_be_kept(it);
                self.prepare(it, choices)?.into()
            }
            Effect::LendWorktree(it) => self.lend(it, choices)?.into(),
            Effect::ReleaseWorktree(_) | Effect::ArchiveInbox(_) => tidied(effect, choices)?,
            Effect::Notify(_) => Self::tell(choices)?.into(),
            Effect::JudgeReplay(it) => replay_measured(it.why.as_deref()).into(),
        })
    }

    /// The webhook accepts most notices.
    fn tell(choices: &mut Choices) -> Result<NotifyOutcome, Failure> {
        let why = "no".to_owned();
        Ok(match choices.pick(10) {
            6 => return Err(cannot(choices)),
            7 => NotifyOutcome::Refused { why },
            8 | 9 => NotifyOutcome::Later {
                why,
                after_ms: choices.chance(30).then_some(7_200_000),
                jitter: 500,
            },
            _ => NotifyOutcome::Delivered,
        })
    }

    fn stop(
        &mut self,
        effect: &effect::StopRun,
        choices: &mut Choices,
    ) -> Result<StopDelivered, Failure> {
        self.stopped.insert(effect.run.clone());
        if choices.chance(10) {
            return Err(Failure::other("no permission"));
        }
        Ok(StopDelivered)
    }

    fn check_out(
        &mut self,
        effect: &effect::PrepareVerify,
        choices: &mut Choices,
    ) -> Result<VerifyReady, Failure> {
        if choices.chance(10) {
            return Err(cannot(choices));
        }
        self.checked_out = Some(effect.commit.clone());
        Ok(VerifyReady {
            warm: choices.chance(80),
            setup: some_setup(choices),
            probe: Some(some_digest(choices)),
        })
    }

    fn check_out_target(
        &mut self,
        effect: &effect::PrepareBaseline,
        choices: &mut Choices,
    ) -> Result<BaselineReady, Failure> {
        if choices.chance(10) {
            return Err(cannot(choices));
        }
        let commit = self.tip();
        match effect.tree {
            TargetTree::Verify => self.checked_out = Some(commit.clone()),
            TargetTree::Control => self.controlled = Some(commit.clone()),
        }
        Ok(BaselineReady {
            commit,
            warm: choices.chance(80),
            setup: some_setup(choices),
            probe: Some(some_digest(choices)),
        })
    }

    /// Where the target stands, from the first look on.
    fn tip(&mut self) -> Oid {
        let tip = match self.target.clone() {
            Some(tip) => tip,
            None => self.commit(),
        };
        self.target = Some(tip.clone());
        tip
    }

    /// A new worktree begins where the target stands.
    fn prepare(
        &mut self,
        effect: &effect::PrepareWorktree,
        choices: &mut Choices,
    ) -> Result<WorktreePrepared, Failure> {
        if choices.chance(5) {
            return Err(cannot(choices));
        }
        let base = match &effect.from {
            Some(kept) => kept.base.clone(),
            None => self.tip(),
        };
        let saved = effect.from.as_ref().and_then(|kept| kept.saved.as_ref());
        let head = saved.map_or_else(|| base.clone(), |saved| saved.tip.clone());
        let warm = choices.chance(50);
        let setup = some_setup(choices);
        Ok(WorktreePrepared {
            head,
            base,
            warm,
            setup,
        })
    }

    fn start_resolution(&mut self, choices: &mut Choices) -> Result<ResolutionStarted, Failure> {
        let files = match choices.pick(8) {
            0..5 => vec!["a.rs".into()],
            5 | 6 => vec![],
            _ => return Err(cannot(choices)),
        };
        Ok(ResolutionStarted {
            head: self.commit(),
            files,
            left_out: None,
            saved: None,
        })
    }

    fn finish_resolution(
        &mut self,
        choices: &mut Choices,
    ) -> Result<FinishResolutionOutcome, Failure> {
        let files = vec!["a.rs".into()];
        let left_out = match choices.pick(6) {
            0 => Some(LeftOut {
                files,
                undone: vec![],
                kept: "refs/swarm/rescue/left-out-a".into(),
            }),
            1..4 => None,
            4 => return Ok(FinishResolutionOutcome::StillConflicted { files }),
            _ => return Err(cannot(choices)),
        };
        let head = self.commit();
        Ok(FinishResolutionOutcome::Finished { head, left_out })
    }

    fn seal(
        &mut self,
        effect: &effect::Seal,
        choices: &mut Choices,
    ) -> Result<SealOutcome, Failure> {
        if effect.hooks && choices.chance(2) {
            return Ok(SealOutcome::HooksDue);
        }
        // Where all goes well, an agent that says it is done has changed something.
        match choices.pick(11) {
            0..8 => Ok(SealOutcome::Sealed {
                head: self.commit(),
                committed: true,
                setup: some_setup(choices).key,
                links: vec![],
            }),
            8 => Ok(SealOutcome::Sealed {
                head: effect.base.clone(),
                committed: false,
                setup: some_setup(choices).key,
                links: vec![],
            }),
            9 => Ok(SealOutcome::Unsealable {
                message: "a merge is in progress".into(),
            }),
            _ => Err(cannot(choices)),
        }
    }

    fn save_work(&mut self, choices: &mut Choices) -> Result<SaveWorkOutcome, Failure> {
        match choices.pick(10) {
            0..8 => {
                let (tip, wip) = (self.commit(), None);
                let saved = Saved { tip, wip };
                self.redirected.push(saved.clone());
                let committed = true;
                Ok(SaveWorkOutcome::Saved { saved, committed })
            }
            8 => Ok(SaveWorkOutcome::Unsealable {
                message: "a merge is in progress".into(),
            }),
            _ => Err(cannot(choices)),
        }
    }

    fn lend(
        &mut self,
        effect: &effect::LendWorktree,
        choices: &mut Choices,
    ) -> Result<LendOutcome, Failure> {
        Ok(match choices.pick(10) {
            8 => LendOutcome::HoldsMore {
                what: "uncommitted files (a.rs)".into(),
            },
            9 => return Err(cannot(choices)),
            _ => {
                let (tip, wip) = (effect.head.clone(), None);
                self.redirected.push(Saved { tip, wip });
                LendOutcome::Lent
            }
        })
    }

    /// The work that an attempt goes on from.
    fn must_be_kept(&self, effect: &effect::PrepareWorktree) {
        let saved = effect.from.as_ref().and_then(|from| from.saved.as_ref());
        let of_checkpoints = self.kept.iter().map(|(_, _, saved)| saved);
        let mut kept = of_checkpoints.chain(&self.redirected);
        // A reference of its own keeps what was imported.
        let saved = saved.filter(|saved| saved.tip != imported_tip());
        let lost = saved.filter(|saved| !kept.any(|kept| kept == *saved));
        assert!(lost.is_none(), "the work of an idea is gone: {lost:?}");
    }

    fn forget(&mut self, effect: &effect::DeleteCheckpoint) -> CheckpointDeleted {
        let effect::DeleteCheckpoint { name, in_use, .. } = effect;
        self.checkpoints.remove(name);
        self.kept
            .retain(|(of, agent, _)| of != name || in_use.contains(agent));
        CheckpointDeleted
    }

    fn keep(
        &mut self,
        state: &State,
        effect: &effect::MakeCheckpoint,
        choices: &mut Choices,
    ) -> Result<Box<Checkpoint>, Failure> {
        let effect::MakeCheckpoint {
            name, reason, at, ..
        } = effect;
        if let Some(held) = self.checkpoints.get(name) {
            let same = (held.checkpoint.created_at, held.checkpoint.reason) == (*at, *reason);
            if !same {
                return Err(Failure::other("its file is there already"));
            }
            return Ok(Box::new(held.checkpoint.clone()));
        }
        let commit = match self.target.clone() {
            Some(commit) => commit,
            None => self.commit(),
        };
        self.target = Some(commit.clone());
        self.history.insert(commit.clone(), self.landed.clone());
        let mut kept = Vec::new();
        let ideas = held(state, |work| {
            let new = || Saved {
                tip: self.commit(),
                wip: choices.chance(50).then(|| work.base.clone()),
            };
            let saved = work.saved.clone().unwrap_or_else(new);
            kept.push((name.clone(), work.agent.clone(), saved.clone()));
            Some(saved)
        });
        self.kept.extend(kept);
        let checkpoint = Checkpoint {
            created_at: *at,
            reason: *reason,
            commit,
            tag: self.commit(),
            seq: state.seq,
            sha256: "00".repeat(32),
            number: None,
        };
        let held = Held {
            checkpoint: checkpoint.clone(),
            ideas,
        };
        self.checkpoints.insert(name.clone(), held);
        Ok(Box::new(checkpoint))
    }

    fn check(
        &self,
        effect: &effect::CheckRollback,
        choices: &mut Choices,
    ) -> Result<CheckRollbackOutcome, Failure> {
        let Some(held) = self.checkpoints.get(&effect.name) else {
            return Err(failed(FailureKind::Repository, "its file is gone"));
        };
        assert_eq!(
            (&held.checkpoint.commit, &held.checkpoint.tag),
            (&effect.commit, &effect.tag)
        );
        if choices.chance(10) {
            let blocked = checkout_blocked("local changes", &["a.rs"]);
            return Ok(CheckRollbackOutcome::CheckoutBlocked(blocked));
        }
        Ok(CheckRollbackOutcome::Ready(held.ideas.clone()))
    }

    /// Moves the target to the commit of a checkpoint.
    fn go_back(
        &mut self,
        effect: &effect::MoveTarget,
        choices: &mut Choices,
    ) -> Result<MoveTargetOutcome, Failure> {
        let commit = &effect.commit;
        if self.target.as_ref() == Some(commit) {
            return Ok(MoveTargetOutcome::Moved);
        }
        if self.target.as_ref() != Some(&effect.expected) {
            let found = self.target.clone().expect("it was seen");
            return Ok(MoveTargetOutcome::TargetMoved { found });
        }
        Ok(match self.hinder(choices)? {
            LandOutcome::Landed | LandOutcome::LandedBehind { .. } => {
                self.target = Some(commit.clone());
                self.landed = self.history[commit].clone();
                MoveTargetOutcome::Moved
            }
            LandOutcome::TargetMoved { found } => MoveTargetOutcome::TargetMoved { found },
            LandOutcome::CheckoutBlocked(blocked) => MoveTargetOutcome::CheckoutBlocked(blocked),
        })
    }

    /// The file of a checkpoint and the log agree on what is done: nothing is done twice, and
    /// nothing that was taken back is.
    pub(crate) fn agrees(&self, state: &State) {
        let landed: BTreeMap<&IdeaId, &Oid> = self.landed.iter().map(|(id, at)| (id, at)).collect();
        let done = state.ideas.iter();
        let done = done.filter_map(|(id, idea)| Some((id, idea.commit.as_ref()?)));
        let done: BTreeMap<&IdeaId, &Oid> = done.collect();
        assert_eq!(done, landed, "what is done and what the target has");
    }

    /// What happened is told the same to whoever asks.
    fn is_done(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Run(effect::Run { run, .. }) => self.ended.contains_key(run),
            Effect::Land(effect::Land { commit, .. }) => self.has_landed(commit),
            Effect::MoveTarget(effect::MoveTarget { commit, .. }) => {
                self.target.as_ref() == Some(commit)
            }
            // A run that nobody can end keeps a daemon from ending cleanly; see the actor.
            Effect::StopRun(_) => true,
            _ => false,
        }
    }

    fn has_landed(&self, commit: &Oid) -> bool {
        self.landed.iter().any(|(_, landed)| landed == commit)
    }

    fn run(
        &mut self,
        state: &State,
        effect: &effect::Run,
        choices: &mut Choices,
    ) -> Result<RunEnd, Failure> {
        let outcome = self.end_of(state, effect, choices);
        self.ask_before_landing(state, &effect.purpose, &outcome);
        outcome
    }

    /// A run ends once, and how it did stays so whoever asks.
    fn end_of(
        &mut self,
        state: &State,
        effect: &effect::Run,
        choices: &mut Choices,
    ) -> Result<RunEnd, Failure> {
        let effect::Run { run, purpose, .. } = effect;
        if let Some(end) = self.ended.get(run) {
            return Ok(end.clone());
        }
        if choices.chance(2) {
            self.never_starts(run);
            return Err(cannot(choices));
        }
        let how = self.how(run, choices);
        if let (Purpose::Baseline { command, tree, .. }, true) = (purpose, how == exit(0)) {
            let commit = match tree {
                TargetTree::Verify => self.checked_out.clone(),
                TargetTree::Control => self.controlled.clone(),
            };
            let commit = commit.expect("nothing is checked out");
            let passed = self.untouched.entry(commit).or_default();
            passed.insert(command.clone());
        }
        if let (Purpose::Verify { command, .. }, true) = (purpose, how == exit(0)) {
            let made_of = self
                .checked_out
                .as_ref()
                .map(|commit| self.built[commit].clone());
            let passed = self.passed.entry(made_of.expect("nothing is checked out"));
            passed.or_default().insert(command.clone());
        }
        let duration = i64::try_from(choices.pick(3_000)).unwrap();
        let mut end = RunEnd {
            stdout_bytes: if choices.chance(15) { 0 } else { 100 },
            duration_ms: 1_500 - duration.min(1_500),
            head: choices.chance(50).then(|| self.commit()),
            ..RunEnd::new(how)
        };
        if purpose.is_probe() && end.how == exit(0) {
            end.probe = some_findings(choices);
        }
        self.programs.words(state, purpose, run, &mut end, choices);
        self.ended.insert(run.clone(), end.clone());
        Ok(end)
    }

    /// Whoever asks again hears so: what never ran has used nothing.
    fn never_starts(&mut self, run: &RunId) {
        let message = "it cannot be done".into();
        let end = RunEnd::new(RunEndKind::NotStarted { message });
        self.ended.insert(run.clone(), end);
    }

    fn how(&self, run: &RunId, choices: &mut Choices) -> RunEndKind {
        if self.stopped.contains(run) && !choices.chance(20) {
            return RunEndKind::Stopped;
        }
        match choices.pick(33) {
            31 => RunEndKind::Idle,
            0..24 => exit(0),
            24..27 => exit(if choices.chance(15) { 127 } else { 1 }),
            27 => RunEndKind::Signalled { signal: 9 },
            28 => RunEndKind::TimedOut,
            29 => RunEndKind::OutputLimit,
            30 => RunEndKind::NotStarted {
                message: "no such file".into(),
            },
            _ => RunEndKind::Lost,
        }
    }

    fn build(
        &mut self,
        effect: &effect::BuildMerge,
        choices: &mut Choices,
    ) -> Result<BuildMergeOutcome, Failure> {
        let known = effect.known_target.as_ref();
        let target = self.target.clone().or_else(|| known.cloned());
        let target = target.unwrap_or_else(|| self.commit());
        self.target = Some(target.clone());
        let conflict = |target, level| BuildMergeOutcome::Conflicted {
            target,
            level,
            files: vec!["a.rs".into(), "b.rs".into()],
        };
        Ok(match choices.pick(17) {
            9..12 => conflict(target, ConflictLevel::Medium),
            12 => conflict(target, ConflictLevel::Complex),
            13 => BuildMergeOutcome::NothingToMerge { target },
            14 => {
                let found = self.commit();
                self.target = Some(found.clone());
                if known.is_none() {
                    return Err(cannot(choices));
                }
                BuildMergeOutcome::TargetRewritten(Rewrite {
                    found,
                    kept: vec![],
                    dropped: vec![],
                })
            }
            15 => return Err(cannot(choices)),
            16 => {
                let (base, head) = (target, self.commit());
                let (tip, wip) = (head.clone(), None);
                self.redirected.push(Saved { tip, wip });
                BuildMergeOutcome::BroughtOver { base, head }
            }
            _ => {
                let commit = self.commit();
                self.built
                    .insert(commit.clone(), (effect.source.clone(), target.clone()));
                BuildMergeOutcome::Built {
                    commit,
                    target,
                    resolved: vec![],
                }
            }
        })
    }

    /// What keeps the target from moving, now and then.
    fn hinder(&mut self, choices: &mut Choices) -> Result<LandOutcome, Failure> {
        match choices.pick(12) {
            9 => {
                let found = self.commit();
                self.target = Some(found.clone());
                Ok(LandOutcome::TargetMoved { found })
            }
            10 => Ok(land_blocked("local changes", &["a.rs"])),
            11 => Err(cannot(choices)),
            _ => Ok(LandOutcome::Landed),
        }
    }

    /// Moves the target once, however often it is asked.
    fn land(
        &mut self,
        effect: &effect::Land,
        choices: &mut Choices,
    ) -> Result<LandOutcome, Failure> {
        let effect::Land { idea, commit, .. } = effect;
        if self.has_landed(commit) {
            return Ok(LandOutcome::Landed);
        }
        let outcome = self.hinder(choices)?;
        if outcome == LandOutcome::Landed {
            let again = self.landed.iter().any(|(landed, _)| landed == idea);
            assert!(!again, "{idea} lands twice");
            self.target = Some(commit.clone());
            self.landed.push((idea.clone(), commit.clone()));
            if choices.chance(10) {
                let submodules = "the submodule lib stays".to_owned();
                return Ok(LandOutcome::LandedBehind { submodules });
            }
        }
        Ok(outcome)
    }

    /// The ideas whose work the target was moved to.
    pub(crate) fn landed(&self) -> impl Iterator<Item = &IdeaId> {
        self.landed.iter().map(|(idea, _)| idea)
    }
}

fn tidied(effect: &Effect, choices: &mut Choices) -> Result<Outcome, Failure> {
    if choices.chance(5) {
        Err(cannot(choices))
    } else {
        Ok(good(effect, 0))
    }
}

fn cannot(choices: &mut Choices) -> Failure {
    let kind = [
        FailureKind::Other,
        FailureKind::NoSpace,
        FailureKind::AgentUnusable,
        FailureKind::Repository,
        FailureKind::Locked { long: false },
        FailureKind::Content,
    ][choices.pick(6)];
    failed(kind, "it cannot be done")
}

/// What the setup depends on changes now and then; a file to copy may be missing.
fn some_setup(choices: &mut Choices) -> TreeSetup {
    let missing = choices
        .chance(5)
        .then(|| "`.env` does not exist".to_owned());
    TreeSetup {
        key: ["one", "two"].get(choices.pick(3)).map(ToString::to_string),
        not_copied: missing.into_iter().collect(),
    }
}

/// The manifests change now and then.
fn some_digest(choices: &mut Choices) -> String {
    let digest = if choices.chance(90) { "same" } else { "other" };
    digest.to_owned()
}

/// Most probes raise no alarm.
fn some_findings(choices: &mut Choices) -> Option<Box<Findings>> {
    let alarm = ProbeAlarm {
        command: Some("check".into()),
        message: "`check` is blind".into(),
        remedies: vec![],
    };
    let found = Findings {
        source_files: 1,
        alarms: choices.chance(10).then_some(alarm).into_iter().collect(),
        notes: vec![],
    };
    (!choices.chance(5)).then(|| Box::new(found))
}

/// What no driver should ever answer.
fn nonsense(effect: &Effect) -> Outcome {
    if matches!(effect, Effect::PrepareVerify(_)) {
        LandOutcome::Landed.into()
    } else {
        super::outcomes::verify_ready().into()
    }
}
