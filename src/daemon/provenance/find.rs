//! Finds the record that somebody means: by its run, its idea, or a commit.
//!
//! Invariant: only reads. Of several records that fit, the last one is meant, except that a commit
//! belongs to the first iteration that ended with it and did not begin with it.

use super::log::{self, IterationEnd, RecordLog};
use super::store;
use crate::daemon::{DaemonError, Paths};
use crate::domain::ids::IdeaId;
use crate::domain::state::State;
use crate::git::{Oid, Repo};
use crate::view::provenance::{Record as ProvenanceRecord, RecordView};

/// Least digits of a commit's id.
const LEAST_DIGITS: usize = 7;
/// Iterations that are asked whether they made a commit, the earliest after it first.
const MAX_ASKED: usize = 64;

/// The commits that landed work, each with its idea.
pub type Landings = Vec<(String, IdeaId)>;

/// The landings that the state knows.
pub fn landings(state: &State) -> Landings {
    let ideas = state.ideas.iter();
    let landed =
        ideas.filter_map(|(id, idea)| Some((idea.commit.as_ref()?.to_string(), id.clone())));
    landed.collect()
}

/// The record that is meant by the id of a run, an idea or a commit; `None` if there is none.
///
/// # Errors
/// The log is damaged; git failed.
pub fn find<'l>(
    paths: &Paths,
    log: &'l RecordLog,
    landings: &Landings,
    text: &str,
) -> Result<Option<&'l RecordView>, DaemonError> {
    if let Some(found) = by_run(log, text).or_else(|| by_idea(log, text)) {
        return Ok(Some(found));
    }
    by_commit(paths, log, landings, text)
}

/// By the whole id of a run, or by its number (`r0042`).
fn by_run<'l>(log: &'l RecordLog, text: &str) -> Option<&'l RecordView> {
    let mut lines = log.lines.iter().rev();
    lines.find(|line| {
        let rest = line.run.as_str().strip_prefix(text);
        rest.is_some_and(|rest| rest.is_empty() || text.starts_with('r') && rest.starts_with('-'))
    })
}

fn by_idea<'l>(log: &'l RecordLog, text: &str) -> Option<&'l RecordView> {
    let numbered = text.parse().ok().map(IdeaId::numbered);
    let is_it = |idea: &IdeaId| idea.as_str() == text || numbered.as_ref() == Some(idea);
    last_of(log, is_it)
}

/// The last record of an idea; one without a file only if it has no other.
fn last_of(log: &RecordLog, is_it: impl Fn(&IdeaId) -> bool) -> Option<&RecordView> {
    let of_idea = || log.lines.iter().rev().filter(|line| is_it(&line.idea));
    let mut kept = of_idea().filter(|line| line.sha256.is_some());
    kept.next().or_else(|| of_idea().next())
}

fn by_commit<'l>(
    paths: &Paths,
    log: &'l RecordLog,
    landings: &Landings,
    text: &str,
) -> Result<Option<&'l RecordView>, DaemonError> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex || text.len() < LEAST_DIGITS {
        return Ok(None);
    }
    let text = text.to_ascii_lowercase();
    let landed = landings
        .iter()
        .find(|(commit, _)| commit.starts_with(&text));
    if let Some((_, idea)) = landed {
        return Ok(last_of(log, |it| it == idea));
    }
    let repo = Repo::open(&paths.root)?;
    let Some((commit, at)) = repo.commit_time(&text)? else {
        return Ok(None);
    };
    let ends = log::ends(paths, u64::MAX)?;
    let mut later: Vec<(&IterationEnd, &RecordView)> = log
        .lines
        .iter()
        .filter_map(|line| Some((ends.get(&line.run)?, line)))
        .filter(|(end, _)| end.at.millis() / 1_000 >= at)
        .collect();
    later.sort_by_key(|(end, _)| end.at);
    for (end, line) in later.into_iter().take(MAX_ASKED) {
        if made(paths, &repo, (line, end), commit)? {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

/// Whether the commit was on the branch when the iteration ended, and not when it began. What is
/// not known to be the agent's is not said to be.
fn made(
    paths: &Paths,
    repo: &Repo,
    (line, end): (&RecordView, &IterationEnd),
    commit: Oid,
) -> Result<bool, DaemonError> {
    let (Some(head), Some(start)) = (end.head.as_deref().and_then(parse), start_of(paths, line))
    else {
        return Ok(false);
    };
    Ok(repo.contains(head, commit)? && !repo.contains(start, commit)?)
}

/// Where the branch was when the iteration began, as its record says, if nobody changed it.
fn start_of(paths: &Paths, line: &RecordView) -> Option<Oid> {
    let content = store::read_intact(paths, &line.run, line.sha256.as_deref()?);
    let content = content.ok()?.ok()?;
    let record: ProvenanceRecord = serde_json::from_slice(&content).ok()?;
    parse(record.inputs.before.commit.as_deref()?)
}

fn parse(commit: &str) -> Option<Oid> {
    Oid::from_str(commit).ok()
}
