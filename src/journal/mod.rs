//! The event log: bytes on disk.

mod error;
pub mod record;
pub mod scan;
#[cfg(test)]
pub(crate) mod testing;
pub mod upcast;

pub use error::{AppendError, JournalError};
pub use record::{FORMAT, JournalEvent, MAX_LINE, Record};
