//! Quality commands that nothing can pass, as the shell does not find or may not run their program.
//!
//! Invariant: said as long as it is so: until the command runs, or the configuration is another. To agents it is a failure like any other, as
//! one of them may be about to write that program.

use super::plan::Plan;
use crate::domain::observation::RunEndKind;

/// Begins the key of the warning; the place of the command follows.
const KEY: &str = "quality-";

/// A quality command has ended in this way.
pub(super) fn watch(plan: &mut Plan<'_>, index: usize, command: &str, how: &RunEndKind) {
    let RunEndKind::Exited { code } = how else {
        return;
    };
    let key = format!("{KEY}{index}");
    let why = match code {
        // As POSIX has it for a shell.
        126 => "its program may not be run",
        127 => "its program is not found",
        _ => return plan.clear_warning(&key),
    };
    plan.warn(
        &key,
        &format!(
            "the quality command `{command}` ends with exit code {code}, as of a shell when {why}: nothing can pass it, and agents go on trying at \
             their price; mend that, or qualityCommands in .swarm/config.json"
        ),
    );
}

/// Another configuration holds from now on.
pub(super) fn configured(plan: &mut Plan<'_>) {
    let keys = plan.state.warnings.keys();
    let ours: Vec<String> = keys.filter(|key| key.starts_with(KEY)).cloned().collect();
    for key in ours {
        plan.clear_warning(&key);
    }
}
