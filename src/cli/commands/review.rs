//! `swarm merge diff|approve|reject`: a person's review of finished work.
//!
//! Invariant: the commands that `diff` prints approve the commit that it showed, and no other.

use clap::Args;
use serde_json::Value;

use super::idea::text_or_stdin;
use super::several::{self, Done};
use crate::cli::access::ids::Typed;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, text};
use crate::cli::output::terminal::{Tone, safe, safe_block};
use crate::cli::output::{Output, pager};
use crate::domain::ids::{IdeaId, Oid};
use crate::domain::operation::Command;

/// Fewest characters of a commit that `--commit` takes.
const LEAST_OF_COMMIT: usize = 7;

/// `merge diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Long output goes through $SWARM_PAGER, $PAGER or `less`, on a terminal only.

Examples:
  $ swarm merge diff idea-003
  $ swarm merge diff idea-003 --stat")]
pub struct Diff {
    /// The idea whose work would land.
    pub idea: Typed<IdeaId>,
    /// List the changed files instead of the changes.
    #[arg(long)]
    pub stat: bool,
}

/// `merge approve`.
#[derive(Debug, Args)]
#[command(after_help = "\
An approval is for one commit. If the target moves, the merge is built and checked again, and \
lands without another question. If the work changes, it waits for review again. To take an \
approval back before the work lands: `swarm undo`.

Examples:
  $ swarm merge approve idea-003 --commit 1d3f6a0428
  $ swarm merge approve idea-003 idea-004
  $ swarm merge approve --all")]
pub struct Approve {
    /// The ideas whose work may land.
    #[arg(value_name = "IDEA", required_unless_present = "all")]
    pub ideas: Vec<Typed<IdeaId>>,
    /// Approve all work that waits for review.
    #[arg(long, conflicts_with = "ideas")]
    pub all: bool,
    /// The commit that you saw, of one idea: refuse if another one waits. At least 7 characters.
    #[arg(long, value_name = "COMMIT", conflicts_with = "all")]
    pub commit: Option<String>,
}

/// `merge reject`.
#[derive(Debug, Args)]
#[command(after_help = "\
The agent continues in the same worktree, with your comment in its next prompt, and gets all its \
iterations and time again. Work that is approved can be returned until its landing begins.

Examples:
  $ swarm merge reject idea-003 \"keep the old flag as an alias\"
  $ cat comment.md | swarm merge reject idea-003 -")]
pub struct Reject {
    /// The idea whose work must change.
    pub idea: Typed<IdeaId>,
    /// What must change; `-` reads it from standard input.
    #[arg(allow_hyphen_values = true)]
    pub why: String,
}

/// Shows what would land.
pub(super) fn diff(args: &Diff, context: &mut Context) -> Result<(), CliError> {
    let diff = context.with_access(|access| {
        let id = access.idea_id(&args.idea)?;
        access.merge_diff(&id)
    })?;
    if context.output.json {
        return context.output.document(&diff);
    }
    let page = if args.stat {
        stat(&context.output, &diff)
    } else {
        patch(&context.output, text(&diff, "diff"))
    };
    pager::show(&mut context.output, &page)?;
    after_diff(&mut context.output, &diff);
    Ok(())
}

/// A patch, coloured like git's. Foreign text is made safe, and tabs stay.
fn patch(output: &Output, diff: &str) -> Vec<String> {
    let mut in_header = false;
    let line = |line: &str| {
        if line.starts_with("diff --git ") {
            in_header = true;
        } else if line.starts_with("@@ ") {
            in_header = false;
        }
        let tone = match line.chars().next() {
            _ if in_header => Tone::Strong,
            Some('@') => Tone::Live,
            Some('+') => Tone::Good,
            Some('-') => Tone::Bad,
            Some(_) | None => Tone::Plain,
        };
        let parts: Vec<String> = line.split('\t').map(safe_block).collect();
        output.paint(tone, &parts.join("\t")).into_owned()
    };
    // Not `lines`, which would hide a carriage return at the end of a line.
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    if diff.is_empty() {
        return Vec::new();
    }
    diff.split('\n').map(line).collect()
}

fn stat(output: &Output, diff: &Value) -> Vec<String> {
    let files = list(diff, "files").iter();
    let line = |file: &Value| {
        let path = match text(file, "from") {
            "" => safe(text(file, "path")),
            from => format!("{} => {}", safe(from), safe(text(file, "path"))),
        };
        let count = |sign: char, key: &str, tone| {
            let count = file.get(key).and_then(Value::as_u64);
            let words = count.map_or_else(|| "binary".to_owned(), |count| format!("{sign}{count}"));
            output.paint(tone, &format!("{words:>7}")).into_owned()
        };
        format!(
            "{:<11} {} {}  {path}",
            safe(text(file, "status")),
            count('+', "insertions", Tone::Good),
            count('-', "deletions", Tone::Bad),
        )
    };
    files.map(line).collect()
}

/// How much changed: `2 files, +10 -3`.
fn sums(diff: &Value) -> String {
    let files = list(diff, "files");
    let sum = |key: &str| -> u64 {
        let counts = files.iter().filter_map(|file| file.get(key)?.as_u64());
        counts.sum()
    };
    let noun = if files.len() == 1 { "file" } else { "files" };
    format!(
        "{} {noun}, +{} -{}",
        files.len(),
        sum("insertions"),
        sum("deletions")
    )
}

