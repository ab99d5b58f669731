//! Alarms and notes about all commands together.
//!
//! Invariant: pure. A linter alone raises no alarm, and a blind command none while another one
//! executes the tree, unless it is a test runner.

use std::path::Path;

use super::programs::{is_node, is_python, is_reader, is_test_runner};
use super::report::{CommandReport, Notice};
use super::verdict::{Dependence, Sight};

/// What the messages name.
pub(super) struct Facts<'a> {
    pub checkout: &'a Path,
    pub source_files: usize,
    /// What in the environment leads to the checkout, for people.
    pub leads: &'a [String],
}

/// Alarms and notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    pub alarms: Vec<Notice>,
    pub notes: Vec<Notice>,
}

/// Judges commands of a project that has source files.
pub(super) fn judge(commands: &[CommandReport], facts: &Facts<'_>) -> Judgement {
    let executes = commands.iter().any(|it| it.sight == Sight::Executes);
    let mut found = Judgement::default();
    for command in commands {
        of_checkout(command, facts, &mut found);
        // What is known to read the checkout is blind for that reason.
        if command.checkout != Dependence::Source {
            of_sight(command, executes, facts, &mut found);
        }
    }
    let reads = commands.iter().any(|it| it.sight == Sight::Reads);
    if !executes && reads && found.alarms.is_empty() {
        found.notes.push(Notice {
            command: None,
            message: "your checks only read the tree; none compiles or executes it".into(),
            remedies: vec!["add a test: swarm config set qualityCommands '[...]'".into()],
        });
    }
    found
}

fn of_checkout(command: &CommandReport, facts: &Facts<'_>, found: &mut Judgement) {
    let name = &command.command;
    let checkout = facts.checkout.display();
    let notice = |message: String, remedies| Notice {
        command: Some(name.clone()),
        message,
        remedies,
    };
    match command.checkout {
        Dependence::Source => {
            let what = match command.paths.first() {
                Some(path) => format!("{path} instead of this tree's file"),
                None => format!("source files of {checkout} instead of this tree's"),
            };
            let message = format!(
                "`{name}` fails when your checkout is out of sight: it reads {what}{}",
                leads(facts)
            );
            if command.accepted {
                found
                    .notes
                    .push(notice(format!("{message} (accepted)"), vec![]));
            } else {
                let remedies = vec![own_environment(name), accept(name)];
                found.alarms.push(notice(message, remedies));
            }
        }
        Dependence::Other => {
            let message = format!(
                "`{name}` uses things of your checkout that are not source, such as tools or \
                built files in {checkout}{}",
                leads(facts)
            );
            found
                .notes
                .push(notice(message, vec![own_environment(name)]));
        }
        Dependence::Unknown if command.sight != Sight::Unknown => {
            let why = command.why.as_deref().unwrap_or("its run said nothing");
            let message = format!("whether `{name}` needs your checkout is unknown: {why}");
            found.notes.push(notice(message, vec![]));
        }
        Dependence::None | Dependence::Unknown => {}
    }
}

fn of_sight(command: &CommandReport, executes: bool, facts: &Facts<'_>, found: &mut Judgement) {
    let name = &command.command;
    let notice = |message: String, remedies| Notice {
        command: Some(name.clone()),
        message,
        remedies,
    };
    match command.sight {
        Sight::Executes | Sight::Reads => {}
        Sight::Unknown => {
            let why = command.why.as_deref().unwrap_or("its runs said nothing");
            let message = format!("whether `{name}` sees the tree is unknown: {why}");
            found.notes.push(notice(message, vec![]));
        }
        Sight::Blind => {
            let message = format!(
                "`{name}` passes although {} of this tree {} garbage",
                files(facts.source_files),
                if facts.source_files == 1 { "is" } else { "are" },
            );
            let tests = is_test_runner(name);
            let is_alarm = tests || !executes && !is_reader(name);
            if command.accepted || !is_alarm {
                let accepted = if command.accepted { " (accepted)" } else { "" };
                found
                    .notes
                    .push(notice(format!("{message}{accepted}"), vec![]));
                return;
            }
            let what = if tests {
                "it tests another copy, or nothing"
            } else {
                "it tests nothing of it"
            };
            let remedy = if tests {
                own_environment(name)
            } else {
                "add a command that tests the code: swarm config set qualityCommands '[...]'".into()
            };
            let message = format!("{message}: {what}{}", leads(facts));
            found
                .alarms
                .push(notice(message, vec![remedy, accept(name)]));
        }
    }
}

fn files(count: usize) -> String {
    match count {
        1 => "the only source file".into(),
        count => format!("all {count} source files"),
    }
}

fn leads(facts: &Facts<'_>) -> String {
    if facts.leads.is_empty() {
        return String::new();
    }
    format!("; found: {}", facts.leads.join(", "))
}

/// How to give each worktree what the command takes from elsewhere.
fn own_environment(command: &str) -> String {
    let words = "give each worktree its own environment";
    if is_python(command) {
        return format!(
            "{words}, and run .venv/bin/python -m pytest: swarm config set worktree.setup \
            '[\"python3 -m venv .venv && .venv/bin/pip install -e . pytest\"]'"
        );
    }
    if is_node(command) {
        return format!("{words}: swarm config set worktree.setup '[\"npm install\"]'");
    }
    format!("{words}: swarm config set worktree.setup '[\"COMMAND\"]'")
}

fn accept(command: &str) -> String {
    let quoted = command.replace('\'', "'\\''");
    format!("if this is meant: swarm checks accept-blind '{quoted}' --why '...'")
}

#[cfg(test)]
mod tests {
    use super::super::verdict::{Ended, Runs};
    use super::*;

