//! The systemd user unit.
//!
//! Invariant: whatever the paths hold, systemd reads back exactly them: quotes, backslashes, its
//! own `%` and `$`, control characters.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{Plan, folder_of, home, manager, utf8};
use crate::cli::error::{CliError, Kind};

/// After these exit codes a new start would end the same way: refused, usage, agent unusable,
/// damaged; and after a second Ctrl+C nobody wants one.
const NO_RESTART: [Kind; 5] = [
    Kind::Refused,
    Kind::Usage,
    Kind::AgentUnusable,
    Kind::Damaged,
    Kind::Interrupted,
];

/// Where the units of the user lie.
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
# At a restart the agents go on, and the daemon that follows adopts them.
ExecStop=-{program} -C {root} service end %n
# Agents live under their own runners: they outlive a daemon that dies, and its next start adopts them.
KillMode=process
# One of them that needs too much memory does not take the others with it.
OOMPolicy=continue
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus={no_restart}
# Fed by the daemon's one writer, and by nothing else.
WatchdogSec=30s
# A long event log takes its time to be read.
TimeoutStartSec=10min
TimeoutStopSec=2min

[Install]
WantedBy=default.target
"
    ))
}

/// systemd runs no program at such a path, however it is quoted.
fn program(plan: &Plan) -> Result<&str, CliError> {
    let program = utf8(&plan.program, "the path of this program")?;
    let odd = |c: char| c.is_control() || ['"', '\'', '\\'].contains(&c);
    if program.contains(odd) {
        return Err(CliError::refused(format!(
            "systemd runs no program whose path holds quotes, backslashes or control characters: \
            {}",
            program.escape_debug()
        ))
        .hint("put swarm at another path and run it from there: cargo install --path ."));
    }
    Ok(program)
}

/// One word of a command line.
fn word(text: &str) -> String {
    quoted(text).replace('$', "$$")
}

/// One setting of a list, where variables are not replaced.
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

/// Whether the service is stopped to be started again. The manager keeps such a job as `restart`
/// until it has stopped.
pub(super) fn is_restarting(unit: &str) -> Result<bool, CliError> {
    let jobs = manager::one(&systemctl(&["list-jobs", "--plain", "--no-legend", unit]))?;
    Ok(restarts(&jobs, unit))
}

/// Of lines like `12 swarm-x.service restart running`.
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
    fn a_restart_is_known_by_its_job() {
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
    fn words_are_quoted_for_systemd() {
        assert_eq!(word("/a b/c"), r#""/a b/c""#);
        assert_eq!(word(r#"a"b\c%d$e"#), r#""a\"b\\c%%d$$e""#);
        assert_eq!(word("a\nb\u{7f}ü"), "\"a\\x0ab\\x7fü\"");
        assert_eq!(setting("PATH=/x:$y%"), r#""PATH=/x:$y%%""#);
    }
}