/// Says what was shown and what can be typed next.
fn after_diff(output: &mut Output, diff: &Value) {
    let (id, source) = (
        safe(text(diff, "ideaId")),
        short(text(diff, "sourceCommit")),
    );
    let target = short(text(diff, "targetCommit"));
    output.note(format!(
        "{id}: commit {source} on target {target}, {}",
        sums(diff)
    ));
    if diff["truncated"] == true {
        output.note("the patch is longer than 4 MiB and ends early");
        let (base, result) = (short(text(diff, "base")), short(text(diff, "result")));
        output.next_step(format!("see all of it: git diff {base} {result}"));
    }
    let conflicts: Vec<String> = list(diff, "conflicts")
        .iter()
        .filter_map(Value::as_str)
        .map(safe)
        .collect();
    if !conflicts.is_empty() {
        output.note(format!(
            "in conflict with the target: {}. The changes are those since the branch left the \
             target; the resolved work waits for review again",
            conflicts.join(", ")
        ));
    }
    if diff["held"] == true {
        output.next_step(format!("swarm merge approve {id} --commit {source}"));
        output.next_step(format!("swarm merge reject {id} \"...\""));
    }
}

fn short(commit: &str) -> String {
    safe(commit.get(..10).unwrap_or(commit))
}

/// Approves finished work.
pub(super) fn approve(args: &Approve, context: &mut Context) -> Result<(), CliError> {
    if args.commit.is_some() && args.ideas.len() > 1 {
        return Err(CliError::new(
            Kind::Usage,
            "`--commit` is about one idea, but several are named",
        )
        .hint("approve each by itself: swarm merge approve IDEA --commit COMMIT"));
    }
    let ids = context.with_access(|access| {
        if args.all {
            Ok(in_review(&access.merges()?).map(Ok).collect())
        } else {
            access.idea_ids(&args.ideas)
        }
    })?;
    if ids.is_empty() && !context.output.json {
        context.output.note("no work waits for review");
        return Ok(());
    }
    several::each(context, ids, args.all, |context, id| {
        approve_one(context, id, args.commit.as_deref())
    })
}

fn in_review(merges: &Value) -> impl Iterator<Item = IdeaId> {
    let merges = merges.as_array().into_iter().flatten();
    let held = merges.filter(|merge| merge["held"] == true);
    held.filter_map(|merge| text(merge, "ideaId").parse().ok())
}

fn approve_one(context: &Context, id: &IdeaId, shown: Option<&str>) -> Result<Done, CliError> {
    context.with_access(|access| {
        let commit = match shown {
            Some(shown) => Some(whole_commit(&access.merges()?, id, shown)?),
            None => None,
        };
        let offline = access.is_offline();
        let id = id.clone();
        let words = if offline {
            format!("approved {id}: the next start lands it\n  -> swarm start")
        } else {
            format!("approved {id}: it lands when its merge has passed the checks")
        };
        let answer = access.execute(&Command::ApproveMerge { id, commit })?;
        Ok(Done { answer, words })
    })
}

/// The commit that waits, if it begins as the person typed it.
fn whole_commit(merges: &Value, id: &IdeaId, shown: &str) -> Result<Oid, CliError> {
    let mut merges = merges.as_array().into_iter().flatten();
    let entry = merges.find(|merge| text(merge, "ideaId") == id.as_str());
    let Some(source) = entry.map(|entry| text(entry, "source")) else {
        return Err(CliError::refused(format!(
            "cannot approve {id}: it is not in the merge queue"
        ))
        .hint("list the queue: swarm merge list"));
    };
    if shown.len() < LEAST_OF_COMMIT {
        let message = format!("`--commit` takes at least {LEAST_OF_COMMIT} characters");
        return Err(CliError::new(Kind::Usage, message));
    }
    let is_same = source.starts_with(&shown.to_ascii_lowercase());
    let whole = source.parse().ok().filter(|_| is_same);
    whole.ok_or_else(|| {
        let now = short(source);
        CliError::refused(format!(
            "the work of {id} has changed since you saw it: you approve commit {}, but {now} waits \
             for review",
            safe(shown)
        ))
        .code("WORK_CHANGED")
        .details("nothing was changed")
        .hint(format!("look at it: swarm merge diff {id}"))
    })
}

/// Returns finished work to its agent.
pub(super) fn reject(args: Reject, context: &mut Context) -> Result<(), CliError> {
    let why = text_or_stdin(args.why)?;
    let (id, answer, offline) = context.with_access(|access| {
        let id = access.idea_id(&args.idea)?;
        let command = Command::RejectMerge {
            id: id.clone(),
            why: why.clone(),
        };
        let offline = access.is_offline();
        Ok((id, access.execute(&command)?, offline))
    })?;
    let words = if offline {
        format!("returned {id}: its agent continues with the next start\n  -> swarm start")
    } else {
        format!("returned {id} to its agent")
    };
    confirm(context, &answer, &words)
}
