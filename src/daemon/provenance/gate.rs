//! The quality commands that judged an iteration's work, with the tests that they counted.

use std::path::Path;

use crate::agents::test_status::TestStatus;
use crate::daemon::runs::prompt_inputs::output_tail;
use crate::domain::state::records::GateResult;
use crate::view::provenance::outputs::GateCommand;

/// What a person is told of a command that exited by itself.
const EXIT_CODE: &str = "exit code ";

/// The commands in order. Test counts come from the end of their output, if that is still there.
pub(super) fn commands(runs: &Path, gate: &[GateResult]) -> Vec<GateCommand> {
    gate.iter().map(|result| command(runs, result)).collect()
}

fn command(runs: &Path, result: &GateResult) -> GateCommand {
    let tests = TestStatus::from_output(&output_tail(runs, &result.run));
    // Other ends, such as a signal, have no exit code.
    let failed_with = || result.how.as_deref()?.strip_prefix(EXIT_CODE)?.parse().ok();
    GateCommand {
        command: result.command.clone(),
        run: result.run.to_string(),
        ok: result.passed,
        code: match result.passed {
            Some(true) => Some(0),
            Some(false) => failed_with(),
            None => None,
        },
        how: result.how.clone(),
        passed: tests.map(|tests| tests.passed),
        failed: tests.map(|tests| tests.failed),
    }
}
