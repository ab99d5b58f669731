//! `reference/json.md`: what `--json` and the API say, from the description that the daemon itself
//! serves.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use super::schema::{allowed, name_of};
use super::{cell, sentence, whole};
use crate::stage::Stage;

/// Commands whose `--json` is a document of the API, and the path that describes it.
const COMMANDS: &[(&str, &str)] = &[
    ("swarm status", "/views/status"),
    ("swarm idea list", "/views/ideas"),
    ("swarm idea show", "/views/ideas/{id}"),
    ("swarm agent list", "/views/agents"),
    ("swarm agent show", "/views/agents/{id}"),
    ("swarm agent export", "/views/agents/{id}/state"),
    ("swarm agent import", "/agents/import"),
    ("swarm merge list", "/views/merges"),
    ("swarm checkpoint list", "/views/checkpoints"),
    ("swarm checkpoint show", "/views/checkpoints/{name}"),
    (
        "swarm rollback --dry-run",
        "/views/checkpoints/{name}/preview",
    ),
    ("swarm hooks list", "/views/hooks"),
    ("swarm memory log", "/views/memory/log"),
    ("swarm memory learnings", "/views/learnings"),
    ("swarm memory board", "/views/memory/facts"),
    ("swarm memory get", "/views/memory/facts/{key}"),
    ("swarm memory search", "/views/memory/search"),
    ("swarm memory shown", "/views/memory/shown/{agent}"),
    ("swarm memory stats", "/views/memory/stats"),
    ("swarm memory synthesize", "/commands"),
    ("swarm memory synthesize --dry-run", "/views/memory/news"),
    ("swarm scratch list", "/views/scratch"),
    ("swarm scratch get", "/views/scratch/{key}"),
    ("swarm provenance list", "/views/provenance"),
    ("swarm provenance show", "/views/provenance/{id}"),
    ("swarm snapshot diff", "/views/snapshot/diff"),
    ("swarm provenance replay", "/views/provenance/{id}/replay"),
    ("swarm report", "/views/report"),
    ("swarm events", "/events"),
    ("swarm clean", "/clean"),
];

const HEAD: &str = "# JSON

With `--json` a command writes one JSON document to standard output. Where output goes on (`swarm \
events -f`, `swarm start --json`), it
writes one document a line. Keys are camelCase. Times are RFC 3339 in UTC. A key may be added at \
any time; none changes its meaning.

An error is a document on standard error, and the [exit code](exit-codes.md) says what kind of \
error it is:

```json
{ \"error\": { \"code\": \"IDEA_UNKNOWN\", \"message\": \"...\", \"details\": \"\", \
\"suggestions\": [\"...\"] } }
```

The daemon serves the same documents as an HTTP API on its unix socket, `.git/swarm/swarm.sock`, \
for your user only. If that path is too
long for the system, the socket lies elsewhere, and `.git/swarm/daemon.json` names it. \
`/api/v1/openapi.json` describes the API.

<!-- not run: needs curl and a daemon -->
```sh
curl --unix-socket .git/swarm/swarm.sock http://swarm/api/v1/views/status
curl --unix-socket .git/swarm/swarm.sock http://swarm/api/v1/commands -d '{\"do\":\"pause\"}'
```

Every view has a path below `/api/v1/views/`. Every change is a command, an object whose `do` \
names it, and its answer comes when it is on disk.

`GET /api/v1/events` with `Accept: text/event-stream` sends each event as it comes. A client that \
comes back with `Last-Event-ID` misses none
and gets none twice.

";

#[test]
fn json() {
    let document = description();
    let mut page = HEAD.to_owned();
    page.push_str("## Commands\n\n| command | document |\n| --- | --- |\n");
    for (command, path) in COMMANDS {
        let operations = &document["paths"][format!("/api/v1{path}")];
        let operation = ["get", "post"]
            .iter()
            .map(|method| &operations[*method])
            .find(|found| found.is_object());
        let operation = operation.unwrap_or_else(|| panic!("{path} is not described"));
        writeln!(
            page,
            "| `{command} --json` | {} |",
            answer(&document, operation)
        )
        .unwrap();
    }
    page.push_str(
        "\n## Paths\n\nAll begin with `/api/v1`.\n\n| request | does | answer |\n| --- | \
        --- | --- |\n",
    );
    for (path, operations) in document["paths"].as_object().unwrap() {
        let path = path.trim_start_matches("/api/v1");
        for (method, operation) in operations.as_object().unwrap() {
            let does = sentence(operation["summary"].as_str().unwrap_or_default());
            let (method, answer) = (method.to_uppercase(), answer(&document, operation));
            writeln!(page, "| `{method} {path}` | {} | {answer} |", cell(&does)).unwrap();
        }
    }
    page.push_str("\n## Documents\n");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let about = sentence(schema["description"].as_str().unwrap_or_default());
        write!(page, "\n### {name}\n").unwrap();
        if !about.is_empty() {
            write!(page, "\n{about}\n").unwrap();
        }
        fields(&document, schema, &mut page);
    }
    whole("docs/reference/json.md", &page);
}

