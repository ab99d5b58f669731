//! Plans the files that `swarm init` writes, so that a person can see them first.
//! [`write`](fn@super::write::write) then puts them on disk.
//!
//! Invariant: planning is pure, and the configuration in a plan has passed every check.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::detect::{Detected, FoundCommand, KNOWN_AGENTS};
use super::setup::FoundSetup;
use super::template::{Fill, plain_files, render_config};
use crate::config::cross_checks::known_profile;
use crate::config::errors::{ConfigError, nearest};
use crate::config::layers::{Sources, layer};
use crate::config::model::{Config, Worktree};
use crate::config::schema::schema_text;

/// Name of swarm's directory in a repository.
pub const SWARM_DIR: &str = ".swarm";
/// Name of the default profile, which `swarm init` writes.
pub const PROFILE: &str = "ed";

/// The choices of the person who runs `swarm init`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// `--agent`: one of [`KNOWN_AGENTS`], `command`, `acp` or `demo`. `None` means the first agent
    /// that is installed.
    pub agent: Option<String>,
    /// The words after `--`: the program of agent `command` or `acp`, and its arguments.
    pub command: Vec<String>,
    /// `--target`.
    pub target: Option<String>,
    /// The branch that is checked out, if any.
    pub branch: Option<String>,
}

/// The files to write, and what to tell the person before they agree.
#[derive(Debug, Clone)]
pub struct InitPlan {
    /// Path below `.swarm/` and content of each file.
    pub files: Vec<(PathBuf, String)>,
    /// The configuration in `config.json`.
    pub config: Config,
    /// The quality commands found, each with its evidence.
    pub quality: Vec<FoundCommand>,
    /// The setup commands found, each with its evidence.
    pub setup: Vec<FoundSetup>,
    /// What the person should know before they agree, one or two sentences each.
    pub notes: Vec<String>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// `.swarm` exists.
    #[error(
        "`{}` already exists, so nothing was written; edit its config.json and run `swarm config \
        check`",
        .0.display()
    )]
    Exists(PathBuf),
    /// `.swarm` is a link or a file.
    #[error(
        "`{}` exists but is not a directory, so nothing was written; move it away and run \
         `swarm init` again",
        .0.display()
    )]
    NotADirectory(PathBuf),
    /// No branch is checked out, and the person named none.
    #[error(
        "no branch is checked out, so swarm cannot tell where work should land; run \
         `swarm init --target BRANCH`"
    )]
    NoTarget,
    /// swarm does not know the agent.
    #[error(
        "unknown agent `{name}`; {}known agents: {}. To use your own program, run \
         `swarm init --agent command -- PROGRAM ARGUMENT...`",
        nearest.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default(),
        KNOWN_AGENTS.join(", ")
    )]
    #[allow(missing_docs)]
    UnknownAgent {
        name: String,
        /// The known name with the most similar spelling.
        nearest: Option<&'static str>,
    },
    /// A program was given for an agent whose program swarm knows.
    #[error(
        "a program after `--` needs `--agent command` or `--agent acp`; remove the program or \
         change the agent"
    )]
    CommandNotWanted,
    /// The choices make an invalid configuration.
    #[error("with these choices, {0}")]
    Config(#[from] ConfigError),
    /// A system call failed.
    #[error(
        "cannot write `{}`: {source}; nothing was written, so fix the cause and run `swarm init` \
         again",
        path.display()
    )]
    #[allow(missing_docs)]
    Io { path: PathBuf, source: io::Error },
}

