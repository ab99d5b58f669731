//! Which parts of a page an event can change.
//!
//! Invariant: one exhaustive match, so that a new kind of event must be placed.

use std::ops::BitOr;

use crate::domain::effect::{Effect, Purpose};
use crate::domain::event::Event;

/// A set of kinds of fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched(u32);

impl Touched {
    /// Nothing that a page shows.
    pub const NOTHING: Self = Self(0);
    /// Phase, mode, slots, money of today: the header.
    pub const STATUS: Self = Self(1);
    /// Everything.
    pub const EVERYTHING: Self = Self(u32::MAX);
    /// What needs a person.
    pub const NEEDS: Self = Self(1 << 1);
    /// Agents.
    pub const AGENTS: Self = Self(1 << 2);
    /// The merge train.
    pub const TRAIN: Self = Self(1 << 3);
    /// Ideas, one or many.
    pub const IDEAS: Self = Self(1 << 4);
    /// The time line's bars.
    pub const TIMELINE: Self = Self(1 << 5);
    /// Checkpoints and rollbacks.
    pub const CHECKPOINTS: Self = Self(1 << 6);
    /// Learnings.
    pub const LEARNINGS: Self = Self(1 << 7);
    /// Hooks.
    pub const HOOKS: Self = Self(1 << 8);
    /// Settings.
    pub const SETTINGS: Self = Self(1 << 9);
    /// Money and tokens.
    pub const COST: Self = Self(1 << 10);
    /// The report of a night.
    pub const REPORT: Self = Self(1 << 11);
    /// The time bar, which every event changes.
    pub const TIME: Self = Self(1 << 12);
    /// Facts, notes, and what happened to them.
    pub const MEMORY: Self = Self(1 << 13);

    /// Whether the two have a kind in common.
    pub fn meets(self, other: Self) -> bool {
        self.and(other) != Self::NOTHING
    }

