//! Merges the sources of configuration. Precedence: flags, environment, `config.local.json`,
//! `config.json`, the person's own file, defaults.
//!
//! Invariant: pure. Objects are merged key by key; every other value replaces the lower one. Each
//! value records its source, and one pass reports the problems of all sources.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::cross_checks::relations;
use super::errors::{ConfigError, Origin, Position, Problem, ProblemKind};
use super::json_positions::{Positions, child, parent};
use super::model::Config;
use super::validate::{Whole, prune};

/// The sources as they were read.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The person's own file; `None` if it is missing or was refused.
    pub user: Option<UserFile>,
    /// Text of `config.json`; `None` if the file is missing or was refused.
    pub shared: Option<String>,
    /// Text of `config.local.json`; `None` if the file is missing or was refused.
    pub local: Option<String>,
    /// Environment variables. Only those in [`VARIABLES`] count; an empty value counts as unset.
    pub environment: BTreeMap<String, String>,
    /// Values given by flags on the command line.
    pub flags: Vec<Flag>,
}

/// The person's own file for all repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Its path for people, such as `~/.config/swarm/config.json`.
    pub name: String,
    #[allow(missing_docs)] // the name says it
    pub text: String,
}

/// A value given by a flag.
#[derive(Debug, Clone, PartialEq)]
pub struct Flag {
    /// The flag as typed, such as `--mode`.
    pub flag: String,
    /// The key it sets, such as `agents.maxParallel`.
    pub key: String,
    #[allow(missing_docs)] // the name says it
    pub value: Value,
}

/// Environment variables that set a key. `SWARM_MODEL` sets the model of the default profile.
pub const VARIABLES: [&str; 4] = [
    "SWARM_MODE",
    "SWARM_MAX_AGENTS",
    "SWARM_MODEL",
    "SWARM_TIMEOUT",
];

/// The effective configuration and the source of each value.
#[derive(Debug, Clone)]
pub struct Layered {
    /// The effective configuration, fully checked.
    pub config: Config,
    /// The winning source of each key that any source sets. A key not in this map has its default.
    pub origins: BTreeMap<String, Origin>,
    pub(super) places: BTreeMap<String, Position>,
}

impl Layered {
    /// Locates a problem with `key` that a check outside this room found.
    pub fn problem(&self, key: &str, kind: ProblemKind) -> Problem {
        let mut around = std::iter::successors(Some(key), |key| parent(key));
        let given = around.find_map(|key| Some((key, self.origins.get(key)?)));
        Problem {
            origin: given.map_or(Origin::Default, |(_, origin)| origin.clone()),
            position: given.and_then(|(key, _)| self.places.get(key).copied()),
            key: key.to_owned(),
            kind,
        }
    }
}

/// Merges the sources.
///
/// # Errors
/// All problems in any source, and between keys of the merged configuration.
pub fn layer(sources: &Sources) -> Result<Layered, ConfigError> {
    let mut problems = Vec::new();
    let user = sources.user.iter().map(|file| {
        let origin = Origin::User(file.name.clone());
        text_layer(origin, Some(&file.text), &mut problems)
    });
    let mut layers: Vec<Layer> = user.collect();
    layers.extend([
        text_layer(Origin::Shared, sources.shared.as_deref(), &mut problems),
        text_layer(Origin::Local, sources.local.as_deref(), &mut problems),
    ]);
    let flags = sources.flags.iter().map(flag_layer);
    layers.extend(environment_layers(&sources.environment));
    layers.extend(flags);
    for layer in &mut layers {
        problems.extend(layer.prune());
    }
    let model = model_layer(&sources.environment, &layers);
    let before_flags = layers.len() - sources.flags.len();
    layers.splice(before_flags..before_flags, model);
    finish(&layers, problems)
}

/// One source as JSON.
struct Layer {
    origin: Origin,
    value: Value,
    positions: Positions,
}

impl Layer {
    fn of(origin: Origin, key: &str, value: Value) -> Self {
        let nested = key
            .rsplit('.')
            .fold(value, |inner, name| json!({ name: inner }));
        Self {
            origin,
            value: nested,
            positions: Positions::default(),
        }
    }

    fn prune(&mut self) -> Vec<Problem> {
        let found = prune(&mut self.value, Whole::No);
        normalise_hooks(&mut self.value);
        found
            .into_iter()
            .map(|(key, kind)| self.problem(key, kind))
            .collect()
    }