/// Decides what to write. Pure. If there is no agent, the plan has no profile, and a note says how
/// to add one.
///
/// # Errors
/// A choice that cannot be followed.
pub fn plan_init(choices: &Choices, detected: &Detected) -> Result<InitPlan, InitError> {
    let target = choices.target.clone().or_else(|| choices.branch.clone());
    let mut notes = Vec::new();
    let agent = choose_agent(choices, detected, &mut notes)?;
    let fill = Fill {
        target: target.ok_or(InitError::NoTarget)?,
        profiles: agent.map_or(json!({}), |profile| json!({ PROFILE: profile })),
        quality_commands: detected.quality.iter().map(|q| q.command.clone()).collect(),
        worktree: worktree(detected),
    };
    notes.extend(quality_notes(&detected.quality));
    notes.extend(setup_notes(&detected.setup));
    let text = render_config(&fill);
    let sources = Sources {
        shared: Some(text.clone()),
        ..Sources::default()
    };
    let config = layer(&sources)?.config;
    Ok(InitPlan {
        files: all_files(text),
        config,
        quality: detected.quality.clone(),
        setup: detected.setup.clone(),
        notes,
    })
}

fn worktree(detected: &Detected) -> Worktree {
    let setup = detected.setup.iter();
    let mut inputs: Vec<String> = Vec::new();
    for input in setup.clone().flat_map(|found| &found.inputs) {
        if !inputs.contains(input) {
            inputs.push(input.clone());
        }
    }
    Worktree {
        setup: setup.map(|found| found.command.clone()).collect(),
        setup_inputs: inputs,
        copy: detected.copy.clone(),
        ..Worktree::default()
    }
}

fn setup_notes(setup: &[FoundSetup]) -> Vec<String> {
    let missing = setup.iter().filter(|found| !found.runnable);
    missing
        .map(|found| {
            format!(
                "`{}` (from {}) cannot run on this machine: its program is missing. Until it \
                runs, no work can begin.",
                found.command, found.because
            )
        })
        .collect()
}

fn all_files(config: String) -> Vec<(PathBuf, String)> {
    let written = [
        ("config.json".to_owned(), config),
        ("config.schema.json".to_owned(), schema_text()),
    ];
    let files = written.into_iter().chain(plain_files());
    files
        .map(|(path, text)| (PathBuf::from(path), text))
        .collect()
}

/// The profile to write; `None` if no agent is known yet.
fn choose_agent(
    choices: &Choices,
    detected: &Detected,
    notes: &mut Vec<String>,
) -> Result<Option<Value>, InitError> {
    let first = detected.agents.first().map(|agent| agent.name);
    let name = match &choices.agent {
        Some(name) => name.as_str(),
        None if choices.command.is_empty() => first.unwrap_or("command"),
        None => "command",
    };
    match name {
        "command" | "acp" if choices.command.is_empty() => {
            notes.push(no_agent_note(choices));
            Ok(None)
        }
        "command" | "acp" => {
            notes.extend(committed_note(&choices.command));
            Ok(Some(command_profile(name, &choices.command)))
        }
        _ if !choices.command.is_empty() => Err(InitError::CommandNotWanted),
        "demo" => Ok(Some(json!({ "adapter": "demo" }))),
        name => {
            let profile = known_profile(name).ok_or_else(|| unknown_agent(name))?;
            notes.extend(agent_notes(name, detected));
            Ok(Some(profile))
        }
    }
}

fn command_profile<T: serde::Serialize>(adapter: &str, command: &[T]) -> Value {
    json!({ "adapter": adapter, "command": command })
}

/// Warns about a program in the repository: worktrees contain it only once it is committed.
fn committed_note(command: &[String]) -> Option<String> {
    let in_the_repository = |word: &&String| {
        let path = Path::new(word.as_str());
        let looks_like_a_file = word.contains('/') || path.extension().is_some();
        path.is_relative() && looks_like_a_file && !word.starts_with('-') && !word.contains("://")
    };
    let word = command.iter().find(in_the_repository)?;
    Some(format!(
        "If `{word}` is a file in this repository, commit it before `swarm start`: agents run in \
         worktrees, which contain only committed files."
    ))
}

fn unknown_agent(name: &str) -> InitError {
    InitError::UnknownAgent {
        name: name.to_owned(),
        nearest: nearest(
            name,
            KNOWN_AGENTS.into_iter().chain(["command", "acp", "demo"]),
        ),
    }
}

