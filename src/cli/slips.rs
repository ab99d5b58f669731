//! Words that people type because another program has such a command or option, and what swarm
//! calls it.
//!
//! Invariant: only a word that is no command or option of swarm comes here, and it stays a usage
//! error: the person is told what to type, and nothing is run.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::error::{CliError, Kind};

/// Words, and the commands that were probably meant, as `words: command`.
type Slip = (&'static [&'static str], &'static [&'static str]);

/// What is typed as a command.
const COMMANDS: [Slip; 20] = [
    (
        &["ls", "list", "ideas"],
        &["list the ideas: swarm idea list"],
    ),
    (
        &["add", "new", "create", "queue"],
        &["add an idea: swarm idea add \"TEXT\""],
    ),
    (
        &["show", "info", "describe"],
        &[
            "show an idea: swarm idea show ID",
            "show an agent: swarm agent show ID",
        ],
    ),
    (
        &["edit"],
        &["change an idea: swarm idea edit ID --text \"TEXT\""],
    ),
    (&["retry"], &["retry an idea: swarm idea retry ID"]),
    (
        &["rm", "remove", "delete", "del", "cancel"],
        &["cancel an idea: swarm idea cancel ID"],
    ),
    (
        &["logs", "tail"],
        &["see an agent's output: swarm agent logs ID"],
    ),
    (
        &["ps", "agents", "top"],
        &["list the agents: swarm agent list"],
    ),
    (
        &["kill"],
        &[
            "stop an agent: swarm agent stop ID",
            "stop the daemon: swarm stop",
        ],
    ),
    (
        &["say", "tell", "send"],
        &["send an agent a message: swarm agent say ID \"TEXT\""],
    ),
    (
        &["run", "up", "go", "daemon", "serve"],
        &["run the daemon: swarm start"],
    ),
    (&["down", "quit", "exit"], &["stop the daemon: swarm stop"]),
    (
        &["restart", "reload"],
        &["stop the daemon: swarm stop", "start it again: swarm start"],
    ),
    (
        &["login", "log-in", "auth"],
        &["log in with the agent's own program, then check: swarm doctor"],
    ),
    (
        &["checkpoints", "save"],
        &[
            "create a checkpoint: swarm checkpoint create NAME",
            "list them: swarm checkpoint list",
        ],
    ),
    (
        &["merges", "land", "resolve"],
        &[
            "see what waits to land: swarm merge list",
            "say that a conflict is resolved: swarm merge resolve ID",
        ],
    ),
    (
        &["approve", "accept"],
        &["approve work, so that it lands: swarm merge approve ID"],
    ),
    (
        &["reject"],
        &["send work back to its agent: swarm merge reject ID \"WHY\""],
    ),
    (
        &["diff"],
        &["see what an idea would change: swarm merge diff ID"],
    ),
    (&["version"], &["print the version: swarm --version"]),
];

/// What is typed after the word for a group of commands.
const SUBCOMMANDS: [(&str, Slip); 12] = [
    ("idea", (&["ls"], &["list the ideas: swarm idea list"])),
    (
        "idea",
        (
            &["new", "create"],
            &["add an idea: swarm idea add \"TEXT\""],
        ),
    ),
    (
        "idea",
        (
            &["rm", "remove", "delete", "del", "stop", "kill"],
            &["cancel an idea: swarm idea cancel ID"],
        ),
    ),
    (
        "idea",
        (
            &["run", "start"],
            &["start an idea now: swarm idea assign ID"],
        ),
    ),
    (
        "agent",
        (&["ls", "ps"], &["list the agents: swarm agent list"]),
    ),
    (
        "agent",
        (
            &["log", "tail"],
            &["see an agent's output: swarm agent logs ID"],
        ),
    ),
    (
        "agent",
        (
            &["rm", "remove", "delete", "kill", "cancel"],
            &["stop an agent: swarm agent stop ID"],
        ),
    ),
    (
        "agent",
        (
            &["tell", "send", "message"],
            &["send an agent a message: swarm agent say ID \"TEXT\""],
        ),
    ),
    (
        "checkpoint",
        (&["ls"], &["list the checkpoints: swarm checkpoint list"]),
    ),
    (
        "checkpoint",
        (
            &["add", "new", "make", "save"],
            &["create a checkpoint: swarm checkpoint create NAME"],
        ),
    ),
    (
        "checkpoint",
        (
            &["rm", "remove", "del"],
            &["delete a checkpoint: swarm checkpoint delete NAME"],
        ),
    ),
    (
        "merge",
        (
            &["ls", "queue"],
            &["see what waits to land: swarm merge list"],
        ),
    ),
];

