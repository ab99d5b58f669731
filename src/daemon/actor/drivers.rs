//! The interface through which the actor starts effects; `effects::dispatch` implements it.

use crate::domain::effect::Effect;
use crate::domain::ids::EffectId;

/// Carries out the actor's effects.
pub(crate) trait Drivers: Send {
    /// Starts an effect; its outcome comes as an observation.
    fn dispatch(&self, id: EffectId, effect: Effect);
}
