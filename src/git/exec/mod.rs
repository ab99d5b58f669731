//! Starts and stops git, and guards against what in a repository could block or hijack it.
//!
//! `command` is the only place that starts git, `child` follows a started one until it answers, and
//! `running` stops those still running at shutdown. `config_guard` pins settings that can run
//! programs, `lock_files` decides whether a lock's owner is alive, and `special_files` refuses
//! files that a read would block on. The whole room calls this.

pub(super) mod child;
pub(super) mod command;
pub(super) mod config_guard;
pub(super) mod lock_files;
pub(super) mod running;
pub(super) mod special_files;
