//! Outcomes as tests write them down: commits by number, and only what a test is about.

use super::oid;
use crate::domain::effect::{ConflictLevel, Saved};
use crate::domain::observation::Outcome;

/// A new worktree on the first commit.
pub(crate) fn prepared() -> Outcome {
    Outcome::WorktreePrepared {
        head: oid(1),
        base: oid(1),
    }
}

pub(crate) fn sealed(head: u64, committed: bool) -> Outcome {
    let head = oid(head);
    Outcome::Sealed { head, committed }
}

pub(crate) fn work_saved(tip: u64, wip: Option<u64>) -> Outcome {
    let (tip, wip) = (oid(tip), wip.map(oid));
    Outcome::WorkSaved {
        saved: Saved { tip, wip },
        committed: true,
    }
}

pub(crate) fn built(commit: u64, target: u64) -> Outcome {
    Outcome::Built {
        commit: oid(commit),
        target: oid(target),
        resolved: vec![],
    }
}

/// A conflict with commit 9 of the target.
pub(crate) fn conflicted(level: ConflictLevel, files: &[impl ToString]) -> Outcome {
    Outcome::Conflicted {
        target: oid(9),
        level,
        files: names(files),
    }
}

pub(crate) fn target_rewritten(found: u64) -> Outcome {
    Outcome::TargetRewritten {
        found: oid(found),
        dropped: vec![],
    }
}

pub(crate) fn target_moved(found: u64) -> Outcome {
    Outcome::TargetMoved { found: oid(found) }
}

pub(crate) fn checkout_blocked(reason: &str, files: &[&str]) -> Outcome {
    Outcome::CheckoutBlocked {
        reason: reason.to_owned(),
        files: names(files),
    }
}

pub(crate) fn resolution_started(head: u64, files: &[&str]) -> Outcome {
    Outcome::ResolutionStarted {
        head: oid(head),
        files: names(files),
        left_out: None,
    }
}

pub(crate) fn resolution_finished(head: u64) -> Outcome {
    Outcome::ResolutionFinished {
        head: oid(head),
        left_out: None,
    }
}

pub(crate) fn still_conflicted(files: &[&str]) -> Outcome {
    let files = names(files);
    Outcome::StillConflicted { files }
}

fn names(files: &[impl ToString]) -> Vec<String> {
    files.iter().map(ToString::to_string).collect()
}
