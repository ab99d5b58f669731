//! Each shape is found and redacted; the project's own files stay as they are.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn letters(count: usize) -> String {
    "aB3dE6gH9jK2".chars().cycle().take(count).collect()
}

/// Two secrets of each shape, and in each the part that must go.
fn secrets() -> Vec<(&'static str, String, String)> {
    let mut secrets: Vec<(&str, String, String)> = Vec::new();
    let mut whole = |rule, secret: String| secrets.push((rule, secret.clone(), secret));
    for label in ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"] {
        let line = letters(64);
        whole(
            "private-key",
            format!("-----BEGIN {label}-----\n{line}\n{line}==\n-----END {label}-----"),
        );
    }
    for (rule, prefix, count) in [
        ("github-token", "ghp_", 36),
        ("github-token", "github_pat_", 82),
        ("gitlab-token", "glpat-", 20),
        ("gitlab-token", "glrt-", 27),
        ("anthropic-key", "sk-ant-api03-", 95),
        ("anthropic-key", "sk-ant-oat01-", 80),
        ("openai-key", "sk-proj-", 120),
        ("openai-key", "sk-", 48),
        ("google-key", "AIza", 35),
        ("google-key", "GOCSPX-", 28),
        ("slack-token", "xoxb-17653672481-19874698323-", 24),
        ("slack-token", "hooks.slack.com/services/T0000/B0000/", 24),
        ("stripe-key", "sk_live_", 24),
        ("stripe-key", "whsec_", 32),
        ("npm-token", "npm_", 36),
        ("npm-token", "npm_", 40),
        ("pypi-token", "pypi-AgEIcHlwaS5vcmc", 120),
        ("pypi-token", "pypi-AgENdGVzdC5weXBp", 90),
        ("hugging-face-token", "hf_", 34),
        ("hugging-face-token", "hf_", 37),
        ("digitalocean-token", "dop_v1_", 64),
        ("digitalocean-token", "doo_v1_", 64),
        ("sendgrid-key", "SG.abcdefghijklmnopqrstuv.", 43),
        ("sendgrid-key", "SG.ABCDEFGHIJKLMNOPQRSTUV.", 43),
        ("age-key", "AGE-SECRET-KEY-1", 58),
        ("age-key", "AGE-SECRET-KEY-1Q", 57),
    ] {
        whole(rule, format!("{prefix}{}", letters(count)));
    }
    whole("aws-access-key", "AKIA2345ABCD67EFGHIJ".to_owned());
    whole("aws-access-key", "ASIAZYXWVUTSRQPONMLK".to_owned());
    for claims in ["eyJzdWIiOiIxMjM0NTY3ODkwIn0", "eyJpc3MiOiJhLWJ1aWxkZXIifQ"] {
        whole(
            "jwt",
            format!("eyJhbGciOiJIUzI1NiJ9.{claims}.{}", letters(43)),
        );
    }
    for (before, secret, after) in [
        ("postgres://app:", "tr0ub4dor", "@db.example.com:5432/app"),
        ("https://:", "a:colon$too", "@example.com"),
    ] {
        let text = format!("{before}{secret}{after}");
        secrets.push(("url-password", text, secret.to_owned()));
    }
    for head in ["Authorization: Bearer ", "authorization: basic "] {
        let value = letters(40);
        secrets.push(("authorization", format!("{head}{value}"), value));
    }
    secrets
}

#[test]
fn each_shape_is_found_and_redacted_twice() {
    let secrets = secrets();
    for (rule, text, secret) in &secrets {
        let others = secrets.iter().filter(|(other, ..)| other == rule).count();
        assert!(others >= 2, "{rule} is tried once");
        assert_eq!(suspect(text), Some(*rule), "{text}");
        for (before, after) in [("", ""), ("use ", ", then"), ("\\n", "\\n"), ("(", ")é")] {
            let mark = format!("[redacted:{rule}]");
            let redacted = redact(&format!("{before}{text}{after}"));
            assert_eq!(redacted.rules, [*rule]);
            let clean = text.replace(secret.as_str(), &mark);
            assert_eq!(redacted.text, format!("{before}{clean}{after}"));
        }
    }
}

#[test]
fn every_rule_is_tried() {
    let source = include_str!("shapes.rs");
    let rules = source.split("rule: \"").skip(1);
    let mut rules: Vec<&str> = rules.filter_map(|rest| rest.split('"').next()).collect();
    rules.sort_unstable();
    rules.dedup();
    assert!(rules.len() >= 12, "{rules:?}");
    let mut tried: Vec<&str> = secrets().iter().map(|(rule, ..)| *rule).collect();
    tried.sort_unstable();
    tried.dedup();
    assert_eq!(tried, rules);
}

