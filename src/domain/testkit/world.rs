//! What lies outside of the daemon and outlives it: runs, the target, what was built and checked.
//! It also watches the log for what must never happen, whatever the crashes.

use std::collections::{BTreeMap, BTreeSet};

use super::choices::Choices;
use super::programs::Programs;
use super::scenario::{exit, failed, good, held};
use crate::domain::effect::{self, ConflictLevel, Effect, Purpose, Saved};
use crate::domain::event::{EffectRequested, Event};
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid, RunId};
use crate::domain::observation::{FailureKind, LeftOut, Outcome, RunEnd, RunEndKind};
use crate::domain::state::State;
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen, Reason};
use crate::domain::time::Timestamp;

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
    /// The merged trees to which no hook objects.
    free: BTreeSet<(Oid, Oid)>,
    /// What the merge worktree holds.
    checked_out: Option<Oid>,
    /// Where the target stands.
    target: Option<Oid>,
    /// Commits that the target was moved to, in order, but for those that a rollback took back.
    landed: Vec<(IdeaId, Oid)>,
    /// The files of checkpoints.
    checkpoints: BTreeMap<CheckpointName, Held>,
    /// The work that checkpoints keep.
    kept: BTreeMap<(CheckpointName, AgentId), Saved>,
    /// The work of agents that were redirected; it is never thrown away.
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
    }

    /// The target never holds what the gate has not passed.
    fn must_have_passed(&self, state: &State, commit: &Oid) {
        let settings = state.settings.as_ref().unwrap();
        let made_of = &self.built[commit];
        assert!(
            !settings.hooks.contains_key(&HookName::PreMerge) || self.free.contains(made_of),
            "{commit} lands although its hook was not asked, or is against it"
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
    fn ask_before_landing(&mut self, state: &State, purpose: &Purpose, outcome: &Outcome) {
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
        let free = match outcome {
            Outcome::RunEnded(end) => match end.how {
                RunEndKind::Exited { code } => code == 0,
                RunEndKind::TimedOut => hook.is_none_or(|hook| !hook.veto_on_timeout),
                _ => false,
            },
            _ => false,
        };
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
    ) -> Outcome {
        if !self.is_done(effect) && choices.chance(2) {
            if let Effect::Run(effect::Run { run, .. }) = effect {
                self.never_starts(run);
            }
            return nonsense(effect);
        }
        match effect {
            Effect::Run(effect::Run { run, purpose, .. }) => {
                let outcome = self.end_of(state, run, purpose, choices);
                self.ask_before_landing(state, purpose, &outcome);
                outcome
            }
            Effect::StopRun(effect::StopRun { run, .. }) => {
                self.stopped.insert(run.clone());
                if choices.chance(10) {
                    return failed(FailureKind::Other, "no permission");
                }
                Outcome::StopDelivered
            }
            Effect::BuildMerge(effect::BuildMerge {
                source,
                known_target,
                ..
            }) => self.build(source, known_target.as_ref(), choices),
            Effect::PrepareVerify(effect::PrepareVerify { commit, .. }) => {
                if choices.chance(10) {
                    return cannot(choices);
                }
                self.checked_out = Some(commit.clone());
                Outcome::VerifyReady
            }
            Effect::Land(effect::Land { idea, commit, .. }) => self.land(idea, commit, choices),
            Effect::StartResolution(_) => match choices.pick(8) {
                0..5 => Outcome::ResolutionStarted {
                    head: self.commit(),
                    files: vec!["a.rs".into()],
                    left_out: None,
                },
                5 | 6 => Outcome::ResolutionStarted {
                    head: self.commit(),
                    files: vec![],
                    left_out: None,
                },
                _ => cannot(choices),
            },
            Effect::FinishResolution(_) => match choices.pick(6) {
                0 => Outcome::ResolutionFinished {
                    head: self.commit(),
                    left_out: Some(LeftOut {
                        files: vec!["a.rs".into()],
                        undone: vec![],
                        kept: "refs/swarm/rescue/left-out-a".into(),
                    }),
                },
                1..4 => Outcome::ResolutionFinished {
                    head: self.commit(),
                    left_out: None,
                },
                4 => Outcome::StillConflicted {
                    files: vec!["a.rs".into()],
                },
                _ => cannot(choices),
            },
            Effect::Seal(_) => match choices.pick(10) {
                0..8 => Outcome::Sealed {
                    head: self.commit(),
                    committed: true,
                },
                8 => Outcome::Unsealable {
                    message: "a merge is in progress".into(),
                },
                _ => cannot(choices),
            },
            Effect::SaveWork(_) => match choices.pick(10) {
                0..8 => {
                    let saved = Saved {
                        tip: self.commit(),
                        wip: None,
                    };
                    self.redirected.push(saved.clone());
                    let committed = true;
                    Outcome::WorkSaved { saved, committed }
                }
                8 => Outcome::Unsealable {
                    message: "a merge is in progress".into(),
                },
                _ => cannot(choices),
            },
            Effect::MakeCheckpoint(_)
            | Effect::DeleteCheckpoint(_)
            | Effect::CheckRollback(_)
            | Effect::MoveTarget(_) => self.past(state, effect, choices),
            Effect::PrepareWorktree(effect::PrepareWorktree { from, .. }) => {
                let saved = from.as_ref().and_then(|from| from.saved.as_ref());
                let mut kept = self.kept.values().chain(&self.redirected);
                let lost = saved.filter(|saved| !kept.any(|kept| kept == *saved));
                assert!(lost.is_none(), "the work of an idea is gone: {lost:?}");
                tidied(effect, choices)
            }
            Effect::ReleaseWorktree(_) | Effect::ArchiveInbox(_) => tidied(effect, choices),
        }
    }

    /// Checkpoints, and the way back to one.
    fn past(&mut self, state: &State, effect: &Effect, choices: &mut Choices) -> Outcome {
        if !self.is_done(effect) && choices.chance(5) {
            return cannot(choices);
        }
        match effect {
            Effect::MakeCheckpoint(effect::MakeCheckpoint {
                name, reason, at, ..
            }) => self.keep(state, name, *reason, *at, choices),
            Effect::DeleteCheckpoint(effect::DeleteCheckpoint { name, in_use, .. }) => {
                self.checkpoints.remove(name);
                self.kept
                    .retain(|(of, agent), _| of != name || in_use.contains(agent));
                Outcome::Done
            }
            Effect::CheckRollback(effect::CheckRollback {
                name, commit, tag, ..
            }) => self.check(name, commit, tag, choices),
            Effect::MoveTarget(effect::MoveTarget {
                expected, commit, ..
            }) => self.go_back(expected, commit, choices),
            other => panic!("not of checkpoints: {other:?}"),
        }
    }

    fn keep(
        &mut self,
        state: &State,
        name: &CheckpointName,
        reason: Reason,
        at: Timestamp,
        choices: &mut Choices,
    ) -> Outcome {
        if let Some(held) = self.checkpoints.get(name) {
            let same = (held.checkpoint.created_at, held.checkpoint.reason) == (at, reason);
            if !same {
                return failed(FailureKind::Other, "its file is there already");
            }
            return Outcome::CheckpointMade(Box::new(held.checkpoint.clone()));
        }
        let commit = match self.target.clone() {
            Some(commit) => commit,
            None => self.commit(),
        };
        self.target = Some(commit.clone());
        self.history.insert(commit.clone(), self.landed.clone());
        let mut kept = BTreeMap::new();
        let ideas = held(state, |work| {
            let new = || Saved {
                tip: self.commit(),
                wip: choices.chance(50).then(|| work.base.clone()),
            };
            let saved = work.saved.clone().unwrap_or_else(new);
            kept.insert((name.clone(), work.agent.clone()), saved.clone());
            Some(saved)
        });
        self.kept.extend(kept);
        let checkpoint = Checkpoint {
            created_at: at,
            reason,
            commit,
            tag: self.commit(),
            seq: state.seq,
            sha256: "00".repeat(32),
        };
        let held = Held {
            checkpoint: checkpoint.clone(),
            ideas,
        };
        self.checkpoints.insert(name.clone(), held);
        Outcome::CheckpointMade(Box::new(checkpoint))
    }

    fn check(
        &self,
        name: &CheckpointName,
        commit: &Oid,
        tag: &Oid,
        choices: &mut Choices,
    ) -> Outcome {
        let Some(held) = self.checkpoints.get(name) else {
            return failed(FailureKind::Repository, "its file is gone");
        };
        assert_eq!(
            (&held.checkpoint.commit, &held.checkpoint.tag),
            (commit, tag)
        );
        if choices.chance(10) {
            return Outcome::CheckoutBlocked {
                reason: "local changes".into(),
                files: vec!["a.rs".into()],
            };
        }
        Outcome::RollbackReady(held.ideas.clone())
    }

    /// Moves the target to the commit of a checkpoint.
    fn go_back(&mut self, expected: &Oid, commit: &Oid, choices: &mut Choices) -> Outcome {
        let moved = || Outcome::TargetMovedTo;
        if self.target.as_ref() == Some(commit) {
            return moved();
        }
        if self.target.as_ref() != Some(expected) {
            let found = self.target.clone().expect("it was seen");
            return Outcome::TargetMoved { found };
        }
        if let Some(hindered) = self.hindered(choices) {
            return hindered;
        }
        self.target = Some(commit.clone());
        self.landed = self.history[commit].clone();
        moved()
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

    /// A run ends once, and how it did stays so whoever asks.
    fn end_of(
        &mut self,
        state: &State,
        run: &RunId,
        purpose: &Purpose,
        choices: &mut Choices,
    ) -> Outcome {
        if let Some(end) = self.ended.get(run) {
            return Outcome::RunEnded(end.clone());
        }
        if choices.chance(2) {
            self.never_starts(run);
            return cannot(choices);
        }
        let how = self.how(run, choices);
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
        self.programs.words(state, purpose, run, &mut end, choices);
        self.ended.insert(run.clone(), end.clone());
        Outcome::RunEnded(end)
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
            24..27 => exit(1),
            27 => RunEndKind::Signalled { signal: 9 },
            28 => RunEndKind::TimedOut,
            29 => RunEndKind::OutputLimit,
            30 => RunEndKind::NotStarted {
                message: "no such file".into(),
            },
            _ => RunEndKind::Lost,
        }
    }

    fn build(&mut self, source: &Oid, known: Option<&Oid>, choices: &mut Choices) -> Outcome {
        let target = self.target.clone().or_else(|| known.cloned());
        let target = target.unwrap_or_else(|| self.commit());
        self.target = Some(target.clone());
        let conflict = |level| Outcome::Conflicted {
            target: target.clone(),
            level,
            files: vec!["a.rs".into(), "b.rs".into()],
        };
        match choices.pick(17) {
            9..12 => conflict(ConflictLevel::Medium),
            12 => conflict(ConflictLevel::Complex),
            13 => Outcome::NothingToMerge { target },
            14 => {
                let found = self.commit();
                self.target = Some(found.clone());
                if known.is_none() {
                    return cannot(choices);
                }
                Outcome::TargetRewritten {
                    found,
                    dropped: vec![],
                }
            }
            15 => cannot(choices),
            16 => Outcome::BroughtOver {
                base: target,
                head: self.commit(),
            },
            _ => {
                let commit = self.commit();
                self.built
                    .insert(commit.clone(), (source.clone(), target.clone()));
                Outcome::Built {
                    commit,
                    target,
                    resolved: vec![],
                }
            }
        }
    }

    /// What keeps the target from moving, now and then.
    fn hindered(&mut self, choices: &mut Choices) -> Option<Outcome> {
        match choices.pick(12) {
            9 => {
                let found = self.commit();
                self.target = Some(found.clone());
                Some(Outcome::TargetMoved { found })
            }
            10 => Some(Outcome::CheckoutBlocked {
                reason: "local changes".into(),
                files: vec!["a.rs".into()],
            }),
            11 => Some(cannot(choices)),
            _ => None,
        }
    }

    /// Moves the target once, however often it is asked.
    fn land(&mut self, idea: &IdeaId, commit: &Oid, choices: &mut Choices) -> Outcome {
        if self.has_landed(commit) {
            return Outcome::Landed;
        }
        if let Some(hindered) = self.hindered(choices) {
            return hindered;
        }
        let again = self.landed.iter().any(|(landed, _)| landed == idea);
        assert!(!again, "{idea} lands twice");
        self.target = Some(commit.clone());
        self.landed.push((idea.clone(), commit.clone()));
        Outcome::Landed
    }

    /// The ideas whose work the target was moved to.
    pub(crate) fn landed(&self) -> impl Iterator<Item = &IdeaId> {
        self.landed.iter().map(|(idea, _)| idea)
    }
}

fn tidied(effect: &Effect, choices: &mut Choices) -> Outcome {
    if choices.chance(5) {
        cannot(choices)
    } else {
        good(effect, 0)
    }
}

fn cannot(choices: &mut Choices) -> Outcome {
    let kind = [
        FailureKind::Other,
        FailureKind::NoSpace,
        FailureKind::AgentUnusable,
        FailureKind::Repository,
    ][choices.pick(4)];
    failed(kind, "it cannot be done")
}

/// What no driver should ever answer.
fn nonsense(effect: &Effect) -> Outcome {
    match effect {
        Effect::PrepareVerify(_) => Outcome::Landed,
        _ => Outcome::VerifyReady,
    }
}
