//! Whole commands against a state on disk: arguments in, streams and exit code out.

use clap::Parser;
use jiff::tz::TimeZone;

use super::args::Cli;
use super::output::terminal;
use super::output::tests::Shared;
use super::*;
use crate::domain::event::{Event, IdeaAdded, IdeaCancelled};
use crate::domain::ids::IdeaId;
use crate::domain::operation::NewIdea;
use crate::domain::time::Timestamp;
use crate::journal::Journal;

const NOW: Timestamp = Timestamp::from_millis(1_000);

struct World {
    folder: tempfile::TempDir,
}

struct Told {
    code: u8,
    data: String,
    messages: String,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".swarm/state")).unwrap();
        Self { folder }
    }

    fn swarm(&self, line: &[&str]) -> Told {
        let folder = self.folder.path().to_str().unwrap();
        let first = ["swarm", "-C", folder];
        let words = first.iter().chain(line);
        let cli = Cli::try_parse_from(words).unwrap();
        let (data, messages) = (Shared::default(), Shared::default());
        let output = Output::plain(
            Box::new(data.clone()),
            Box::new(messages.clone()),
            cli.global.json,
        );
        let mut context = Context {
            global: cli.global,
            output,
            zone: TimeZone::UTC,
            last_words: None,
            past: None,
        };
        let code = finish(cli.verb, &mut context);
        let (data, messages) = (data.text(), messages.text());
        Told {
            code,
            data,
            messages,
        }
    }

    fn json(&self, line: &[&str]) -> serde_json::Value {
        let words: Vec<&str> = line.iter().copied().chain(["--json"]).collect();
        let told = self.swarm(&words);
        assert_eq!(told.code, 0, "{}", told.messages);
        serde_json::from_str(&told.data).unwrap()
    }
}

#[test]
fn an_added_idea_is_listed() {
    let world = World::new();
    let told = world.swarm(&["idea", "add", "a \u{1b}[2J title"]);
    assert_eq!(
        (told.code, told.data.as_str(), told.messages.as_str()),
        (0, "idea-001\n", "")
    );
    world.swarm(&[
        "idea", "add", "--after", "idea-001", "--tag", "docs", "--", "--dashed",
    ]);
    let list = world.swarm(&["idea", "list"]).data;
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[1].starts_with("idea-001  pending  a ␛[2J title"),
        "{list}"
    );
    assert!(
        lines[2].contains("--dashed") && lines[2].ends_with("idea-001  docs"),
        "{list}"
    );
    let ideas = world.json(&["idea", "list"]);
    let contract = [
        "id",
        "status",
        "content",
        "tags",
        "priority",
        "after",
        "retryCount",
        "attempts",
        "commit",
        "lastError",
        "createdAt",
        "updatedAt",
    ];
    for key in contract {
        assert!(ideas[0].get(key).is_some(), "{key} is missing");
    }
    assert_eq!(
        world.json(&["idea", "add", "third"]),
        // Each command leaves a mark behind its event.
        serde_json::json!({"id": "idea-003", "seq": 5})
    );
}

#[test]
fn an_idea_is_edited_and_shown_with_its_history() {
    let world = World::new();
    world.swarm(&["idea", "add", "one", "--tag", "a", "--priority", "-2"]);
    assert_eq!(
        world
            .swarm(&["idea", "edit", "idea-001", "--no-tags", "--text", "-x"])
            .code,
        0
    );
    world.swarm(&["idea", "cancel", "idea-001"]);
    let shown = world.swarm(&["idea", "show", "idea-001"]).data;
    assert!(shown.starts_with("idea-001  cancelled\n"), "{shown}");
    assert!(
        shown.contains("\n  -x\n") && !shown.contains("\ntags"),
        "{shown}"
    );
    let detail = world.json(&["idea", "show", "idea-001"]);
    assert_eq!(
        (detail["content"].as_str(), detail["priority"].as_i64()),
        (Some("-x"), Some(-2))
    );
}

