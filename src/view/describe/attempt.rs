//! The longer lines of events about attempts.

use super::event_parts::short;
use crate::domain::event::{
    AgentRedirected, AttemptSealed, GateExcused, IterationJudged, WorkSaved,
};

pub(super) fn judged(judged: &IterationJudged) -> String {
    let IterationJudged {
        agent,
        empty,
        at_once,
    } = judged;
    let what = match (empty, at_once) {
        (true, _) => "wrote nothing",
        (_, true) => "ended at once",
        _ => "gave no result yet",
    };
    format!("{agent}: the iteration {what}")
}

pub(super) fn sealed(sealed: &AttemptSealed) -> String {
    let AttemptSealed {
        agent,
        head,
        committed,
        links,
        empty,
        ..
    } = sealed;
    if *empty {
        return format!("{agent} said it was done and changed nothing");
    }
    let what = if *committed {
        "leftovers committed, "
    } else {
        ""
    };
    let left = match links.as_slice() {
        [] => String::new(),
        links => format!(
            "; not committed, since a link must not lead out of the worktree: {}",
            links.join(", ")
        ),
    };
    format!("{agent}: {what}branch at {}{left}", short(head))
}

pub(super) fn redirected(redirected: &AgentRedirected) -> String {
    let AgentRedirected {
        agent,
        to,
        new_worktree,
        ..
    } = redirected;
    let place = if *new_worktree {
        "a new worktree"
    } else {
        "its worktree"
    };
    format!("redirecting {agent}: {to} takes its place, in {place}")
}

pub(super) fn work_saved(work_saved: &WorkSaved) -> String {
    let WorkSaved {
        agent,
        saved,
        committed,
    } = work_saved;
    let what = if *committed {
        "work in progress committed"
    } else {
        "nothing to commit"
    };
    let at = saved.wip.as_ref().unwrap_or(&saved.tip);
    format!("{agent}: {what}, work kept at {}", short(at))
}

/// A check that failed for a reason outside the work.
pub(super) fn excused(excused: &GateExcused) -> String {
    let GateExcused { agent, command, .. } = excused;
    let (why, again) = match (excused.port, excused.alone) {
        (Some(port), _) => (
            format!("failed because another program holds port {port}"),
            "again with other ports",
        ),
        (None, true) => (
            "met another check that uses the same port, file or database".to_owned(),
            "again alone",
        ),
        (None, false) => ("failed while the target fails it, too".to_owned(), "again"),
    };
    format!("{agent}: `{command}` {why}; no iteration is charged, and it runs {again}")
}
