//! Quality commands that nothing can pass, as the shell does not find or may not run their program,
//! or as they do not end in their time.
//!
//! Invariant: said as long as it is so: until the command runs to its end, or the configuration is
//! another. To agents it is a failure like any other, as one of them may be about to write that
//! program.

use super::decision::Plan;
use crate::domain::observation::RunEndKind;

/// Begins the key of the warning; the place of the command follows.
const KEY: &str = "quality-";
/// What to do about a program.
const MEND: &str = "mend that, or qualityCommands in .swarm/config.json";

/// A quality command has ended in this way.
pub(super) fn watch(plan: &mut Plan<'_>, index: usize, command: &str, how: &RunEndKind) {
    let key = format!("{KEY}{index}");
    let (what, cure) = match how {
        // As POSIX has it for a shell.
        RunEndKind::Exited { code: code @ 126 } => (of_shell(*code, "may not be run"), MEND),
        RunEndKind::Exited { code: code @ 127 } => (of_shell(*code, "is not found"), MEND),
        RunEndKind::Exited { .. } => return plan.clear_warning(&key),
        RunEndKind::TimedOut => (
            format!("did not end within {}", limit(plan)),
            "have it end, or raise qualityTimeoutMinutes in .swarm/config.json",
        ),
        // None of these says whether the command works.
        RunEndKind::Signalled { .. }
        | RunEndKind::Idle
        | RunEndKind::Stopped
        | RunEndKind::LeaseExpired
        | RunEndKind::OutputLimit
        | RunEndKind::NotStarted { .. }
        | RunEndKind::Lost => return,
    };
    plan.warn(
        &key,
        &format!(
            "the quality command `{command}` {what}: nothing passes it, and agents go on \
            trying at their price; {cure}"
        ),
    );
}

fn of_shell(code: i32, why: &str) -> String {
    format!("ends with exit code {code}, as of a shell when its program {why}")
}

/// The time that a quality command has.
fn limit(plan: &Plan<'_>) -> String {
    let settings = plan.state.settings.as_deref();
    let minutes = settings.map_or(0, |settings| settings.quality_timeout_ms / 60_000);
    format!("{minutes} min (qualityTimeoutMinutes)")
}

/// Another configuration holds from now on.
pub(super) fn configured(plan: &mut Plan<'_>) {
    let keys = plan.state.warnings.keys();
    let ours: Vec<String> = keys.filter(|key| key.starts_with(KEY)).cloned().collect();
    for key in ours {
        plan.clear_warning(&key);
    }
}
