//! `swarm agent`: inspects agents, and intervenes.
//!
//! Invariant: without a daemon, `list`, `show` and `logs` print what is recorded, and a note says
//! that no daemon is running.

mod export;
pub(in crate::cli) mod import;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::cli::access::Access;
use crate::cli::access::agent_output::{self, Source, Wanted};
use crate::cli::access::ids::Typed;
use crate::cli::args::at::At;
use crate::cli::commands::idea::text_or_stdin;
use crate::cli::commands::several::{self, Done};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::{list, text};
use crate::cli::output::Output;
use crate::cli::output::terminal::safe_block;
use crate::cli::output::write_page;
use crate::cli::render;
use crate::cli::repo::Repo;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::operation::Command;

/// Without a daemon, `list`, `show` and `logs` print what is recorded; the others need the daemon.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// List all agents, including those that have ended.
    List(List),
    /// Show one agent.
    Show(Show),
    /// Show an agent's output.
    Logs(Logs),
    /// Stop agents. Their ideas become pending again and their worktrees are kept.
    Stop(Stop),
    /// Stop an agent and give its place to another idea. Its work is committed, and its own idea
    /// becomes pending again.
    Redirect(Redirect),
    /// Send an agent a message with its next prompt.
    Say(Say),
    /// Write an agent's state on its own: its messages and what it was told.
    Export(export::Export),
    /// Let an idea go on from an agent's exported state.
    Import(import::Import),
}

/// `agent list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm agent list
  $ swarm agent list --at 2h")]
pub struct List {
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `agent show`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm agent show ed-002
  $ swarm agent show ed-002 --at 120")]
pub struct Show {
    /// The agent.
    pub id: Typed<AgentId>,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// `agent logs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a daemon, `logs`, `list` and `show` print what is recorded. Only a \
daemon can follow an agent that is still running.

Examples:
  $ swarm agent logs ed-002
  $ swarm agent logs ed-002 -f --lines 20
  $ swarm agent logs ed-002 --raw"
)]
pub struct Logs {
    /// The agent.
    pub id: Typed<AgentId>,
    /// Keep printing new output until the agent has ended.
    #[arg(short, long)]
    pub follow: bool,
    /// Print only the last N lines.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub lines: u64,
    /// Print the program's output unchanged, for example a structured stream as JSON lines.
    #[arg(long)]
    pub raw: bool,
}

/// `agent stop`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm agent stop ed-002
  $ swarm agent stop 2 5
  $ swarm agent stop --all")]
pub struct Stop {
    /// The agents.
    #[arg(value_name = "ID", required_unless_present = "all")]
    pub ids: Vec<Typed<AgentId>>,
    /// Stop every agent that is at work.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
}

/// `agent redirect`.
#[derive(Debug, Args)]
#[command(after_help = "\
What happens to the two ideas:
  The agent is stopped, and its uncommitted changes become a WIP commit on its branch. Its idea \
becomes pending again, without a \
  penalty. The other idea starts next, with an agent of the same profile.
  By default, that agent takes over the worktree and the work committed in it, so what it lands \
includes that work. The first \
  idea's work is also kept as refs/swarm/rescue/redirected-AGENT-IDEA; its next attempt starts \
from there, in a worktree of its own.
  With --new-worktree, the worktree stays with the first idea. The other idea starts from the \
target, or from its own earlier work.

Examples:
  $ swarm agent redirect ed-002 idea-007
  $ swarm agent redirect ed-002 idea-007 --new-worktree")]
pub struct Redirect {
    /// The agent.
    pub id: Typed<AgentId>,
    /// The idea that takes its place; it must be pending and ready to start.
    pub idea: Typed<IdeaId>,
    /// Start the other idea in a worktree of its own.
    #[arg(long)]
    pub new_worktree: bool,
}

/// `agent say`.
#[derive(Debug, Args)]
#[command(after_help = "\
The message is kept, across restarts too, until a prompt delivers it. If that iteration is \
interrupted, the message is sent again. \
If the agent ends first, the next attempt at its idea gets the message. Work that is already in \
the merge queue lands without reading it. \
`swarm agent show ID` shows whether a message was accepted, delivered or seen.

Examples:
  $ swarm agent say ed-002 \"use port 8080\"
  $ cat answer.md | swarm agent say ed-002 -")]
pub struct Say {
    /// The agent.
    pub id: Typed<AgentId>,
    /// The message; `-` reads it from standard input. After `--` it may start with a dash.
    pub text: String,
}

/// Runs the command.
pub fn run(verb: Agent, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Agent::List(List { at }) => write_all(&at, context),
        Agent::Show(args) => show(&args, context),
        Agent::Logs(args) => logs(&args, context),
        Agent::Stop(args) => stop(&args, context),
        Agent::Redirect(args) => redirect(args, context),
        Agent::Say(say) => send_message(say, context),
        Agent::Export(args) => export::run(&args, context),
        Agent::Import(args) => import::run(&args, context),
    }
}

/// Sends the message and says who will read it: work in the merge queue lands without a prompt.
fn send_message(say: Say, context: &mut Context) -> Result<(), CliError> {
    let text = text_or_stdin(say.text)?;
    let mut daemon = daemon(context)?;
    let id = daemon.agent_id(&say.id)?;
    let command = Command::SayToAgent {
        id: id.clone(),
        text,
    };
    let answer = daemon.execute(&command)?;
    let agent = daemon.agent(&id).unwrap_or_default();
    let fate = if render::in_merge_queue(&agent) {
        format!(
            "message kept, but the work of {id} is in the merge queue: {id} reads it only if the \
            merge comes back"
        )
    } else {
        format!("message accepted; {id} gets it with its next prompt")
    };
    let words = format!("{fate}\n  -> see whether it was delivered: swarm agent show {id}");
    confirm(context, &answer, &words)
}

