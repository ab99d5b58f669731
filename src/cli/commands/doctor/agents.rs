//! Checks whether agents can run: each profile as the daemon would start it, and the installed
//! agents that no profile uses; also what else depends on the daemon's environment.
//!
//! Invariant: what `swarm start` refuses fails here, with the same message. No secret is read or
//! shown.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::check::{Check, Level};
use crate::agents::Profile;
use crate::agents::environment::Environment;
use crate::cli::access::remote::Daemon;
use crate::cli::repo::Repo;
use crate::config::{Adapter, Config, ReadGuard};
use crate::daemon::preflight::{
    self, KeptFromWorktrees, Preflight, Seen, TargetTree, UnusableCommand,
};
use crate::git;

/// Checks each profile, other installed agents, the programs of the quality commands, the budgets
/// and the webhook.
pub(super) fn all(repo: &Repo, config: &Config) -> Vec<Check> {
    let environment = environment(repo);
    // Other checks report a repository that git cannot open and a missing target. Without them no
    // script is judged.
    let opened = git::Repo::open(repo.root()).ok();
    let tree = opened
        .as_ref()
        .and_then(|git| TargetTree::of(config, git).ok());
    let preflight = Preflight {
        root: repo.root(),
        inherited: &environment,
        pass: &config.agents.pass_env,
        target: tree.as_ref(),
    };
    let names = config.agents.profiles.keys();
    let profiles: Vec<Profile> = names
        .filter_map(|name| preflight::profile(config, name))
        .collect();
    let seen = preflight.inspect_all(&profiles);
    let others = preflight.inspect_all(&unused(&seen));
    let configured = seen.iter().map(|seen| of_profile(seen, config));
    configured
        .chain(seen.iter().filter_map(|seen| unguarded(seen, config)))
        .chain(others.iter().filter_map(of_other))
        .chain([quality(
            &preflight.unusable_commands(&config.quality_commands),
            config,
        )])
        .chain(kept_from_worktrees(&preflight))
        .chain(budgets(config))
        .chain(webhook(config, &environment))
        .collect()
}

/// Whether the programs of the quality commands are there.
fn quality(unusable: &[UnusableCommand], config: &Config) -> Check {
    if config.quality_commands.is_empty() {
        let message = "no quality command is configured, so work lands unchecked";
        let advice = "set `qualityCommands` in .swarm/config.json to the checks of your project";
        return Check::warn("quality", message).advice(advice);
    }
    if unusable.is_empty() {
        return Check::ok("quality", "no quality command lacks its program");
    }
    let lines: Vec<String> = unusable.iter().map(UnusableCommand::to_string).collect();
    let advice: BTreeSet<&str> = unusable.iter().map(|one| one.advice.as_str()).collect();
    let advice: Vec<&str> = advice.into_iter().collect();
    Check::warn("quality", lines.join("\n")).advice(advice.join("\n"))
}

/// What of the checkout's environment agents and checks do not get.
fn kept_from_worktrees(preflight: &Preflight<'_>) -> Option<Check> {
    let KeptFromWorktrees { what, advice } = preflight.kept_from_worktrees()?;
    Some(Check::warn("environment", what).advice(advice))
}

/// Where a budget has no effect.
fn budgets(config: &Config) -> Vec<Check> {
    let names = config.agents.profiles.keys().map(String::as_str);
    let uncounted = preflight::uncounted(config, names).into_iter();
    uncounted
        .map(|one| Check::warn("budget", one.what).advice(one.advice))
        .collect()
}

/// Whether messages can be sent.
fn webhook(config: &Config, environment: &Environment) -> Option<Check> {
    let problem = preflight::webhook_problem(config, environment)?;
    Some(Check::warn("webhook", problem).advice(preflight::WEBHOOK_ADVICE))
}

