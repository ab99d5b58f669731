//! One attempt at an idea: queued -> *holds a worktree* {preparing, *live* {starting, working,
//! gating, stopping}, waiting for human, backoff, ready to merge} -> merged | failed | released.
//!
//! Invariant: only a live attempt occupies a slot; one that only holds its worktree does not.

use serde::{Deserialize, Serialize};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking::{IntoStateMachine, State, Superstate};

/// Phase of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptPhase {
    /// Not started; a claim starts with its worktree.
    Queued,
    /// Its worktree is being prepared.
    Preparing,
    /// Its next iteration is about to run.
    Starting,
    /// An iteration is running.
    Working,
    /// It reported COMPLETE; the quality commands decide.
    Gating,
    /// Its run is being stopped.
    Stopping,
    /// Between iterations, waiting for a person.
    WaitingForHuman,
    /// Between iterations, waiting for a time or a slot.
    Backoff,
    /// Complete and in the merge queue.
    ReadyToMerge,
    /// Its work landed.
    Merged,
    /// Ended without landing: failed, timed out, blocked.
    Failed,
    /// Ended without judgement: stopped, interrupted, crashed, cancelled.
    Released,
}

/// Inputs of the attempt machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(strum::VariantArray))]
pub enum AttemptInput {
    /// The worktree is ready.
    Prepared,
    /// The iteration's run was requested.
    Started,
    /// The iteration ended without a result, or a setup command failed: wait before the next one.
    Hold,
    /// Time and a slot are available for the next iteration.
    Continue,
    /// Likewise, but its worktree must be made or set up again first.
    Prepare,
    /// The agent reported COMPLETE.
    SaidComplete,
    /// The agent needs a person.
    NeedsHuman,
    /// A person has answered.
    Answered,
    /// All quality commands passed.
    GatePassed,
    /// The merge queue returns it for another iteration.
    Returned,
    /// A stop was requested.
    Stop,
    /// Its work landed.
    Landed,
    /// It ended badly.
    Fail,
    /// It ended without judgement.
    Release,
}

/// Groups of phases with common transitions.
#[derive(Debug)]
pub enum Group {
    /// Occupies a slot.
    Live,
    /// Has a worktree, or is about to.
    HoldsWorktree,
}

/// The attempt machine.
#[derive(Debug, Default)]
pub struct Machine;

impl IntoStateMachine for Machine {
    type State = AttemptPhase;
    type Superstate<'sub> = Group;
    type Event<'evt> = AttemptInput;
    type Context<'ctx> = ();

    fn initial() -> AttemptPhase {
        AttemptPhase::Queued
    }
}

impl AttemptPhase {
    /// Whether it occupies a slot.
    pub fn is_live(self) -> bool {
        matches!(
            self,
            Self::Preparing | Self::Starting | Self::Working | Self::Gating | Self::Stopping
        )
    }

    /// Whether it has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Merged | Self::Failed | Self::Released)
    }
}

impl State<Machine> for AttemptPhase {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &AttemptInput,
        (): &mut (),
    ) -> Outcome<AttemptPhase> {
        use AttemptInput as I;
        match (*self, input) {
            (Self::Preparing, I::Prepared)
            | (Self::Backoff | Self::WaitingForHuman, I::Continue) => Transition(Self::Starting),
            (Self::Starting, I::Started) => Transition(Self::Working),
            (Self::Working, I::SaidComplete) => Transition(Self::Gating),
            (Self::Working | Self::Gating | Self::Starting, I::Hold)
            | (Self::WaitingForHuman, I::Answered)
            | (Self::ReadyToMerge | Self::Preparing, I::Returned) => Transition(Self::Backoff),
            (Self::Backoff, I::Prepare) => Transition(Self::Preparing),
            (Self::Working, I::NeedsHuman) => Transition(Self::WaitingForHuman),
            // A resolution needs no gate of its own: the merged tree is verified.
            (Self::Gating | Self::Working | Self::Backoff, I::GatePassed) => {
                Transition(Self::ReadyToMerge)
            }
            (Self::ReadyToMerge, I::Landed) => Transition(Self::Merged),
            // Its setup waits before it is repeated.
            (Self::Preparing, I::Hold) | (Self::Stopping, I::Stop) => Handled,
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        match self {
            Self::Queued | Self::Merged | Self::Failed | Self::Released => None,
            Self::WaitingForHuman | Self::Backoff | Self::ReadyToMerge => {
                Some(Group::HoldsWorktree)
            }
            Self::Preparing | Self::Starting | Self::Working | Self::Gating | Self::Stopping => {
                Some(Group::Live)
            }
        }
    }
}

impl Superstate<Machine> for Group {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &AttemptInput,
        (): &mut (),
    ) -> Outcome<AttemptPhase> {
        use AttemptInput as I;
        match (self, input) {
            (Self::Live, I::Stop) => Transition(AttemptPhase::Stopping),
            (Self::HoldsWorktree, I::Fail) => Transition(AttemptPhase::Failed),
            // An attempt with a worktree but no process ends at once.
            (Self::HoldsWorktree, I::Release | I::Stop) => Transition(AttemptPhase::Released),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        matches!(self, Self::Live).then_some(Group::HoldsWorktree)
    }
}

#[cfg(test)]
mod tests {
    use super::super::step;
    use super::*;

    #[test]
    fn an_attempt_can_be_stopped_in_every_phase_before_its_end() {
        use AttemptPhase::*;
        for phase in [Preparing, Starting, Working, Gating, Stopping] {
            assert_eq!(
                step::<Machine>(phase, &AttemptInput::Stop),
                Ok(Stopping),
                "{phase:?}"
            );
        }
        for phase in [WaitingForHuman, Backoff, ReadyToMerge] {
            assert_eq!(step::<Machine>(phase, &AttemptInput::Stop), Ok(Released));
        }
        for phase in [Merged, Failed, Released] {
            assert!(step::<Machine>(phase, &AttemptInput::Stop).is_err());
        }
    }

    #[test]
    fn an_ended_attempt_refuses_every_input() {
        for phase in [
            AttemptPhase::Merged,
            AttemptPhase::Failed,
            AttemptPhase::Released,
        ] {
            for input in [
                AttemptInput::Continue,
                AttemptInput::Landed,
                AttemptInput::Fail,
            ] {
                assert!(step::<Machine>(phase, &input).is_err());
            }
        }
    }
}
