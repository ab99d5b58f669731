//! `reference/config.md`: every key, from the schema.

use std::fmt::Write as _;

use serde_json::Value;

use super::schema::{allowed, resolved};
use super::{cell, whole};

/// Objects whose keys are names that people choose: what stands for the name, and the name of the
/// type.
const NAMED: &[(&str, &str)] = &[("agents.profiles", "NAME"), ("pricing", "MODEL")];

/// Objects inside others that have a section of their own.
const NESTED: &[&str] = &["memory.synthesis"];

#[test]
fn configuration() {
    let schema = swarm::config::schema::schema();
    let mut page = String::from(
        "# Configuration\n\nThe configuration is `.swarm/config.json`. A JSON Schema lies beside \
        it, so editors complete and explain its keys.\nAn unknown key or a bad value is an error \
        that names the place and what is allowed.\n\n- `swarm config check` says everything that \
        is wrong.\n- `swarm config show` shows each value and where it comes from.\n- `swarm \
        config get KEY` prints one value, and `swarm config set KEY VALUE` writes one if the \
        whole configuration stays valid.\n- `swarm config schema` prints the schema.\n\nA later \
        source wins over an earlier one: defaults, your own `~/.config/swarm/config.json` (or \
        below\n`XDG_CONFIG_HOME`), `config.json`, `config.local.json` (for one machine, ignored \
        by git), environment variables, options of\nthe command line. The daemon picks up \
        changes in `.swarm/` while it runs, for what starts after them. It reads your own\nfile \
        at its start and whenever it reads one of the others.\n\n| variable | sets |\n| --- | \
        --- |\n| `SWARM_MODE` | `mode` |\n| `SWARM_MAX_AGENTS` | `agents.maxParallel` |\n| \
        `SWARM_TIMEOUT` | `agents.timeoutMinutes` |\n| \
        `SWARM_MODEL` | the model of the default profile |\n",
    );
    let mut sections = Vec::new();
    page.push_str("\n## At the top\n\n");
    table(&schema, &schema, "", &mut page, &mut sections);
    let mut at = 0;
    while at < sections.len() {
        let (key, object) = sections[at];
        let object = resolved(&schema, object);
        let (shown, inner) = match NAMED.iter().find(|(named, _)| *named == key) {
            Some((_, name)) => (
                format!("{key}.{name}"),
                resolved(&schema, &object["additionalProperties"]),
            ),
            None => (key.to_owned(), object),
        };
        let about = object["description"].as_str().unwrap_or_default();
        let about = if about.is_empty() {
            inner["description"].as_str().unwrap_or_default()
        } else {
            about
        };
        write!(page, "\n## {shown}\n\n{}\n\n", cell(about)).unwrap();
        let mut deeper = Vec::new();
        table(&schema, inner, &format!("{shown}."), &mut page, &mut deeper);
        if let Some(form) = form_of_an_object(&schema, inner) {
            page.push_str("\nAs an object, it has these keys:\n\n");
            table(&schema, form, "", &mut page, &mut Vec::new());
        }
        let nested = deeper
            .into_iter()
            .filter(|(key, _)| NESTED.contains(key) || NAMED.iter().any(|(named, _)| named == key));
        sections.extend(
            nested.map(|(key, object)| (&*Box::leak(key.to_owned().into_boxed_str()), object)),
        );
        at += 1;
    }
    whole("docs/reference/config.md", &page);
}

/// How a value of this object is written as an object, where it need not be one.
fn form_of_an_object<'a>(schema: &'a Value, object: &'a Value) -> Option<&'a Value> {
    let value = object["properties"].as_object()?.values().next()?;
    let branches = resolved(schema, value)["anyOf"].as_array()?;
    let mut branches = branches.iter().map(|branch| resolved(schema, branch));
    branches.find(|branch| branch["properties"].is_object())
}

/// A table of an object's keys; those that hold objects are sections of their own.
fn table<'a>(
    schema: &'a Value,
    object: &'a Value,
    prefix: &str,
    page: &mut String,
    sections: &mut Vec<(&'a str, &'a Value)>,
) {
    page.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for (name, property) in object["properties"].as_object().unwrap() {
        let key = format!("{prefix}{name}");
        let is = resolved(schema, property);
        let about = property["description"]
            .as_str()
            .or(is["description"].as_str())
            .unwrap_or_default();
        let is_section =
            is["properties"].is_object() || NAMED.iter().any(|(named, _)| *named == key);
        if is_section {
            let anchor = key.replace('.', "").to_lowercase();
            let name = NAMED
                .iter()
                .find(|(named, _)| *named == key)
                .map_or(String::new(), |(_, name)| name.to_lowercase());
            writeln!(
                page,
                "| `{key}` | [object](#{anchor}{name}) | | {} |",
                cell(about)
            )
            .unwrap();
            sections.push((Box::leak(key.into_boxed_str()), property));
            continue;
        }
        let default = property
            .get("default")
            .filter(|default| !default.is_object());
        let default = default
            .map(|default| format!("`{default}`"))
            .unwrap_or_default();
        let value = cell(&allowed(schema, property, &|_| None));
        writeln!(page, "| `{key}` | {value} | {default} | {} |", cell(about)).unwrap();
    }
}
