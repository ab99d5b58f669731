//! Checks that the schema cannot express: referenced names exist, and what is configured can run.
//!
//! Invariant: pure. [`relations`] finds what makes a configuration invalid. [`readiness`] finds
//! what stops a valid one from running agents; commands that start no agent accept it.

use serde_json::{Value, json};

use super::errors::{Origin, Problem, ProblemKind, nearest};
use super::hooks::OnTimeout;
use super::json_positions::child;
use super::model::{Adapter, Config, Profile};
use super::notify::Webhook;
use super::placeholders;
use crate::domain::ids::is_linkable;

const WORKTREE_ENV: &str = "worktree.env";

/// Why no agent can start with the profile `name`; `None` if the profile exists.
pub fn profile_problem(config: &Config, name: &str) -> Option<ProblemKind> {
    match config.agents.profiles.get(name) {
        None if config.agents.profiles.is_empty() => Some(no_profile()),
        None => Some(no_such_profile(config, name)),
        Some(_) => None,
    }
}

/// Everything that stops agents from running. Today that is a configuration without any profile.
pub fn readiness(config: &Config) -> Vec<Problem> {
    let none = config.agents.profiles.is_empty().then(|| Problem {
        origin: Origin::Default,
        position: None,
        key: "agents.profiles".to_owned(),
        kind: no_profile(),
    });
    none.into_iter().collect()
}

/// The profile with which a known agent works unattended: its own adapter if it has one, else a
/// command line that takes the prompt from a file and prints text.
pub(super) fn known_profile(agent: &str) -> Option<Value> {
    let mut adapters = Adapter::PROGRAMS.into_iter();
    if let Some(adapter) = adapters.find(|adapter| adapter.name() == agent) {
        return Some(json!({ "adapter": adapter }));
    }
    let aider = "exec aider --yes-always --no-check-update --message-file \"$SWARM_PROMPT_FILE\"";
    (agent == "aider").then(|| json!({ "adapter": "command", "command": ["sh", "-c", aider] }))
}

/// Problems between keys, each with its key.
pub(super) fn relations(config: &Config) -> Vec<(String, ProblemKind)> {
    let mut found = references(config);
    found.extend(commands(config));
    found.extend(hooks(config));
    found.extend(variables(config));
    found.extend(placeholders(config));
    found.extend(branch(config));
    found.extend(webhook(config));
    found.extend(paths(config));
    found.extend(git_dir_links(config));
    found
}

/// Profiles that are referenced but not configured. A configuration without any profile is valid;
/// it only cannot run yet.
fn references(config: &Config) -> Vec<(String, ProblemKind)> {
    let agents = &config.agents;
    let default = Some(&agents.profile).filter(|_| !agents.profiles.is_empty());
    let used = [
        ("agents.profile", default),
        ("merge.resolver", config.merge.resolver.as_ref()),
        (
            "memory.synthesis.profile",
            config.memory.synthesis.profile.as_ref(),
        ),
    ];
    used.into_iter()
        .filter_map(|(key, name)| Some((key, name?)))
        .filter(|(_, name)| !agents.profiles.contains_key(*name))
        .map(|(key, name)| (key.to_owned(), no_such_profile(config, name)))
        .collect()
}

fn no_such_profile(config: &Config, name: &str) -> ProblemKind {
    let known: Vec<String> = config.agents.profiles.keys().cloned().collect();
    ProblemKind::NoSuchProfile {
        name: name.to_owned(),
        nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
        known,
    }
}

fn no_profile() -> ProblemKind {
    let profile = json!({ "adapter": "claude" });
    ProblemKind::NoProfile {
        example: format!(
            "\"agents\": {{\"profiles\": {{\"ed\": {profile}}}}} in .swarm/config.json"
        ),
    }
}

fn commands(config: &Config) -> impl Iterator<Item = (String, ProblemKind)> {
    let empty = |profile: &Profile| {
        let program = profile.command.first();
        let named = matches!(profile.adapter, Adapter::Command | Adapter::Acp);
        named && program.is_none_or(|p| p.trim().is_empty())
    };
    let profiles = config.agents.profiles.iter();
    profiles
        .filter(move |(_, profile)| empty(profile))
        .map(|(name, profile)| {
            let key = format!("agents.profiles.{name}.command");
            (
                key,
                ProblemKind::EmptyCommand {
                    adapter: profile.adapter,
                },
            )
        })
}

