//! Legal transitions, as statig machines over plain phases. The machines own nothing: [`step`]
//! works on a copy of the phase, and its result becomes an event. Replay assigns phases and never
//! runs a machine, so nothing happens twice.
//!
//! Invariant: this folder is the only place that uses statig. A super-state refuses an input that
//! it does not handle, so no input is lost. `attempt`, `merge` and `swarm` each have one machine;
//! `decide` runs them.

pub mod attempt;
pub mod merge;
pub mod swarm;

use std::fmt::Debug;

use statig::Outcome;
use statig::blocking::{IntoStateMachine, State, StateExt, Superstate};

pub use attempt::{AttemptInput, AttemptPhase};
pub use merge::{MergeInput, MergePhase};
pub use swarm::{SwarmInput, SwarmPhase};

/// An input that is illegal in the current phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{input} is not possible while {phase}")]
pub struct Illegal {
    /// Current phase, in lower case.
    pub phase: String,
    /// The input, in lower case.
    pub input: String,
}

/// Next phase, or why there is none. An input handled without a transition keeps the phase.
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
