//! The command line as clap types; doc comments become the help texts.
//!
//! Invariant: names and meanings are fixed by the contract. Each command's own arguments live next
//! to the command, in `commands/<verb>.rs`.

pub mod at;
pub mod global;

use clap::{Parser, Subcommand};

use super::commands::{
    agent, attach, checkpoint, checks, clean, completions, config, demo, doctor, events, hooks,
    idea, init, log, man, mcp, memory, merge, open, path, pause, provenance, replay, report,
    rollback, scratch, service, snapshot, start, status, stop, undo, wait,
};
use super::error::EXIT_CODES;
use global::Global;

const FIRST_STEPS: &str = "\
First steps:
  swarm demo                        watch it work; needs no setup
  swarm init                        set up this repository
  swarm idea add \"add a --version flag\"
  swarm start";

fn exit_codes_and_first_steps() -> String {
    let line = |(code, meaning): (u8, &str)| format!("  {code:<5}{meaning}\n");
    let lines: String = EXIT_CODES.map(line).concat();
    format!("Exit codes:\n{lines}\n{FIRST_STEPS}")
}

/// Run a backlog of ideas through coding agents in parallel git worktrees, land what passes the
/// project's own checks, and lose nothing.
#[derive(Debug, Parser)]
#[command(name = "swarm", version, after_help = exit_codes_and_first_steps(),
    propagate_version = false, max_term_width = 100)]
pub struct Cli {
    /// The options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Set up this repository: write `.swarm/`.
    Init(init::Init),
    /// Watch a scripted agent work in a temporary repository. Needs no key, network or
    /// configuration.
    Demo(demo::Demo),
    /// Run the daemon: hand ideas to agents and land their work.
    Start(start::Start),
    /// Show the running daemon in a full-screen view.
    Attach(attach::Attach),
    /// Print a link to the running daemon's web page.
    Open(open::Open),
    /// Stop the daemon gracefully, like one Ctrl+C.
    Stop(stop::Stop),
    /// Show what is running, what is waiting and what needs you.
    Status(status::Status),
    /// Add and manage ideas.
    #[command(subcommand)]
    Idea(idea::Idea),
    /// Inspect, stop, redirect or message agents.
    #[command(subcommand)]
    Agent(agent::Agent),
    /// Print the path of the worktree of an idea or agent.
    Path(path::PathOf),
    /// Start nothing new, and hold agents after their current iteration.
    Pause(pause::Pause),
    /// Resume after a pause.
    Resume(pause::Resume),
    /// Inspect and manage the merge queue.
    #[command(subcommand)]
    Merge(merge::Merge),
    /// Manage named points to roll back to.
    #[command(subcommand)]
    Checkpoint(checkpoint::Checkpoint),
    /// Roll back to a checkpoint.
    Rollback(rollback::Rollback),
    /// Take back your last rollback, cancellation, approval or redirect.
    Undo(undo::Undo),
    /// List, test and approve hooks.
    #[command(subcommand)]
    Hooks(hooks::Hooks),
    /// Show and change what agents know: learnings, facts and their history.
    #[command(subcommand)]
    Memory(memory::Memory),
    /// Read and write the scratchpad, the notes that all agents share.
    #[command(subcommand)]
    Scratch(scratch::Scratch),
    /// Serve tools of the Model Context Protocol to an agent's program.
    Mcp(mcp::Mcp),
    /// Summarize what happened: landed, failed, waiting, stuck, spent.
    Report(report::Report),
    /// Show what happened, newest last: a line for each thing that matters to you.
    Log(log::Log),
    /// Show the event log: every step.
    Events(events::Events),
    /// Show the state at a point in the event log, or verify the snapshot against the log.
    Replay(replay::Replay),
    /// Look into an earlier state, compare two, and check or rewrite the snapshot on disk.
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    /// Show what each iteration was given, what it did and what came of it.
    #[command(subcommand)]
    Provenance(provenance::Provenance),
    /// Wait until one idea, or everything, is finished.
    Wait(wait::Wait),
    /// Show and check the configuration.
    #[command(subcommand)]
    Config(config::Config),
    /// Find out whether your checks see the tree that they check.
    #[command(subcommand)]
    Checks(checks::Checks),
    /// Find out what is wrong and how to fix it.
    Doctor(doctor::Doctor),
    /// Remove old output and leftovers to free disk space.
    Clean(clean::Clean),
    /// Have the system's service manager run the daemon.
    #[command(subcommand)]
    Service(service::Service),
    /// Print a completion script for a shell.
    Completions(completions::Completions),
    /// Write the manual pages.
    Man(man::Man),
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    fn leaves(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        // Nobody types a hidden command.
        let shown = |sub: &&Command| !sub.is_hide_set();
        let mut subcommands = command.get_subcommands().filter(shown).peekable();
        if subcommands.peek().is_none() {
            found.push((path.to_owned(), command.clone()));
        }
        for sub in subcommands {
            leaves(sub, &format!("{path} {}", sub.get_name()), found);
        }
    }

