//! Measures what a replay came to against its record.
//!
//! Invariant: only reads, apart from loose objects of the replay's files. What was recorded comes
//! from an intact record and its trees; what the replay did comes from its worktree and its run's
//! directory, where only regular files are opened. Both are measured by the same functions.

use std::io;

use super::load;
use crate::agents::stream::text_of;
use crate::daemon::effects::context::DriverContext;
use crate::daemon::effects::failure::kind_of;
use crate::daemon::provenance::build::oid;
use crate::daemon::provenance::inputs::files_of;
use crate::daemon::provenance::response;
use crate::daemon::runs::launch_record::{read_output, reader_of, started_as, whole_prompt};
use crate::domain::effect::JudgeReplay;
use crate::domain::likeness::{self, Change, Likeness, Measures, Operation};
use crate::domain::outcome::{Failure, Judgement, ReplayMeasured};
use crate::domain::reads::Collector;
use crate::domain::signal::{Found, Item, Scanner, Signal};
use crate::git::{ChangeKind, GitError, Oid, REPLAY, Repo, TreeChange};
use crate::plain_file;
use crate::process::RunDir;
use crate::view::provenance::Record;
use crate::view::provenance::record::{Text, TreeState};

/// One of the two that are compared.
struct Side {
    tree: String,
    response: Text,
    signal: Option<String>,
    changes: Vec<(TreeChange, String)>,
}

/// The judgement, or why there is none.
pub(super) fn measure(
    context: &DriverContext,
    effect: &JudgeReplay,
) -> Result<ReplayMeasured, Failure> {
    let judgement = match &effect.why {
        Some(why) => Err(why.clone()),
        None => compare(context, effect)?,
    };
    Ok(ReplayMeasured { judgement })
}

fn compare(
    context: &DriverContext,
    effect: &JudgeReplay,
) -> Result<Result<Judgement, String>, Failure> {
    let unreadable = |error: io::Error| Failure {
        kind: kind_of(&error),
        message: format!("the replay {} cannot be read: {error}", effect.run),
    };
    let loaded = load(&context.paths, &effect.of, &effect.sha256).map_err(unreadable)?;
    let record = match loaded {
        Ok(record) => record,
        Err(why) => return Ok(Err(why)),
    };
    let recorded = match recorded(&context.repo, &record)? {
        Ok(recorded) => recorded,
        Err(why) => return Ok(Err(why)),
    };
    let Some(before) = files_of(&record.inputs.before) else {
        return Ok(Err("its record has no tree".to_owned()));
    };
    let after = context.repo.worktree_tree(REPLAY)?;
    let (response, signal) = said(context, effect).map_err(unreadable)?;
    let replayed = Side {
        tree: context.repo.peel_to_tree(after.tree)?.to_string(),
        response,
        signal,
        changes: changes(&context.repo, before.tree, after.tree)?,
    };
    let measured = likeness_of(&recorded, &replayed);
    Ok(Ok(judgement(measured, record.outputs.gate.is_empty())))
}

/// The quality commands do not run: where the record has some, nobody knows whether they would pass
/// alike.
fn judgement(mut likeness: Likeness, has_no_gate: bool) -> Judgement {
    likeness.gate &= has_no_gate;
    let gate = has_no_gate.then_some(likeness.gate);
    Judgement {
        verdict: likeness.verdict(),
        measures: Measures {
            gate,
            ..likeness.into()
        },
    }
}

fn likeness_of(recorded: &Side, replayed: &Side) -> Likeness {
    let (one, other) = (outcome(recorded), outcome(replayed));
    let measured = likeness::likeness(&one, &other);
    Likeness {
        // Of the whole responses, before secrets were replaced.
        responses: recorded.response.sha256 == replayed.response.sha256,
        ..measured
    }
}

fn outcome(side: &Side) -> likeness::Outcome<'_> {
    let changes = side.changes.iter();
    let text = side.response.text.as_deref();
    likeness::Outcome {
        tree: &side.tree,
        response: text.unwrap_or(&side.response.sha256),
        signal: side.signal.as_deref(),
        changes: changes
            .map(|(change, lines)| changed(change, lines))
            .collect(),
        gate: Vec::new(),
    }
}

fn changed<'s>(change: &'s TreeChange, lines: &'s str) -> Change<'s> {
    Change {
        path: &change.path,
        operation: match change.kind {
            ChangeKind::Added => Operation::Created,
            ChangeKind::Deleted => Operation::Deleted,
            ChangeKind::Modified | ChangeKind::Renamed | ChangeKind::TypeChanged => {
                Operation::Modified
            }
        },
        lines,
    }
}

/// What was recorded, or why it cannot be compared.
fn recorded(repo: &Repo, record: &Record) -> Result<Result<Side, String>, GitError> {
    let unknown = |what: &str| Ok(Err(format!("the {what} of {} is unknown", record.run)));
    let tree = |state: &TreeState| oid(state.tree.as_deref()?);
    let (Some(before), Some(after)) = (tree(&record.inputs.before), tree(&record.outputs.after))
    else {
        return unknown("tree");
    };
    let Some(response) = record.outputs.response.clone() else {
        return unknown("response");
    };
    for tree in [before, after] {
        if !repo.has_object(tree)? {
            return Ok(Err(format!("git no longer has the tree {tree:.10}")));
        }
    }
    Ok(Ok(Side {
        tree: repo.peel_to_tree(after)?.to_string(),
        response,
        signal: record.outputs.signal.as_ref().map(|it| it.word.clone()),
        changes: changes(repo, before, after)?,
    }))
}

/// The changed files, each with its changed lines.
fn changes(repo: &Repo, before: Oid, after: Oid) -> Result<Vec<(TreeChange, String)>, GitError> {
    let changes = repo.tree_changes(before, after)?;
    let mut lines = repo.changed_lines(before, after)?.into_iter();
    let each = changes.into_iter();
    Ok(each
        .map(|change| (change, lines.next().unwrap_or_default()))
        .collect())
}

/// What the replay said, and its last signal.
fn said(context: &DriverContext, effect: &JudgeReplay) -> io::Result<(Text, Option<String>)> {
    let runs = &context.paths.runs;
    let dir = RunDir::open(runs, effect.run.as_str()).map_err(io::Error::other)?;
    let started = started_as(dir.path())?;
    let quoted = whole_prompt(dir.path())?;
    let output = || plain_file::open(&dir.stdout());
    let length = output()?.metadata()?.len();
    let nowhere = Collector::nowhere();
    let response = response::read(output()?, length, reader_of(&started), nowhere)?;
    let (mut scanner, mut last) = (Scanner::new(&quoted), None);
    read_output(output()?, reader_of(&started), |said| {
        let found = scanner.push(&text_of(&said));
        last = last_ending(found).or(last.take());
    })?;
    Ok((response.text, last_ending(scanner.finish()).or(last)))
}

/// The name of the last signal that ends an iteration.
fn last_ending(found: Vec<Found>) -> Option<String> {
    found.into_iter().rev().find_map(|found| ends(found.item))
}

/// The name of a signal that ends an iteration.
fn ends(item: Item) -> Option<String> {
    let Item::Signal(signal) = item else {
        return None;
    };
    match signal {
        Signal::Complete(_) | Signal::Blocked(_) | Signal::NeedsHuman(_) | Signal::Resolved(_) => {
            Some(signal.kind().name().to_owned())
        }
        Signal::Progress(_) | Signal::LearningLocal(_) | Signal::LearningGlobal(_) => None,
    }
}