fn redirect(args: Redirect, context: &mut Context) -> Result<(), CliError> {
    let Redirect {
        id,
        idea,
        new_worktree,
    } = args;
    let mut daemon = daemon(context)?;
    let (id, idea) = (daemon.agent_id(&id)?, daemon.idea_id(&idea)?);
    let place = if new_worktree {
        "in a new worktree".to_owned()
    } else {
        format!("in the worktree of {id}")
    };
    let words = format!(
        "redirecting {id}: its work is committed and its own idea becomes pending again; {idea} \
        starts next, {place}"
    );
    let command = Command::RedirectAgent {
        id,
        idea,
        new_worktree,
    };
    let answer = daemon.execute(&command)?;
    confirm(context, &answer, &words)
}

fn daemon(context: &Context) -> Result<Access, CliError> {
    Ok(Access::Daemon(Box::new(context.daemon()?)))
}

fn stop(args: &Stop, context: &mut Context) -> Result<(), CliError> {
    let mut daemon = daemon(context)?;
    let ids = if args.all {
        at_work(&daemon.status()?)
    } else {
        daemon.agent_ids(&args.ids)?
    };
    if ids.is_empty() && !context.output.json {
        context.output.note("no agent is at work");
        return Ok(());
    }
    several::each(context, ids, args.all, |_, id| {
        let answer = daemon.execute(&Command::StopAgent { id: id.clone() })?;
        let words = format!(
            "stopping {id}; its idea becomes pending again and keeps its work\n  in autopilot \
            mode the idea starts again in its turn; to prevent that:\n  -> swarm pause, or \
            swarm idea cancel ID"
        );
        Ok(Done { answer, words })
    })
}

/// The agents whose work has not reached the merge queue; those in it cannot be stopped.
fn at_work(status: &Value) -> Vec<Result<AgentId, CliError>> {
    let queued: Vec<&str> = list(status, "mergeQueue")
        .iter()
        .map(|merge| text(merge, "ideaId"))
        .collect();
    let agents = list(status, "agents").iter();
    let free = agents.filter(|agent| !queued.contains(&text(agent, "ideaId")));
    free.filter_map(|agent| text(agent, "id").parse().ok().map(Ok))
        .collect()
}

/// Shows what the daemon says or, without one, what is recorded; a note then says so.
fn shown(
    context: &mut Context,
    mut ask: impl FnMut(&mut Access) -> Result<Value, CliError>,
    show: impl FnOnce(&mut Context, &Value) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (answer, alone) = context.with_access(|access| {
        let alone = access.is_offline();
        Ok((ask(access)?, alone))
    })?;
    show(context, &answer)?;
    if alone {
        note_as_recorded(&mut context.output);
    }
    Ok(())
}

fn note_as_recorded(output: &mut Output) {
    output.note("note: no daemon is running; this is the last recorded state");
    output.next_step("start it: swarm start");
}

fn write_all(at: &At, context: &mut Context) -> Result<(), CliError> {
    context.look_back(at)?;
    shown(context, Access::agents, write_list)
}

fn write_list(context: &mut Context, agents: &Value) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(agents);
    }
    let agents = agents.as_array().map_or(&[][..], Vec::as_slice);
    if agents.is_empty() {
        context.output.note("no agent has started yet");
        return Ok(());
    }
    let page = render::agents(&context.output, agents, context.now());
    write_page(&mut context.output, &page)
}

fn show(args: &Show, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let ask = |access: &mut Access| {
        let id = access.agent_id(&args.id)?;
        access.agent(&id)
    };
    shown(context, ask, write_agent)
}

fn write_agent(context: &mut Context, agent: &Value) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(agent);
    }
    let page = render::agent(&context.output, agent, context.now());
    write_page(&mut context.output, &page)
}

fn logs(args: &Logs, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    let id = context.with_access(|access| access.agent_id(&args.id))?;
    let wanted = Wanted {
        agent: &id,
        lines: args.lines,
        follow: args.follow,
        raw: args.raw,
    };
    match write_lines(&repo, &wanted, &mut context.output)? {
        Source::Daemon => {}
        // Only a daemon can follow an agent that is still running.
        Source::Files { running: true } if args.follow => return Err(CliError::no_daemon()),
        Source::Files { .. } => note_as_recorded(&mut context.output),
    }
    Ok(())
}

/// Writes an agent's output: as one document, or line by line.
fn write_lines(repo: &Repo, wanted: &Wanted<'_>, output: &mut Output) -> Result<Source, CliError> {
    let follow = wanted.follow;
    if !output.json || follow {
        return agent_output::read(repo, wanted, &mut |line| log_line(output, line, follow));
    }
    let mut lines: Vec<Value> = Vec::new();
    let source = agent_output::read(repo, wanted, &mut |line| {
        lines.push(line.into());
        Ok(())
    })?;
    output.document(&json!({ "id": wanted.agent, "lines": lines }))?;
    Ok(source)
}

/// Writes a line of an agent's output, made safe for the terminal.
fn log_line(output: &mut Output, line: &str, follow: bool) -> Result<(), CliError> {
    if output.json {
        output.json_line(&json!({ "line": line }))?;
    } else {
        output.line(safe_block(line))?;
    }
    if follow { output.flush() } else { Ok(()) }
}