    fn problem(&self, key: String, kind: ProblemKind) -> Problem {
        Problem {
            origin: self.origin.clone(),
            position: self.positions.near(&key),
            key,
            kind,
        }
    }
}

/// Expands a hook given as a string, so that another source can add limits to it.
fn normalise_hooks(value: &mut Value) {
    let hooks = value.get_mut("hooks").and_then(Value::as_object_mut);
    for hook in hooks.into_iter().flat_map(Map::values_mut) {
        if hook.is_string() {
            *hook = json!({ "run": hook.take() });
        }
    }
}

fn text_layer(origin: Origin, text: Option<&str>, problems: &mut Vec<Problem>) -> Layer {
    let text = text.map_or("{}", |t| t.strip_prefix('\u{feff}').unwrap_or(t));
    let mut layer = Layer {
        origin,
        value: json!({}),
        positions: Positions::default(),
    };
    match serde_json::from_str(text) {
        Ok(value) => {
            layer.value = value;
            layer.positions = Positions::of(text);
            problems.extend(doubled(&layer));
        }
        Err(error) => problems.push(syntax(&layer.origin, &error)),
    }
    layer
}

fn doubled(layer: &Layer) -> impl Iterator<Item = Problem> {
    layer.positions.doubled().map(|(key, position)| Problem {
        origin: layer.origin.clone(),
        position: Some(position),
        key,
        kind: ProblemKind::DuplicateKey,
    })
}

fn syntax(origin: &Origin, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(&*text, |(why, _)| why);
    Problem {
        origin: origin.clone(),
        position: Some(Position {
            line: error.line().max(1),
            column: error.column().max(1),
        }),
        key: String::new(),
        kind: ProblemKind::Syntax {
            why: why.to_owned(),
        },
    }
}

fn variable<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    let value = environment.get(name)?.trim();
    Some(value).filter(|value| !value.is_empty())
}

/// Parses a number; returns other text unchanged, for the schema check to refuse.
fn number(text: &str) -> Value {
    text.parse::<u64>()
        .map_or_else(|_| json!(text), |n| json!(n))
}

fn environment_layers(environment: &BTreeMap<String, String>) -> impl Iterator<Item = Layer> {
    let text = |text: &str| json!(text);
    let keys = [
        ("SWARM_MODE", "mode", text as fn(&str) -> Value),
        ("SWARM_MAX_AGENTS", "agents.maxParallel", number),
        ("SWARM_TIMEOUT", "agents.timeoutMinutes", number),
    ];
    keys.into_iter().filter_map(|(name, key, read)| {
        let value = read(variable(environment, name)?);
        Some(Layer::of(Origin::Environment(name.to_owned()), key, value))
    })
}

/// The layer of `SWARM_MODEL`. It needs the other layers, which name the default profile; if no
/// layer defines that profile, there is nothing to set.
fn model_layer(environment: &BTreeMap<String, String>, layers: &[Layer]) -> Option<Layer> {
    let model = variable(environment, "SWARM_MODEL")?;
    let named = layers
        .iter()
        .rev()
        .find_map(|layer| layer.value["agents"]["profile"].as_str());
    let profile = named.map_or_else(|| Config::default().agents.profile, str::to_owned);
    let has_profile = |layer: &Layer| layer.value["agents"]["profiles"].get(&profile).is_some();
    layers.iter().any(has_profile).then(|| {
        let key = format!("agents.profiles.{profile}.model");
        Layer::of(
            Origin::Environment("SWARM_MODEL".to_owned()),
            &key,
            json!(model),
        )
    })
}

fn flag_layer(flag: &Flag) -> Layer {
    Layer::of(
        Origin::Flag(flag.flag.clone()),
        &flag.key,
        flag.value.clone(),
    )
}

/// Merges `over` into `under`: objects key by key; any other value replaces the old one.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                merge(under.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// Calls `each` for every value except non-empty objects.
pub(super) fn leaves(value: &Value, key: &str, each: &mut impl FnMut(&str, &Value)) {
    match value.as_object().filter(|object| !object.is_empty()) {
        None => each(key, value),
        Some(object) => object
            .iter()
            .for_each(|(name, value)| leaves(value, &child(key, name), each)),
    }
}

