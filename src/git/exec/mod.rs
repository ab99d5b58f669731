//! Starting git and ending it, and what in a repository can get in its way.
//!
//! `command` is the only place that starts git; `child` follows a started one to its answer;
//! `running` ends those still running when the daemon ends. `config_guard` pins the settings that
//! can run programs, `lock_files` decides whether a lock file's owner is alive, and `special_files`
//! opens nothing that a read would never come back from. The whole room calls this.

pub(super) mod child;
pub(super) mod command;
pub(super) mod config_guard;
pub(super) mod lock_files;
pub(super) mod running;
pub(super) mod special_files;