#[test]
fn all_secrets_of_a_text_go() {
    let secrets = secrets();
    let texts: Vec<&str> = secrets.iter().map(|(_, text, _)| text.as_str()).collect();
    let redacted = redact(&texts.join(" and "));
    let rules: Vec<&str> = secrets.iter().map(|(rule, ..)| *rule).collect();
    assert_eq!(redacted.rules, rules);
    for (_, _, secret) in &secrets {
        assert!(!redacted.text.contains(secret.as_str()), "{secret}");
    }
    let token = letters(36);
    let address = format!("https://ghp_{token}:tr0ub4dor@example.com");
    assert_eq!(
        redact(&address).text,
        "https://[redacted:github-token]:[redacted:url-password]@example.com"
    );
    for (replaced, expected) in [
        ("a://[redacted:private-key]@example.com", None),
        ("a://[redacted:slack-token]_rest@example.com", None),
        (
            "a://[redacted:variable]:tr0ub4dor@example.com",
            Some("url-password"),
        ),
    ] {
        assert_eq!(suspect(replaced), expected, "{replaced}");
    }
}

#[test]
fn a_private_key_without_its_last_line_goes_to_the_end() {
    let text = format!("-----BEGIN EC PRIVATE KEY----- {} {}", letters(64), "é");
    assert_eq!(redact(&text).text, "[redacted:private-key]");
}

#[test]
fn mentions_variables_and_examples_are_no_secrets() {
    for text in [
        "the tokens begin with ghp_ or sk-ant- and have 40 characters",
        "never commit a file with -----BEGIN RSA PRIVATE KEY----- in it",
        "AKIA, AKIA2345ABCD67EFGHIJK and xAKIA2345ABCD67EFGHIJ",
        "Authorization: Bearer ${NOTIFY_TOKEN}",
        "postgres://app:${DB_PASSWORD}@db/app and https://user:password@example.com",
        "http://127.0.0.1:8080/a@b and ssh://git@example.com:22/x",
        "a task-1234567890123456789012345678901234567890abcdefgh",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ] {
        assert_eq!(suspect(text), None, "{text}");
        assert_eq!(redact(text).text, text);
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_projects_own_files_stay_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![root.join("Cargo.lock"), root.join("README.md")];
    for folder in ["src", "docs", "tests", "benches"] {
        files(&root.join(folder), &mut found);
    }
    // One has secrets to be found, one shows how they are replaced.
    let examples = ["secrets/tests.rs", "docs/moving.md"];
    found.retain(|path| !examples.iter().any(|example| path.ends_with(example)));
    let texts = found.iter().filter_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        Some((path, text))
    });
    let mut clean = 0;
    for (path, text) in texts {
        let redacted = redact(&text);
        assert_eq!(redacted.rules, Vec::<&str>::new(), "{}", path.display());
        assert_eq!(redacted.text, text);
        clean += 1;
    }
    assert!(clean >= 100, "only {clean} files");
}

proptest! {
    #[test]
    fn nothing_suspect_is_left(
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(secrets()).prop_map(|(_, text, _)| text),
                any::<String>(),
                prop::sample::select(vec!["://", ":", "@", "eyJ", ".", "-----", " ", "ghp_", "é"])
                    .prop_map(str::to_owned),
            ],
            0..12,
        )
    ) {
        let redacted = redact(&parts.concat());
        prop_assert_eq!(suspect(&redacted.text), None, "{}", redacted.text);
        prop_assert_eq!(redact(&redacted.text).rules, Vec::<&str>::new());
    }
}

#[test]
fn values_of_variables_with_secret_names_go_and_others_stay() {
    let variables = [
        ("API_TOKEN", "a value of our own"),
        ("DB_PASSWORD", "a value of our own, longer"),
        ("my_secret", "short"),
        ("HOME", "/home/somebody"),
    ];
    let secrets = Secrets::among(variables);
    let text = "a value of our own, longer; a value of our own; short; /home/somebody";
    let clean = secrets.redact(text);
    assert_eq!(
        clean.text,
        "[redacted:variable]; [redacted:variable]; short; /home/somebody"
    );
    assert_eq!(clean.rules, ["variable", "variable"]);
    assert_eq!(secrets.redact(&clean.text).text, clean.text);
}
