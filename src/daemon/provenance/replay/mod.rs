//! Repeats a recorded iteration: `prompt` says what the agent is told, `measure` what the result is
//! like, and `verdict` keeps that beside the record.
//!
//! Invariant: a record never changes, and only an intact one is repeated. The run works in the
//! worktree `replay`, which [`judge`] removes; it never lands, and no reference keeps its files.
//! Called by `runs::replay` before the run, and by the dispatcher after it.

mod measure;
mod prompt;
pub mod verdict;

use std::io;

use super::inputs::files_of;
use super::store;
use crate::crash;
use crate::daemon::Paths;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::kind_of;
use crate::domain::effect::JudgeReplay;
use crate::domain::ids::RunId;
use crate::domain::outcome::{Failure, ReplayMeasured};
use crate::git::TreeAt;
use crate::view::provenance::Record;

/// What a replay begins with.
#[derive(Debug)]
pub(crate) struct Start {
    /// The files that the iteration found.
    pub(crate) files: TreeAt,
    /// What the agent is told.
    pub(crate) prompt: String,
    /// What the environment says about the iteration: its program may depend on it.
    pub(crate) said: Said,
}

/// What the environment said about a recorded iteration.
#[derive(Debug)]
pub(crate) struct Said {
    /// The idea.
    pub(crate) idea: String,
    /// The agent.
    pub(crate) agent: String,
    /// Number of the attempt.
    pub(crate) attempt: u32,
    /// Number of the iteration.
    pub(crate) iteration: u32,
}

/// The intact record of this digest.
fn load(paths: &Paths, run: &RunId, sha256: &str) -> io::Result<Result<Record, String>> {
    let Ok(content) = store::read_intact(paths, run, sha256)? else {
        return Ok(Err(format!("the record of {run} is missing or damaged")));
    };
    let record = serde_json::from_slice(&content);
    Ok(record.map_err(|error| format!("the record of {run} cannot be read: {error}")))
}

/// What a replay of this record begins with, or why there can be none. Blocks.
pub(crate) fn start_of(paths: &Paths, record: &Record) -> io::Result<Result<Start, String>> {
    let Some(files) = files_of(&record.inputs.before) else {
        let why = "it does not say which files the iteration found";
        return Ok(Err(why.to_owned()));
    };
    let said = Said {
        idea: record.workflow_id.clone(),
        agent: record.agent.clone(),
        attempt: record.attempt,
        iteration: record.iteration,
    };
    let prompt = prompt::of(paths, record)?;
    Ok(prompt.map(|prompt| Start {
        files,
        prompt,
        said,
    }))
}

/// What the replay of the record with this digest begins with. Blocks.
pub(crate) fn start(paths: &Paths, run: &RunId, sha256: &str) -> Result<Start, Failure> {
    let failed = |error: io::Error| Failure {
        kind: kind_of(&error),
        message: format!("the record of {run} cannot be read: {error}"),
    };
    let record = load(paths, run, sha256).map_err(failed)?;
    let record = record.map_err(Failure::other)?;
    let start = start_of(paths, &record).map_err(failed)?;
    start.map_err(Failure::other)
}

/// Compares a replay with its record and removes its worktree. Repeated, it gives what it gave
/// before. Blocks.
pub(crate) fn judge(
    context: &DriverContext,
    effect: &JudgeReplay,
) -> Result<ReplayMeasured, Failure> {
    let failed = |error: io::Error| Failure {
        kind: kind_of(&error),
        message: format!("the verdict of {} cannot be kept: {error}", effect.run),
    };
    let known = verdict::read(&context.paths, &effect.of).map_err(failed)?;
    let known = known.filter(|it| it.run == effect.run);
    let measured = match known.and_then(verdict::measured) {
        Some(measured) => Ok(measured),
        None => compare(context, effect).and_then(|measured| {
            let judged = verdict::of(effect, &measured);
            verdict::write(&context.paths, &judged).map_err(failed)?;
            Ok(measured)
        }),
    };
    crash::point("replay.written");
    // The verdict stands without it, and the next replay discards what is left.
    if let Err(error) = context.repo.discard_replay_tree() {
        tracing::warn!(%error, "the worktree of a replay cannot be removed now");
    }
    measured
}

fn compare(context: &DriverContext, effect: &JudgeReplay) -> Result<ReplayMeasured, Failure> {
    let measured = measure::measure(context, effect)?;
    crash::point("replay.measured");
    Ok(measured)
}
