//! Whether agents can work: each profile as the daemon would start it, and the agents that are here
//! and that no profile uses.
//!
//! Invariant: what the daemon's start refuses fails here, with the same words. No secret is read or
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
use crate::config::{Adapter, Config};
use crate::daemon::preflight::{self, MissingProgram, Preflight, Seen};

/// Looks at each profile, then for others, then for the programs of the quality commands and which
/// budgets hold.
pub(super) fn all(repo: &Repo, config: &Config) -> Vec<Check> {
    let environment = environment(repo);
    let muster = Preflight {
        root: repo.root(),
        inherited: &environment,
        pass: &config.agents.pass_env,
    };
    let names = config.agents.profiles.keys();
    let profiles: Vec<Profile> = names
        .filter_map(|name| preflight::profile(config, name))
        .collect();
    let seen = muster.look_at_all(&profiles);
    let others = muster.look_at_all(&unused(&seen));
    let configured = seen.iter().map(|seen| of_profile(seen, config));
    configured
        .chain(others.iter().filter_map(of_other))
        .chain([gate(&muster.unfound(&config.quality_commands), config)])
        .chain(budgets(config))
        .collect()
}

/// The quality commands.
fn gate(unfound: &[MissingProgram], config: &Config) -> Check {
    if config.quality_commands.is_empty() {
        let what = "there is no quality command: what an agent says is complete lands unchecked";
        let advice = "name the project's own checks in qualityCommands of .swarm/config.json";
        return Check::warn("quality", what).advice(advice);
    }
    if unfound.is_empty() {
        return Check::ok("quality", "no quality command is known to lack its program");
    }
    let lines: Vec<String> = unfound.iter().map(MissingProgram::to_string).collect();
    Check::warn("quality", lines.join("\n")).advice(MissingProgram::ADVICE)
}

/// Where a budget does not hold; nothing to say is no news.
fn budgets(config: &Config) -> Vec<Check> {
    let names = config.agents.profiles.keys().map(String::as_str);
    let unseen = preflight::unseen(config, names).into_iter();
    unseen
        .map(|one| Check::warn("budget", one.what).advice(one.advice))
        .collect()
}

fn of_profile(seen: &Seen, config: &Config) -> Check {
    let name = &seen.profile;
    let is_used = config.agents.profile == *name || config.merge.resolver.as_ref() == Some(name);
    let level = match (seen.is_fit(), is_used) {
        (false, true) => Level::Fail,
        (true, _) if seen.doubts.is_empty() => Level::Ok,
        _ => Level::Warn,
    };
    let mut lines = vec![format!("profile `{name}` runs {}", seen.summary())];
    lines.extend(seen.faults.iter().map(|fault| fault.what.clone()));
    lines.extend(seen.doubts.iter().cloned());
    lines.extend(seen.about.map(|about| about.permits.to_owned()));
    let check = Check::new("agent", level, lines.join("\n"));
    let advice: Vec<&str> = seen.faults.iter().map(|fault| &*fault.advice).collect();
    match advice.as_slice() {
        [] => check,
        advice => check.advice(advice.join("; ")),
    }
}

/// Profiles of the agents that swarm knows and that none of these runs.
fn unused(seen: &[Seen]) -> Vec<Profile> {
    let used: BTreeSet<&str> = seen.iter().map(|seen| seen.adapter.name()).collect();
    let known = Adapter::PROGRAMS.into_iter();
    known
        .filter(|adapter| !used.contains(adapter.name()))
        .map(preflight::plain)
        .collect()
}

/// One that is not here is no news.
fn of_other(seen: &Seen) -> Option<Check> {
    seen.program.as_ref()?;
    let name = seen.adapter.name();
    let mut message = format!("no profile uses {name}: {}", seen.summary());
    for fault in &seen.faults {
        message = format!("{message}\n{}", fault.what);
    }
    Some(Check::ok("agent", message).advice(format!(
        "to use it: \"{name}\": {{\"adapter\": \"{name}\"}} in agents.profiles of \
        .swarm/config.json"
    )))
}

/// The environment that agents are looked up in: that of the daemon that runs, where the system
/// shows it, else our own.
fn environment(repo: &Repo) -> Environment {
    let daemon = Daemon::connect(repo).ok().flatten();
    let of_daemon = daemon.and_then(|it| fs::read(format!("/proc/{}/environ", it.pid())).ok());
    match of_daemon {
        Some(bytes) => variables(&bytes),
        None => std::env::vars_os().collect(),
    }
}

/// `NAME=value`, each ended by a zero byte, as proc(5) has it.
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
    fn an_environment_is_read_as_the_system_writes_it() {
        let found = variables(b"PATH=/bin:/x=y\0EMPTY=\0nothing\0B\xff=1\0");
        assert_eq!(found.len(), 3);
        assert_eq!(found[OsStr::new("PATH")], "/bin:/x=y");
    }
}
