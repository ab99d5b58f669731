//! A swarm that moves: stopped in one clone, imported in another one under another path, it goes on
//! where it was. Each idea lands once, and a killed import is made again by the same command.
//!
//! `SWARM_MOVE_KILLS` kills (4; the long run takes 60).

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use swarm::archive::Purpose;
use swarm::domain::event::{Event, HookApproved, IdeaAdded, IdeaClaimed, SessionBegan};
use swarm::domain::event::{IterationStarted, RunEnded, SwarmMoved, WorktreeReady};
use swarm::domain::hook::HookName;
use swarm::domain::observation::{RunEnd, RunEndKind};
use swarm::domain::request::Author;
use swarm::domain::state::transfer::ImportIssue;
use swarm::domain::time::Timestamp;
use swarm::journal::Journal;

use crate::harness::archive::Pack;
use crate::harness::{Fingerprint, Sandbox};

/// The first attempt leaves a commit and a file that git does not know; the second one needs both.
const HALF: &str = "if attempt 1; then write half.txt x; commit Half; write loose.txt y; hold \
    work; else test -f half.txt && test -f loose.txt && commit Rest && say COMPLETE; fi";

/// A stopped swarm: two ideas have landed, one is half done.
fn half_done() -> Sandbox {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.idea("write a.txt x; commit; say COMPLETE");
    sandbox.idea("write b.txt x; commit; say COMPLETE");
    sandbox.wait_idea("idea-001", "done");
    sandbox.wait_idea("idea-002", "done");
    sandbox.idea(HALF);
    sandbox.wait_held("work");
    sandbox.swarm(&["checkpoint", "create", "before-move"]).ok();
    daemon.stop();
    drop(daemon);
    sandbox
}

/// Another clone, under another path, with another home. It has the first commit alone.
pub fn clone_of(source: &Sandbox) -> Sandbox {
    let clone = Sandbox::empty();
    fs::remove_dir(clone.repo()).unwrap();
    let from = source.repo();
    let (from, to) = (from.to_str().unwrap(), clone.repo());
    let first = source.git(&["rev-list", "--max-parents=0", "main"]);
    source.git(&["branch", "first", first.trim()]);
    let home = clone.path("home");
    let words = [
        "clone",
        "-q",
        "--no-local",
        "--single-branch",
        "--no-tags",
        "-b",
        "first",
    ];
    let all: Vec<&str> = words
        .into_iter()
        .chain([from, to.to_str().unwrap()])
        .collect();
    clone.git_in(&home, &all);
    source.git(&["branch", "-q", "-D", "first"]);
    clone.git(&["remote", "remove", "origin"]);
    clone.git(&["branch", "-q", "-m", "main"]);
    clone.set_up();
    clone
}

fn archive(source: &Sandbox, purpose: Purpose) -> PathBuf {
    let file = source.path("moved.swarm.tar.zst");
    source.pack(purpose).write(&file);
    file
}

fn import(clone: &Sandbox, file: &std::path::Path, more: &[&str]) -> crate::harness::Ran {
    let mut args = vec!["snapshot", "import", file.to_str().unwrap(), "--json"];
    args.extend(more);
    clone.swarm(&args)
}

fn types(result: &Value) -> Vec<&str> {
    let warnings = result["warnings"].as_array().unwrap();
    let types = warnings.iter().map(|it| it["type"].as_str().unwrap());
    types.collect()
}

/// The command that a warning of this type names.
fn command(result: &Value, issue: &str) -> String {
    let warnings = result["warnings"].as_array().unwrap();
    let found = warnings.iter().find(|it| it["type"] == issue).unwrap();
    found["commands"][0].as_str().unwrap().to_owned()
}

/// Name of the archive that [`importable`] leaves beside the repository.
pub const ARCHIVE: &str = "../moved.swarm.tar.zst";

