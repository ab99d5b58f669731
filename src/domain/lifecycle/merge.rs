//! One entry of the merge queue: queued -> building -> *conflicted* {resolver, person} -> queued;
//! building -> verifying -> landing. A landed entry is removed.
//!
//! Invariant: at most one entry is building, verifying or landing. A conflicted entry steps aside
//! and returns to its place. A SIMPLE conflict is resolved while building.

use serde::{Deserialize, Serialize};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking::{IntoStateMachine, State, Superstate};

/// Phase of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergePhase {
    /// Waiting for its turn.
    Queued,
    /// Its merge commit is being built.
    Building,
    /// A resolver agent must resolve the conflict.
    Resolver,
    /// A person must resolve the conflict.
    Person,
    /// The quality commands run on the merged tree.
    Verifying,
    /// The target is being moved.
    Landing,
}

/// Inputs of the merge machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(strum::VariantArray))]
pub enum MergeInput {
    /// It is its turn.
    Build,
    /// The merge commit exists.
    Built,
    /// The conflict is for a resolver agent.
    ToResolver,
    /// The conflict is for a person.
    ToPerson,
    /// The merged tree passed.
    Verified,
    /// It returns to the queue.
    Requeue,
}

/// Groups of phases with common transitions.
#[derive(Debug)]
pub enum Group {
    /// Blocks the queue: building, verifying or landing.
    Busy,
    /// Waiting for a conflict to be resolved.
    Conflicted,
}

/// The merge machine.
#[derive(Debug, Default)]
pub struct Machine;

impl IntoStateMachine for Machine {
    type State = MergePhase;
    type Superstate<'sub> = Group;
    type Event<'evt> = MergeInput;
    type Context<'ctx> = ();

    fn initial() -> MergePhase {
        MergePhase::Queued
    }
}

impl MergePhase {
    /// Whether this entry blocks the queue.
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Building | Self::Verifying | Self::Landing)
    }
}

impl State<Machine> for MergePhase {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &MergeInput,
        (): &mut (),
    ) -> Outcome<MergePhase> {
        use MergeInput as I;
        match (*self, input) {
            (Self::Queued, I::Build) => Transition(Self::Building),
            // Already with a person, now for another reason.
            (Self::Queued, I::Requeue) | (Self::Person, I::ToPerson) => Handled,
            (Self::Building, I::Built) => Transition(Self::Verifying),
            (Self::Building | Self::Resolver, I::ToPerson) => Transition(Self::Person),
            (Self::Building, I::ToResolver) => Transition(Self::Resolver),
            (Self::Verifying, I::Verified) => Transition(Self::Landing),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        match self {
            Self::Building | Self::Verifying | Self::Landing => Some(Group::Busy),
            Self::Resolver | Self::Person => Some(Group::Conflicted),
            Self::Queued => None,
        }
    }
}

impl Superstate<Machine> for Group {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &MergeInput,
        (): &mut (),
    ) -> Outcome<MergePhase> {
        if *input == MergeInput::Requeue {
            Transition(MergePhase::Queued)
        } else {
            Super
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::step;
    use super::*;

    #[test]
    fn only_a_verified_tree_can_land() {
        use MergePhase::*;
        for phase in [Queued, Building, Resolver, Person, Landing] {
            assert!(
                step::<Machine>(phase, &MergeInput::Verified).is_err(),
                "{phase:?}"
            );
        }
    }
}