    fn all() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        leaves(&Cli::command(), "swarm", &mut found);
        found
    }

    /// The lines of a help text that show how to type a command.
    fn examples(command: &Command) -> Vec<String> {
        let text = command.get_after_help().or(command.get_after_long_help());
        let text = text.map(ToString::to_string).unwrap_or_default();
        let typed = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("$ "));
        typed.map(str::to_owned).collect()
    }

    /// Splits as a shell does, as far as the examples need it.
    fn split(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '"' | '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_and_every_example_parses() {
        for (path, command) in all() {
            let examples = examples(&command);
            assert!(!examples.is_empty(), "{path} has no example");
            for example in examples {
                let line = example.split(" | ").find(|part| part.starts_with("swarm"));
                let line = line.unwrap_or_else(|| panic!("{example} does not call swarm"));
                let line = line.split(" > ").next().unwrap_or(line);
                let words = split(line);
                assert!(
                    line.starts_with(&path) || words.contains(&"-C".to_owned()),
                    "{line} is not an example of {path}"
                );
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    /// clap wraps longer lines by itself.
    const WIDTH: usize = 100;

    #[test]
    fn no_help_text_wraps_a_long_sentence_by_hand() {
        for (path, command) in all() {
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let goes_on = pair[1].trim_start().starts_with(|c: char| c.is_lowercase());
                let broken = goes_on && pair[0].chars().count() > WIDTH;
                assert!(!broken, "{path}: {}", pair[0]);
            }
        }
    }

    #[test]
    fn the_commands_are_those_of_the_contract() {
        let paths: Vec<String> = all().into_iter().map(|(path, _)| path).collect();
        let expected = "init, demo, start, attach, open, stop, status, idea add, idea list, \
            idea show, idea edit, idea retry, idea cancel, idea assign, idea hold, idea unhold, \
            agent list, \
            agent show, agent logs, agent stop, agent redirect, agent say, agent export, agent \
            import, path, pause, resume, merge list, merge diff, merge approve, merge reject, \
            merge retry, merge resolve, merge target, checkpoint create, checkpoint list, \
            checkpoint show, checkpoint delete, \
            rollback, undo, hooks list, hooks run, hooks approve, memory log, memory \
            learnings, memory learn, memory board, memory get, memory history, memory put, memory \
            cas, memory confirm, memory dispute, memory resolve, memory pin, memory unpin, memory \
            retract, memory search, memory shown, memory stats, memory compact, memory \
            synthesize, scratch get, scratch put, scratch cas, scratch list, scratch drop, mcp, \
            report, log, events, replay, snapshot show, snapshot diff, snapshot export, snapshot \
            verify, snapshot rebuild, snapshot import, snapshot reclaim, provenance list, \
            provenance show, provenance verify, provenance export, provenance schema, \
            provenance replay, wait, config show, config get, \
            config set, config check, config schema, config trust-git, checks probe, \
            checks accept-blind, doctor, clean, service install, service uninstall, completions, \
            man";
        let expected: Vec<String> = expected
            .split(", ")
            .map(|path| format!("swarm {path}"))
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn global_options_go_before_and_after_the_command() {
        for line in [
            "swarm --json -C x status",
            "swarm status --json -C x",
            "swarm idea list --json --repo x",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.global.json && cli.global.repo.is_some(), "{line}");
        }
    }

    #[test]
    fn a_bad_id_is_a_usage_error() {
        let error = Cli::try_parse_from(["swarm", "idea", "show", "../x"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