#[test]
fn an_edit_that_changes_nothing_is_a_usage_error() {
    let error = Cli::try_parse_from(["swarm", "idea", "edit", "idea-001"]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn a_refusal_has_a_message_and_a_hint_in_text_and_json() {
    let world = World::new();
    let told = world.swarm(&["idea", "show", "idea-009"]);
    assert_eq!(told.code, 1);
    let expected = "error: there is no idea `idea-009`\n  -> see the ideas: swarm idea list\n";
    assert_eq!((told.data.as_str(), told.messages.as_str()), ("", expected));
    let told = world.swarm(&["--json", "idea", "retry", "idea-009"]);
    let error: serde_json::Value = serde_json::from_str(&told.messages).unwrap();
    assert_eq!(error["error"]["code"], "IDEA_UNKNOWN");
}

#[test]
fn commands_that_need_the_daemon_exit_with_code_3() {
    let world = World::new();
    world.swarm(&["idea", "add", "one"]);
    let lines: [&[&str]; 8] = [
        &["agent", "stop", "ed-001"],
        &["agent", "say", "ed-001", "x"],
        &["pause"],
        &["resume"],
        &["wait"],
        &["wait", "1"],
        &["events", "-f"],
        &["status", "--watch"],
    ];
    for line in lines {
        let told = world.swarm(line);
        assert_eq!(told.code, 3, "{line:?}");
        assert!(told.messages.contains("swarm start"), "{line:?}");
    }
    assert_eq!(world.swarm(&["stop"]).code, 3);
}

#[test]
fn status_without_a_daemon_has_the_shape_of_the_contract() {
    let world = World::new();
    world.swarm(&["idea", "add", "one"]);
    let status = world.json(&["status"]);
    let contract = [
        "phase",
        "mode",
        "pid",
        "webUrl",
        "lastSeq",
        "target",
        "slots",
        "ideas",
        "agents",
        "mergeQueue",
        "needsYou",
        "warnings",
    ];
    for key in contract {
        assert!(status.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(
        (
            status["phase"].as_str(),
            status["ideas"]["pending"].as_u64()
        ),
        (Some("stopped"), Some(1))
    );
    let page = world.swarm(&["status"]).data;
    assert_eq!(page, "stopped · autopilot\nideas: 1 pending\n");
}

#[test]
fn events_are_paged_filtered_and_written_as_lines() {
    let world = World::new();
    let added = (1..=1_005).map(|number| {
        Event::from(IdeaAdded {
            id: IdeaId::numbered(number),
            idea: NewIdea::default(),
        })
    });
    let id = IdeaId::numbered(3);
    let events: Vec<Event> = added.chain([IdeaCancelled { id }.into()]).collect();
    let state = world.folder.path().join(".swarm/state");
    let (mut journal, _) = Journal::open(&state).unwrap();
    journal.append(0, NOW, &events).unwrap();
    assert_eq!(world.swarm(&["events"]).data.lines().count(), 1_006);
    let told = world.swarm(&["events", "--kind", "ideaCancelled", "--json"]);
    let event: serde_json::Value = serde_json::from_str(told.data.trim_end()).unwrap();
    assert_eq!(
        (event["seq"].as_u64(), event["data"]["id"].as_str()),
        (Some(1_006), Some("idea-003"))
    );
    let told = world.swarm(&["events", "--since", "1005"]);
    let expected = "  1006  1970-01-01 00:00:01  ideaCancelled     idea-003 cancelled\n";
    assert_eq!(told.data, expected);
}

#[test]
fn outside_a_repository_the_hint_is_init() {
    let world = World::new();
    std::fs::remove_dir_all(world.folder.path().join(".swarm")).unwrap();
    let told = world.swarm(&["status"]);
    assert_eq!(told.code, 1);
    assert!(told.messages.contains("swarm init"), "{}", told.messages);
}

#[test]
fn completions_are_written_for_every_shell() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            world.swarm(&["completions", shell]).data.contains("swarm"),
            "{shell}"
        );
    }
}

#[test]
fn without_a_terminal_init_does_not_ask() {
    let world = World::new();
    std::fs::remove_dir_all(world.folder.path().join(".swarm")).unwrap();
    let git = |words: &[&str]| crate::git::run_as("a", None, world.folder.path(), words).unwrap();
    git(&["init", "--quiet"]);
    git(&["commit", "--quiet", "--allow-empty", "--message=first"]);
    if !terminal::can_ask() {
        let told = world.swarm(&["init", "--agent", "demo"]);
        assert_eq!(told.code, 1);
        assert!(told.messages.contains("--yes"), "{}", told.messages);
        assert!(!world.folder.path().join(".swarm").exists());
    }
    assert_eq!(world.swarm(&["init", "--agent", "demo", "--yes"]).code, 0);
    assert_eq!(world.swarm(&["config", "check"]).code, 0);
    let again = world.swarm(&["init", "--yes"]);
    assert!(again.code == 1 && again.messages.contains("already exists"));
    assert_eq!(world.swarm(&["config", "show", "--json"]).code, 0);
    std::fs::write(
        world.folder.path().join(".swarm/config.json"),
        "{\"mod\": 1}",
    )
    .unwrap();
    let told = world.swarm(&["config", "check"]);
    assert!(
        told.code == 1 && told.messages.contains("did you mean `mode`"),
        "{}",
        told.messages
    );
}

fn plain() -> Output {
    Output::plain(
        Box::new(Shared::default()),
        Box::new(Shared::default()),
        false,
    )
}

#[test]
fn both_histories_describe_a_redirect() {
    let page = |what: &str, detail: &str| {
        let history =
            serde_json::json!([{"at": "2026-01-01T00:00:00.000Z", "what": what, "detail": detail}]);
        let idea = serde_json::json!({"id": "idea-001", "status": "pending", "history": history});
        let now = "2026-01-01T00:12:00.000Z".parse().unwrap();
        let story = super::event_log::idea_story::Story::default();
        let page = super::render::idea::page(&plain(), &idea, &story, now);
        let mut lines = page.into_iter();
        lines.find(|line| line.contains("12 min ago")).unwrap()
    };
    assert_eq!(
        page("redirected", "idea-002"),
        "  12 min ago      stopped; its place goes to idea-002"
    );
    assert_eq!(
        page("redirected_to", "ed-001"),
        "  12 min ago      next, in place of ed-001"
    );
    assert_eq!(page("crash_recovery", ""), "  12 min ago      crashed");
}

#[test]
fn files_named_in_the_reason_are_not_repeated() {
    let why = |reason: &str| {
        let merge = serde_json::json!({"ideaId": "idea-001", "reason": reason, "files": ["a.rs"]});
        let now = Timestamp::from_millis(0);
        super::render::merges(&plain(), &[merge], now)
            .pop()
            .unwrap()
    };
    assert!(why("still in conflict: a.rs").ends_with("still in conflict: a.rs"));
    assert!(!why("still in conflict: a.rs").contains("a.rs: a.rs"));
    assert!(why("local changes").ends_with("local changes (a.rs)"));
}