fn hooks(config: &Config) -> impl Iterator<Item = (String, ProblemKind)> {
    config
        .hooks
        .iter()
        .filter(|(name, hook)| hook.on_timeout == OnTimeout::Veto && !name.can_veto())
        .map(|(name, _)| {
            let key = format!("hooks.{}.onTimeout", name.as_str());
            (key, ProblemKind::NothingToVeto)
        })
}

/// Paths that do not stay inside the repository, or that lead into what is git's or swarm's.
fn paths(config: &Config) -> Vec<(String, ProblemKind)> {
    let lists = [
        ("worktree.setupInputs", &config.worktree.setup_inputs),
        ("worktree.copy", &config.worktree.copy),
    ];
    let all = lists.into_iter().flat_map(|(key, list)| {
        let paths = list.iter().enumerate();
        paths.map(move |(index, path)| (format!("{key}[{index}]"), path))
    });
    all.filter(|(_, path)| !is_inside(path))
        .map(|(key, path)| (key, ProblemKind::BadPath { path: path.clone() }))
        .collect()
}

/// Names that mean something else in a worktree's git directory than in the repository's.
fn git_dir_links(config: &Config) -> impl Iterator<Item = (String, ProblemKind)> {
    let names = config.worktree.git_dir_links.iter().enumerate();
    let bad = names.filter(|(_, name)| !is_linkable(name));
    bad.map(|(index, name)| {
        let key = format!("worktree.gitDirLinks[{index}]");
        (key, ProblemKind::BadGitDirLink { name: name.clone() })
    })
}

/// Whether a path is relative and each of its parts is a name.
fn is_inside(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let own = |part: &&str| part.eq_ignore_ascii_case(".git") || *part == ".swarm";
    let named = parts.iter().all(|part| !matches!(*part, "" | "." | ".."));
    named && !parts.first().is_some_and(own)
}

fn variables(config: &Config) -> Vec<(String, ProblemKind)> {
    let passed = config.agents.pass_env.iter().enumerate();
    let passed = passed.map(|(index, name)| (format!("agents.passEnv[{index}]"), name));
    let own = config.agents.profiles.iter().flat_map(|(profile, p)| {
        let key = format!("agents.profiles.{profile}.env");
        p.env.keys().map(move |name| (child(&key, name), name))
    });
    let of_worktree = config.worktree.env.keys();
    let of_worktree = of_worktree.map(|name| (child(WORKTREE_ENV, name), name));
    passed
        .chain(own)
        .chain(of_worktree)
        .filter(|(_, name)| is_reserved(name))
        .map(|(key, name)| (key, ProblemKind::ReservedVariable { name: name.clone() }))
        .collect()
}

/// Placeholders of `worktree.env` that swarm does not know.
fn placeholders(config: &Config) -> impl Iterator<Item = (String, ProblemKind)> {
    let all = config.worktree.env.iter();
    all.filter_map(|(name, value)| {
        let unknown = placeholders::unknown(value)?;
        let problem = ProblemKind::UnknownPlaceholder {
            name: unknown.to_owned(),
            nearest: nearest(unknown, placeholders::NAMES).map(str::to_owned),
            known: placeholders::NAMES.map(str::to_owned).to_vec(),
        };
        Some((child(WORKTREE_ENV, name), problem))
    })
}

/// Whether the variable identifies an agent's run, or tells git which repository to use.
fn is_reserved(name: &str) -> bool {
    const OF_GIT: [&str; 6] = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    ];
    name.starts_with("SWARM_") || OF_GIT.contains(&name)
}

fn branch(config: &Config) -> Option<(String, ProblemKind)> {
    let name = config.target.as_ref().filter(|name| !is_branch(name))?;
    let problem = ProblemKind::BadBranch { name: name.clone() };
    Some(("target".to_owned(), problem))
}

fn webhook(config: &Config) -> impl Iterator<Item = (String, ProblemKind)> {
    let problems = config.notify.webhook.iter().flat_map(Webhook::problems);
    problems.map(|(key, why)| {
        let key = format!("notify.webhook.{key}");
        (key, ProblemKind::BadWebhook { why })
    })
}

