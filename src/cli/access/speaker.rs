//! Who types a command: a person, or a run of this repository above this process.
//!
//! Invariant: a command that needs a person is refused before it does anything else. While a
//! daemon runs, it finds out for itself who asks; without one, this finding counts.

use crate::api::named_run;
use crate::cli::args::Verb;
use crate::cli::commands::agent::Agent;
use crate::cli::commands::{checkpoint, config, hooks, idea, merge, service, snapshot};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::daemon::{Paths, offline};
use crate::domain::ids::RunId;
use crate::domain::rejection::Rejection;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::git;
use crate::process;

/// Who may type a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Anybody: it reads, or writes nothing that belongs to the repository.
    Nobody,
    /// Whoever the rules of the domain admit.
    Rules,
    /// A person or a hook.
    Person,
}

/// Refuses a command that needs a person when an agent or a check of this repository types it.
///
/// # Errors
/// `NOT_FOR_AGENTS`; the processes above this one cannot be read.
pub fn admit(verb: &Verb, context: &Context) -> Result<(), CliError> {
    match need(verb) {
        Need::Nobody | Need::Rules => return Ok(()),
        Need::Person => {}
    }
    let Some(paths) = repository(verb, context) else {
        // The command itself says that there is none.
        return Ok(());
    };
    let by = author(&paths)?;
    if by.is_person() {
        return Ok(());
    }
    let may_be_allowed = false;
    Err(Rejection::NotForAgents { by, may_be_allowed }.into())
}

/// Who speaks in this process.
///
/// # Errors
/// The processes above this one cannot be read.
pub fn author(paths: &Paths) -> Result<Author, CliError> {
    let pid = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
    let unread = |error: &dyn std::fmt::Display| {
        CliError::refused(format!("swarm cannot find out who types this: {error}"))
    };
    let run = process::run_above(&paths.runs, pid).map_err(|error| unread(&error))?;
    let run = run.map(|run| run.id().parse::<RunId>());
    let run = run.transpose().map_err(|error| unread(&error))?;
    let named = named_run(&paths.private);
    if run.is_none() && named.is_none() {
        return Ok(Author::Person);
    }
    // In a state that cannot be read no run is under way.
    let state = offline::read(paths).unwrap_or_else(|_| State::default());
    Ok(match run {
        Some(run) => Author::of_run(&state, run),
        None => Author::who_names(&state, named),
    })
}

/// The repository that the command is about.
fn repository(verb: &Verb, context: &Context) -> Option<Paths> {
    if let Verb::Init(_) = verb {
        let repo = git::Repo::open(&context.start_folder().ok()?).ok()?;
        return Some(Paths::new(repo.root()));
    }
    Some(context.repo().ok()?.paths())
}

/// Who may type this command.
fn need(verb: &Verb) -> Need {
    let unless = |reads: bool| if reads { Need::Nobody } else { Need::Person };
    match verb {
        Verb::Init(_)
        | Verb::Start(_)
        | Verb::Open(_)
        | Verb::Stop(_)
        | Verb::Pause(_)
        | Verb::Resume(_)
        | Verb::Clean(_)
        | Verb::Checks(_) => Need::Person,
        // The demonstration has a repository of its own.
        Verb::Demo(_)
        | Verb::Attach(_)
        | Verb::Status(_)
        | Verb::Path(_)
        | Verb::Report(_)
        | Verb::Log(_)
        | Verb::Events(_)
        | Verb::Replay(_)
        | Verb::Provenance(_)
        | Verb::Wait(_)
        | Verb::Completions(_)
        | Verb::Man(_) => Need::Nobody,
        Verb::Memory(_) | Verb::Scratch(_) | Verb::Mcp(_) => Need::Rules,
        Verb::Idea(verb) => of_idea(verb),
        Verb::Agent(verb) => of_agent(verb),
        Verb::Merge(verb) => of_merge(verb),
        Verb::Checkpoint(verb) => of_checkpoint(verb),
        Verb::Rollback(args) => unless(args.dry_run),
        Verb::Undo(args) => unless(args.dry_run),
        Verb::Snapshot(verb) => match verb {
            snapshot::Snapshot::Show(_)
            | snapshot::Snapshot::Diff(_)
            | snapshot::Snapshot::Verify(_) => Need::Nobody,
            snapshot::Snapshot::Import(args) => unless(args.dry_run),
            snapshot::Snapshot::Export(_)
            | snapshot::Snapshot::Rebuild(_)
            | snapshot::Snapshot::Reclaim(_) => Need::Person,
        },
        Verb::Hooks(verb) => match verb {
            hooks::Hooks::List(_) => Need::Nobody,
            hooks::Hooks::Run(_) | hooks::Hooks::Approve(_) => Need::Person,
        },
        Verb::Config(verb) => of_config(verb),
        Verb::Doctor(args) => unless(!args.fix),
        Verb::Service(verb) => match verb {
            service::Service::Install(args) => unless(args.dry_run),
            service::Service::Uninstall(_) | service::Service::End(_) => Need::Person,
        },
    }
}

fn of_idea(verb: &idea::Idea) -> Need {
    match verb {
        idea::Idea::Add(_) => Need::Rules,
        idea::Idea::List(_) | idea::Idea::Show(_) => Need::Nobody,
        idea::Idea::Edit(_)
        | idea::Idea::Retry(_)
        | idea::Idea::Cancel(_)
        | idea::Idea::Assign(_)
        | idea::Idea::Hold(_)
        | idea::Idea::Unhold(_) => Need::Person,
    }
}

fn of_agent(verb: &Agent) -> Need {
    let unless = |reads: bool| if reads { Need::Nobody } else { Need::Person };
    match verb {
        Agent::List(_) | Agent::Show(_) | Agent::Logs(_) | Agent::Export(_) => Need::Nobody,
        Agent::Import(args) => unless(args.check),
        Agent::Stop(_) | Agent::Redirect(_) | Agent::Say(_) => Need::Person,
    }
}

fn of_merge(verb: &merge::Merge) -> Need {
    match verb {
        merge::Merge::List(_) | merge::Merge::Diff(_) => Need::Nobody,
        merge::Merge::Approve(_)
        | merge::Merge::Reject(_)
        | merge::Merge::Retry(_)
        | merge::Merge::Resolve(_)
        | merge::Merge::Target(_) => Need::Person,
    }
}

fn of_checkpoint(verb: &checkpoint::Checkpoint) -> Need {
    match verb {
        checkpoint::Checkpoint::List(_) | checkpoint::Checkpoint::Show(_) => Need::Nobody,
        checkpoint::Checkpoint::Create(_) | checkpoint::Checkpoint::Delete(_) => Need::Person,
    }
}

fn of_config(verb: &config::Config) -> Need {
    match verb {
        config::Config::Show(_)
        | config::Config::Get(_)
        | config::Config::Check(_)
        | config::Config::Schema(_) => Need::Nobody,
        config::Config::Set(_) | config::Config::TrustGit(_) => Need::Person,
    }
}
