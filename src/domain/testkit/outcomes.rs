//! Outcomes as tests write them down: commits by number, and only what a test is about.

use super::oid;
use crate::domain::effect::{ConflictLevel, Saved};
use crate::domain::ids::IdeaId;
use crate::domain::likeness;
use crate::domain::outcome::{
    BuildMergeOutcome, CheckoutBlocked, Failure, FailureKind, FinishResolutionOutcome, Judgement,
    LandOutcome, ReplayMeasured, ResolutionStarted, Rewrite, SaveWorkOutcome, SealOutcome,
    TreeSetup, VerifyReady, WorktreePrepared,
};

pub(crate) fn failed(kind: FailureKind, message: &str) -> Failure {
    let message = message.to_owned();
    Failure { kind, message }
}

/// The files that the setup depends on are always the same.
pub(crate) fn tree_setup() -> TreeSetup {
    TreeSetup {
        key: Some("key".into()),
        not_copied: vec![],
    }
}

/// A prepared merge worktree, which still has the files of its last use.
pub(crate) fn verify_ready() -> VerifyReady {
    VerifyReady {
        warm: true,
        setup: tree_setup(),
        probe: None,
    }
}

/// A new worktree on the first commit.
pub(crate) fn prepared() -> WorktreePrepared {
    WorktreePrepared {
        head: oid(1),
        base: oid(1),
        warm: false,
        setup: tree_setup(),
    }
}

pub(crate) fn sealed(head: u64, committed: bool) -> SealOutcome {
    let head = oid(head);
    SealOutcome::Sealed {
        head,
        committed,
        setup: tree_setup().key,
        links: vec![],
    }
}

pub(crate) fn work_saved(tip: u64, wip: Option<u64>) -> SaveWorkOutcome {
    let (tip, wip) = (oid(tip), wip.map(oid));
    SaveWorkOutcome::Saved {
        saved: Saved { tip, wip },
        committed: true,
    }
}

pub(crate) fn built(commit: u64, target: u64) -> BuildMergeOutcome {
    BuildMergeOutcome::Built {
        commit: oid(commit),
        target: oid(target),
        resolved: vec![],
    }
}

/// A conflict with commit 9 of the target.
pub(crate) fn conflicted(level: ConflictLevel, files: &[impl ToString]) -> BuildMergeOutcome {
    BuildMergeOutcome::Conflicted {
        target: oid(9),
        level,
        files: names(files),
    }
}

/// Without these landed ideas.
pub(crate) fn target_rewritten(found: u64, dropped: &[u64]) -> BuildMergeOutcome {
    BuildMergeOutcome::TargetRewritten(rewrite(found, dropped))
}

/// A rewrite that dropped the work of these ideas.
pub(crate) fn rewrite(found: u64, dropped: &[u64]) -> Rewrite {
    Rewrite {
        found: oid(found),
        kept: vec![],
        dropped: dropped.iter().copied().map(IdeaId::numbered).collect(),
    }
}

pub(crate) fn target_moved(found: u64) -> LandOutcome {
    LandOutcome::TargetMoved { found: oid(found) }
}

pub(crate) fn checkout_blocked(reason: &str, files: &[&str]) -> CheckoutBlocked {
    CheckoutBlocked {
        reason: reason.to_owned(),
        files: names(files),
        passes: false,
    }
}

pub(crate) fn land_blocked(reason: &str, files: &[&str]) -> LandOutcome {
    LandOutcome::CheckoutBlocked(checkout_blocked(reason, files))
}

pub(crate) fn resolution_started(head: u64, files: &[&str]) -> ResolutionStarted {
    ResolutionStarted {
        head: oid(head),
        files: names(files),
        left_out: None,
        saved: None,
    }
}

pub(crate) fn resolution_finished(head: u64) -> FinishResolutionOutcome {
    FinishResolutionOutcome::Finished {
        head: oid(head),
        left_out: None,
    }
}

pub(crate) fn still_conflicted(files: &[&str]) -> FinishResolutionOutcome {
    let files = names(files);
    FinishResolutionOutcome::StillConflicted { files }
}

fn names(files: &[impl ToString]) -> Vec<String> {
    files.iter().map(ToString::to_string).collect()
}

/// An exact match, or why there is none.
pub(crate) fn replay_measured(why: Option<&str>) -> ReplayMeasured {
    let outcome = likeness::Outcome::default();
    let likeness = likeness::likeness(&outcome, &outcome);
    let judgement = Judgement {
        verdict: likeness.verdict(),
        measures: likeness.into(),
    };
    ReplayMeasured {
        judgement: why.map_or(Ok(judgement), |why| Err(why.to_owned())),
    }
}