/// A clone that has what had landed, and an archive of the swarm beside it.
pub fn importable() -> Sandbox {
    let source = half_done();
    let clone = clone_of(&source);
    clone.git(&["fetch", "-q", source.repo().to_str().unwrap(), "main"]);
    clone.git(&["merge", "-q", "--ff-only", "FETCH_HEAD"]);
    fs::copy(archive(&source, Purpose::Copy), clone.repo().join(ARCHIVE)).unwrap();
    clone
}

/// All three ideas land once, the half done one with what its first attempt left.
pub fn goes_on(clone: &Sandbox, first: &str) {
    clone.release("work");
    assert_eq!(clone.run_until_idle(), 0);
    for id in ["idea-001", "idea-002", "idea-003"] {
        assert_eq!(clone.idea_status(id), "done", "{id}");
    }
    let landed: Vec<String> = clone
        .landings(first, "main")
        .into_iter()
        .map(|(_, idea)| idea)
        .collect();
    let once: BTreeSet<&String> = landed.iter().collect();
    assert_eq!((landed.len(), once.len()), (3, 3), "{landed:?}");
    assert_eq!(clone.file_at("main", "loose.txt"), "y");
    clone.assert_log_sound();
    clone.assert_sound();
}

#[test]
fn a_moved_swarm_goes_on_where_it_stopped() {
    let source = half_done();
    let clone = clone_of(&source);
    let first = clone.head("main");
    let file = archive(&source, Purpose::Move);
    let before = Fingerprint::of(&clone.repo());

    let preview = import(&clone, &file, &["--dry-run"]).json();
    before.assert_same(&Fingerprint::of(&clone.repo()), "a preview");
    assert_eq!(preview["result"], "partial");
    assert_eq!(types(&preview), ["targetDiffers", "configDiffers"]);
    assert_eq!(preview["restored"]["ideas"], 3);
    assert_eq!(preview["restored"]["unfinished"], 1);

    let refused = import(&clone, &file, &["--yes"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(
        refused.stdout.contains("1 thing is left behind"),
        "{refused}"
    );
    before.assert_same(&Fingerprint::of(&clone.repo()), "a partial import");

    let result = import(&clone, &file, &["--accept-partial", "--yes"]).json();
    assert_eq!(result["skipped"]["targets"], json!(["main"]));
    assert_eq!(clone.head("main"), first, "the target moved");
    let merge = command(&result, "targetDiffers");
    assert!(merge.starts_with("git merge --ff-only "), "{merge}");
    clone.shell(&merge).ok();
    assert_eq!(clone.idea_status("idea-001"), "done");
    assert_eq!(clone.idea_status("idea-003"), "pending");
    goes_on(&clone, &first);
    // The same command again has nothing to do.
    let again = import(&clone, &file, &["--yes"]).json();
    assert!(again["summary"].as_str().unwrap().contains("already"));
    let other = half_done();
    let other = archive(&other, Purpose::Copy);
    import(&clone, &other, &["--yes"]).refused(1, &["already here"]);
}

#[test]
fn a_swarm_moves_by_two_commands_also_when_the_first_is_killed() {
    let source = half_done();
    let clone = clone_of(&source);
    let first = clone.head("main");
    let file = source.path("night.swarm.tar.zst");
    let args = ["snapshot", "export", file.to_str().unwrap(), "--move"];
    for label in ["export.part", "export.before-rename"] {
        let mut command = source.swarm_command(&args);
        command.env(swarm::crash::VARIABLE, label);
        let killed = source.run(&mut command, b"", crate::harness::PATIENCE);
        assert_eq!(killed.code, 128 + 9, "{label}: {killed}");
        assert!(!file.exists(), "{label}");
        let moved = source.logged("swarmMoved").len();
        assert_eq!(
            moved,
            usize::from(label == "export.before-rename"),
            "{label}"
        );
    }
    source.swarm(&args).ok();
    source.swarm(&args).ok();
    assert_eq!(source.logged("swarmMoved").len(), 1);
    source
        .swarm(&["start"])
        .refused(1, &["swarm snapshot reclaim"]);
    let result = import(&clone, &file, &["--accept-partial", "--yes"]).json();
    assert_eq!(types(&result), ["targetDiffers", "configDiffers"]);
    clone.shell(&command(&result, "targetDiffers")).ok();
    goes_on(&clone, &first);
}

#[test]
fn a_copy_is_imported_whole_where_all_is_there_and_says_that_both_cost() {
    let clone = importable();
    let ran = clone.swarm(&["snapshot", "import", ARCHIVE, "--yes"]);
    assert!(ran.ok().contains("3 ideas"), "{ran}");
    assert!(ran.stderr.contains("both spend money"), "{ran}");
    let events = clone.logged("swarmImported");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].data["purpose"], "copy");
    assert_eq!(clone.logged("workImported").len(), 1);
}

