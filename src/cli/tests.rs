//! Whole commands against a state in memory: arguments in, streams and exit code out.

use std::cell::RefCell;
use std::rc::Rc;

use clap::Parser;
use jiff::tz::TimeZone;

use super::args::Cli;
use super::output::tests::Shared;
use super::*;
use crate::daemon::actor::handle::{Accepted, Journaled};
use crate::daemon::checkpoints::list::{Preview, Soundness};
use crate::daemon::clean::Report;
use crate::daemon::hooks::{Difference, HookView, Tried};
use crate::daemon::repair::{Findings, Repaired};
use crate::domain::command::Command;
use crate::domain::decide;
use crate::domain::event::RepairWay;
use crate::domain::evolve::evolve;
use crate::domain::hook::HookName;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId};
use crate::domain::state::State;
use crate::domain::time::Timestamp;
use crate::view::{Rest, TargetNow};

/// A log in memory.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<Log>>);

#[derive(Default)]
struct Log {
    state: State,
    events: Vec<Journaled>,
    /// So many more times somebody else has the lock.
    locked: u32,
    broken: Option<CliError>,
}

const NOW: Timestamp = Timestamp::from_millis(1_000);

impl Offline for Memory {
    fn read(&self) -> Result<State, CliError> {
        let log = self.0.borrow();
        log.broken
            .clone()
            .map_or_else(|| Ok(log.state.clone()), Err)
    }

    fn execute(&self, command: Command) -> Result<Accepted, CliError> {
        let log = &mut *self.0.borrow_mut();
        if log.locked > 0 {
            log.locked -= 1;
            return Err(CliError::new(Kind::Locked, "somebody else has the lock"));
        }
        let events = decide::command(&log.state, &command, NOW)?;
        for event in &events {
            let seq = log.state.seq + 1;
            evolve(&mut log.state, seq, NOW, event);
            let (ts, event) = (NOW, event.clone());
            log.events.push(Journaled { seq, ts, event });
        }
        let seq = log.state.seq;
        Ok(Accepted { seq, events })
    }

    fn left_running(&self, _: &State) -> Vec<(AgentId, IdeaId)> {
        Vec::new()
    }

    fn checkpoints(&self) -> Result<Vec<serde_json::Value>, CliError> {
        Ok(Vec::new())
    }

    fn sound_checkpoints(&self) -> Result<Soundness, CliError> {
        Ok((Vec::new(), Vec::new()))
    }

    fn hooks(&self) -> Result<Vec<HookView>, CliError> {
        Ok(Vec::new())
    }

    fn hook_difference(&self, hook: HookName) -> Result<Difference, CliError> {
        Err(CliError::refused(format!("there is no hook {hook}")))
    }

    fn try_hook(&self, hook: HookName, _: &[(String, String)]) -> Result<Tried, CliError> {
        Err(CliError::refused(format!("there is no hook {hook}")))
    }

    fn checkpoint(&self, name: &CheckpointName) -> Result<serde_json::Value, CliError> {
        Err(decide::unknown_checkpoint(&self.0.borrow().state, name).into())
    }

    fn preview(&self, name: &CheckpointName) -> Result<Preview, CliError> {
        Err(decide::unknown_checkpoint(&self.0.borrow().state, name).into())
    }

    fn target(&self, _: &str) -> TargetNow {
        TargetNow::Unknown
    }

    fn events(&self, after: u64, limit: usize) -> Result<Vec<Journaled>, CliError> {
        let log = self.0.borrow();
        let wanted = log.events.iter().filter(|event| event.seq > after);
        Ok(wanted.take(limit).cloned().collect())
    }

    fn replay(&self, at: Option<Point>) -> Result<State, CliError> {
        let mut state = State::default();
        for Journaled { seq, ts, event } in &self.0.borrow().events {
            if at.is_none_or(|at| at == Point::Seq(*seq) || at != Point::Seq(0)) {
                evolve(&mut state, *seq, *ts, event);
            }
        }
        Ok(state)
    }

    fn verify(&self) -> Result<VerifyReport, CliError> {
        let last_seq = self.0.borrow().state.seq;
        Ok(VerifyReport {
            events: last_seq,
            last_seq,
            snapshot_seq: Some(1),
            tail_events: last_seq - 1,
            difference: Some("swarm.paused: true | false".into()),
        })
    }

    fn clean(&self, dry_run: bool) -> Result<Report, CliError> {
        Ok(Report {
            dry_run,
            ..Report::default()
        })
    }

    fn examine(&self) -> Result<Findings, CliError> {
        Ok(Findings {
            interrupted: false,
            diagnosis: None,
            running: vec![],
            ways: vec![],
        })
    }

    fn repair(&self, _: RepairWay) -> Result<Option<Repaired>, CliError> {
        Ok(None)
    }

    fn finish_repair(&self) -> Result<Option<Repaired>, CliError> {
        Ok(None)
    }

    fn is_locked(&self) -> Result<bool, CliError> {
        Ok(self.0.borrow().locked > 0)
    }
}

/// A daemon that ends at once as it is told to.
struct Ends(Result<EndReason, CliError>);

impl Launcher for Ends {
    fn run_daemon(&self, _: StartOptions) -> Result<EndReason, CliError> {
        self.0.clone()
    }
}

struct World {
    folder: tempfile::TempDir,
    memory: Memory,
    services: Services,
}

struct Told {
    code: u8,
    data: String,
    messages: String,
}

impl World {
    fn new() -> Self {
        Self::ending(Ok(EndReason::Stopped))
    }