    /// A command by how its runs ended: hidden, swapped, polite, hard. `g`, `r`; `-` was not run.
    fn command(command: &str, ends: &str) -> CommandReport {
        let mut ends = ends.chars().map(|end| match end {
            'g' => Some(Ended::Green),
            'r' => Some(Ended::Red),
            't' => Some(Ended::NoVerdict("it takes too long".into())),
            '-' => None,
            other => panic!("{other}"),
        });
        let mut next = || ends.next().unwrap();
        let runs = Runs {
            normal: Some(Ended::Green),
            hidden: next(),
            swapped: next(),
            polite: next(),
            hard: next(),
            control: Some(Ended::Green),
        };
        CommandReport {
            command: command.into(),
            sight: runs.sight(),
            checkout: runs.dependence(),
            millis: 1,
            why: runs.unknown_because(),
            paths: vec![],
            accepted: false,
        }
    }

    fn judged(commands: &[(&str, &str)]) -> Judgement {
        let commands: Vec<_> = commands
            .iter()
            .map(|(name, ends)| command(name, ends))
            .collect();
        let facts = Facts {
            checkout: Path::new("/home/ann/app"),
            source_files: 8,
            leads: &[],
        };
        judge(&commands, &facts)
    }

    /// The commands that an alarm names.
    fn alarmed(commands: &[(&str, &str)]) -> Vec<String> {
        let alarms = judged(commands).alarms.into_iter();
        alarms.filter_map(|alarm| alarm.command).collect()
    }

    #[test]
    fn every_wrong_tree_raises_an_alarm_that_names_its_command() {
        for (case, commands, named) in [
            ("1 editable install", &[("pytest", "rrgg")][..], "pytest"),
            (
                "2a linter first",
                &[("ruff check . && pytest", "rrgr")],
                "ruff check . && pytest",
            ),
            (
                "2b two commands",
                &[("ruff check .", "g-gr"), ("pytest", "rrgg")],
                "pytest",
            ),
            (
                "1e environment in checkout",
                &[("pytest", "rrgg")],
                "pytest",
            ),
            ("1d a stale copy", &[("pytest", "g-gg")], "pytest"),
            (
                "3 linked node_modules",
                &[("node --test", "rrgg")],
                "node --test",
            ),
            ("3b nested worktree", &[("npm test", "rrgg")], "npm test"),
            ("4 PYTHONPATH", &[("pytest", "rrgg")], "pytest"),
            (
                "5 go replace",
                &[("go test ./...", "rrgg")],
                "go test ./...",
            ),
            ("5 cargo path", &[("cargo test", "rrgg")], "cargo test"),
            ("5m mixture", &[("cargo test", "rrr-")], "cargo test"),
            ("6 built library", &[("make check", "rggg")], "make check"),
            (
                "6 class path",
                &[("java -cp x Main", "rggg")],
                "java -cp x Main",
            ),
            ("tests nothing", &[("true", "g-gg")], "true"),
            (
                "a copy beside a check that executes",
                &[("cargo check", "g-r-"), ("pytest", "g-gg")],
                "pytest",
            ),
        ] {
            assert_eq!(alarmed(commands), [named], "{case}");
        }
    }

    #[test]
    fn no_right_tree_raises_an_alarm() {
        for (case, commands) in [
            ("own environment", &[("pytest", "g-r-")][..]),
            ("only tools of the checkout", &[("pytest", "rgr-")]),
            ("a linter alone", &[("ruff check .", "g-gr")]),
            (
                "gofmt",
                &[("go test", "g-r-"), ("test -z \"$(gofmt -l .)\"", "g-gg")],
            ),
            ("npm audit", &[("npm test", "g-r-"), ("npm audit", "g-gg")]),
            (
                "a dry run",
                &[("make test", "g-r-"), ("make -n test", "g-gg")],
            ),
            ("too slow", &[("pytest", "ttt-")]),
            ("a blind linter alone", &[("yamllint .", "g-gg")]),
        ] {
            assert_eq!(alarmed(commands), Vec::<String>::new(), "{case}");
        }
    }

    #[test]
    fn what_is_no_alarm_but_unusual_is_noted() {
        let only_reads = judged(&[("ruff check .", "g-gr")]);
        assert!(only_reads.notes[0].message.contains("only read"));
        let tools = judged(&[("pytest", "rgr-")]);
        assert!(tools.notes[0].message.contains("not source"));
        let slow = judged(&[("pytest", "g-t-")]);
        assert!(slow.notes[0].message.contains("it takes too long"));
    }

    #[test]
    fn an_accepted_command_is_noted() {
        let mut blind = command("true", "g-gg");
        blind.accepted = true;
        let facts = Facts {
            checkout: Path::new("/x"),
            source_files: 1,
            leads: &[],
        };
        let found = judge(&[blind], &facts);
        assert_eq!(found.alarms, []);
        assert!(found.notes[0].message.ends_with("is garbage (accepted)"));
    }

    #[test]
    fn an_alarm_names_what_leads_to_the_checkout_and_the_ways_out() {
        let leads = ["PYTHONPATH=/home/ann/app/src".to_owned()];
        let facts = Facts {
            checkout: Path::new("/home/ann/app"),
            source_files: 8,
            leads: &leads,
        };
        let found = judge(&[command("pytest -k 'a'", "g-gg")], &facts);
        let alarm = &found.alarms[0];
        assert_eq!(
            alarm.message,
            "`pytest -k 'a'` passes although all 8 source files of this tree are garbage: it \
            tests another copy, or nothing; found: PYTHONPATH=/home/ann/app/src"
        );
        assert_eq!(
            alarm.remedies[1],
            "if this is meant: swarm checks accept-blind 'pytest -k '\\''a'\\''' --why '...'"
        );
    }
}
