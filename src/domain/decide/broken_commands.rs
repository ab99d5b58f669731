//! Warns about quality commands that nothing can pass: the shell cannot find or execute the
//! program, or it never finishes in time.
//!
//! Invariant: the warning stays until the command runs to its end or the configuration changes. For
//! agents it is an ordinary failure, since one may be about to write that program. Called when a
//! quality command ends.

use super::decision::Plan;
use crate::domain::observation::RunEndKind;

/// Key prefix of the warning; the index of the command follows.
const KEY: &str = "quality-";
/// Advice for a program that cannot run.
const FIX_COMMAND: &str = "fix it, or change qualityCommands in .swarm/config.json";

/// Raises or clears the warning when a quality command has ended.
pub(super) fn watch(plan: &mut Plan<'_>, index: usize, command: &str, how: &RunEndKind) {
    let key = format!("{KEY}{index}");
    let (what, cure) = match how {
        // Exit codes of a shell, from POSIX.
        RunEndKind::Exited { code: code @ 126 } => (of_shell(*code, "execute"), FIX_COMMAND),
        RunEndKind::Exited { code: code @ 127 } => (of_shell(*code, "find"), FIX_COMMAND),
        RunEndKind::Exited { .. } => return plan.clear_warning(&key),
        RunEndKind::TimedOut => (
            format!("did not finish within {}", limit(plan)),
            "speed it up, or raise qualityTimeoutMinutes in .swarm/config.json",
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
            "the quality command `{command}` {what}. Nothing can pass it, and agents keep trying \
            at your cost; {cure}"
        ),
    );
}

fn of_shell(code: i32, why: &str) -> String {
    format!("fails with exit code {code}: the shell cannot {why} its program")
}

/// Time limit of a quality command, for people.
fn limit(plan: &Plan<'_>) -> String {
    let settings = plan.state.settings.as_deref();
    let minutes = settings.map_or(0, |settings| settings.quality_timeout_ms / 60_000);
    format!("{minutes} min (qualityTimeoutMinutes)")
}

/// Clears warnings about commands that a new configuration changed.
pub(super) fn configured(plan: &mut Plan<'_>) {
    let keys = plan.state.warnings.keys();
    let ours: Vec<String> = keys.filter(|key| key.starts_with(KEY)).cloned().collect();
    for key in ours {
        plan.clear_warning(&key);
    }
}
