//! Whether swarm can commit: an identity, a signature, and what its commits do not run.

use super::check::Check;
use crate::config::{Config, MergeSign};
use crate::daemon::preflight::{CommitNote, commit_notes};
use crate::git::Repo as GitRepo;

/// The checks of `commits`.
pub(super) fn commits(git: &GitRepo, config: Option<&Config>) -> Vec<Check> {
    const NAME: &str = "commits";
    let sign = config.map_or(MergeSign::Auto, |config| config.merge.sign);
    let notes = match commit_notes(sign, git) {
        Ok(notes) => notes,
        Err(error) => return vec![Check::fail(NAME, error.to_string())],
    };
    let check = |CommitNote { what, way_out }| match way_out {
        Some(way_out) => Check::warn(NAME, what).advice(way_out),
        None => Check::ok(NAME, what),
    };
    notes.into_iter().map(check).collect()
}