#[test]
fn a_log_that_is_longer_than_a_segment_is_imported_whole() {
    let clone = importable();
    let args = ["snapshot", "import", ARCHIVE, "--yes"];
    let mut command = clone.swarm_command(&args);
    command.env("SWARM_SEGMENT_BYTES", "4096");
    let ran = clone.run(&mut command, b"", crate::harness::PATIENCE);
    assert!(ran.ok().contains("3 ideas"), "{ran}");
    let live = fs::metadata(clone.dot_swarm("state/events.jsonl")).unwrap();
    assert!(live.len() > 4096, "the log is too short to show it");
    assert_eq!(clone.ideas().len(), 3);
    // The next daemon begins a new segment.
    let mut command = clone.swarm_command(&["start"]);
    command.env("SWARM_SEGMENT_BYTES", "4096");
    let daemon = clone.spawn(command);
    daemon.wait_ready();
    clone.release("work");
    clone.wait_idea("idea-003", "done");
    daemon.stop();
    assert!(clone.dot_swarm("state/events.1.jsonl").exists());
    clone.assert_log_sound();
}

#[test]
fn an_archive_of_another_repository_or_with_a_damaged_log_is_refused() {
    let source = half_done();
    let clone = clone_of(&source);
    let other = Sandbox::ready();
    other.write("other.txt", "x");
    other.commit("Other");
    let file = archive(&source, Purpose::Move);
    let before = Fingerprint::of(&other.repo());
    import(&other, &file, &["--yes"]).refused(1, &["another repository"]);
    before.assert_same(&Fingerprint::of(&other.repo()), "a refused import");

    let damage = |change: fn(&mut Pack)| {
        let mut pack = source.pack(Purpose::Move);
        change(&mut pack);
        let file = source.path("damaged.swarm.tar.zst");
        pack.write(&file);
        import(&clone, &file, &["--accept-partial", "--yes"])
    };
    damage(|pack| pack.manifest.snapshot.log_crc ^= 1).refused(1, &["event log"]);
    damage(|pack| pack.manifest.snapshot.seq -= 1).refused(1, &["event log"]);
    damage(|pack| pack.manifest.swarm_id = "0".repeat(64)).refused(1, &["event log"]);
    damage(|pack| pack.manifest.git = None).refused(1, &["no commits"]);
    damage(|pack| pack.manifest.purpose = Purpose::Share).refused(1, &["shared"]);
    damage(|pack| {
        pack.drop("git/");
        pack.put("git/work.bundle", b"# v2 git bundle\nnonsense\n");
    })
    .refused(1, &[]);
    assert!(!clone.dot_swarm("state/events.jsonl").exists());
    assert_eq!(clone.git(&["for-each-ref", "refs/swarm/"]), "");
}

