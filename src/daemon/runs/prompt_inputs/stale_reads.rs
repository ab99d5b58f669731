//! Which files an agent read in its conversation and others changed after its last iteration: a
//! resolver, a person, a check that rewrites files, a rollback.
//!
//! Invariant: only reads, and only where the worktree is not as the agent left it. What cannot be
//! read is not told: the agent then works as it would without this.

use std::collections::BTreeSet;
use std::io;

use super::launch_record::{self, read_output, reader_of};
use crate::agents::adapter::StartedAs;
use crate::agents::stream::Said;
use crate::daemon::effects::context::DriverContext;
use crate::domain::ids::RunId;
use crate::domain::reads::Collector;
use crate::domain::state::Attempt;
use crate::git::{GitError, Oid, TreeAt};
use crate::plain_file;
use crate::process::RunDir;
use crate::view::{self, RunPurpose};

/// The paths, sorted. `now` is the worktree as the next iteration finds it.
pub(super) fn find(
    context: &DriverContext,
    attempt: &Attempt,
    now: Option<&TreeAt>,
) -> Vec<String> {
    let (Some(now), Some(left)) = (now, left_behind(attempt)) else {
        return Vec::new();
    };
    if left == now.tree {
        return Vec::new();
    }
    let changed = match changed(context, left, now.tree) {
        Ok(changed) => changed,
        Err(error) => {
            tracing::warn!(%error, worktree = attempt.worktree,
                "what others changed in a worktree cannot be told to its agent");
            return Vec::new();
        }
    };
    if changed.is_empty() {
        return Vec::new();
    }
    let worktree = context.paths.worktree(&attempt.worktree);
    let mut reads = Collector::new(worktree.to_string_lossy().into_owned(), |path| {
        changed.contains(path)
    });
    for (run, started) in conversation(context, attempt) {
        if let Err(error) = collect(context, &run, &started, &mut reads) {
            tracing::warn!(%run, %error, "what this run read cannot be told to its agent");
        }
    }
    let paths: BTreeSet<String> = reads.finish().into_iter().map(|read| read.path).collect();
    paths.into_iter().collect()
}

/// The files of the worktree when its own last iteration ended.
fn left_behind(attempt: &Attempt) -> Option<Oid> {
    Oid::from_str(attempt.left.as_deref()?).ok()
}

fn changed(context: &DriverContext, left: Oid, now: Oid) -> Result<BTreeSet<String>, GitError> {
    if !context.repo.has_object(left)? {
        return Ok(BTreeSet::new());
    }
    let changes = context.repo.tree_changes(left, now)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// The iterations of the attempt that its conversation consists of, the newest first.
fn conversation(context: &DriverContext, attempt: &Attempt) -> Vec<(RunId, StartedAs)> {
    let mut found = Vec::new();
    let is_iteration = |run: &&RunId| matches!(view::run(run).purpose, RunPurpose::Iteration(_));
    for run in attempt.runs.iter().rev().filter(is_iteration) {
        let started = match launch_record::started_as(&context.paths.runs.join(run.as_str())) {
            Ok(started) => started,
            // The run that is being prepared.
            Err(error) if found.is_empty() && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                tracing::warn!(%run, %error, "what this run and those before it read cannot be \
                    told to its agent");
                break;
            }
        };
        let of_another = |profile: &String| profile != attempt.profile.as_str();
        if started.profile.as_ref().is_some_and(of_another) {
            // A resolver has a conversation of its own.
            continue;
        }
        let goes_on = started.resumed;
        found.push((run.clone(), started));
        if !goes_on {
            break;
        }
    }
    found
}

/// Adds what the calls in a run's output read.
fn collect(
    context: &DriverContext,
    run: &RunId,
    started: &StartedAs,
    reads: &mut Collector<'_>,
) -> io::Result<()> {
    let dir = RunDir::open(&context.paths.runs, run.as_str()).map_err(io::Error::other)?;
    let output = plain_file::open(&dir.stdout())?;
    read_output(output, reader_of(started), |said| {
        for said in said {
            if let Said::ToolCall { tool, input, .. } = said {
                reads.add(&tool, &input);
            }
        }
    })
}
