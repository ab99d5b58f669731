//! The swarm as a whole: recovering -> *accepting* {running, pausing, paused} -> rolling back ->
//! draining -> stopped.

use serde::{Deserialize, Serialize};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking::{IntoStateMachine, State, Superstate};

/// Where the swarm stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum SwarmPhase {
    /// No daemon, or it ended cleanly.
    #[default]
    Stopped,
    /// A daemon has read the log and looks at what an earlier one left.
    Recovering,
    /// Ideas are started.
    Running,
    /// Nothing is started; attempts run to their boundary.
    Pausing,
    /// Nothing runs.
    Paused,
    /// A rollback is under way.
    RollingBack,
    /// The daemon is ending.
    Draining,
}

/// What can happen to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwarmInput {
    /// A daemon started.
    Start,
    /// All unfinished effects are dispatched; `paused`: a pause is in force.
    Recovered {
        /// Whether a pause is in force.
        paused: bool,
    },
    /// Hold.
    Pause,
    /// Go on.
    Resume,
    /// No attempt is live any more.
    Quiet,
    /// Take the target and the ideas back to a checkpoint.
    RollBack,
    /// That is over, one way or the other; `paused`: a pause is in force.
    RolledBack {
        /// Whether a pause is in force.
        paused: bool,
    },
    /// End the daemon.
    Shutdown,
    /// End the daemon at once; agents go on under their runners.
    Leave,
}

/// What all phases that take commands have in common.
#[derive(Debug)]
pub enum Group {
    /// Running, pausing, paused.
    Accepting,
    /// Everything: a daemon can start at any time, for the earlier one may have been killed in any
    /// phase.
    Any,
}

/// The machine.
#[derive(Debug, Default)]
pub struct Machine;

impl IntoStateMachine for Machine {
    type State = SwarmPhase;
    type Superstate<'sub> = Group;
    type Event<'evt> = SwarmInput;
    type Context<'ctx> = ();

    fn initial() -> SwarmPhase {
        SwarmPhase::Stopped
    }
}

impl State<Machine> for SwarmPhase {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &SwarmInput,
        (): &mut (),
    ) -> Outcome<SwarmPhase> {
        match (*self, input) {
            // What an earlier daemon left running comes to its boundary first.
            (Self::Recovering, SwarmInput::Recovered { paused: true })
            | (Self::RollingBack, SwarmInput::RolledBack { paused: true })
            | (Self::Running, SwarmInput::Pause) => Transition(Self::Pausing),
            (Self::Pausing, SwarmInput::Quiet) => Transition(Self::Paused),
            (Self::Recovering, SwarmInput::Recovered { paused: false })
            | (Self::RollingBack, SwarmInput::RolledBack { paused: false })
            | (Self::Pausing | Self::Paused, SwarmInput::Resume) => Transition(Self::Running),
            (Self::Running, SwarmInput::Resume)
            | (Self::Pausing | Self::Paused, SwarmInput::Pause)
            | (Self::Draining, SwarmInput::Shutdown) => Handled,
            (Self::Draining, SwarmInput::Quiet) => Transition(Self::Stopped),
            // A rollback that an earlier daemon began goes on; one that is under way when the
            // daemon ends goes on with the next.
            (Self::Recovering, SwarmInput::RollBack) => Transition(Self::RollingBack),
            (Self::Recovering | Self::RollingBack, SwarmInput::Shutdown) => {
                Transition(Self::Draining)
            }
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        Some(match self {
            Self::Running | Self::Pausing | Self::Paused => Group::Accepting,
            Self::Stopped | Self::Recovering | Self::RollingBack | Self::Draining => Group::Any,
        })
    }
}

impl Superstate<Machine> for Group {
    fn call_handler(
        &mut self,
        _: &mut Machine,
        input: &SwarmInput,
        (): &mut (),
    ) -> Outcome<SwarmPhase> {
        match (self, input) {
            (Self::Accepting, SwarmInput::Shutdown) => Transition(SwarmPhase::Draining),
            (Self::Accepting, SwarmInput::RollBack) => Transition(SwarmPhase::RollingBack),
            (Self::Any, SwarmInput::Start) => Transition(SwarmPhase::Recovering),
            (Self::Any, SwarmInput::Leave) => Transition(SwarmPhase::Stopped),
            _ => Super,
        }
    }

    fn superstate(&mut self) -> Option<Group> {
        matches!(self, Self::Accepting).then_some(Group::Any)
    }
}

#[cfg(test)]
mod tests {
    use super::super::step;
    use super::*;

    #[test]
    fn a_daemon_can_start_in_whatever_phase_the_earlier_one_was_killed() {
        use SwarmPhase::*;
        for phase in [
            Stopped,
            Recovering,
            Running,
            Pausing,
            Paused,
            RollingBack,
            Draining,
        ] {
            assert_eq!(step::<Machine>(phase, &SwarmInput::Start), Ok(Recovering));
        }
    }

    #[test]
    fn pausing_goes_by_way_of_quiet_and_repeating_is_harmless() {
        let phase = step::<Machine>(SwarmPhase::Running, &SwarmInput::Pause).unwrap();
        assert_eq!(phase, SwarmPhase::Pausing);
        assert_eq!(step::<Machine>(phase, &SwarmInput::Pause), Ok(phase));
        assert_eq!(
            step::<Machine>(phase, &SwarmInput::Quiet),
            Ok(SwarmPhase::Paused)
        );
        assert!(step::<Machine>(SwarmPhase::Stopped, &SwarmInput::Pause).is_err());
    }
}