#[test]
fn a_moved_swarm_refuses_to_work_until_it_is_reclaimed() {
    let source = half_done();
    source
        .swarm(&["snapshot", "reclaim", "--yes"])
        .refused(1, &["not moved away"]);
    append(&source, &[swarm_moved()]);
    let refused = |args: &[&str]| source.swarm(args).refused(1, &["swarm snapshot reclaim"]);
    refused(&["start"]);
    refused(&["idea", "add", "more"]);
    refused(&["idea", "cancel", "idea-003"]);
    refused(&["checkpoint", "create", "x"]);
    refused(&["clean"]);
    // Reading goes on.
    assert_eq!(source.idea_status("idea-001"), "done");
    source.swarm(&["snapshot", "show"]).ok();
    let status = source.swarm(&["status"]);
    assert!(status.ok().contains("has moved away"), "{status}");
    source
        .swarm(&["snapshot", "reclaim"])
        .refused(1, &["--yes"]);
    source.swarm(&["snapshot", "reclaim", "--yes"]).ok();
    source.release("work");
    assert_eq!(source.run_until_idle(), 0);
    assert_eq!(source.idea_status("idea-003"), "done");
}

#[test]
fn the_recorded_prompt_is_what_a_restored_agent_starts_with() {
    let source = half_done();
    let clone = clone_of(&source);
    let file = archive(&source, Purpose::Move);
    let all = ["--accept-partial", "--yes", "--preserve-prompts"];
    let result = import(&clone, &file, &all).json();
    clone.shell(&command(&result, "targetDiffers")).ok();
    clone.write(".swarm/agents/ed/prompt.md", "Another role\n");
    clone.release("work");
    assert_eq!(clone.run_until_idle(), 0);
    let run = clone.logged("iterationStarted").last().unwrap().data["run"].clone();
    let told = clone.read(&format!(
        ".git/swarm/runs/{}/prompt.md",
        run.as_str().unwrap()
    ));
    let recorded = source.logged("iterationStarted");
    let recorded = recorded.last().unwrap().data["run"].as_str().unwrap();
    assert_eq!(
        told,
        source.read(&format!(".git/swarm/runs/{recorded}/prompt.md"))
    );
}

fn swarm_moved() -> Event {
    SwarmMoved {
        manifest_sha256: "a".repeat(64),
        by: Author::Person,
    }
    .into()
}

/// Puts events behind the log of a stopped swarm.
fn append(sandbox: &Sandbox, events: &[Event]) {
    let (mut journal, opened) = Journal::open(&sandbox.dot_swarm("state")).unwrap();
    let now = Timestamp::from_millis(4_000_000_000_000);
    journal.append(opened.position.seq, now, events).unwrap();
}

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// An agent of this profile at work on an idea, in a conversation.
fn at_work(number: u64, profile: &str, branch: &str, base: &str, session: &str) -> Vec<Event> {
    let idea = id::<swarm::domain::ids::IdeaId>(&format!("idea-{number:03}"));
    let agent = id::<swarm::domain::ids::AgentId>(&format!("{profile}-{number:03}"));
    let run = id::<swarm::domain::ids::RunId>(&format!("r9{number}-{profile}-{number:03}-i1"));
    let added = serde_json::from_value(json!({"content": "more", "profile": profile})).unwrap();
    let mut events: Vec<Event> = vec![
        IdeaAdded {
            id: idea.clone(),
            idea: added,
        }
        .into(),
        IdeaClaimed {
            id: idea,
            agent: agent.clone(),
            attempt: 1,
            profile: id(profile),
            branch: branch.to_owned(),
            worktree: format!("x{number}"),
        }
        .into(),
    ];
    events.push(
        WorktreeReady {
            agent: agent.clone(),
            base: id(base),
            head: id(base),
            warm: false,
            setup: None,
            worktree: None,
        }
        .into(),
    );
    events.push(
        IterationStarted {
            agent: agent.clone(),
            run: run.clone(),
            iteration: 1,
        }
        .into(),
    );
    events.push(
        SessionBegan {
            agent,
            run: run.clone(),
            profile: id(profile),
            session: id(session),
        }
        .into(),
    );
    events.push(
        RunEnded {
            run,
            end: RunEnd::new(RunEndKind::Exited { code: 0 }),
        }
        .into(),
    );
    events
}

