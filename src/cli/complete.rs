//! Answers a shell that completes a command line: commands, options, and the ids that exist.
//!
//! Invariant: fast and silent. What cannot be known in [`PATIENCE`] is left out, and nothing but
//! candidates is ever printed. The script of `swarm completions` calls this, with [`VARIABLE`] set.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use serde_json::Value;

use super::access::{Access, with_access};
use super::args::Cli;
use super::error::CliError;
use super::json::text;
use super::output::terminal::title;
use super::repo::Repo;
use crate::config;
use crate::domain::hook::HookName;
use crate::view::describe::KINDS;

/// Set by the script of a shell; its value names the shell.
const VARIABLE: &str = "SWARM_COMPLETE";
/// A person waits for the answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// The longest description, in characters.
const DESCRIPTION: usize = 50;

/// What a word on the command line can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Ideas,
    Agents,
    Checkpoints,
    Profiles,
    Hooks,
    ConfigKeys,
    Kinds,
}

/// Answers a shell that asks for candidates; `false` if this is an ordinary command.
pub fn answer(args: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let folder = std::env::current_dir().ok();
    let place = repository(args).or_else(|| folder.clone());
    let completing =
        CompleteEnv::with_factory(|| with_names(Cli::command(), &[], place.as_deref()))
            .var(VARIABLE)
            .bin("swarm")
            .completer("swarm");
    // An error message would appear in the middle of what the person types.
    let _ = completing.try_complete(args, folder.as_deref());
    true
}

/// The script that makes a shell ask.
pub fn script(shell: Shell) -> Result<String, CliError> {
    let mut script = Vec::new();
    let written = Shells::builtins()
        .completer(&shell.to_string())
        .map_or_else(
            || Err(std::io::Error::other("this shell is unknown")),
            |shell| shell.write_registration(VARIABLE, "swarm", "swarm", "swarm", &mut script),
        );
    written.map_err(|error| CliError::io("write the completion script", &error))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The folder that `-C` names in the words so far.
fn repository(args: &[OsString]) -> Option<PathBuf> {
    let words = args.iter().skip_while(|word| *word != "--").skip(1);
    let mut words = words.skip(1);
    while let Some(word) = words.next() {
        if word == "-C" || word == "--repo" {
            return words.next().map(PathBuf::from);
        }
        let joined = word.to_str().and_then(|word| word.strip_prefix("--repo="));
        if let Some(folder) = joined {
            return Some(folder.into());
        }
    }
    None
}

/// The command line, where each argument that takes a name knows the names that exist.
fn with_names(command: Command, path: &[&str], place: Option<&Path>) -> Command {
    let name = command.get_name().to_owned();
    let mut path = path.to_vec();
    path.push(&name);
    command
        .mut_args(|arg| match named_by(&path, &arg) {
            None => arg,
            Some(names) => {
                let place = place.map(Path::to_owned);
                arg.add(ArgValueCandidates::new(move || {
                    candidates(names, place.clone())
                }))
            }
        })
        .mut_subcommands(|sub| with_names(sub, &path, place))
}

/// What an argument of a command names, if it names something that exists already.
fn named_by(path: &[&str], arg: &Arg) -> Option<Names> {
    let verb = path.get(1).copied().unwrap_or_default();
    let sub = path.get(2).copied().unwrap_or_default();
    match (verb, sub, arg.get_id().as_str()) {
        ("agent", _, "id" | "ids") | (_, _, "agent") => Some(Names::Agents),
        ("checkpoint", "create", _) => None,
        ("checkpoint" | "rollback", _, "name") => Some(Names::Checkpoints),
        ("hooks", _, "name") => Some(Names::Hooks),
        ("config", _, "key") => Some(Names::ConfigKeys),
        ("events", _, "kind") => Some(Names::Kinds),
        (_, _, "profile") => Some(Names::Profiles),
        ("idea" | "wait" | "merge" | "path", _, "id" | "ids")
        | (_, _, "idea" | "ideas" | "after") => Some(Names::Ideas),
        _ => None,
    }
}

fn candidates(names: Names, place: Option<PathBuf>) -> Vec<CompletionCandidate> {
    match names {
        Names::Hooks => plain(HookName::ALL.map(HookName::as_str)),
        Names::Kinds => plain(KINDS.iter().copied()),
        Names::Ideas | Names::Agents | Names::Checkpoints | Names::Profiles | Names::ConfigKeys => {
            let (send, receive) = mpsc::channel();
            // A daemon that hangs must not hold up the shell: the thread ends with this process.
            thread::spawn(move || send.send(known(names, place.as_deref())));
            receive
                .recv_timeout(PATIENCE)
                .ok()
                .flatten()
                .unwrap_or_default()
        }
    }
}

fn plain<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// The names in a repository; `None` where there is none.
fn known(names: Names, place: Option<&Path>) -> Option<Vec<CompletionCandidate>> {
    let repo = Repo::find(place?).ok()?;
    match names {
        Names::Ideas => described(
            &repo,
            |access| access.ideas_open_first(None),
            "id",
            "content",
        ),
        Names::Agents => described(&repo, Access::agents, "id", "ideaId"),
        Names::Checkpoints => described(&repo, Access::checkpoints, "name", "createdAt"),
        Names::Profiles => {
            let layered = config::load(&repo.folder(), config::environment(), vec![]).ok()?;
            Some(plain(
                layered.config.agents.profiles.keys().map(String::as_str),
            ))
        }
        Names::ConfigKeys => {
            let layered = config::load(&repo.folder(), config::environment(), vec![]).ok()?;
            Some(plain(layered.show().iter().map(|shown| shown.key.as_str())))
        }
        Names::Hooks | Names::Kinds => None,
    }
}

/// The names in a list of views, each with its description.
fn described(
    repo: &Repo,
    fetch: impl Fn(&mut Access) -> Result<Value, CliError>,
    name: &str,
    help: &str,
) -> Option<Vec<CompletionCandidate>> {
    let views = with_access(repo, |access| fetch(access)).ok()?;
    let candidate = |(place, view): (usize, &Value)| {
        let help = title(text(view, help), DESCRIPTION);
        CompletionCandidate::new(text(view, name))
            .help(Some(help.into()))
            .display_order(Some(place))
    };
    Some(
        views
            .as_array()?
            .iter()
            .enumerate()
            .map(candidate)
            .collect(),
    )
}