/// The merged value, and the source of each of its leaves.
fn merged(layers: &[Layer]) -> (Value, BTreeMap<String, Origin>) {
    let mut merged = json!({});
    let mut origins = BTreeMap::new();
    for layer in layers {
        merge(&mut merged, &layer.value);
        leaves(&layer.value, "", &mut |key, value| {
            if !value.as_object().is_some_and(Map::is_empty) {
                forget_replaced(&mut origins, key);
                origins.insert(key.to_owned(), layer.origin.clone());
            }
        });
    }
    (merged, origins)
}

/// Removes the sources of what a value of this key replaces: one value in place of an object, or an
/// object in place of a value.
fn forget_replaced(origins: &mut BTreeMap<String, Origin>, key: &str) {
    for around in std::iter::successors(parent(key), |key| parent(key)) {
        origins.remove(around);
    }
    let below = format!("{key}.");
    let replaced = origins.range(below.clone()..);
    let replaced: Vec<String> = replaced
        .map(|(key, _)| key.clone())
        .take_while(|key| key.starts_with(&below))
        .collect();
    for key in replaced {
        origins.remove(&key);
    }
}

fn finish(layers: &[Layer], mut problems: Vec<Problem>) -> Result<Layered, ConfigError> {
    let (mut merged, origins) = merged(layers);
    let bad: Vec<String> = problems.iter().map(|p| p.key.clone()).collect();
    let missing = prune(&mut merged, Whole::Yes);
    let config = if missing.is_empty() {
        read(layers, merged, &bad, &mut problems)
    } else {
        let new = missing.into_iter().filter(|(key, _)| !bad.contains(key));
        problems.extend(new.map(|(key, kind)| placed(layers, key, kind)));
        None
    };
    match config {
        Some(config) if problems.is_empty() => Ok(Layered {
            places: places(layers, &origins),
            config,
            origins,
        }),
        _ => Err(ConfigError::new(problems)),
    }
}

/// Deserialises the configuration and adds the problems between its keys to `problems`.
fn read(
    layers: &[Layer],
    merged: Value,
    bad: &[String],
    problems: &mut Vec<Problem>,
) -> Option<Config> {
    let config: Config = match serde_json::from_value(merged) {
        Ok(config) => config,
        Err(error) => {
            problems.push(syntax(&Origin::Shared, &error));
            return None;
        }
    };
    let found = relations(&config)
        .into_iter()
        .filter(|(key, _)| !in_doubt(key, bad));
    problems.extend(found.map(|(key, kind)| placed(layers, key, kind)));
    Some(config)
}