/// What is typed as an option of a command.
const OPTIONS: [(&str, Slip); 2] = [
    (
        "log",
        (
            &["-f", "--follow"],
            &[
                "follow every event: swarm events --follow",
                "watch the swarm: swarm attach",
            ],
        ),
    ),
    (
        "log",
        (
            &["--agent"],
            &[
                "see an agent's output: swarm agent logs ID",
                "see an agent's events: swarm events --agent ID",
            ],
        ),
    ),
];

/// What to type instead, where the command or the option is a common slip.
pub(super) fn correct(error: &clap::Error, args: &[OsString]) -> Option<CliError> {
    if error.kind() == ErrorKind::UnknownArgument {
        correct_option(error, args)
    } else if error.kind() == ErrorKind::InvalidSubcommand {
        correct_command(error, args)
    } else {
        None
    }
}

fn correct_option(error: &clap::Error, args: &[OsString]) -> Option<CliError> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let (command, (_, hints)) = OPTIONS.iter().find(|(command, (words, _))| {
        words.contains(&option.as_str()) && args.iter().skip(1).any(|arg| **arg == **command)
    })?;
    let message = format!("`swarm {command}` has no option `{option}`");
    let unknown = CliError::new(Kind::Usage, message);
    Some(hints.iter().fold(unknown, |error, hint| error.hint(*hint)))
}

fn correct_command(error: &clap::Error, args: &[OsString]) -> Option<CliError> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let at = args.iter().skip(1).position(|arg| **arg == **word)? + 1;
    let in_group = |(group, slip): &(&str, Slip)| {
        let named = args[1..at].iter().any(|arg| **arg == **group);
        named.then_some((format!("{group} {word}"), *slip))
    };
    let mut grouped = SUBCOMMANDS.iter().filter_map(in_group).peekable();
    let (typed, commands) = if grouped.peek().is_some() {
        grouped.find(|(_, (words, _))| words.contains(&word.as_str()))?
    } else {
        let slip = COMMANDS
            .iter()
            .find(|(words, _)| words.contains(&word.as_str()))?;
        (word.clone(), *slip)
    };
    let unknown = CliError::new(Kind::Usage, format!("`swarm {typed}` is not a command"));
    let hints = commands.1.iter();
    Some(hints.fold(unknown, |error, hint| error.hint(*hint)))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::Cli;

    fn answer(line: &str) -> Option<CliError> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        correct(&Cli::try_parse_from(&args).unwrap_err(), &args)
    }

    #[test]
    fn every_slip_is_answered_with_commands_that_can_be_typed() {
        let top = COMMANDS.map(|slip| ("swarm".to_owned(), slip));
        let below = SUBCOMMANDS.map(|(group, slip)| (format!("swarm {group}"), slip));
        let options = OPTIONS.map(|(command, slip)| (format!("swarm {command}"), slip));
        for (path, (words, hints)) in top.iter().chain(&below).chain(&options) {
            for word in *words {
                let found = answer(&format!("{path} {word} 3"));
                let found = found.unwrap_or_else(|| panic!("{path} {word}"));
                assert_eq!(found.kind, Kind::Usage, "{word}");
                assert_eq!(found.hints, *hints, "{word}");
                assert!(found.message.contains(word), "{found}");
            }
            for hint in *hints {
                let (_, line) = hint.split_once(": ").unwrap();
                let words = line.split(' ').map(|word| match word {
                    "ID" | "NAME" => "x-3",
                    word => word,
                });
                let asks = Cli::try_parse_from(words).map_err(|error| error.kind());
                let fine =
                    asks.is_ok() || asks.is_err_and(|kind| kind == ErrorKind::DisplayVersion);
                assert!(fine, "{line}");
            }
        }
    }

    #[test]
    fn a_slip_is_seen_behind_options_and_other_words_are_not() {
        assert!(answer("swarm --json -C ls ls").is_some());
        assert!(answer("swarm -C x idea ls").is_some());
        assert!(answer("swarm log --agent=ed-001").is_some());
        assert!(answer("swarm agent log").is_some());
        assert!(answer("swarm fly").is_none());
        assert!(answer("swarm idea logs").is_none());
        assert!(answer("swarm idea show").is_none());
    }
}
