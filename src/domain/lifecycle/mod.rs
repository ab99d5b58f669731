//! Legal transitions, as statig machines over plain phases. The machines own nothing: [`step`]
//! works on a copy of the phase, and what it returns becomes an event. Replay assigns phases and
//! never runs a machine, so nothing fires twice.
//!
//! This folder is the only place that knows statig. A super-state that does not handle an input
//! refuses it: nothing vanishes.

pub mod attempt;
pub mod merge;
pub mod swarm;

use std::fmt::Debug;

use statig::Outcome;
use statig::blocking::{IntoStateMachine, State, StateExt, Superstate};

pub use attempt::{AttemptInput, AttemptPhase};
pub use merge::{MergeInput, MergePhase};
pub use swarm::{SwarmInput, SwarmPhase};

/// An input that has no meaning in the present phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{input} is not possible while {phase}")]
pub struct Illegal {
    /// The phase.
    pub phase: String,
    /// What was asked.
    pub input: String,
}

/// The phase that follows, or why none does. Handled without a transition means: it stays as it is.
pub fn step<M>(phase: M::State, input: &M::Event<'_>) -> Result<M::State, Illegal>
where
    M: for<'c> IntoStateMachine<Context<'c> = ()> + Default,
    M::State: State<M> + Copy + Debug + 'static,
    for<'s> M::Superstate<'s>: Superstate<M>,
    for<'e> M::Event<'e>: Debug,
{
    let mut copy = phase;
    match copy.handle(&mut M::default(), input, &mut ()) {
        Outcome::Transition(next) => Ok(next),
        Outcome::Handled => Ok(phase),
        Outcome::Super => Err(Illegal {
            phase: format!("{phase:?}").to_lowercase(),
            input: format!("{input:?}").to_lowercase(),
        }),
    }
}
