//! Looks at programs that say what a test wants.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

/// A home without any login, and a folder of programs.
struct Place {
    dir: TempDir,
    inherited: Environment,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
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

    /// With a program that runs this script.
    fn program(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn see(&self, profile: &Profile) -> Seen {
        let muster = Preflight {
            root: self.dir.path(),
            inherited: &self.inherited,
            pass: &[],
        };
        muster.look_at(profile)
    }

    fn see_claude(&self) -> Seen {
        self.see(&plain(AdapterKind::Claude))
    }
}

/// What is wrong, and what to do about it.
fn only_fault(seen: &Seen) -> (&str, &str) {
    let [fault] = seen.faults.as_slice() else {
        panic!("one fault: {seen:?}");
    };
    (&fault.what, &fault.advice)
}

#[test]
fn a_program_that_can_work() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "secret-of-the-test")
        .program("claude", "echo '99.1.2 (Claude Code)'");
    let seen = place.see_claude();
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
fn one_that_is_not_there_or_no_program() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "x");
    let seen = place.see_claude();
    let (what, advice) = only_fault(&seen);
    assert!(
        what.contains("program `claude` not found in PATH="),
        "{what}"
    );
    assert!(advice.contains("npm install -g @anthropic-ai/claude-code"));
    assert!(advice.contains("agents.profiles.claude.command"));
    fs::write(place.dir.path().join("bin/claude"), "").unwrap();
    let seen = place.see_claude();
    assert!(only_fault(&seen).0.contains("is not an executable file"));
}

#[test]
fn one_that_is_too_old() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 1.0.99");
    let seen = place.see_claude();
    let (what, advice) = only_fault(&seen);
    assert!(
        what.starts_with("Claude Code 1.0.99 is too old: "),
        "{what}"
    );
    assert!(advice.starts_with("update it: npm install"), "{advice}");
    assert_eq!(seen.version.as_deref(), Some("1.0.99"));
}

#[test]
fn one_that_fails_when_it_is_asked() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 'node is too old' >&2; exit 3");
    let seen = place.see_claude();
    let (what, _) = only_fault(&seen);
    assert!(
        what.ends_with("--version` failed with exit code 3: node is too old"),
        "{what}"
    );
}

#[test]
fn what_cannot_be_told_keeps_nothing_from_starting() {
    for script in ["echo no number", "kill -9 $$"] {
        let place = Place::new()
            .with("ANTHROPIC_API_KEY", "x")
            .program("claude", script);
        let seen = place.see_claude();
        assert!(seen.is_fit() && seen.version.is_none(), "{seen:?}");
        assert_eq!(seen.doubts.len(), 1, "{seen:?}");
    }
}

#[test]
fn one_without_a_login() {
    let place = Place::new().program("claude", "echo 99.0.0");
    let seen = place.see_claude();
    let (what, advice) = only_fault(&seen);
    assert!(what.contains("Claude Code is not logged in"), "{what}");
    assert!(what.contains("ANTHROPIC_API_KEY"), "{what}");
    assert!(advice.contains("agents.profiles.claude.env"), "{advice}");
    // Its own settings may name a helper that gives keys: that cannot be told from outside.
    let own = place.dir.path().join(".claude");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("settings.json"), "{}").unwrap();
    let seen = place.see_claude();
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
    let seen = place.see(&profile);
    assert_eq!(
        seen.login,
        Some(Login::By("CLAUDE_CODE_OAUTH_TOKEN".to_owned()))
    );
    profile.env.insert("PATH".to_owned(), "/nowhere".to_owned());
    let seen = place.see(&profile);
    assert!(only_fault(&seen).0.ends_with("PATH=/nowhere"));
}

#[test]
fn arguments_that_belong_to_the_adapter_are_refused_and_the_rest_is_looked_at() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .program("claude", "echo 99.0.0");
    let mut profile = plain(AdapterKind::Claude);
    profile.args = vec!["--output-format=text".to_owned()];
    let seen = place.see(&profile);
    let (what, advice) = only_fault(&seen);
    assert!(what.contains("`--output-format=text`"), "{what}");
    assert!(advice.contains("swarm doctor"), "{advice}");
    assert_eq!(seen.version.as_deref(), Some("99.0.0"));
}

#[test]
fn a_command_line_that_starts_it_is_asked_as_a_whole() {
    let place = Place::new().with("ANTHROPIC_API_KEY", "x").program(
        "wrapper",
        "test \"$1\" = claude && test \"$2\" = --version && echo 99.0.0",
    );
    let mut profile = plain(AdapterKind::Claude);
    profile.command = ["wrapper", "claude"].map(str::to_owned).to_vec();
    let seen = place.see(&profile);
    assert!(seen.is_fit(), "{seen:?}");
    assert_eq!(seen.version.as_deref(), Some("99.0.0"));
}

#[test]
fn of_any_other_program_only_its_place_is_looked_at() {
    let place = Place::new().program("mine", "echo called >\"$HOME/called\"");
    let mut profile = plain(AdapterKind::Command);
    profile.command = vec!["mine".to_owned(), "--fast".to_owned()];
    let seen = place.see(&profile);
    assert!(seen.is_fit(), "{seen:?}");
    assert_eq!(seen.program, Some(place.dir.path().join("bin/mine")));
    assert!(!place.dir.path().join("called").exists());
    assert!(place.see(&plain(AdapterKind::Demo)).is_fit());
    assert!(!place.see(&plain(AdapterKind::Command)).is_fit());
}

#[test]
fn all_are_looked_at_at_once_and_told_in_their_order() {
    let place = Place::new()
        .with("ANTHROPIC_API_KEY", "x")
        .with("CODEX_API_KEY", "x")
        .program("claude", "echo 99.0.0")
        .program("codex", "echo codex-cli 88.0.0");
    let muster = Preflight {
        root: place.dir.path(),
        inherited: &place.inherited,
        pass: &[],
    };
    let both = [AdapterKind::Claude, AdapterKind::Codex].map(plain);
    let seen = muster.look_at_all(&both);
    let versions: Vec<_> = seen
        .iter()
        .filter_map(|one| one.version.as_deref())
        .collect();
    assert_eq!(versions, ["99.0.0", "88.0.0"]);
}
