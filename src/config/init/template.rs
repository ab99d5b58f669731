//! The files that `swarm init` writes, embedded in the program.
//!
//! Invariant: the template's `config.json` is a valid configuration that lacks only target,
//! profiles, quality commands and the setup of worktrees. Those are inserted as JSON, never as
//! text. It has no key that a person may set for all repositories, because it would win.

use include_dir::{Dir, File, include_dir};
use serde_json::{Value, json};

use crate::config::{Worktree, json_layout};

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/.swarm-template");

/// The values that `swarm init` chooses for a repository.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fill {
    pub(crate) target: String,
    /// Value of `agents.profiles`.
    pub(crate) profiles: Value,
    pub(crate) quality_commands: Vec<String>,
    pub(crate) worktree: Worktree,
}

/// Every template file except `config.json`, as path below `.swarm/` and content, sorted by path.
pub(crate) fn plain_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    collect(&TEMPLATE, &mut files);
    files.sort();
    files
}

fn collect(dir: &Dir<'_>, files: &mut Vec<(String, String)>) {
    files.extend(dir.files().filter_map(|file| {
        let path = file.path().to_str()?;
        (path != CONFIG).then(|| (path.to_owned(), text(file)))
    }));
    dir.dirs().for_each(|dir| collect(dir, files));
}

const CONFIG: &str = "config.json";

/// Text of the template's `config.json`.
pub(crate) fn config_text() -> String {
    TEMPLATE.get_file(CONFIG).map(text).unwrap_or_default()
}

fn text(file: &File<'_>) -> String {
    String::from_utf8_lossy(file.contents()).into_owned()
}

/// The template's `config.json` with its placeholders filled.
pub(crate) fn render_config(fill: &Fill) -> String {
    let places = [
        ("\"target\": null", "target", json!(fill.target)),
        ("\"profiles\": {}", "profiles", fill.profiles.clone()),
        (
            "\"qualityCommands\": []",
            "qualityCommands",
            json!(fill.quality_commands),
        ),
        ("\"setup\": []", "setup", json!(fill.worktree.setup)),
        (
            "\"setupInputs\": []",
            "setupInputs",
            json!(fill.worktree.setup_inputs),
        ),
        ("\"copy\": []", "copy", json!(fill.worktree.copy)),
    ];
    let template = config_text();
    let mut out = String::new();
    let mut rest = &*template;
    while let Some((start, place)) = next_place(rest, &places) {
        let (open, key, value) = place;
        out.push_str(&rest[..start]);
        out.extend(["\"", key, "\": "]);
        let line = out.rsplit('\n').next().unwrap_or_default();
        let indent = &line[..line.len() - line.trim_start().len()];
        let value = json_layout::member(value, line, indent);
        out.push_str(&value);
        rest = &rest[start + open.len()..];
    }
    out + rest
}

type Place<'a> = (&'a str, &'a str, Value);

fn next_place<'a, 'b>(rest: &str, places: &'a [Place<'b>]) -> Option<(usize, &'a Place<'b>)> {
    let found = places
        .iter()
        .filter_map(|place| Some((rest.find(place.0)?, place)));
    found.min_by_key(|(start, _)| *start)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::config::layers::leaves;
    use crate::config::{Config, Origin, Sources, UserFile, layer};

    fn load(text: &str) -> Config {
        let sources = Sources {
            shared: Some(text.to_owned()),
            ..Sources::default()
        };
        layer(&sources).unwrap().config
    }

    #[test]
    fn the_template_is_valid_and_changes_no_default() {
        let mut config = load(&config_text());
        config.schema = None;
        assert_eq!(config, Config::default());
    }

    #[test]
    fn what_a_person_sets_for_all_repositories_stands_after_init() {
        let fill = Fill {
            target: "main".to_owned(),
            profiles: json!({ "ed": { "adapter": "demo" } }),
            ..Fill::default()
        };
        let own = json!({
            "mode": "semi-auto",
            "agents": { "maxParallel": 1, "timeoutMinutes": 45 },
            "completion": { "maxIterations": 7 },
            "merge": { "autoMerge": false },
            "checkpoints": { "periodic": 9 },
            "budget": { "usdPerIdea": 1.0, "usdPerDay": 5.0 },
            "retention": { "runsDays": 3 },
            "shutdown": { "graceSeconds": 9 },
        });
        let sources = Sources {
            user: Some(UserFile {
                name: "own".to_owned(),
                text: own.to_string(),
            }),
            shared: Some(render_config(&fill)),
            ..Sources::default()
        };
        let layered = layer(&sources).unwrap();
        let mut count = 0;
        leaves(&own, "", &mut |key, _| {
            let origin = layered.origin(key);
            assert!(matches!(origin, Origin::User(_)), "{key}: {origin}");
            count += 1;
        });
        assert_eq!(count, 10);
        assert_eq!(layered.config.budget.usd_per_day, Some(5.0));
    }

    #[test]
    fn each_placeholder_occurs_once_and_is_filled_as_json() {
        let fill = Fill {
            target: "\"profiles\": {} \\ \"qualityCommands\": []".to_owned(),
            profiles: json!({ "ed": { "adapter": "command", "command": ["a", "b\"c"] } }),
            quality_commands: vec!["cargo test".to_owned(), "echo \"target\": null".to_owned()],
            worktree: Worktree {
                setup: vec!["echo \"copy\": []".to_owned()],
                setup_inputs: vec!["a".to_owned()],
                copy: vec![".env".to_owned()],
                ..Worktree::default()
            },
        };
        let value: Value = serde_json::from_str(&render_config(&fill)).unwrap();
        assert_eq!(value["target"], fill.target);
        assert_eq!(value["agents"]["profiles"], fill.profiles);
        assert_eq!(value["qualityCommands"], json!(fill.quality_commands));
        // `init` leaves these at their defaults.
        let mut written = json!(fill.worktree);
        for key in ["keepIgnored", "keepIdle", "env", "gitDirLinks"] {
            written.as_object_mut().unwrap().remove(key);
        }
        assert_eq!(value["worktree"], written);
        for open in [
            "\"target\": null",
            "\"profiles\": {}",
            "\"qualityCommands\": []",
            "\"setup\": []",
            "\"setupInputs\": []",
            "\"copy\": []",
        ] {
            assert_eq!(config_text().matches(open).count(), 1, "{open}");
        }
    }

    #[test]
    fn what_is_written_reads_well() {
        let fill = Fill {
            target: "main".to_owned(),
            profiles: json!({ "ed": { "adapter": "command", "command": ["claude", "-p"] } }),
            quality_commands: vec!["cargo test".to_owned()],
            worktree: Worktree::default(),
        };
        insta::assert_snapshot!(render_config(&fill));
    }

    #[test]
    fn every_template_file_is_embedded_and_none_would_become_an_idea() {
        let paths: Vec<String> = plain_files().into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                ".gitignore",
                "agents/ed/prompt.md",
                "agents/ed/rules.md",
                "hooks/README.md",
                "inbox/.gitkeep",
                "rules/general.md"
            ]
        );
    }
}
