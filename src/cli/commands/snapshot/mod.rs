//! `swarm snapshot`: looks into the state at a point of the log, compares two points, and checks or
//! rewrites the snapshot on disk.
//!
//! `page` writes states and differences for people, `verify` checks what is on disk. `export` packs
//! an archive, `departure` one in which the swarm moves away, `archive` looks into one, `import`
//! continues a swarm from one.

mod archive;
mod departure;
mod export;
mod import;
mod page;
mod verify;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::access::Past;
use crate::cli::clock;
use crate::cli::confirm::agree;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::to_value;
use crate::cli::output::{pager, write_page};
use crate::daemon::snapshot_rebuild::{self, OldSnapshot};
use crate::daemon::{Paths, offline, transfer};
use crate::domain::ids::AgentId;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::view::describe::{self, Point};
use crate::view::snapshot::{self as view, Comparison, Head, Named, Outline, STATES, Section};

/// The commands about snapshots of the state.
#[derive(Debug, Subcommand)]
pub enum Snapshot {
    /// Show what a state holds.
    Show(Show),
    /// Show what differs between two states.
    Diff(Diff),
    /// Write the swarm as one file: an archive.
    Export(Export),
    /// Check the event log, the snapshots and the checkpoints, or an archive.
    Verify(Verify),
    /// Write the snapshot anew from the event log. Needs a stopped daemon.
    Rebuild(Rebuild),
    /// Continue a swarm from an archive, in a clone without one. Needs a stopped daemon.
    Import(import::Import),
    /// Work here again with a swarm that has moved away.
    Reclaim(Reclaim),
}

/// `snapshot show`.
#[derive(Debug, Args)]
#[command(after_help = "\
WHAT is `now`, `prev` (the snapshot before the newest one), an event number, a time, an age, \
checkpoint:NAME or the file of an archive. `swarm replay --at` prints the whole state.

Examples:
  $ swarm snapshot show
  $ swarm snapshot show 2h --section ideas
  $ swarm snapshot show checkpoint:before-release --json
  $ swarm snapshot show 120 --agent ed-002
  $ swarm snapshot show night.swarm.tar.zst")]
pub struct Show {
    /// The state.
    #[arg(value_name = "WHAT", default_value = "now")]
    pub what: String,
    /// Show each thing of this section with its fields.
    #[arg(long, value_name = "SECTION")]
    pub section: Option<Section>,
    /// Show this agent with its fields.
    #[arg(long, value_name = "ID", conflicts_with = "section")]
    pub agent: Option<AgentId>,
}

/// `snapshot diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
The states are written as for `snapshot show`.

Examples:
  $ swarm snapshot diff 2h now
  $ swarm snapshot diff checkpoint:before-release now --section ideas
  $ swarm snapshot diff night.swarm.tar.zst now
  $ swarm snapshot diff 100 120 --exit-code > /dev/null")]
pub struct Diff {
    /// The first state.
    #[arg(value_name = "A")]
    pub from: String,
    /// The second state.
    #[arg(value_name = "B")]
    pub to: String,
    /// Compare only this section.
    #[arg(long, value_name = "SECTION")]
    pub section: Option<Section>,
    /// Exit with code 1 if they differ.
    #[arg(long)]
    pub exit_code: bool,
}

/// `snapshot verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm snapshot verify
  $ swarm snapshot verify --json
  $ swarm snapshot verify night.swarm.tar.zst")]
pub struct Verify {
    /// Check this archive instead. Works outside a repository.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}

/// `snapshot export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --at, swarm first makes the checkpoint `export-TIME`: the agents' uncommitted work becomes \
commits, and no agent is disturbed. The archive has the event log, the checkpoints, the commits \
and the conversations, so treat it as you treat your code. It never has config.local.json, tokens \
or the environment of agents.

With --share, for a bug report, it has only the event log and the state; text that looks like a \
secret becomes [redacted:RULE].

Examples:
  $ swarm snapshot export night.swarm.tar.zst
  $ swarm snapshot export --share report.swarm.tar.zst
  $ swarm snapshot export --move night.swarm.tar.zst
  $ swarm snapshot export - | age -r age1... > night.swarm.tar.zst.age")]
pub struct Export {
    /// The file to write; `-` for standard output. No file is replaced.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Pack the state at this point: an event number, an age (2h) or a time. Makes no checkpoint.
    #[arg(long, value_name = "SEQ|TIME")]
    pub at: Option<String>,
    /// Leave out conversations, run output and commits, and take secrets out of the rest.
    #[arg(long)]
    pub share: bool,
    /// Move the swarm away: it works on where the archive is imported, and stops here until
    /// `swarm snapshot reclaim`. Needs a stopped daemon.
    #[arg(long = "move", conflicts_with_all = ["at", "share"])]
    pub moves: bool,
}

/// `snapshot rebuild`.
#[derive(Debug, Args)]
#[command(after_help = "\
The event log is the truth; the snapshot only makes starts faster. If the snapshot differed from \
the log, which is a bug of swarm, a copy of it is kept.

Example:
  $ swarm snapshot rebuild")]
pub struct Rebuild {}

/// `snapshot reclaim`.
#[derive(Debug, Args)]
#[command(after_help = "\
A swarm that moved away in an archive does nothing here, so that no idea is worked on twice. \
Reclaim it only if that archive was not imported, or nothing works there any more.

Example:
  $ swarm snapshot reclaim")]
pub struct Reclaim {
    /// Reclaim it without asking.
    #[arg(short, long)]
    pub yes: bool,
}

/// Runs the command.
pub fn run(verb: &Snapshot, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Snapshot::Show(args) => show(args, context),
        Snapshot::Diff(args) => diff(args, context),
        Snapshot::Export(args) => export::run(args, context),
        Snapshot::Verify(Verify { file: Some(file) }) => archive::verify(file, context),
        Snapshot::Verify(Verify { file: None }) => verify::run(context),
        Snapshot::Rebuild(Rebuild {}) => rebuild(context),
        Snapshot::Import(args) => import::run(args, context),
        Snapshot::Reclaim(args) => reclaim(args, context),
    }
}

