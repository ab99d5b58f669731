//! Runs this program's own probe of the quality commands, as any check runs, and reads its report.
//!
//! Invariant: the report is complete or absent, and reading it again gives the same. Called by
//! `launch` and `run`.

use crate::crash;
use crate::daemon::checks_probe;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::runs::launch::target_check;
use crate::daemon::runs::prepared::{Prepared, other};
use crate::domain::effect::{Purpose, TargetTree};
use crate::domain::event::Findings;
use crate::domain::ids::RunId;
use crate::domain::observation::RunEndKind;
use crate::domain::outcome::Failure;
use crate::probe;
use crate::process::RunDir;

/// The process and its task.
pub(in crate::daemon::runs) fn prepare(
    context: &DriverContext,
    run: &RunId,
) -> Result<Prepared, Failure> {
    let mut spec = target_check(context, run, "true", TargetTree::Verify)?;
    let task = checks_probe::task(context, &spec).map_err(other)?;
    let folder = context.paths.runs.join(run.as_str());
    let folder = folder.to_str().ok_or_else(|| {
        Failure::other(format!(
            "its path is not UTF-8: {}",
            folder.to_string_lossy()
        ))
    })?;
    let exe = context.exe.to_str();
    let exe = exe.ok_or_else(|| Failure::other("the path of swarm is not UTF-8"))?;
    exe.clone_into(&mut spec.program);
    spec.args = vec![probe::PROBE.to_owned(), folder.to_owned()];
    let task = serde_json::to_vec(&task).map_err(other)?;
    Ok((spec, vec![(probe::TASK, task)]))
}

/// What a probe that has ended found out; `None` if it wrote no report. Keeps the report for
/// people. Blocks.
pub(in crate::daemon::runs) fn findings(
    context: &DriverContext,
    dir: &RunDir,
    purpose: &Purpose,
    how: &RunEndKind,
) -> Option<Box<Findings>> {
    let Purpose::Canary { commit, .. } = purpose else {
        return None;
    };
    if *how != (RunEndKind::Exited { code: 0 }) {
        return None;
    }
    let report = probe::read_report(dir.path())?;
    crash::point("probe.reported");
    let found = checks_probe::keep(&context.paths, &context.config(), commit, report);
    crash::point("probe.kept");
    Some(Box::new(found))
}
