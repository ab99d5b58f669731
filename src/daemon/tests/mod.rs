//! The real actor with the real ledger, writer, journal and snapshots, against a simple model. Only
//! the drivers are made up.
//!
//! `site` is a state directory and the daemons that live there one after the other, `model` what
//! must hold, `lives` what happens to them; `broken`, `no_room` and
//! `suspended` are stories told by hand.

mod broken;
mod lives;
mod model;
mod no_room;
mod site;
mod suspended;