/// Whether a finding about `key` may be a consequence of a value that was pruned before.
fn in_doubt(key: &str, bad: &[String]) -> bool {
    let about_profiles = matches!(
        key,
        "agents.profile" | "merge.resolver" | "memory.synthesis.profile"
    );
    let within = |bad: &str, key: &str| {
        let rest = bad.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    bad.iter().any(|bad| {
        bad.is_empty() || within(bad, key) || about_profiles && within(bad, "agents.profiles")
    })
}

/// Locates the problem in the last source that sets the key or, failing that, an enclosing key.
fn placed(layers: &[Layer], key: String, kind: ProblemKind) -> Problem {
    let mut around = std::iter::successors(Some(&*key), |key| parent(key));
    let giver = around.find_map(|key| layers.iter().rfind(|layer| gives(&layer.value, key)));
    Problem {
        origin: giver.map_or(Origin::Default, |layer| layer.origin.clone()),
        position: giver.and_then(|layer| layer.positions.near(&key)),
        key,
        kind,
    }
}

fn gives(value: &Value, key: &str) -> bool {
    key.split('.')
        .try_fold(value, |value, name| value.get(name))
        .is_some()
}

fn places(layers: &[Layer], origins: &BTreeMap<String, Origin>) -> BTreeMap<String, Position> {
    let place = |(key, origin): (&String, &Origin)| {
        let layer = layers.iter().find(|layer| layer.origin == *origin)?;
        Some((key.clone(), layer.positions.near(key)?))
    };
    origins.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use proptest::prelude::*;

    use super::*;
    use crate::config::Mode;

    const CONTRACT: &str = r#"{"$schema":"./config.schema.json","mode":"autopilot","target":"main",
 "agents":{"maxParallel":3,"timeoutMinutes":30,"profile":"ed","failuresToPause":3,
   "profiles":{"ed":{"adapter":"claude","model":"sonnet","args":[],"env":{}},
               "local":{"adapter":"command","command":["python3","tools/agent.py"]},
               "finn":{"adapter":"claude"}}},
 "completion":{"maxIterations":50,"stuckThreshold":5,"autoCommit":true},
 "qualityCommands":["cargo test"],
 "merge":{"autoMerge":true,"verify":true,"conflictRetries":3,"cleanupOnSuccess":true,"resolver":"finn"},
 "checkpoints":{"periodic":5,"beforeAutopilot":true},
 "hooks":{"post-complete":"scripts/notify.sh","pre-merge":{"run":"scripts/e2e.sh","timeoutSeconds":120}},
 "budget":{"usdPerIdea":null,"usdPerDay":null},"shutdown":{"graceSeconds":5}}"#;

    fn sources(shared: &str, local: &str) -> Sources {
        Sources {
            shared: Some(shared.to_owned()),
            local: Some(local.to_owned()),
            ..Sources::default()
        }
    }

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn flag(flag: &str, key: &str, value: Value) -> Flag {
        let (flag, key) = (flag.to_owned(), key.to_owned());
        Flag { flag, key, value }
    }

    #[test]
    fn the_documented_example_loads() {
        let layered = layer(&sources(CONTRACT, "{}")).unwrap();
        let config = &layered.config;
        assert_eq!(
            config.agents.profiles["local"].command,
            ["python3", "tools/agent.py"]
        );
        assert_eq!(config.merge.resolver.as_deref(), Some("finn"));
        let hooks: Vec<_> = config
            .hooks
            .values()
            .map(|h| (&*h.run, h.timeout_seconds))
            .collect();
        assert_eq!(hooks, [("scripts/notify.sh", 30), ("scripts/e2e.sh", 120)]);
        assert_eq!(layered.readiness(), []);
    }

    #[test]
    fn without_sources_the_defaults_apply() {
        assert_eq!(
            layer(&Sources::default()).unwrap().config,
            Config::default()
        );
    }

    #[test]
    fn the_defaults_pass_their_own_checks() {
        let text = serde_json::to_string(&Config::default()).unwrap();
        assert_eq!(
            layer(&sources(&text, "{}")).unwrap().config,
            Config::default()
        );
    }

    #[test]
    fn later_sources_win_key_by_key() {
        let mut sources = sources(
            r#"{"mode":"autopilot","qualityCommands":["a","b"],"agents":{"maxParallel":2,"timeoutMinutes":5,"profiles":{"ed":{"adapter":"command","command":["x"]}}}}"#,
            r#"{"qualityCommands":["c"],"agents":{"maxParallel":4,"profiles":{"ed":{"env":{"KEY":"v"}}}}}"#,
        );
        sources.environment = environment(&[
            ("SWARM_MODE", "semi-auto"),
            ("SWARM_MAX_AGENTS", "6"),
            ("SWARM_TIMEOUT", " 7 "),
            ("SWARM_MODEL", "m"),
            ("SWARM_IDEA_ID", "idea-001"),
        ]);
        sources.user = Some(UserFile {
            name: "~/own.json".into(),
            text: r#"{"mode":"semi-auto","target":"own","agents":{"maxParallel":9}}"#.into(),
        });
        sources.flags = vec![flag("--mode", "mode", json!("autopilot"))];
        let layered = layer(&sources).unwrap();
        let agents = &layered.config.agents;
        assert_eq!(layered.config.mode, Mode::Autopilot);
        assert_eq!((agents.max_parallel, agents.timeout_minutes), (6, 7));
        assert_eq!(layered.config.quality_commands, ["c"]);
        let ed = &agents.profiles["ed"];
        assert_eq!(
            (ed.command.len(), &*ed.env["KEY"], ed.model.as_deref()),
            (1, "v", Some("m"))
        );
        for (key, origin) in [
            ("mode", "--mode"),
            ("agents.maxParallel", "SWARM_MAX_AGENTS"),
            ("agents.profiles.ed.model", "SWARM_MODEL"),
            ("agents.profiles.ed.env.KEY", "config.local.json"),
            ("agents.profiles.ed.adapter", "config.json"),
            ("qualityCommands", "config.local.json"),
            ("target", "~/own.json"),
            ("shutdown.graceSeconds", "default"),
        ] {
            assert_eq!(layered.origin(key).to_string(), origin, "{key}");
        }
    }

    #[test]
    fn empty_variables_are_ignored_and_a_model_needs_a_profile() {
        let environment = environment(&[("SWARM_MODE", ""), ("SWARM_MODEL", "m")]);
        let sources = Sources {
            environment,
            ..Sources::default()
        };
        assert_eq!(layer(&sources).unwrap().config, Config::default());
    }

    #[test]
    fn another_source_can_add_limits_to_a_hook_given_as_a_string() {
        let layered = layer(&sources(
            r#"{"hooks":{"on-pause":"a.sh"}}"#,
            r#"{"hooks":{"on-pause":{"timeoutSeconds":9}}}"#,
        ))
        .unwrap();
        let hook = &layered.config.hooks[&crate::config::HookName::OnPause];
        assert_eq!((&*hook.run, hook.timeout_seconds), ("a.sh", 9));
    }

    #[test]
    fn everything_wrong_in_every_source_is_said_at_once() {
        let mut sources = sources(
            "{\n  \"mod\": 1,\n  \"agents\": {\n    \"profile\": \"al\",\n    \"maxParallel\": \
            65,\n    \"maxParallel\": 0,\n    \"profiles\": {\"ed\": {\"adapter\": \"command\"}, \
            \"bo\": {}}\n  }\n}",
            "{\n  \"merge\": {\"resolver\": \"ed\", \"verify\": 1},\n  \"target\": \"a b\"\n}",
        );
        sources.environment = environment(&[("SWARM_MAX_AGENTS", "many"), ("SWARM_TIMEOUT", "-1")]);
        sources.flags = vec![flag("--mode", "mode", json!("auto"))];
        insta::assert_snapshot!(layer(&sources).unwrap_err().to_string());
    }

    #[test]
    fn problems_between_keys_point_at_the_source_that_gave_them() {
        let error = layer(&sources(
            "{\"agents\": {\"profiles\": {\n\"ed\": {\"adapter\": \"command\"}}}}",
            "{\n\n\"agents\": {\"profile\": \"edd\"},\n\"target\": \"a b\"}",
        ))
        .unwrap_err();
        insta::assert_snapshot!(error.to_string());
    }

    #[test]
    fn a_bad_file_of_the_person_is_named() {
        let mut sources = sources("{}", "{}");
        let name = "~/.config/swarm/config.json".to_owned();
        for (text, place) in [
            ("{", "~/.config/swarm/config.json:1:1: not valid JSON"),
            (r#"{"mod": 1}"#, "~/.config/swarm/config.json:1:2: mod"),
        ] {
            let (name, text) = (name.clone(), text.to_owned());
            sources.user = Some(UserFile { name, text });
            let told = layer(&sources).unwrap_err().to_string();
            assert!(told.contains(place), "{told}");
        }
    }

    #[test]
    fn invalid_json_is_reported_with_its_position() {
        for (text, place) in [
            (
                "",
                "config.json:1:1: not valid JSON: EOF while parsing a value",
            ),
            (
                "{\n  \"mode\": \"autopilot\",\n}",
                "config.json:3:1: not valid JSON: trailing comma",
            ),
            (
                "{} x",
                "config.json:1:4: not valid JSON: trailing characters",
            ),
            ("[1]", "config.json: found a list; allowed: an object"),
        ] {
            let told = layer(&sources(text, "{}")).unwrap_err().to_string();
            assert!(told.contains(place), "{told}");
        }
    }

    #[test]
    fn control_characters_in_a_file_are_escaped() {
        let text = r#"{"\u001b[2J":1,"target":"a\u009bb"}"#;
        let told = layer(&sources(text, "{}")).unwrap_err().to_string();
        assert!(
            told.contains(r"\u{1b}[2J") && told.contains(r"a\u{9b}b"),
            "{told}"
        );
        assert!(!told.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn secrets_are_hashed_but_never_shown() {
        let with = |value: &str| {
            let text =
                json!({"agents": {"profiles": {"ed": {"adapter": "demo", "env": {"KEY": value}}}}});
            layer(&sources(&text.to_string(), "{}")).unwrap()
        };
        let (one, two) = (with("s3cret"), with("other"));
        assert_ne!(one.config.hash(), two.config.hash());
        assert_eq!(one.config.hash().len(), 64);
        assert_eq!(one.document()["config"], two.document()["config"]);
        let shown = serde_json::to_string(&one.show()).unwrap() + &one.document().to_string();
        assert!(
            !shown.contains("s3cret") && shown.contains("<hidden>"),
            "{shown}"
        );
        let wrong = r#"{"agents":{"profiles":{"ed":{"adapter":"demo","env":{"KEY":["s3cret"],"K2":5551,"a b":"s3cret"}}}}}"#;
        let told = layer(&sources(wrong, "{}")).unwrap_err().to_string();
        assert!(!told.contains("s3cret") && !told.contains("5551"), "{told}");
    }

    #[test]
    fn the_hash_depends_on_the_effective_values_only() {
        let hash =
            |shared: &str, local: &str| layer(&sources(shared, local)).unwrap().config.hash();
        let plain = hash("{}", "{}");
        assert_eq!(
            plain,
            hash(
                r#"{"mode":"semi-auto","$schema":"x"}"#,
                r#"{ "mode" : "autopilot" }"#
            )
        );
        assert_ne!(plain, hash("{}", r#"{"target":"main"}"#));
    }

    #[test]
    fn every_value_is_shown_with_its_source() {
        let layered = layer(&sources(
            r#"{"hooks":{"on-pause":"a.sh"},"qualityCommands":["x"]}"#,
            "{}",
        ))
        .unwrap();
        let rows: Vec<String> = layered
            .show()
            .iter()
            .map(|row| format!("{} = {} ({})", row.key, row.value, row.origin))
            .collect();
        insta::assert_snapshot!(rows.join("\n"));
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(vec![
                "$schema", "mode", "target", "agents", "maxParallel", "profile", "profiles", "ed",
                "adapter", "command", "args", "env",
                "model", "passEnv", "hooks", "on-pause", "pre-merge", "run", "onTimeout",
                "timeoutSeconds", "merge", "resolver",
                "qualityCommands", "budget", "usdPerDay", "completion", "autoCommit",
            ]).prop_map(str::to_owned),
            1 => "[a-z.\\[\\]]{0,6}",
        ]
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2_i64..70).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            name().prop_map(Value::from),
            prop::sample::select(vec!["autopilot", "veto", "ed", "claude", " "])
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 60, 6, |inner| {
            prop_oneof![
                1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                5 => prop::collection::btree_map(name(), inner, 0..6).prop_map(|map| json!(map)),
            ]
        })
    }

    /// A valid configuration with arbitrary values in a few places.
    fn nearly_valid() -> impl Strategy<Value = Value> {
        let places = [
            "",
            "/agents",
            "/agents/profiles",
            "/agents/profiles/ed",
            "/hooks",
            "/merge",
            "/hooks/pre-merge",
        ];
        (prop::sample::select(places.to_vec()), name(), any_json()).prop_map(
            |(place, name, any)| {
                let mut value: Value = serde_json::from_str(CONTRACT).unwrap();
                value.pointer_mut(place).unwrap()[name] = any;
                value
            },
        )
    }

    proptest! {
        #[test]
        fn any_json_yields_a_configuration_or_problems(
            shared in prop_oneof![any_json(), nearly_valid()],
            local in any_json(),
        ) {
            match layer(&sources(&shared.to_string(), &local.to_string())) {
                Ok(layered) => {
                    let again = serde_json::to_string(&layered.config).unwrap();
                    prop_assert_eq!(layer(&sources(&again, "{}")).unwrap().config, layered.config);
                }
                Err(error) => {
                    prop_assert!(!error.problems.is_empty());
                    let syntax = |p: &Problem| matches!(p.kind, ProblemKind::Syntax { .. });
                    prop_assert!(!error.problems.iter().any(syntax), "{}", error);
                }
            }
        }

        #[test]
        fn any_text_yields_a_configuration_or_problems(
            shared in ".{0,40}",
            mode in ".{0,8}",
            number in "[-0-9a-z ]{0,6}",
        ) {
            let mut sources = sources(&shared, "{}");
            let variables = [
                ("SWARM_MODE", &*mode), ("SWARM_MAX_AGENTS", &*number), ("SWARM_MODEL", &*mode),
            ];
            sources.environment = environment(&variables);
            if let Err(error) = layer(&sources) {
                prop_assert!(!error.to_string().is_empty());
            }
        }

        #[test]
        fn a_misspelled_key_gets_a_suggestion(
            key in prop::sample::select(vec![
                "mode", "target", "agents", "completion", "qualityCommands", "merge",
                "checkpoints", "hooks", "budget", "shutdown",
            ]),
            at in 0_usize..4,
        ) {
            let mut wrong = key.to_owned();
            wrong.replace_range(at..=at, "z");
            let error = layer(&sources(&json!({ wrong: 1 }).to_string(), "{}")).unwrap_err();
            let expected = format!("did you mean `{key}`?");
            prop_assert!(error.to_string().contains(&expected), "{}", error);
        }
    }
}