    fn ending(end: Result<EndReason, CliError>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".swarm/state")).unwrap();
        let memory = Memory::default();
        let opened = memory.clone();
        let services = Services {
            offline: Box::new(move |_| Ok(Box::new(opened.clone()))),
            launcher: Box::new(Ends(end)),
        };
        Self {
            folder,
            memory,
            services,
        }
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
            services: &self.services,
            zone: TimeZone::UTC,
            last_words: None,
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
fn an_idea_goes_in_and_comes_out() {
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
        serde_json::json!({"id": "idea-003", "seq": 3})
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
        shown.contains("\n  -x\n") && !shown.contains("tags"),
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
fn a_refusal_says_what_and_what_next_in_text_and_in_json() {
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
fn what_needs_the_daemon_says_so_with_its_own_exit_code() {
    let world = World::new();
    let lines: [&[&str]; 10] = [
        &["agent", "list"],
        &["agent", "show", "ed-001"],
        &["agent", "logs", "ed-001"],
        &["agent", "stop", "ed-001"],
        &["agent", "say", "ed-001", "x"],
        &["pause"],
        &["resume"],
        &["wait"],
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
fn a_lock_that_is_held_for_a_moment_is_waited_for() {
    let world = World::new();
    world.memory.0.borrow_mut().locked = 3;
    assert_eq!(world.swarm(&["idea", "add", "one"]).code, 0);
    assert_eq!(world.memory.0.borrow().events.len(), 1);
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
fn damaged_state_has_its_own_exit_code() {
    let world = World::new();
    world.memory.0.borrow_mut().broken = Some(CliError::new(Kind::Damaged, "line 7"));
    assert_eq!(world.swarm(&["status"]).code, 75);
}

#[test]
fn events_are_paged_filtered_and_written_as_lines() {
    let world = World::new();
    for number in 0..1_005 {
        world.swarm(&["idea", "add", &format!("idea {number}")]);
    }
    world.swarm(&["idea", "cancel", "idea-003"]);
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
fn a_replay_that_differs_is_shown_and_fails() {
    let world = World::new();
    world.swarm(&["idea", "add", "one"]);
    assert_eq!(world.json(&["replay", "--at", "1"])["seq"], 1);
    let told = world.swarm(&["replay", "--verify"]);
    assert_eq!(told.code, 1);
    assert!(told.data.contains("differ: swarm.paused"), "{}", told.data);
}

#[test]
fn the_end_of_a_daemon_decides_the_exit_code_of_start() {
    let rest = |rest| Ok(EndReason::AtRest(rest, Box::default()));
    let failed = Ok(EndReason::AtRest(
        Rest::NeedsPerson,
        Box::new(testkit::state()),
    ));
    let cases = [
        (Ok(EndReason::Stopped), 0),
        (Ok(EndReason::Interrupted), 130),
        (rest(Rest::Idle), 0),
        (rest(Rest::NeedsPerson), 6),
        (failed, 5),
        (Err(CliError::new(Kind::Disk, "x")), 74),
        (Err(CliError::new(Kind::AgentUnusable, "x")), 4),
    ];
    for (end, code) in cases {
        let world = World::ending(end.clone());
        assert_eq!(
            world.swarm(&["start", "--until-idle", "--no-web"]).code,
            code,
            "{end:?}"
        );
    }
}

#[test]
fn outside_of_a_repository_the_next_command_is_named() {
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
    let repository = git2::Repository::init(world.folder.path()).unwrap();
    let tree = repository.treebuilder(None).unwrap().write().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let author = git2::Signature::now("a", "a@localhost").unwrap();
    repository
        .commit(Some("HEAD"), &author, &author, "first", &tree, &[])
        .unwrap();
    if !terminal::can_ask() {
        let told = world.swarm(&["init", "--agent", "demo"]);
        assert_eq!(told.code, 1);
        assert!(told.messages.contains("--yes"), "{}", told.messages);
        assert!(!world.folder.path().join(".swarm").exists());
    }
    assert_eq!(world.swarm(&["init", "--agent", "demo", "--yes"]).code, 0);
    assert_eq!(world.swarm(&["config", "check"]).code, 0);
    let again = world.swarm(&["init", "--yes"]);
    assert!(again.code == 1 && again.messages.contains("there already"));
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
fn a_redirect_is_told_in_words_in_both_histories() {
    let page = |what: &str, detail: &str| {
        let history =
            serde_json::json!([{"at": "2026-01-01T00:00:00.000Z", "what": what, "detail": detail}]);
        let idea = serde_json::json!({"id": "idea-001", "status": "pending", "history": history});
        super::render::idea(&plain(), &idea, &TimeZone::UTC)
            .pop()
            .unwrap()
    };
    assert_eq!(
        page("redirected", "idea-002"),
        "  2026-01-01 00:00:00  stopped, its place goes to idea-002"
    );
    assert_eq!(
        page("redirected_to", "ed-001"),
        "  2026-01-01 00:00:00  is next, in the place of ed-001"
    );
}

#[test]
fn files_that_the_reason_names_are_not_named_twice() {
    let why = |reason: &str| {
        let merge = serde_json::json!({"ideaId": "idea-001", "reason": reason, "files": ["a.rs"]});
        let now = Timestamp::from_millis(0);
        super::render::merges(&plain(), &[merge], now)
            .pop()
            .unwrap()
    };
    assert!(why("still in conflict: a.rs").ends_with("still in conflict: a.rs"));
    assert!(!why("still in conflict: a.rs").contains("a.rs: a.rs"));
    assert!(why("local changes").ends_with("local changes: a.rs"));
}