    /// What both have.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// All of it but this.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Touched {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The fragments that may look different after this event.
pub fn touches(event: &Event) -> Touched {
    Touched::TIME | of_kind(event)
}

fn of_kind(event: &Event) -> Touched {
    // Most of these events owe a call to a hook, which the hooks' page counts. The timeline ends at
    // the last event.
    const SWARM: Touched =
        Touched(Touched::STATUS.0 | Touched::NEEDS.0 | Touched::HOOKS.0 | Touched::TIMELINE.0);
    const WORK: Touched = Touched(Touched::AGENTS.0 | Touched::IDEAS.0 | Touched::TIMELINE.0);
    const MERGE: Touched =
        Touched(Touched::TRAIN.0 | Touched::IDEAS.0 | Touched::NEEDS.0 | Touched::TIMELINE.0);
    const ALL: Touched = Touched(u32::MAX);
    match event {
        Event::Mark(_) | Event::CommandTaken(_) => Touched::NOTHING,
        // Whether something waits for a person depends on what is under way. A run takes its slot,
        // and its bar begins, when it is asked for.
        Event::EffectRequested(requested) => {
            let slot = if takes_slot(&requested.effect) || is_check(&requested.effect) {
                Touched::AGENTS
            } else {
                Touched::NOTHING
            };
            Touched::STATUS | Touched::NEEDS | Touched::TIMELINE | slot
        }
        // A check that has ended makes room for one that waits in another agent's worktree.
        Event::EffectFinished(_) => {
            Touched::STATUS | Touched::NEEDS | Touched::TIMELINE | Touched::AGENTS
        }
        Event::DaemonStarted(_)
        | Event::NumbersRaised(_)
        | Event::RolledBack(_)
        | Event::StateRepaired(_)
        | Event::StateRestored(_)
        | Event::SwarmImported(_)
        | Event::WorkImported(_)
        | Event::SwarmMoved(_)
        | Event::SwarmReclaimed(_) => ALL,
        // An attempt that waits for its next iteration waits for the end of a pause, too.
        Event::PauseSet(_) | Event::PauseLifted(_) => {
            SWARM | Touched::TRAIN | Touched::CHECKPOINTS | Touched::AGENTS
        }
        Event::PhaseChanged(_)
        | Event::ClockWentBack(_)
        | Event::MachineSlept(_)
        | Event::RoomAwaited(_)
        | Event::WorktreesHeld(_)
        | Event::WorktreesFreed(_)
        | Event::TargetSettled(_)
        | Event::BaselineReady(_)
        | Event::BaselineStarted(_)
        | Event::BaselinePassed(_)
        | Event::BaselineFailed(_)
        | Event::BaselineCleared(_)
        | Event::ChecksProbed(_)
        | Event::BaselineDoubted(_)
        | Event::WarningRaised(_)
        | Event::WarningCleared(_)
        | Event::NeedArose(_)
        | Event::NeedSettled(_)
        | Event::NightBegan(_)
        | Event::NightEnded(_)
        | Event::NoticeDelivered(_)
        | Event::NoticeFailed(_) => SWARM | Touched::TRAIN | Touched::CHECKPOINTS,
        // Files of facts may have changed with it.
        Event::TargetSeen(_) | Event::TargetRewritten(_) => {
            SWARM | Touched::TRAIN | Touched::CHECKPOINTS | Touched::MEMORY
        }
        // They say how many checks may run at once.
        Event::SettingsLoaded(_) | Event::ModeSet(_) => {
            SWARM
                | Touched::SETTINGS
                | Touched::TRAIN
                | Touched::COST
                | Touched::IDEAS
                | Touched::AGENTS
        }
        // The list of costs says each idea's title.
        Event::IdeaEdited(_) => {
            SWARM | WORK | Touched::TRAIN | Touched::REPORT | Touched::CHECKPOINTS | Touched::COST
        }
        Event::IdeaAdded(_)
        | Event::AgentImported(_)
        | Event::IdeaRetried(_)
        | Event::IdeaCancelled(_)
        | Event::IdeaAssigned(_)
        | Event::IdeaHeld(_)
        | Event::IdeaUnheld(_)
        | Event::UndoRecorded(_)
        | Event::CancelUndone(_)
        | Event::RedirectUndone(_)
        | Event::WorkRescued(_) => {
            SWARM | WORK | Touched::TRAIN | Touched::REPORT | Touched::CHECKPOINTS
        }
        Event::IdeaClaimed(_)
        | Event::SetupStarted(_)
        | Event::SetupPassed(_)
        | Event::AttemptMoved(_)
        | Event::WorktreeReady(_)
        | Event::WorktreeLent(_)
        | Event::WorktreeStays(_)
        | Event::IterationStarted(_)
        | Event::GateStarted(_)
        | Event::CommitHooksStarted(_)
        | Event::RunStarted(_)
        | Event::SignalSeen(_)
        | Event::IterationJudged(_)
        | Event::IterationExcused(_)
        | Event::SessionBegan(_)
        | Event::ProviderAwaited(_)
        | Event::SessionDropped(_)
        | Event::AttemptSealed(_)
        | Event::GatePassed(_)
        | Event::CommitHooksPassed(_)
        | Event::GateFailed(_)
        | Event::GateDoubted(_)
        | Event::GateExcused(_)
        | Event::TaskSet(_)
        | Event::MessageQueued(_)
        | Event::EndingAsked(_)
        | Event::AgentRedirected(_)
        | Event::WorkSaved(_) => SWARM | WORK | Touched::TRAIN,
        Event::RunEnded(_) | Event::AttemptEnded(_) => {
            SWARM | WORK | Touched::TRAIN | Touched::COST | Touched::REPORT
        }
        Event::UsageSeen(_) => {
            Touched::STATUS | Touched::AGENTS | Touched::IDEAS | Touched::COST | Touched::REPORT
        }
        Event::AccountHeld(_)
        | Event::AccountTried(_)
        | Event::AccountFreed(_)
        | Event::ProfileHeld(_)
        | Event::ProfileTried(_)
        | Event::ProfileFreed(_)
        | Event::BudgetReached(_) => SWARM | Touched::AGENTS | Touched::COST | Touched::TIMELINE,
        // An approval is what `undo` takes back from now on, not an earlier rollback.
        Event::MergeApproved(_) => SWARM | MERGE | Touched::AGENTS | Touched::CHECKPOINTS,
        Event::MergeQueued(_)
        | Event::MergeMoved(_)
        | Event::MergeReleased(_)
        | Event::ApprovalWithdrawn(_)
        | Event::MergeRejected(_)
        | Event::MergeBuilt(_)
        | Event::MergeConflicted(_)
        | Event::ConflictLaidOut(_)
        | Event::ConflictSettled(_)
        | Event::ResolverFailed(_)
        | Event::VerifyReady(_)
        | Event::VerifyStarted(_)
        | Event::VerifyPassed(_)
        | Event::VerifyDoubted(_)
        | Event::MergeReturned(_) => SWARM | MERGE | Touched::AGENTS,
        Event::IdeaLanded(_) | Event::LandingFound(_) => {
            SWARM | MERGE | Touched::AGENTS | Touched::REPORT | Touched::CHECKPOINTS
        }
        Event::CheckpointMade(_)
        | Event::CheckpointDeleted(_)
        | Event::RollbackBegun(_)
        | Event::RollbackPlanned(_)
        | Event::RollbackStepped(_)
        | Event::RollbackAbandoned(_) => SWARM | Touched::CHECKPOINTS | Touched::TIMELINE,
        Event::HookOwed(_)
        | Event::HookAsked(_)
        | Event::HookStarted(_)
        | Event::HookCutOff(_)
        | Event::HookFinished(_)
        | Event::HookTimedOut(_)
        | Event::HookApproved(_) => SWARM | Touched::HOOKS | Touched::TRAIN,
        Event::Learned(_) => SWARM | Touched::LEARNINGS | Touched::MEMORY | Touched::REPORT,
        Event::MemoryRetracted(_) | Event::MemoryCompacted(_) => {
            SWARM | Touched::LEARNINGS | Touched::MEMORY
        }
        Event::FactWritten(_)
        | Event::FactConfirmed(_)
        | Event::FactDisputed(_)
        | Event::FactPinned(_)
        | Event::NotePut(_)
        | Event::NotesDropped(_) => SWARM | Touched::MEMORY,
        // The list of events alone shows it.
        Event::MemoryShown(_)
        | Event::MemoryRead(_)
        | Event::Synthesised(_)
        | Event::IterationRecorded(_)
        | Event::RecordsExpired(_)
        | Event::ReplayAsked(_)
        | Event::ReplayJudged(_) => SWARM,
    }
}

/// Whether other checks may have to wait for it.
fn is_check(effect: &Effect) -> bool {
    matches!(effect, Effect::Run(run) if run.purpose.is_check())
}

/// Whether a slot of no agent is used from now on.
fn takes_slot(effect: &Effect) -> bool {
    matches!(effect, Effect::Run(run) if matches!(run.purpose, Purpose::Replay { .. }))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::domain::evolve::evolve;
    use crate::domain::state::State;
    use crate::domain::testkit::memories::remember;
    use crate::domain::testkit::scenario::fold;
    use crate::domain::testkit::sim::Sim;
    use crate::view::{self, Outside};

    /// What pages show of a state, by kind; `REPORT` and `TIMELINE` show histories.
    fn shown(state: &State) -> BTreeMap<&'static str, (Touched, String)> {
        let outside = Outside {
            pid: Some(1),
            ..Outside::default()
        };
        let status = view::status(state, outside);
        let ideas = view::ideas(state, None);
        let of = |kind: Touched, text: String| (kind, text);
        BTreeMap::from([
            (
                "status",
                of(
                    Touched::STATUS,
                    format!(
                        "{:?} {:?} {:?} {:?} {:?}",
                        status.phase,
                        status.mode,
                        status.slots,
                        status.pause_reason,
                        view::standstills(state, &view::TargetNow::Unknown, None)
                    ),
                ),
            ),
            (
                "needs",
                of(Touched::NEEDS, format!("{:?}", status.needs_you)),
            ),
            (
                "agents",
                of(Touched::AGENTS, format!("{:?}", status.agents)),
            ),
            (
                "train",
                of(Touched::TRAIN, format!("{:?}", status.merge_queue)),
            ),
            ("ideas", of(Touched::IDEAS, format!("{ideas:?}"))),
            (
                "checkpoints",
                of(
                    Touched::CHECKPOINTS,
                    format!("{:?} {:?}", state.checkpoints, state.rollback),
                ),
            ),
            (
                "learnings",
                of(Touched::LEARNINGS, format!("{:?}", view::learnings(state))),
            ),
            (
                "memory",
                of(
                    Touched::MEMORY | Touched::IDEAS,
                    format!(
                        "{:?} {:?}",
                        view::memory::board(state, &view::memory::Aged::nothing(), true),
                        view::memory::notes(state, "")
                    ),
                ),
            ),
            (
                "hooks",
                of(
                    Touched::HOOKS,
                    format!("{:?} {:?}", state.hooks_last, state.hooks.len()),
                ),
            ),
            (
                "settings",
                of(
                    Touched::SETTINGS,
                    format!("{:?} {:?}", state.settings, state.mode()),
                ),
            ),
            ("cost", of(Touched::COST, format!("{:?}", state.used))),
        ])
    }