/// The rules of `git check-ref-format --branch`.
pub(super) fn is_branch(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.to_ascii_lowercase().ends_with(".lock")
    };
    name.len() <= 200
        && !name.starts_with('-')
        && name != "HEAD"
        && name != "@"
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(forbidden)
        && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    fn config(value: serde_json::Value) -> Config {
        serde_json::from_value(value).expect("a well-formed configuration")
    }

    fn keys(found: &[(String, ProblemKind)]) -> Vec<&str> {
        found.iter().map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn unknown_profile_names_are_reported() {
        let config = config(json!({
            "agents": { "profile": "edd", "profiles": { "ed": { "adapter": "demo" } } },
                "merge": { "resolver": "finn" } }));
        let found = relations(&config);
        assert_eq!(keys(&found), ["agents.profile", "merge.resolver"]);
        assert!(found[0].1.to_string().contains("did you mean `ed`?"));
        assert!(found[1].1.to_string().contains("known: ed"));
    }

    #[test]
    fn commands_hooks_variables_and_branches_are_checked() {
        let config = config(json!({
            "target": "a..b",
            "agents": { "passEnv": ["OK", "SWARM_REPO"], "profiles": {
                "ed": { "adapter": "command" }, "al": { "adapter": "command", "command": [" "] },
                "bo": { "adapter": "command", "command": ["x"],
                    "env": { "GIT_DIR": "/tmp", "GIT_AUTHOR_NAME": "Bo" } } } },
            "hooks": { "on-pause": { "run": "x", "onTimeout": "veto" },
                "pre-merge": { "run": "x", "onTimeout": "veto" } } }));
        assert_eq!(
            keys(&relations(&config)),
            [
                "agents.profiles.al.command",
                "agents.profiles.ed.command",
                "hooks.on-pause.onTimeout",
                "agents.passEnv[1]",
                "agents.profiles.bo.env.GIT_DIR",
                "target"
            ]
        );
    }

    #[test]
    fn an_unknown_placeholder_is_an_error_with_the_nearest_known_name() {
        let config = config(json!({ "worktree": { "env": {
            "PORT": "{port}", "PGDATABASE": "{xyz}", "WEB": "http://localhost:{prot}/{}",
            "SWARM_SLOT": "1" } } }));
        let found = relations(&config);
        let [reserved, database, web] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(reserved.0, "worktree.env.SWARM_SLOT");
        assert_eq!(database.0, "worktree.env.PGDATABASE");
        let database = database.1.to_string();
        assert_eq!(database, "unknown placeholder `xyz`; known: port, slot, db");
        assert_eq!(web.0, "worktree.env.WEB");
        let web = web.1.to_string();
        assert_eq!(web, "unknown placeholder `prot`; did you mean `port`?");
    }

    #[test]
    fn a_configured_profile_can_run() {
        let config = config(json!({ "agents": { "profiles": {
            "ed": { "adapter": "claude" }, "al": { "adapter": "acp" },
                "bo": { "adapter": "demo" } } } }));
        assert_eq!(keys(&relations(&config)), ["agents.profiles.al.command"]);
        assert_eq!(readiness(&config), []);
        assert_eq!(profile_problem(&config, "ed"), None);
        assert!(matches!(
            profile_problem(&config, "no"),
            Some(ProblemKind::NoSuchProfile { .. })
        ));
    }

    #[test]
    fn a_configuration_without_profiles_is_valid_but_cannot_run() {
        let config = Config::default();
        assert_eq!(relations(&config), []);
        let [problem] = &readiness(&config)[..] else {
            panic!("one problem");
        };
        assert!(
            problem
                .to_string()
                .contains(r#"{"ed": {"adapter":"claude"}}"#)
        );
        assert!(matches!(
            profile_problem(&config, "ed"),
            Some(ProblemKind::NoProfile { .. })
        ));
    }

    #[test]
    fn branch_names_follow_gits_rules() {
        for good in ["main", "feature/a-b", "\u{e9}t\u{e9}", "a.b", "a@b", "{x}"] {
            assert!(is_branch(good), "{good}");
        }
        for bad in [
            "", "-x", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.", "@", "HEAD",
            "a@{1}", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a\u{7}",
        ] {
            assert!(!is_branch(bad), "{bad}");
        }
    }
}