fn no_agent_note(choices: &Choices) -> String {
    let why = match &choices.agent {
        Some(agent) => format!("No program was given for agent `{agent}`"),
        None => format!(
            "No agent was found on PATH (looked for {})",
            KNOWN_AGENTS.join(", ")
        ),
    };
    let agent = choices.agent.as_deref().unwrap_or("command");
    let example = command_profile(agent, &["PROGRAM", "ARGUMENT"]);
    let speaks = match agent {
        "acp" => "must speak the Agent Client Protocol on standard input and output",
        _ => "receives the prompt on standard input",
    };
    format!(
        "{why}, so the configuration has no profile and `swarm start` cannot run yet. Install an \
         agent, or use a program of your own: add it under `agents` in .swarm/config.json: \
         \"profiles\": {{\"ed\": {example}}}. The program {speaks}. `swarm demo` needs no agent."
    )
}

fn agent_notes(name: &str, detected: &Detected) -> Vec<String> {
    let mut notes = vec![format!(
        "`{name}` starts in its own worktree, but is not confined to it. To change how it starts, \
         edit agents.profiles.ed in .swarm/config.json."
    )];
    let others: Vec<&str> = detected
        .agents
        .iter()
        .map(|agent| agent.name)
        .filter(|other| *other != name)
        .collect();
    if others.len() == detected.agents.len() {
        notes.push(format!(
            "`{name}` is not on PATH; install it before `swarm start`."
        ));
    }
    if !others.is_empty() {
        notes.push(format!(
            "Also installed: {}. To use another agent, pass `--agent`.",
            others.join(", ")
        ));
    }
    notes
}