#[test]
fn each_type_of_warning_is_met_once_and_nothing_is_skipped_without_one() {
    let source = half_done();
    let base = source.head("main");
    source.git(&["branch", "agent/gone-005/idea-005", &base]);
    source.git(&["branch", "agent/claude-006/idea-006", &base]);
    source.git(&["branch", "agent/ed-007/idea-007", &base]);
    let of = |number: u64, profile: &str| {
        let branch = format!("agent/{profile}-{number:03}/idea-{number:03}");
        at_work(
            number,
            profile,
            &branch,
            &base,
            &format!("session-{number}"),
        )
    };
    append(&source, &of(5, "gone"));
    append(&source, &of(6, "claude"));
    append(&source, &of(7, "ed"));
    // Its branch is in no bundle.
    append(&source, &of(8, "ed"));
    append(
        &source,
        &[HookApproved {
            hook: HookName::PreStart,
            content: "0".repeat(64),
        }
        .into()],
    );
    let clone = clone_of(&source);
    clone.git(&["branch", "agent/ed-007/idea-007", "main"]);
    clone.configure(&json!({
        "qualityCommands": ["true"],
        "agents": {"profiles": {"claude": {"adapter": "codex", "command": ["/no/such/codex"]}}},
    }));
    clone.write(".swarm/agents/ed/prompt.md", "Another role\n");
    let mut pack = source.pack(Purpose::Move);
    pack.drop("checkpoints/");
    pack.put("checkpoints/before-move.json", b"{}");
    pack.put(
        "runs/r96-claude-006-i1/agent.json",
        br#"{"adapter":"claude"}"#,
    );
    let file = source.path("partial.swarm.tar.zst");
    pack.write(&file);
    let result = import(&clone, &file, &["--accept-partial", "--yes"]).json();
    let met: BTreeSet<&str> = types(&result).into_iter().collect();
    let all: BTreeSet<&str> = ImportIssue::ALL.map(ImportIssue::as_str).into();
    assert_eq!(met, all, "{result:#}");
    let warned: BTreeSet<&str> = result["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["what"].as_str().unwrap())
        .collect();
    for (section, names) in result["skipped"].as_object().unwrap() {
        assert!(
            !names.as_array().unwrap().is_empty(),
            "{section} is never met"
        );
        for name in names.as_array().unwrap() {
            assert!(
                warned.contains(name.as_str().unwrap()),
                "{name} is skipped without a warning"
            );
        }
    }
    let logged = &clone.logged("swarmImported")[0].data["issues"];
    assert_eq!(logged.as_object().unwrap().len(), all.len());
}

fn kills() -> usize {
    std::env::var("SWARM_MOVE_KILLS").map_or(4, |text| text.parse().unwrap())
}

#[test]
fn a_killed_import_is_made_again_by_the_same_command() {
    let source = half_done();
    let file = archive(&source, Purpose::Move);
    let labels = [
        "import.staged",
        "import.fetched",
        "import.placed",
        "import.renamed",
    ];
    for round in 0..kills() {
        let label = labels[round % labels.len()];
        let clone = clone_of(&source);
        let first = clone.head("main");
        let args = ["snapshot", "import", file.to_str().unwrap(), "--json"];
        let mut command = clone.swarm_command(&args);
        command.args(["--accept-partial", "--yes"]);
        command.env(swarm::crash::VARIABLE, label);
        let killed = clone.run(&mut command, b"", crate::harness::PATIENCE);
        assert_eq!(killed.code, 128 + 9, "{label}: {killed}");
        let done = clone.dot_swarm("state/events.jsonl").exists();
        assert_eq!(done, label == "import.renamed", "{label}");
        if !done {
            assert_eq!(clone.ideas(), Vec::<Value>::new(), "{label}");
        }
        import(&clone, &file, &["--accept-partial", "--yes"]).ok();
        assert_eq!(clone.logged("swarmImported").len(), 1, "{label}");
        let left = fs::read_dir(clone.dot_swarm("")).unwrap().flatten();
        let left = left.map(|entry| entry.file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.starts_with("import-")).count(), 0);
        let target = source.head("main");
        clone.git(&["merge", "-q", "--ff-only", &target]);
        goes_on(&clone, &first);
    }
}