fn of_profile(seen: &Seen, config: &Config) -> Check {
    let name = &seen.profile;
    let others = [&config.merge.resolver, &config.memory.synthesis.profile];
    let is_used = config.agents.profile == *name || others.contains(&&Some(name.clone()));
    let level = match (seen.is_fit(), is_used) {
        (false, true) => Level::Fail,
        (true, _) if seen.doubts.is_empty() => Level::Ok,
        _ => Level::Warn,
    };
    let mut lines = vec![format!("profile `{name}` runs {}", seen.summary())];
    lines.extend(seen.faults.iter().map(|fault| fault.what.clone()));
    lines.extend(seen.doubts.iter().cloned());
    lines.extend(seen.about.map(|about| about.permits.to_owned()));
    lines.extend(memory_note(seen, config));
    let check = Check::new("agent", level, lines.join("\n"));
    let advice: Vec<&str> = seen.faults.iter().map(|fault| &*fault.advice).collect();
    match advice.as_slice() {
        [] => check,
        advice => check.advice(advice.join("\n")),
    }
}

/// How the agents of a profile reach the memory where they get no tools for it.
fn memory_note(seen: &Seen, config: &Config) -> Option<String> {
    let expects_tools = config.agents.mcp && seen.adapter != Adapter::Demo && seen.is_fit();
    let name = &seen.profile;
    (expects_tools && !seen.has_memory_tools)
        .then(|| format!("agents of profile `{name}` reach the memory by the command line only"))
}

/// A profile of Claude Code whose own arguments keep out the hook of `agents.readGuard`.
fn unguarded(seen: &Seen, config: &Config) -> Option<Check> {
    let is_wanted = match config.agents.read_guard {
        ReadGuard::Tell => false,
        ReadGuard::Block => seen.adapter == Adapter::Claude && seen.is_fit(),
    };
    let name = &seen.profile;
    (is_wanted && !seen.has_read_guard).then(|| {
        let message = format!(
            "agents.readGuard does not block agents of profile `{name}`, because it passes \
            `--settings`, `--bare` or `--safe-mode`; their prompts still name files that changed"
        );
        Check::warn("readGuard", message).advice(format!(
            "remove the option from agents.profiles.{name} in .swarm/config.json; Claude Code \
            also reads ~/.claude/settings.json"
        ))
    })
}

/// Default profiles of the known agents that no profile uses.
fn unused(seen: &[Seen]) -> Vec<Profile> {
    let used: BTreeSet<&str> = seen.iter().map(|seen| seen.adapter.name()).collect();
    let known = Adapter::PROGRAMS.into_iter();
    known
        .filter(|adapter| !used.contains(adapter.name()))
        .map(preflight::plain)
        .collect()
}

/// An agent that no profile uses; `None` if it is not installed.
fn of_other(seen: &Seen) -> Option<Check> {
    seen.program.as_ref()?;
    let name = seen.adapter.name();
    let mut message = format!("no profile uses {name}: {}", seen.summary());
    for fault in &seen.faults {
        message = format!("{message}\n{}", fault.what);
    }
    Some(Check::ok("agent", message).advice(format!(
        "to use it, add \"{name}\": {{\"adapter\": \"{name}\"}} to `agents.profiles` in \
        .swarm/config.json"
    )))
}

/// The environment in which agents are searched: the running daemon's if the system shows it, else
/// our own.
fn environment(repo: &Repo) -> Environment {
    let daemon = Daemon::connect(repo).ok().flatten();
    let of_daemon = daemon.and_then(|it| fs::read(format!("/proc/{}/environ", it.pid())).ok());
    match of_daemon {
        Some(bytes) => variables(&bytes),
        None => std::env::vars_os().collect(),
    }
}

/// Parses `NAME=value` entries, each ended by a zero byte: the format of proc(5).
fn variables(bytes: &[u8]) -> Environment {
    let text = |bytes: &[u8]| OsString::from(OsStr::from_bytes(bytes));
    let pairs = bytes.split(|byte| *byte == 0).filter_map(|one| {
        let end = one.iter().position(|byte| *byte == b'=')?;
        Some((text(&one[..end]), text(&one[end + 1..])))
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_process_is_parsed() {
        let found = variables(b"PATH=/bin:/x=y\0EMPTY=\0nothing\0B\xff=1\0");
        assert_eq!(found.len(), 3);
        assert_eq!(found[OsStr::new("PATH")], "/bin:/x=y");
    }
}
