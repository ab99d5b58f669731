//! What the actor needs of the drivers.

use crate::domain::effect::Effect;
use crate::domain::ids::EffectId;

/// Where the actor's effects go.
pub(crate) trait Drivers: Send {
    /// Begins an effect; its outcome comes as an observation.
    fn dispatch(&self, id: EffectId, effect: Effect);
}
