//! Checks scripted programs, each with the fault that a test wants.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

/// A home directory without a login, and a directory of programs.
struct Place {
    dir: TempDir,
    inherited: Environment,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        fs::create_dir(dir.path().join("repo")).unwrap();
        let path = format!("{}:/usr/bin:/bin", dir.path().join("bin").display());
        let inherited = [
            ("PATH".into(), path.into()),
            ("HOME".into(), dir.path().into()),
        ];
        Self {
            dir,
            inherited: inherited.into(),
        }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.inherited.insert(name.into(), value.into());
        self
    }

    /// Adds a program that runs this script.
    fn program(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn inspect(&self, profile: &Profile) -> Seen {
        let preflight = Preflight {
            root: &self.dir.path().join("repo"),
            inherited: &self.inherited,
            pass: &[],
            target: None,
        };
        preflight.inspect(profile)
    }

    fn inspect_claude(&self) -> Seen {
        self.inspect(&plain(AdapterKind::Claude))
    }
}

/// The message and the advice of the only fault.
fn only_fault(seen: &Seen) -> (&str, &str) {
    let [fault] = seen.faults.as_slice() else {
        panic!("one fault: {seen:?}");
    };
    (&fault.what, &fault.advice)
}

#[test]
fn a_usable_program_has_no_fault() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "secret-of-the-test")
        .program("claude", "echo '99.1.2 (Claude Code)'");
    let seen = place.inspect_claude();
    assert!(seen.is_fit(), "{seen:?}");
    assert_eq!(seen.version.as_deref(), Some("99.1.2"));
    assert_eq!(seen.login, Some(Login::By("ANTHROPIC_API_KEY".to_owned())));
    let program = place.dir.path().join("bin/claude");
    assert_eq!(
        seen.summary(),
        format!(
            "{}, version 99.1.2, logged in by ANTHROPIC_API_KEY",
            program.display()
        )
    );
    assert!(!format!("{seen:?}").contains("secret-of-the-test"));
}

#[test]
fn a_missing_or_non_executable_program_is_a_fault() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "x");
    let seen = place.inspect_claude();
    let (what, advice) = only_fault(&seen);
    assert!(
        what.contains("program `claude` not found in PATH="),
        "{what}"
    );
    assert!(advice.contains("npm install -g @anthropic-ai/claude-code"));
    assert!(advice.contains("agents.profiles.claude.command"));
    fs::write(place.dir.path().join("bin/claude"), "").unwrap();
    let seen = place.inspect_claude();
    assert!(only_fault(&seen).0.contains("is not an executable file"));
}

#[test]
fn an_old_version_is_a_fault() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 1.0.99");
    let seen = place.inspect_claude();
    let (what, advice) = only_fault(&seen);
    assert!(
        what.starts_with("Claude Code 1.0.99 is too old: "),
        "{what}"
    );
    assert!(advice.starts_with("update it: npm install"), "{advice}");
    assert_eq!(seen.version.as_deref(), Some("1.0.99"));
}

#[test]
fn a_failing_version_probe_is_a_fault() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 'node is too old' >&2; exit 3");
    let seen = place.inspect_claude();
    let (what, _) = only_fault(&seen);
    assert!(
        what.ends_with("--version` failed with exit code 3: node is too old"),
        "{what}"
    );
}

#[test]
fn an_unknown_version_is_only_a_doubt() {
    for script in ["echo no number", "kill -9 $$"] {
        let place = Place::new()
            .with("ANTHROPIC_API_KEY", "x")
            .program("claude", script);
        let seen = place.inspect_claude();
        assert!(seen.is_fit() && seen.version.is_none(), "{seen:?}");
        assert_eq!(seen.doubts.len(), 1, "{seen:?}");
    }
}

#[test]
fn a_missing_login_is_a_fault() {
    let place = Place::new().program("claude", "echo 99.0.0");
    let seen = place.inspect_claude();
    let (what, advice) = only_fault(&seen);
    assert!(what.contains("Claude Code is not logged in"), "{what}");
    assert!(what.contains("ANTHROPIC_API_KEY"), "{what}");
    assert!(advice.contains("agents.profiles.claude.env"), "{advice}");
    // Its settings may name a helper that supplies keys, which cannot be seen from outside.
    let own = place.dir.path().join(".claude");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("settings.json"), "{}").unwrap();
    let seen = place.inspect_claude();
    assert_eq!(seen.login, Some(Login::Unknown));
    assert!(seen.is_fit(), "{seen:?}");
}

#[test]
fn the_environment_of_the_profile_counts() {
    let place = Place::new().program("claude", "echo 99.0.0");
    let mut profile = plain(AdapterKind::Claude);
    profile
        .env
        .insert("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "x".to_owned());
    let seen = place.inspect(&profile);
    assert_eq!(
        seen.login,
        Some(Login::By("CLAUDE_CODE_OAUTH_TOKEN".to_owned()))
    );
    profile.env.insert("PATH".to_owned(), "/nowhere".to_owned());
    let seen = place.inspect(&profile);
    assert!(only_fault(&seen).0.ends_with("PATH=/nowhere"));
}

#[test]
fn a_forbidden_argument_is_a_fault_and_the_program_is_still_checked() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 99.0.0");
    let mut profile = plain(AdapterKind::Claude);
    profile.args = vec!["--output-format=text".to_owned()];
    let seen = place.inspect(&profile);
    let (what, advice) = only_fault(&seen);
    assert!(what.contains("`--output-format=text`"), "{what}");
    assert!(advice.contains("swarm doctor"), "{advice}");
    assert_eq!(seen.version.as_deref(), Some("99.0.0"));
}

#[test]
fn a_wrapper_command_is_probed_with_its_arguments() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "x").program(
        "wrapper",
        "test \"$1\" = claude && test \"$2\" = --version && echo 99.0.0",
    );
    let mut profile = plain(AdapterKind::Claude);
    profile.command = ["wrapper", "claude"].map(str::to_owned).to_vec();
    let seen = place.inspect(&profile);
    assert!(seen.is_fit(), "{seen:?}");
    assert_eq!(seen.version.as_deref(), Some("99.0.0"));
}

#[test]
fn an_unknown_program_is_found_but_not_started() {
    let place = Place::new().program("mine", "echo called >\"$HOME/called\"");
    let mut profile = plain(AdapterKind::Command);
    profile.command = vec!["mine".to_owned(), "--fast".to_owned()];
    let seen = place.inspect(&profile);
    assert!(seen.is_fit(), "{seen:?}");
    assert_eq!(seen.program, Some(place.dir.path().join("bin/mine")));
    assert!(!place.dir.path().join("called").exists());
    assert!(place.inspect(&plain(AdapterKind::Demo)).is_fit());
    assert!(!place.inspect(&plain(AdapterKind::Command)).is_fit());
}

#[test]
fn profiles_are_checked_together_and_stay_in_order() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .with("CODEX_API_KEY", "x")
        .program("claude", "echo 99.0.0")
        .program("codex", "echo codex-cli 88.0.0");
    let preflight = Preflight {
        root: &place.dir.path().join("repo"),
        inherited: &place.inherited,
        pass: &[],
        target: None,
    };
    let both = [AdapterKind::Claude, AdapterKind::Codex].map(plain);
    let seen = preflight.inspect_all(&both);
    let versions: Vec<_> = seen
        .iter()
        .filter_map(|one| one.version.as_deref())
        .collect();
    assert_eq!(versions, ["99.0.0", "88.0.0"]);
}