    #[test]
    fn an_event_touches_every_fragment_that_shows_it() {
        let mut missed = BTreeSet::new();
        let mut changed = BTreeSet::new();
        for seed in 0..24_u16 {
            let list = (0..400_u16).map(|at| at.wrapping_mul(7_919).wrapping_add(seed * 2_711));
            let mut sim = Sim::new(list.collect());
            sim.live();
            sim.attend_to();
            let mut log = std::mem::take(&mut sim.log);
            log.extend(remember(&fold(&log)));
            let mut state = State::default();
            let mut before = shown(&state);
            for (index, (ts, event)) in log.iter().enumerate() {
                let seq = u64::try_from(index).unwrap() + 1;
                evolve(&mut state, seq, *ts, event);
                let after = shown(&state);
                for (name, (kind, text)) in &after {
                    if before[name].1 == *text {
                        continue;
                    }
                    changed.insert(*name);
                    if !touches(event).meets(*kind) {
                        missed.insert(format!("{} changes {name}", event.kind()));
                    }
                }
                before = after;
            }
        }
        assert!(missed.is_empty(), "{missed:#?}");
        let quiet = shown(&State::default());
        let quiet: Vec<_> = quiet
            .keys()
            .filter(|name| !changed.contains(*name))
            .collect();
        assert!(quiet.len() <= 1, "the histories never change {quiet:?}");
    }

    #[test]
    fn what_no_page_shows_moves_the_time_bar_alone() {
        let finished = Event::Mark(crate::domain::event::Mark {});
        assert_eq!(touches(&finished), Touched::TIME);
        assert!(
            !touches(&finished)
                .without(Touched::TIME)
                .meets(Touched::EVERYTHING)
        );
    }
}
