//! The systemd user unit.
//!
//! Invariant: systemd reads back exactly our paths, whatever they contain: quotes, backslashes,
//! `%`, `$`, control characters.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Plan, folder_of, home, manager, utf8};
use crate::cli::error::{CliError, Kind};

/// The exit codes after which systemd does not restart the daemon: it would end the same way again,
/// or the person pressed Ctrl+C twice.
const NO_RESTART: [Kind; 5] = [
    Kind::Refused,
    Kind::Usage,
    Kind::AgentUnusable,
    Kind::Damaged,
    Kind::Interrupted,
];

/// The folder of the user's units.
pub(super) fn folder() -> Result<PathBuf, CliError> {
    let config = match folder_of("XDG_CONFIG_HOME") {
        Some(folder) => folder,
        None => home()?.join(".config"),
    };
    Ok(config.join("systemd/user"))
}

/// The unit, without its first line.
pub(super) fn unit(plan: &Plan) -> Result<String, CliError> {
    let program = program(plan)?;
    let root = utf8(&plan.root, "the path of the repository")?;
    let search_path = utf8(plan.search_path.as_ref(), "the value of PATH")?;
    let (program, root) = (word(program), word(root));
    let environment = setting(&format!("PATH={search_path}"));
    let no_restart: Vec<String> = NO_RESTART
        .iter()
        .map(|kind| kind.exit_code().to_string())
        .collect();
    let name = &plan.name;
    let no_restart = no_restart.join(" ");
    Ok(format!(
        "\
[Unit]
Description=swarm runs coding agents in {name}
StartLimitIntervalSec=10min
StartLimitBurst=5

[Service]
Type=notify
Environment={environment}
ExecStart={program} -C {root} start
# On a restart the agents keep running, and the next daemon adopts them.
ExecStop=-{program} -C {root} service end %n
# Agents outlive a daemon that dies; the next start adopts them.
KillMode=process
# An agent that runs out of memory does not take the others with it.
OOMPolicy=continue
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus={no_restart}
# Only the daemon's writer feeds the watchdog.
WatchdogSec=30s
# Reading a long event log takes time.
TimeoutStartSec=10min
TimeoutStopSec=2min

[Install]
WantedBy=default.target
"
    ))
}

/// The program's path; systemd cannot run one with certain characters, however it is quoted.
fn program(plan: &Plan) -> Result<&str, CliError> {
    let program = utf8(&plan.program, "the path of this program")?;
    let odd = |c: char| c.is_control() || ['"', '\'', '\\'].contains(&c);
    if program.contains(odd) {
        return Err(CliError::refused(format!(
            "systemd cannot run a program whose path has quotes, backslashes or control \
            characters: {}",
            program.escape_debug()
        ))
        .hint("install swarm at another path and run it from there: cargo install --path ."));
    }
    Ok(program)
}

/// Quotes one word of a command line.
fn word(text: &str) -> String {
    quoted(text).replace('$', "$$")
}

/// Quotes one setting of a list, where systemd does not expand variables.
fn setting(text: &str) -> String {
    quoted(text)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            c if c.is_ascii_control() => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\x{:02x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn systemctl(words: &[&str]) -> Vec<String> {
    let all = ["systemctl", "--user"].iter().chain(words);
    all.map(ToString::to_string).collect()
}

/// Whether the service is being restarted: its job is called `restart` until it has stopped.
pub(super) fn is_restarting(unit: &str) -> Result<bool, CliError> {
    let jobs = manager::one(&systemctl(&["list-jobs", "--plain", "--no-legend", unit]))?;
    Ok(restarts(&jobs, unit))
}

/// Parses lines like `12 swarm-x.service restart running`.
fn restarts(jobs: &str, unit: &str) -> bool {
    jobs.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next() == Some(unit) && words.next() == Some("restart")
    })
}

pub(super) fn commands_to_start(unit: &str) -> Vec<Vec<String>> {
    vec![
        systemctl(&["daemon-reload"]),
        systemctl(&["enable", "--now", unit]),
    ]
}

pub(super) fn commands_to_stop(unit: &str) -> Vec<Vec<String>> {
    vec![systemctl(&["disable", "--now", unit])]
}

pub(super) fn commands_after() -> Vec<Vec<String>> {
    vec![systemctl(&["daemon-reload"])]
}

pub(super) fn left_to_do(unit: &str) -> Vec<Vec<String>> {
    vec![systemctl(&["stop", unit]), systemctl(&["daemon-reload"])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_is_recognized_by_its_job() {
        let jobs = "7 other.service restart waiting\n12 swarm-x.service restart running\n";
        assert!(restarts(jobs, "swarm-x.service"));
        assert!(!restarts(jobs, "swarm-y.service"));
        assert!(!restarts(
            "12 swarm-x.service stop running",
            "swarm-x.service"
        ));
        assert!(!restarts("", "swarm-x.service"));
    }

    #[test]
    fn the_packages_unit_is_the_same_but_for_its_paths() {
        let plan = Plan {
            format: super::super::Format::Systemd,
            name: "NAME".into(),
            hash: String::new(),
            root: "/ROOT".into(),
            program: "/usr/bin/swarm".into(),
            search_path: "HOME/.local/bin:/usr/local/bin:/usr/bin:/bin".into(),
            file: PathBuf::new(),
        };
        let ours = unit(&plan).unwrap();
        let of_instance = [("/ROOT", "%f"), ("NAME", "%f"), ("HOME", "%h")];
        let ours = of_instance
            .iter()
            .fold(ours, |unit, (path, instance)| unit.replace(path, instance));
        let packaged = include_str!("../../../../packaging/swarm@.service");
        let (_, packaged) = packaged.split_once("[Unit]\n").unwrap();
        assert_eq!(ours.trim_start_matches("[Unit]\n"), packaged);
    }

    #[test]
    fn words_are_quoted_for_systemd() {
        assert_eq!(word("/a b/c"), r#""/a b/c""#);
        assert_eq!(word(r#"a"b\c%d$e"#), r#""a\"b\\c%%d$$e""#);
        assert_eq!(word("a\nb\u{7f}ü"), "\"a\\x0ab\\x7fü\"");
        assert_eq!(setting("PATH=/x:$y%"), r#""PATH=/x:$y%%""#);
    }
}
