//! The swarm as a whole: recovering -> *accepting* {running, pausing, paused} -> rolling back ->
//! draining -> stopped.
//!
//! Invariant: a daemon can start in every phase, since the last one may have been killed in any.

use serde::{Deserialize, Serialize};
use statig::Outcome::{self, Handled, Super, Transition};
use statig::blocking::{IntoStateMachine, State, Superstate};

/// Phase of the swarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum SwarmPhase {
    /// No daemon is running, or it ended cleanly.
    #[default]
    Stopped,
    /// A daemon has read the log and checks what an earlier one left.
    Recovering,
    /// Ideas are being started.
    Running,
    /// Nothing new starts; attempts finish their current iteration.
    Pausing,
    /// Nothing is running.
    Paused,
    /// A rollback is in progress.
    RollingBack,
    /// The daemon is shutting down.
    Draining,
}

/// Inputs of the swarm machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwarmInput {
    /// A daemon started.
    Start,
    /// All unfinished effects have been dispatched.
    Recovered {
        /// Whether a pause is in force.
        paused: bool,
    },
    /// A pause was requested.
    Pause,
    /// A resume was requested.
    Resume,
    /// No attempt is live.
    Quiet,
    /// A rollback to a checkpoint was requested.
    RollBack,
    /// The rollback is done or abandoned.
    RolledBack {
        /// Whether a pause is in force.
        paused: bool,
    },
    /// A shutdown was requested.
    Shutdown,
    /// The daemon exits at once; agents keep running under their runners.
    Leave,
}

/// Groups of phases with common transitions.
#[derive(Debug)]
pub enum Group {
    /// Running, pausing and paused.
    Accepting,
    /// Every phase: a daemon can start at any time.
    Any,
}

/// The swarm machine.
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
            // Runs left by an earlier daemon finish their iteration first.
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
            // A rollback that an earlier daemon started continues, and one in progress at shutdown
            // continues with the next.
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
    fn a_daemon_can_start_in_every_phase() {
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
    fn a_pause_waits_until_quiet_and_may_be_repeated() {
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
