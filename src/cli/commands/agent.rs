//! `swarm agent`: who works, what they write, and how to step in.
//!
//! Invariant: what is recorded of agents is shown without a daemon too; the exit code tells all the
//! same that none runs.

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

/// The commands about agents. `list`, `show` and `logs` give without a daemon what is recorded, and
/// end with exit code 3; the others need it.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// List the agents, those that have ended included.
    List(List),
    /// Show one agent.
    Show(Show),
    /// Show what an agent wrote.
    Logs(Logs),
    /// End an agent: its idea is pending again, its worktree is kept.
    Stop(Stop),
    /// Stop an agent and give its place to another idea; its work is committed, its own idea is
    /// pending again.
    Redirect(Redirect),
    /// Tell an agent something with its next prompt.
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
    after_help = "Without a daemon it shows what was written so far, says that none runs, and ends with exit code 3; so do list and show.

Examples:
  $ swarm agent logs ed-002
  $ swarm agent logs ed-002 -f --lines 20
  $ swarm agent logs ed-002 --raw"
)]
pub struct Logs {
    /// The agent.
    pub id: AgentId,
    /// Go on with what it writes, over its later iterations, until it has ended.
    #[arg(short, long)]
    pub follow: bool,
    /// So many lines from the end.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub lines: u64,
    /// What its program wrote, as it is: of one that writes a structured stream, the lines of JSON.
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
What becomes of the two ideas:
  the agent is stopped, and what it left uncommitted becomes a WIP commit on its branch. Its idea is pending again, without a \
  penalty. The other idea is begun next, by an agent of the same profile.
  Without --new-worktree that agent takes over the worktree, with the work so far committed in it: what it lands includes it. The \
  first idea's work is kept as refs/swarm/rescue/redirected-AGENT-IDEA, and its next attempt starts from there, in a worktree of its own.
  With --new-worktree the worktree stays with the first idea, and the other one starts from the target, or from the work that it has.

Examples:
  $ swarm agent redirect ed-002 idea-007
  $ swarm agent redirect ed-002 idea-007 --new-worktree")]
pub struct Redirect {
    /// The agent.
    pub id: AgentId,
    /// The idea that takes its place: pending, and nothing that it waits for is left.
    pub idea: IdeaId,
    /// Begin the other idea in a worktree of its own.
    #[arg(long)]
    pub new_worktree: bool,
}

/// `agent say`.
#[derive(Debug, Args)]
#[command(after_help = "\
It is kept until a prompt carries it, over restarts too; when the iteration that had it is cut short it comes again. How far it has come \
(accepted, delivered, seen), and when: swarm agent show ID. If the agent ends before, the next attempt at its idea is told.

Examples:
  $ swarm agent say ed-002 \"use port 8080\"
  $ cat answer.md | swarm agent say ed-002 -")]
pub struct Say {
    /// The agent.
    pub id: AgentId,
    /// What; `-` reads it from standard input. After `--` it may begin with a dash.
    pub text: String,
}

/// Does it.
pub fn run(verb: Agent, context: &mut Context) -> Result<(), CliError> {
    match verb {
        Agent::List(List {}) => list(context),
        Agent::Show(Show { id }) => show(&id, context),
        Agent::Logs(args) => logs(&args, context),
        Agent::Stop(Stop { id }) => {
            let words = format!(
                "{id} is being ended, or was; its idea is pending then, with its work kept. In \
                autopilot it is begun again in its turn: swarm idea cancel gives it up, swarm \
                pause keeps everything back"
            );
            change(context, &Command::StopAgent { id }, &words)
        }
        Agent::Redirect(args) => redirect(args, context),
        Agent::Say(Say { id, text }) => {
            let words = format!(
                "{id} will read it with its next prompt; how far it has come: swarm agent show {id}"
            );
            let text = text_or_stdin(text)?;
            change(context, &Command::SayToAgent { id, text }, &words)
        }
    }
}

fn redirect(args: Redirect, context: &mut Context) -> Result<(), CliError> {
    let Redirect {
        id,
        idea,
        new_worktree,
    } = args;
    let place = if new_worktree {
        "in a worktree of its own"
    } else {
        "in its worktree"
    };
    let words = format!(
        "{id} is being stopped and its work committed; {idea} is next, {place}; its own idea is \
        pending again"
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

/// Shows by the daemon or, without one, what is recorded: then that is said last.
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

/// A refusal by what is recorded: a daemon may know more by now.
fn without_daemon(mut error: CliError) -> CliError {
    if error.kind != Kind::Refused {
        return error;
    }
    error.kind = Kind::NoDaemon;
    error
        .details("no daemon is running in this repository; that is what is recorded")
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
        context.output.note("no agent has begun yet");
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
    let page = render::agent(&context.output, agent, &context.zone);
    write_page(&mut context.output, &page)
}

fn logs(args: &Logs, context: &mut Context) -> Result<(), CliError> {
    let repo = context.repo()?;
    // What was shown already must not come again: a daemon that ends meanwhile ends this.
    let Some(daemon) = Daemon::connect(&repo)? else {
        return kept_logs(args, &repo, context);
    };
    let path = format!(
        "agents/{}/logs?lines={}&follow={}&raw={}",
        args.id, args.lines, args.follow, args.raw
    );
    written(args, &mut context.output, |each| daemon.follow(&path, each))
}

/// What the runs' files hold, and that nothing comes after it.
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

/// Writes the lines that `read` hands on: as one document, or one by one.
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

/// The line is what an agent wrote: nothing of it may act on the terminal.
fn log_line(output: &mut Output, line: &str, follow: bool) -> Result<(), CliError> {
    if output.json {
        output.json_line(&json!({ "line": line }))?;
    } else {
        output.line(safe_block(line))?;
    }
    if follow { output.flush() } else { Ok(()) }
}
