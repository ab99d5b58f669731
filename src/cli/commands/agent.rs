//! `swarm agent`: inspects agents, and intervenes.
//!
//! Invariant: without a daemon, `list`, `show` and `logs` print what is recorded; only the exit
//! code and a note say that no daemon is running.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::idea::text_or_stdin;
use crate::api::logs::stored::{self, Asked};
use crate::cli::access::Access;
use crate::cli::access::remote::Daemon;
use crate::cli::clock;
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::output::Output;
use crate::cli::output::terminal::safe_block;
use crate::cli::output::write_page;
use crate::cli::render;
use crate::cli::repo::Repo;
use crate::daemon::offline;
use crate::domain::command::Command;
use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::rejection::Rejection;

/// Without a daemon, `list`, `show` and `logs` print what is recorded and exit with code 3; the
/// others need the daemon.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// List all agents, including those that have ended.
    List(List),
    /// Show one agent.
    Show(Show),
    /// Show an agent's output.
    Logs(Logs),
    /// Stop an agent. Its idea becomes pending again and its worktree is kept.
    Stop(Stop),
    /// Stop an agent and give its place to another idea. Its work is committed, and its own idea
    /// becomes pending again.
    Redirect(Redirect),
    /// Send an agent a message with its next prompt.
    Say(Say),
}

/// `agent list`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm agent list")]
pub struct List {}

/// `agent show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm agent show ed-002")]
pub struct Show {
    /// The agent.
    pub id: AgentId,
}

/// `agent logs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a daemon, `logs`, `list` and `show` print what is recorded and exit with \
code 3.

Examples:
  $ swarm agent logs ed-002
  $ swarm agent logs ed-002 -f --lines 20
  $ swarm agent logs ed-002 --raw"
)]
pub struct Logs {
    /// The agent.
    pub id: AgentId,
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
#[command(after_help = "Example:
  $ swarm agent stop ed-002")]
pub struct Stop {
    /// The agent.
    pub id: AgentId,
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
    pub id: AgentId,
    /// The idea that takes its place; it must be pending and ready to start.
    pub idea: IdeaId,
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
    pub id: AgentId,
    /// The message; `-` reads it from standard input. After `--` it may start with a dash.
    pub text: String,
}

/// Runs the command.
pub fn run(verb: Agent, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Agent::List(List {}) => list(context),
        Agent::Show(Show { id }) => show(&id, context),
        Agent::Logs(args) => logs(&args, context),
        Agent::Stop(Stop { id }) => {
            let words = format!(
                "stopping {id}; its idea becomes pending again and keeps its work\n  in autopilot \
                mode the idea starts again in its turn; to prevent that:\n  -> swarm pause, or \
                swarm idea cancel ID"
            );
            change(context, &Command::StopAgent { id }, &words)
        }
        Agent::Redirect(args) => redirect(args, context),
        Agent::Say(say) => send_message(say, context),
    }
}

/// Sends the message and says who will read it: work in the merge queue lands without a prompt.
fn send_message(say: Say, context: &mut Context) -> Result<(), CliError> {
    let (id, text) = (say.id, text_or_stdin(say.text)?);
    let daemon = context.daemon()?;
    let command = Command::SayToAgent {
        id: id.clone(),
        text,
    };
    let answer = daemon.execute(&command)?;
    let agent = daemon.get(&format!("agents/{id}")).unwrap_or_default();
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
    change(context, &command, &words)
}

fn change(context: &mut Context, command: &Command, words: &str) -> Result<(), CliError> {
    let answer = context.daemon()?.execute(command)?;
    confirm(context, &answer, words)
}

/// Shows what the daemon says or, without one, what is recorded; a note then says so.
fn shown(
    context: &mut Context,
    mut ask: impl FnMut(&mut Access) -> Result<Value, CliError>,
    show: impl FnOnce(&mut Context, &Value) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (answer, alone) = context.with_access(|access| {
        let alone = access.is_offline();
        match ask(access) {
            Err(error) if alone => Ok((Err(without_daemon(error)), alone)),
            answer => Ok((Ok(answer?), alone)),
        }
    })?;
    show(context, &answer?)?;
    if alone {
        return Err(CliError::as_recorded());
    }
    Ok(())
}

/// What is recorded refuses the command; a daemon might know more.
fn without_daemon(mut error: CliError) -> CliError {
    if error.kind != Kind::Refused {
        return error;
    }
    error.kind = Kind::NoDaemon;
    error
        .details("no daemon is running, so only recorded agents are known")
        .hint("start it: swarm start")
}

fn list(context: &mut Context) -> Result<(), CliError> {
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
    let page = render::agents(&context.output, agents, clock::now());
    write_page(&mut context.output, &page)
}

fn show(id: &AgentId, context: &mut Context) -> Result<(), CliError> {
    shown(context, |access| access.agent(id), write_agent)
}

fn write_agent(context: &mut Context, agent: &Value) -> Result<(), CliError> {
    if context.output.json {
        return context.output.document(agent);
    }
    let page = render::agent(&context.output, agent, clock::now());
    write_page(&mut context.output, &page)
}

fn logs(args: &Logs, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    // No retry through the files if the daemon stops meanwhile: it would show lines twice.
    let Some(daemon) = Daemon::connect(&repo)? else {
        return kept_logs(args, &repo, context);
    };
    let path = format!(
        "agents/{}/logs?lines={}&follow={}&raw={}",
        args.id, args.lines, args.follow, args.raw
    );
    written(args, &mut context.output, |each| daemon.follow(&path, each))
}

/// Prints the recorded output, and notes that no daemon is running.
fn kept_logs(args: &Logs, repo: &Repo, context: &mut Context) -> Result<(), CliError> {
    let paths = repo.paths();
    let state = offline::read(&paths)?;
    let left = offline::left_running(&paths, &state);
    let asked = Asked {
        agent: &args.id,
        lines: args.lines,
        raw: args.raw,
        running: left.iter().any(|(agent, _)| *agent == args.id),
    };
    written(args, &mut context.output, |each| {
        if stored::lines(&state, &repo.runs(), asked, each)? {
            return Ok(());
        }
        Err(without_daemon(
            Rejection::AgentUnknown(args.id.clone()).into(),
        ))
    })?;
    Err(CliError::as_recorded())
}

/// Writes the lines that `read` passes on: as one document, or one by one.
fn written(
    args: &Logs,
    output: &mut Output,
    read: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), CliError>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if !output.json || args.follow {
        return read(&mut |line| log_line(output, line, args.follow));
    }
    let mut lines: Vec<Value> = Vec::new();
    read(&mut |line| {
        lines.push(line.into());
        Ok(())
    })?;
    output.document(&json!({ "id": args.id, "lines": lines }))
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