/// The tables of an object's fields; of one that is put together, those of its parts.
fn fields(document: &Value, schema: &Value, page: &mut String) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        match name_of(part) {
            Some(_) => write!(
                page,
                "\nAll fields of {}, and:\n",
                allowed(document, part, &link)
            )
            .unwrap(),
            None => fields(document, part, page),
        }
    }
    let Some(properties) = schema["properties"].as_object() else {
        if is_named_by_do(schema) {
            commands(document, schema, page);
        } else if !schema["allOf"].is_array() {
            write!(page, "\nIs {}.\n", cell(&allowed(document, schema, &link))).unwrap();
        }
        return;
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    page.push_str("\n| field | value | meaning |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            ", may be left out"
        };
        let described = |schema: &Value| schema["description"].as_str().map(str::to_owned);
        let about = described(property)
            .or_else(|| property["oneOf"].as_array()?.iter().find_map(described));
        let about = about.unwrap_or_default();
        let value = cell(&allowed(document, property, &link));
        writeln!(page, "| `{name}` | {value}{optional} | {} |", cell(&about)).unwrap();
    }
}

/// Whether it is a list of commands.
fn is_named_by_do(schema: &Value) -> bool {
    let variants = schema["oneOf"].as_array();
    variants.is_some_and(|variants| {
        variants
            .iter()
            .all(|variant| command_name(variant).is_some())
    })
}

/// The parts of a variant that is put together, or the variant itself.
fn parts(variant: &Value) -> Vec<&Value> {
    match variant["allOf"].as_array() {
        Some(parts) => parts.iter().collect(),
        None => vec![variant],
    }
}

fn command_name(variant: &Value) -> Option<&str> {
    let named = |part: &&Value| part["properties"]["do"]["enum"][0].is_string();
    let part = parts(variant).into_iter().find(named)?;
    part["properties"]["do"]["enum"][0].as_str()
}

/// The table of commands: each with its fields, of which one in parentheses may be left out.
fn commands(document: &Value, schema: &Value, page: &mut String) {
    page.push_str("\n| `do` | fields | does |\n| --- | --- | --- |\n");
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let mut named = Vec::new();
        for part in parts(variant) {
            if name_of(part).is_some() {
                named.push(format!("those of {}", allowed(document, part, &link)));
            }
            let required = part["required"].as_array().cloned().unwrap_or_default();
            for name in part["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|it| it.0)
            {
                if name == "do" {
                    continue;
                }
                named.push(if required.iter().any(|it| it == name) {
                    format!("`{name}`")
                } else {
                    format!("(`{name}`)")
                });
            }
        }
        let about = variant["description"].as_str().unwrap_or_default();
        let name = command_name(variant).unwrap_or_default();
        let fields = named.join(", ");
        writeln!(page, "| `{name}` | {} | {} |", cell(&fields), cell(about)).unwrap();
    }
}

#[allow(clippy::unnecessary_wraps)] // as `allowed` calls it
fn link(name: &str) -> Option<String> {
    Some(format!("[{name}](#{})", name.to_lowercase()))
}

/// What a request is answered with.
fn answer(document: &Value, operation: &Value) -> String {
    let responses = operation["responses"].as_object().unwrap();
    let good = responses.iter().find(|(status, _)| status.starts_with('2'));
    let Some((_, response)) = good else {
        return String::new();
    };
    let content = response["content"].as_object().into_iter().flatten();
    let json = content
        .clone()
        .find(|(kind, _)| *kind == "application/json");
    match json.or(content.clone().next()) {
        Some((kind, content)) if kind == "application/json" => {
            cell(&allowed(document, &content["schema"], &link))
        }
        Some((kind, _)) => format!("`{kind}`"),
        None => String::new(),
    }
}

/// The description, from a daemon.
fn description() -> Value {
    let mut stage = Stage::new();
    stage.set_up(
        "swarm init --yes && git add .swarm && git commit -qm 'Set up swarm' && swarm \
        start --detach",
    );
    let named = stage.run("cat .git/swarm/daemon.json").shown.join("\n");
    let named: Value = serde_json::from_str(&named).unwrap();
    let socket = stage.inside("home/hello").join(".git/swarm/swarm.sock");
    let socket = if socket.exists() {
        socket
    } else {
        named["socket"].as_str().unwrap().into()
    };
    let mut stream = UnixStream::connect(socket).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
        .write_all(b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: swarm\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200") && !head.contains("chunked"),
        "{head}"
    );
    stage.set_up("swarm stop");
    serde_json::from_str(body).unwrap()
}