/// The state that was typed.
fn find(text: &str, context: &Context) -> Result<Past, CliError> {
    if archive::is_named_by(text) {
        return archive::state(Path::new(text));
    }
    let paths = context.repo()?.paths();
    let named = Named::parse(text, &context.zone, clock::now());
    let at = match named.ok_or_else(|| no_state(&format!("`{text}` is no state")))? {
        Named::Now => return Ok(Past::from(offline::read(&paths)?)),
        Named::Previous => previous(&paths)?,
        Named::Checkpoint(name) => at_checkpoint(&offline::read(&paths)?, name)?,
        Named::Point(point) => point,
    };
    Past::read(&paths, at)
}

fn previous(paths: &Paths) -> Result<Point, CliError> {
    let seq = offline::previous_snapshot(paths);
    let missing = || {
        CliError::refused("there is no earlier snapshot yet; swarm takes one every 1,000 events")
            .hint("name an event or a time instead: swarm snapshot show 2h")
    };
    seq.map(Point::Seq).ok_or_else(missing)
}

fn at_checkpoint(state: &State, name: &str) -> Result<Point, CliError> {
    let known = state.checkpoints.iter();
    let mut found = known.filter(|(known, _)| known.as_str() == name);
    let unknown = || {
        CliError::refused(format!("there is no checkpoint `{name}`"))
            .hint("list them: swarm checkpoint list")
    };
    let (_, checkpoint) = found.next().ok_or_else(unknown)?;
    Ok(Point::Seq(checkpoint.seq))
}

fn no_state(message: &str) -> CliError {
    CliError::new(Kind::Usage, message)
        .hint(format!("{STATES}, or the file of an archive"))
        .hint(describe::POINTS)
}

fn show(args: &Show, context: &mut Context) -> Result<(), CliError> {
    let past = find(&args.what, context)?;
    let mut outline = view::outline(past.state());
    let section = match &args.agent {
        Some(id) => Some(only_agent(&mut outline, id, &past)?),
        None => args.section,
    };
    if context.output.json {
        let mut document = to_value(&Head::of(past.state()))?;
        match section {
            Some(section) => document[section.name()] = to_value(&outline[&section])?,
            None => document["sections"] = to_value(&outline)?,
        }
        return context.output.document(&document);
    }
    let mut lines = vec![past.describe(&context.zone)];
    lines.extend(match section {
        Some(section) => page::things(&context.output, &outline[&section]),
        None => page::overview(&context.output, &outline),
    });
    pager::show(&mut context.output, &lines)
}

/// Leaves only this agent in the outline.
fn only_agent(outline: &mut Outline, id: &AgentId, past: &Past) -> Result<Section, CliError> {
    let agents = outline.entry(Section::Agents).or_default();
    agents.retain(|known, _| known == id.as_str());
    if agents.is_empty() {
        let message = format!("there was no agent {id} at event {}", past.seq());
        return Err(CliError::refused(message).hint("list them: swarm agent list"));
    }
    Ok(Section::Agents)
}

fn diff(args: &Diff, context: &mut Context) -> Result<(), CliError> {
    let (from, to) = (find(&args.from, context)?, find(&args.to, context)?);
    let found = Comparison::of(from.state(), to.state(), args.section);
    if context.output.json {
        context.output.document(&found)?;
    } else {
        let mut lines = vec![
            from.describe(&context.zone),
            format!("-> {}", to.describe(&context.zone)),
        ];
        if found.same {
            lines.push("no differences".to_owned());
        }
        lines.extend(page::difference(&context.output, &found.sections));
        pager::show(&mut context.output, &lines)?;
    }
    if args.exit_code && !found.same {
        return Err(CliError::refused("the states differ").code("STATES_DIFFER"));
    }
    Ok(())
}

fn rebuild(context: &mut Context) -> Result<(), CliError> {
    let rebuilt = snapshot_rebuild::rebuild(&context.repo()?.paths())?;
    let seq = rebuilt.seq;
    let copies: Vec<String> = rebuilt
        .differed
        .iter()
        .map(|copy| copy.display().to_string())
        .collect();
    if context.output.json {
        let document = json!({ "seq": seq, "differed": !copies.is_empty(), "copies": copies });
        return context.output.document(&document);
    }
    let mut lines = vec![format!("the snapshot is written anew, after event {seq}")];
    lines.push(
        match rebuilt.old {
            OldSnapshot::Same => "the old one said the same",
            OldSnapshot::Differed => "the old one differed from the event log: a bug of swarm",
            OldSnapshot::Damaged => "the old one was damaged",
            OldSnapshot::Missing => "there was none before",
        }
        .to_owned(),
    );
    lines.extend(
        copies
            .iter()
            .map(|copy| format!("a copy of what differed: {copy}")),
    );
    write_page(&mut context.output, &lines)
}

fn reclaim(args: &Reclaim, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let state = offline::read(&paths)?;
    if state.swarm.moved.is_some() {
        let question = "Does nothing work on this swarm anywhere else?";
        agree(context, args.yes, question)?;
    }
    transfer::reclaim(&paths, &Author::Person)?;
    if context.output.json {
        return context.output.document(&json!({ "reclaimed": true }));
    }
    context.output.note("the swarm works here again");
    context.output.next_step("go on: swarm start");
    Ok(())
}
