//! `swarm provenance show`: one record, or a part of it.

use clap::Args;
use serde_json::{Value, json};

use super::{Records, page, parse};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::to_value;
use crate::cli::output::pager;
use crate::cli::output::terminal::safe;
use crate::git::{Oid, Repo};
use crate::view::provenance::Record;
use crate::view::provenance::record::Text;

/// `provenance show`.
#[derive(Debug, Args)]
#[command(after_help = "\
ID is a run, an idea (its last record) or a commit: one that an iteration made, or the merge \
commit that landed an idea.

Examples:
  $ swarm provenance show idea-003
  $ swarm provenance show r0042 --prompt
  $ swarm provenance show 7f3a9c21d0 --patch
  $ swarm provenance show idea-003 --json")]
#[allow(clippy::struct_excessive_bools)] // flags of the command line
pub struct Show {
    /// The record.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Show the prompt alone.
    #[arg(long, group = "part")]
    pub prompt: bool,
    /// Show the agent's messages alone.
    #[arg(long, group = "part")]
    pub response: bool,
    /// Show the calls of tools alone.
    #[arg(long, group = "part")]
    pub tools: bool,
    /// Show the changed files as a patch.
    #[arg(long, group = "part")]
    pub patch: bool,
}

/// Shows it.
pub(super) fn run(args: &Show, context: &mut Context) -> Result<(), CliError> {
    let records = Records::open(context)?;
    let line = records.find(&args.id)?;
    let bytes = records.content(line)?;
    let mut record = parse(line, &bytes)?;
    record.replay_status = line.replay_status();
    if args.prompt {
        return words(context, &record, "prompt", record.inputs.prompt.as_ref());
    }
    if args.response {
        return words(
            context,
            &record,
            "response",
            record.outputs.response.as_ref(),
        );
    }
    if args.tools {
        return tools(context, &record);
    }
    if args.patch {
        return patch(context, &record);
    }
    if context.output.json {
        let mut document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        document["replayStatus"] = to_value(&record.replay_status)?;
        return context.output.document(&document);
    }
    let page = page::record(&context.output, &record, context);
    pager::show(&mut context.output, &page)
}

fn words(
    context: &mut Context,
    record: &Record,
    name: &str,
    text: Option<&Text>,
) -> Result<(), CliError> {
    if context.output.json {
        let document = json!({ "run": record.run, name: text });
        return context.output.document(&document);
    }
    let run = &record.run;
    let Some(text) = text else {
        let message = format!("the {name} of {run} is unknown: it could not be read when it ended");
        return Err(CliError::refused(message).code("RECORD_PART_UNKNOWN"));
    };
    let Some(words) = &text.text else {
        let message = format!(
            "the {name} of {run} has {} bytes, so its record has only the SHA-256: {}",
            text.size, text.sha256
        );
        return Err(CliError::refused(message).code("RECORD_PART_TOO_LONG"));
    };
    let lines: Vec<String> = words.lines().map(safe).collect();
    pager::show(&mut context.output, &lines)
}

fn tools(context: &mut Context, record: &Record) -> Result<(), CliError> {
    if context.output.json {
        let document = json!({
            "run": record.run,
            "toolCalls": to_value(&record.outputs.tool_calls)?,
            "toolCallsOmitted": record.outputs.tool_calls_omitted,
        });
        return context.output.document(&document);
    }
    let page = page::tools(&context.output, record);
    pager::show(&mut context.output, &page)
}

fn patch(context: &mut Context, record: &Record) -> Result<(), CliError> {
    // A record names only objects of git; without one, the refusal below says so.
    let id = |tree: &Option<String>| Oid::from_str(tree.as_deref()?).ok();
    let trees = id(&record.inputs.before.tree).zip(id(&record.outputs.after.tree));
    let Some((before, after)) = trees else {
        let message = format!(
            "the changes of {} are unknown: its worktree could not be read",
            record.run
        );
        return Err(CliError::refused(message).code("RECORD_PART_UNKNOWN"));
    };
    let repo =
        Repo::open(context.repo()?.root()).map_err(|error| CliError::refused(error.to_string()))?;
    let made = repo.tree_patch(before, after);
    let patch = made.map_err(|error| {
        CliError::refused(format!("git cannot show the changes: {error}"))
            .hint("check what is there: swarm provenance verify --all")
    })?;
    let patch = String::from_utf8_lossy(&patch);
    if context.output.json {
        let document = json!({ "run": record.run, "patch": patch });
        return context.output.document(&document);
    }
    let lines: Vec<String> = patch.lines().map(safe).collect();
    pager::show(&mut context.output, &lines)
}