fn quality_notes(quality: &[FoundCommand]) -> Vec<String> {
    if quality.is_empty() {
        return vec![
            "No quality command was found, so swarm checks nothing before work lands. Add your \
             project's commands to qualityCommands in .swarm/config.json."
                .to_owned(),
        ];
    }
    let missing = quality.iter().filter(|found| !found.runnable);
    missing
        .map(|found| {
            format!(
                "`{}` (from {}) cannot run on this machine: its program is missing or not \
                 executable. Until it runs, no work can land.",
                found.command, found.because
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use std::path::Path;

    use super::*;
    use crate::config::init::detect::FoundAgent;
    use crate::config::{Adapter, profile_problem};

    fn on_main() -> Choices {
        Choices {
            branch: Some("main".to_owned()),
            ..Choices::default()
        }
    }

    fn agent(name: &str, command: &[&str]) -> Choices {
        Choices {
            agent: Some(name.to_owned()),
            command: command.iter().map(|&part| part.to_owned()).collect(),
            ..on_main()
        }
    }

    fn installed(names: &[&'static str]) -> Detected {
        let found = |&name| FoundAgent {
            name,
            program: Path::new("/bin").join(name),
        };
        let quality = FoundCommand {
            command: "cargo test".to_owned(),
            because: "Cargo.toml".to_owned(),
            runnable: true,
        };
        Detected {
            agents: names.iter().map(found).collect(),
            quality: vec![quality],
            ..Detected::default()
        }
    }

    fn plan(choices: &Choices, names: &[&'static str]) -> InitPlan {
        plan_init(choices, &installed(names)).unwrap()
    }

    #[test]
    fn the_first_installed_agent_is_the_default() {
        let plan = plan(&on_main(), &["codex", "gemini"]);
        let ed = &plan.config.agents.profiles["ed"];
        assert_eq!((ed.adapter, ed.command.len()), (Adapter::Codex, 0));
        assert_eq!(plan.config.target.as_deref(), Some("main"));
        assert_eq!(plan.config.quality_commands, ["cargo test"]);
        assert_eq!(profile_problem(&plan.config, "ed"), None);
        assert!(plan.notes[0].contains("is not confined to it"));
        assert!(plan.notes[1].contains("Also installed: gemini"));
    }

    #[test]
    fn any_program_can_be_the_agent() {
        for choices in [
            agent("command", &["python3", "a b.py"]),
            Choices {
                agent: None,
                ..agent("", &["python3", "a b.py"])
            },
        ] {
            let plan = plan(&choices, &["claude"]);
            assert_eq!(
                plan.config.agents.profiles["ed"].command,
                ["python3", "a b.py"]
            );
            assert_eq!(plan.notes.len(), 1);
            assert!(plan.notes[0].contains("If `a b.py` is a file in this repository, commit it"));
        }
    }

    #[test]
    fn the_acp_adapter_needs_a_program() {
        let choices = agent("acp", &["my-agent", "--acp"]);
        let profile = plan(&choices, &[]).config.agents.profiles["ed"].clone();
        assert_eq!(profile.adapter, Adapter::Acp);
        assert_eq!(profile.command, ["my-agent", "--acp"]);
        let notes = plan(&agent("acp", &[]), &["claude"]).notes;
        assert!(notes[0].contains("No program was given for agent `acp`"));
        assert!(notes[0].contains("must speak the Agent Client Protocol"));
    }

    #[test]
    fn a_program_outside_the_repository_needs_no_commit() {
        for words in [
            &["my-agent", "--model=a/b"][..],
            &["/opt/agent.sh"],
            &["my-agent", "http://localhost/v1"],
        ] {
            let plan = plan(&agent("command", words), &[]);
            assert_eq!(plan.notes, [""; 0], "{words:?}");
        }
    }

    #[test]
    fn every_known_agent_has_a_valid_profile() {
        for name in KNOWN_AGENTS.into_iter().chain(["demo"]) {
            let plan = plan(&agent(name, &[]), &[]);
            assert_eq!(profile_problem(&plan.config, "ed"), None, "{name}");
        }
        let notes = plan(&agent("claude", &[]), &["codex"]).notes;
        assert!(notes[1].contains("`claude` is not on PATH"));
    }

    #[test]
    fn without_an_agent_init_writes_the_rest_and_names_the_next_step() {
        for choices in [on_main(), agent("command", &[])] {
            let plan = plan(&choices, &[]);
            assert!(plan.config.agents.profiles.is_empty());
            assert!(plan.notes[0].contains(
                r#""profiles": {"ed": {"adapter":"command","command":["PROGRAM","ARGUMENT"]}}"#
            ));
            assert!(plan.notes[0].contains("under `agents` in .swarm/config.json"));
            assert!(profile_problem(&plan.config, "ed").is_some());
        }
    }

    #[test]
    fn invalid_choices_are_refused() {
        let refused =
            |choices: &Choices| plan_init(choices, &installed(&[])).unwrap_err().to_string();
        assert!(refused(&agent("claud", &[])).contains("did you mean `claude`?"));
        assert!(refused(&agent("gpt", &[])).contains("unknown agent `gpt`"));
        assert!(refused(&agent("claude", &["x"])).contains("needs `--agent command`"));
        assert!(refused(&Choices::default()).contains("--target BRANCH"));
        let target = Choices {
            target: Some("a b".to_owned()),
            ..on_main()
        };
        assert!(refused(&target).contains("`a b` is not a valid git branch name"));
        assert!(refused(&agent("command", &[" "])).contains("requires a program"));
    }

    #[test]
    fn commands_that_cannot_run_are_noted() {
        let mut detected = installed(&["claude"]);
        detected.quality[0].runnable = false;
        let notes = plan_init(&on_main(), &detected).unwrap().notes;
        assert!(
            notes
                .iter()
                .any(|note| note.contains("`cargo test` (from Cargo.toml) cannot run"))
        );
        detected.quality.clear();
        let notes = plan_init(&on_main(), &detected).unwrap().notes;
        assert!(
            notes
                .iter()
                .any(|note| note.contains("No quality command was found"))
        );
    }
}
