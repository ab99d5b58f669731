//! Rollback: the target, the ideas and the agents' work go back together, and come again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::{Daemon, PATIENCE, Sandbox, files_in};

/// Three agents, each at `hold <idea>.<attempt>` with a commit of its own, a change on top of that,
/// and a file that git does not know.
const BUSY: &str = "i=$SWARM_IDEA_ID; if [ ! -e $i.txt ]; then write $i.txt one; commit Half $i; \
    write $i.txt two; write loose/$i.txt x; fi; hold $i.$SWARM_ATTEMPT; commit; say COMPLETE";

const WORK: &str = "write $SWARM_IDEA_ID.txt x; commit; say COMPLETE";

/// Files of a worktree, by their path; what git makes of them; the subject of the last commit.
type Content = (BTreeMap<String, Vec<u8>>, String, String);

fn content(sandbox: &Sandbox, worktree: &Path) -> Content {
    let names = files_in(worktree).into_iter();
    let files = names
        .map(|name| (name.clone(), fs::read(worktree.join(name)).unwrap()))
        .collect();
    let status = sandbox.git_in(worktree, &["status", "--porcelain"]);
    let last = sandbox.git_in(worktree, &["log", "-1", "--format=%H"]);
    (files, status, last)
}

/// The work of each agent that holds, by its idea.
fn all_content(sandbox: &Sandbox) -> BTreeMap<String, Content> {
    let status = sandbox.status();
    let agents = status["agents"].as_array().unwrap().iter();
    let holds = |agent: &&Value| {
        let idea = agent["ideaId"].as_str().unwrap();
        let name = format!("out/{idea}.{}.here", agent["attempt"]);
        sandbox.path(&name).exists()
    };
    agents
        .filter(holds)
        .map(|agent| {
            let place = sandbox.repo().join(agent["worktree"].as_str().unwrap());
            let idea = agent["ideaId"].as_str().unwrap().to_owned();
            (idea, content(sandbox, &place))
        })
        .collect()
}

fn statuses(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let text = |idea: &Value, key: &str| idea[key].as_str().unwrap().to_owned();
    let ideas = sandbox.ideas();
    ideas
        .iter()
        .map(|idea| (text(idea, "id"), text(idea, "status")))
        .collect()
}

/// `statuses`, but what is in progress counts as pending: how a rollback leaves it.
fn at_rest(mut statuses: BTreeMap<String, String>) -> BTreeMap<String, String> {
    for status in statuses.values_mut() {
        if ["active", "merging"].contains(&status.as_str()) {
            "pending".clone_into(status);
        }
    }
    statuses
}

fn preview(sandbox: &Sandbox, name: &str) -> Value {
    sandbox
        .swarm(&["rollback", name, "--dry-run", "--json"])
        .json()
}

/// Rolls back; the safety checkpoint.
#[track_caller]
fn roll_back(sandbox: &Sandbox, name: &str, more: &[&str]) -> String {
    let words: Vec<&str> = ["rollback", name, "--yes", "--json"]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    let answer = sandbox.swarm(&words).json();
    let safety = answer["safety"].as_str().unwrap().to_owned();
    assert!(safety.starts_with("before-rollback-2"), "{answer}");
    safety
}

/// What the preview says is what happened: ideas, commits.
fn assert_happened(preview: &Value, before: &BTreeMap<String, String>, sandbox: &Sandbox) {
    let after = at_rest(statuses(sandbox));
    let changed: BTreeMap<&String, (&String, &String)> = before
        .iter()
        .filter(|(id, from)| after[*id] != **from)
        .map(|(id, from)| (id, (from, &after[id])))
        .collect();
    let said = preview["ideasReverted"].as_array().unwrap();
    assert_eq!(said.len(), changed.len(), "{preview} {changed:?}");
    for idea in said {
        let id = idea["id"].as_str().unwrap().to_owned();
        let (from, to) = changed[&id];
        assert_eq!((&idea["from"], &idea["to"]), (&json!(from), &json!(to)));
    }
    assert_eq!(preview["commit"], json!(sandbox.head("main")));
}

fn busy(ideas: usize) -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 4}, "checkpoints": {"periodic": 0}}));
    for _ in 0..ideas {
        sandbox.idea(BUSY);
    }
    sandbox
}

fn wait_all_held(sandbox: &Sandbox, ideas: usize, attempt: usize) {
    for number in 1..=ideas {
        sandbox.wait_held(&format!("idea-{number:03}.{attempt}"));
    }
}

/// The prompt of the run of this idea's attempt.
fn prompt(sandbox: &Sandbox, idea: &str, attempt: usize) -> String {
    let runs = sandbox.notes("runs");
    let run = runs
        .iter()
        .map(|run| run.split(' ').collect::<Vec<_>>())
        .find(|run| run[0] == idea && run[2] == attempt.to_string())
        .unwrap_or_else(|| panic!("{idea} {attempt}: {runs:#?}"));
    fs::read_to_string(sandbox.private("runs").join(run[4]).join("prompt.md")).unwrap()
}

fn assert_recovered(sandbox: &Sandbox, idea: &str, attempt: usize) {
    let prompt = prompt(sandbox, idea, attempt);
    for words in [
        "## Recovery Context",
        "**Worktree has uncommitted changes:** Yes",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert!(prompt.contains(&format!("\"Half {idea}\"")), "{prompt}");
}

#[test]
fn commits_that_no_landing_brought_are_marked() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let id = sandbox.idea("write a.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    let commit = |subject: &str| sandbox.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    commit("By hand");
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    commit("Beside");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "-m", "Merge side", "side"]);
    let shown = preview(&sandbox, "mid");
    let lost = shown["commitsLost"].as_array().unwrap();
    let own = lost.iter().filter(|commit| commit["own"] == true);
    let own: BTreeSet<&str> = own.map(|one| one["subject"].as_str().unwrap()).collect();
    assert_eq!(own, ["Beside", "By hand", "Merge side"].into(), "{shown}");
    assert!(lost.len() > own.len(), "{shown}");
    let page = sandbox.swarm(&["rollback", "mid", "--dry-run"]);
    let heading = "3 of them are not from landings of swarm";
    assert!(page.ok().contains(heading), "{page}");
}

#[test]
fn three_agents_are_stopped_and_go_on_from_what_they_had() {
    let sandbox = busy(3);
    let daemon = sandbox.start();
    wait_all_held(&sandbox, 3, 1);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let (base, work) = (sandbox.head("main"), all_content(&sandbox));
    assert_eq!(work.len(), 3);
    // One lands, one goes further, one that was not there lands.
    sandbox.release("idea-001.1");
    sandbox.wait_idea("idea-001", "done");
    let later = sandbox.idea(WORK);
    sandbox.wait_idea(&later, "done");
    sandbox.wait_status("two agents", |status| status["slots"]["used"] == 2);
    let before = statuses(&sandbox);
    let (tip, further) = (sandbox.head("main"), all_content(&sandbox));
    let lost = sandbox.git(&["rev-list", &format!("{base}..{tip}")]);
    let shown = preview(&sandbox, "mid");
    let commits: BTreeSet<&str> = shown["commitsLost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lost| lost["commit"].as_str().unwrap())
        .collect();
    assert_eq!(commits, lost.lines().collect());
    let is_own = |lost: &Value| lost["own"] == true;
    let own = shown["commitsLost"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| is_own(it));
    assert_eq!(own.count(), 0, "{shown}");
    let stopped = shown["agentsStopped"].as_array().unwrap();
    assert_eq!(stopped.len(), 2, "{shown}");
    assert_eq!(shown["dirtyFiles"], json!([]));
    assert_eq!(statuses(&sandbox), before, "the preview changed something");

    let safety = roll_back(&sandbox, "mid", &["--pause"]);
    assert_eq!(sandbox.head("main"), base);
    assert!(!sandbox.repo().join("idea-001.txt").exists());
    assert_happened(&shown, &before, &sandbox);
    let all_pending = ["idea-001", "idea-002", "idea-003", "idea-004"];
    for id in all_pending {
        assert_eq!(sandbox.idea_status(id), "pending");
    }
    let status = sandbox.status();
    assert_eq!(status["phase"], "paused", "{status}");
    assert_eq!(status["agents"], json!([]));
    assert_tidy(&sandbox);
    assert_eq!(sandbox.notes("runs").len(), 4);

    sandbox.swarm(&["resume"]).ok();
    wait_all_held(&sandbox, 3, 2);
    assert_same(&all_content(&sandbox), &work);
    for id in ["idea-001", "idea-002", "idea-003"] {
        assert_recovered(&sandbox, id, 2);
    }
    sandbox.wait_idea(&later, "done");

    // Undone: the commits, the ideas, and the work as it was.
    let shown = preview(&sandbox, &safety);
    let regained = shown["commitsRegained"].as_array().unwrap();
    assert_eq!(regained.len(), lost.lines().count(), "{shown}");
    let now = statuses(&sandbox);
    roll_back(&sandbox, &safety, &["--pause"]);
    assert_eq!(sandbox.head("main"), tip);
    assert!(sandbox.repo().join("idea-001.txt").exists());
    assert_eq!(statuses(&sandbox), at_rest(before));
    assert_happened(&shown, &now, &sandbox);
    sandbox.swarm(&["resume"]).ok();
    for id in ["idea-002", "idea-003"] {
        sandbox.wait_held(&format!("{id}.3"));
    }
    assert_same(&all_content(&sandbox), &further);
    for id in ["idea-002", "idea-003"] {
        sandbox.release(&format!("{id}.3"));
        sandbox.wait_idea(id, "done");
        assert_eq!(sandbox.file_at("main", &format!("{id}.txt")), "two");
        assert_eq!(sandbox.show(id)["retryCount"], 0);
    }
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// The repository is sound, and no worktree or branch of an agent is left; those that wait for the
/// next agent have nothing in them.
#[track_caller]
fn assert_tidy(sandbox: &Sandbox) {
    sandbox.assert_sound();
    let places = sandbox.git(&["worktree", "list", "--porcelain"]);
    assert!(
        !places.contains(&format!("{}/w", sandbox.worktrees().display())),
        "{places}"
    );
    assert_eq!(sandbox.git(&["branch", "--list", "agent/*"]), "");
    let dirty = sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]);
    assert_eq!(dirty, "");
}

#[track_caller]
fn assert_same(found: &BTreeMap<String, Content>, expected: &BTreeMap<String, Content>) {
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        expected.keys().collect::<Vec<_>>()
    );
    for (id, content) in expected {
        assert_eq!(&found[id], content, "the work on {id}");
    }
}

#[test]
fn with_resume_they_go_on_at_once() {
    let sandbox = busy(3);
    let daemon = sandbox.start();
    wait_all_held(&sandbox, 3, 1);
    let work = all_content(&sandbox);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let told = sandbox.swarm(&["rollback", "mid", "--yes", "--resume"]);
    assert!(
        told.stderr
            .contains("undo it: swarm rollback before-rollback-"),
        "{told}"
    );
    wait_all_held(&sandbox, 3, 2);
    assert_same(&all_content(&sandbox), &work);
    for number in 1..=3 {
        sandbox.release(&format!("idea-{number:03}.2"));
        sandbox.wait_idea(&format!("idea-{number:03}"), "done");
    }
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// There and back, again and again: each safety checkpoint leads to where it was made.
#[test]
fn rollbacks_of_rollbacks_lead_back() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}, "checkpoints": {"periodic": 0}}));
    let daemon = sandbox.start();
    let mut places = vec![];
    for number in 0..3 {
        let id = sandbox.idea(WORK);
        sandbox.wait_idea(&id, "done");
        let name = format!("p{number}");
        sandbox.swarm(&["checkpoint", "create", &name]).ok();
        places.push((name, sandbox.head("main"), statuses(&sandbox)));
    }
    for to in [0, 2, 1, 0, 1, 2] {
        let here = (sandbox.head("main"), at_rest(statuses(&sandbox)));
        let (name, commit, ideas) = places[to].clone();
        let safety = roll_back(&sandbox, &name, &["--pause"]);
        assert_eq!(sandbox.head("main"), commit, "{name}");
        let now = statuses(&sandbox);
        for (id, status) in ideas {
            assert_eq!(now[&id], status, "{id} at {name}");
        }
        places.push((safety, here.0, here.1));
    }
    while let Some((name, commit, ideas)) = places.pop() {
        roll_back(&sandbox, &name, &[]);
        assert_eq!(sandbox.head("main"), commit, "{name}");
        for (id, status) in ideas {
            assert_eq!(sandbox.idea_status(&id), status, "{id} at {name}");
        }
    }
    assert_eq!(sandbox.status()["phase"], "paused");
    assert_tidy(&sandbox);
    daemon.stop();
    sandbox.assert_log_sound();
}

#[test]
fn without_a_daemon_agents_that_still_run_are_stopped_too() {
    let sandbox = busy(2);
    let daemon = sandbox.start();
    wait_all_held(&sandbox, 2, 1);
    let work = all_content(&sandbox);
    sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
    let base = sandbox.head("main");
    let later = sandbox.idea(WORK);
    sandbox.wait_idea(&later, "done");
    let before = statuses(&sandbox);
    daemon.kill();
    drop(daemon);
    let shown = preview(&sandbox, "mid");
    assert_eq!(shown["agentsStopped"].as_array().unwrap().len(), 2);
    roll_back(&sandbox, "mid", &["--resume"]);
    sandbox.assert_nothing_runs();
    assert_eq!(sandbox.head("main"), base);
    assert_happened(&shown, &before, &sandbox);
    assert_eq!(sandbox.status()["phase"], "stopped");
    assert_tidy(&sandbox);
    // The daemon that was there for this alone has not changed the mode.
    let daemon = sandbox.start();
    assert_eq!(sandbox.status()["mode"], "autopilot");
    wait_all_held(&sandbox, 2, 2);
    assert_same(&all_content(&sandbox), &work);
    daemon.stop();
    sandbox.assert_log_sound();
}

/// A sandbox whose quality command waits when it runs on a merged tree, until `out/verify.go` is
/// there.
fn with_slow_verification() -> Sandbox {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out").display().to_string();
    let check = format!(
        "case $PWD in */w[0-9]*) exit 0 ;; esac; : >'{out}/verify.here'; until [ -e \
         '{out}/verify.go'         ]; do sleep 0.05; done"
    );
    sandbox.configure(&json!({"qualityCommands": [check], "checkpoints": {"periodic": 0}}));
    sandbox
}

#[test]
fn a_merge_that_is_being_verified_is_taken_back_and_lands_later() {
    let sandbox = with_slow_verification();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "begin"]).ok();
    let base = sandbox.head("main");
    let id = sandbox.idea("hold it; write a.txt x; commit; say COMPLETE");
    sandbox.wait_held("it");
    sandbox.swarm(&["checkpoint", "create", "working"]).ok();
    sandbox.release("it");
    sandbox.wait_held("verify");
    sandbox.wait_idea(&id, "merging");
    sandbox.swarm(&["checkpoint", "create", "merging"]).ok();
    for (name, status) in [
        ("merging", "pending"),
        ("working", "pending"),
        ("begin", "pending"),
    ] {
        roll_back(&sandbox, name, &["--pause"]);
        assert_eq!(sandbox.idea_status(&id), status);
        assert_eq!(sandbox.head("main"), base);
        assert_eq!(sandbox.status()["mergeQueue"], json!([]));
        if name != "begin" {
            // There it was not there yet: what it has since stays as it is.
            assert_tidy(&sandbox);
        }
        fs::remove_file(sandbox.path("out/verify.here")).unwrap();
        sandbox.swarm(&["resume"]).ok();
        sandbox.wait_held("verify");
    }
    sandbox.release("verify");
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.landings(&base, "main").len(), 1);
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// A daemon that dies at this point.
fn doomed<'a>(sandbox: &'a Sandbox, point: &str) -> Daemon<'a> {
    let mut command = sandbox.swarm_command(&["start"]);
    command.env(swarm::crash::VARIABLE, point);
    let daemon = sandbox.spawn(command);
    daemon.wait_ready();
    daemon
}

#[test]
fn killed_in_the_middle_the_next_start_ends_it() {
    for point in [
        "effect.check.begin",
        "effect.check.done",
        "effect.stop.begin",
        "checkpoint.file-kept",
        "checkpoint.tagged",
        "effect.checkpoint.done",
        "effect.move.begin",
        "git.land.before-ref",
        "git.land.after-ref",
        "effect.move.done",
    ] {
        let sandbox = busy(1);
        let base = sandbox.head("main");
        let daemon = sandbox.start();
        wait_all_held(&sandbox, 1, 1);
        let work = all_content(&sandbox);
        sandbox.swarm(&["checkpoint", "create", "mid"]).ok();
        let later = sandbox.idea(WORK);
        sandbox.wait_idea(&later, "done");
        daemon.kill();
        drop(daemon);
        let daemon = doomed(&sandbox, point);
        let ran = sandbox.swarm(&["rollback", "mid", "--yes", "--pause"]);
        assert_ne!(ran.code, 0, "{point}: {ran}");
        assert_eq!(daemon.wait_exit(PATIENCE), 137, "{point}");
        drop(daemon);
        let status = sandbox.swarm(&["status"]);
        assert!(
            status.stdout.contains("rollback to mid was interrupted"),
            "{point}: {status}"
        );
        let doctor = sandbox.swarm(&["doctor"]);
        assert!(
            doctor.stdout.contains("rollback to mid was interrupted"),
            "{point}: {doctor}"
        );
        let daemon = sandbox.start();
        sandbox.wait_status("the pause", |status| status["phase"] == "paused");
        assert_eq!(sandbox.head("main"), base, "{point}");
        assert_eq!(sandbox.idea_status("idea-001"), "pending", "{point}");
        assert_eq!(sandbox.idea_status("idea-002"), "pending", "{point}");
        assert_eq!(sandbox.logged("rolledBack").len(), 1, "{point}");
        assert_tidy(&sandbox);
        sandbox.swarm(&["resume"]).ok();
        wait_all_held(&sandbox, 1, 2);
        let again = all_content(&sandbox).remove("idea-001").unwrap();
        assert_eq!(again, work["idea-001"], "{point}");
        daemon.stop();
        sandbox.assert_log_sound();
    }
}

/// An idea that came after the checkpoint has begun on what the rollback takes back.
#[test]
fn later_work_does_not_bring_back_what_was_taken_back() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first = sandbox
        .idea("if attempt 1; then write a.txt x; else write again.txt x; fi; commit; say COMPLETE");
    sandbox.swarm(&["pause"]).ok();
    sandbox.swarm(&["checkpoint", "create", "early"]).ok();
    let begun = sandbox.head("main");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&first, "done");
    let later =
        sandbox.idea("if [ ! -e b.txt ]; then write b.txt x; commit; hold it; fi; say COMPLETE");
    sandbox.wait_held("it");
    assert_ne!(sandbox.head("main"), begun);
    roll_back(&sandbox, "early", &["--pause"]);
    assert_eq!(sandbox.head("main"), begun);
    assert_eq!(sandbox.idea_status(&later), "pending");
    sandbox.swarm(&["idea", "cancel", &first]).ok();
    sandbox.release("it");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&later, "done");
    assert_eq!(sandbox.file_at("main", "b.txt"), "x");
    assert!(!sandbox.repo().join("a.txt").exists(), "it came back");
    daemon.stop();
    sandbox.assert_sound();
}

/// With a file that ideas change differently.
fn with_lines() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", "head\n");
    sandbox.commit("Lines");
    sandbox.set_up();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    sandbox
}

/// Waits until a person is asked to bring work over; its worktree, and the command to run there.
fn by_hand(sandbox: &Sandbox) -> (PathBuf, String) {
    let need = sandbox.wait_needs_you("merge");
    let message = need["message"].as_str().unwrap();
    let at = message
        .find("git rebase --onto main ")
        .unwrap_or_else(|| panic!("{message}"));
    let command: Vec<&str> = message[at..].split([' ', ';']).take(5).collect();
    let agent = sandbox.status()["agents"][0].clone();
    let worktree = sandbox.repo().join(agent["worktree"].as_str().unwrap());
    (worktree, command.join(" "))
}

/// What git cannot bring onto the target that went back a person does, as the message says.
#[test]
fn later_work_that_does_not_apply_any_more_is_brought_over_by_hand() {
    let sandbox = with_lines();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "early"]).ok();
    let first = sandbox.idea("write lines.txt first; commit; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    let later = sandbox.idea(
        "[ -e b.txt ] || { write lines.txt later on first; write b.txt x; commit; hold it; }; say \
        COMPLETE",
    );
    sandbox.wait_held("it");
    roll_back(&sandbox, "early", &["--pause"]);
    sandbox.swarm(&["idea", "cancel", &first]).ok();
    sandbox.write("lines.txt", "by hand\n");
    sandbox.git(&["commit", "-q", "-m", "By hand", "--", "lines.txt"]);
    sandbox.release("it");
    sandbox.swarm(&["resume"]).ok();
    let (worktree, command) = by_hand(&sandbox);
    // Asked again with nothing done, it says the same.
    sandbox.swarm(&["merge", "retry", &later]).ok();
    sandbox.wait_needs_you("merge");
    let folder = worktree.display();
    let rebase = sandbox.shell(&format!("cd '{folder}' && {command}"));
    assert_ne!(rebase.code, 0, "{rebase}");
    fs::write(worktree.join("lines.txt"), "later on by hand\n").unwrap();
    let go_on = "git add -A && git -c core.editor=true rebase --continue";
    sandbox.shell(&format!("cd '{folder}' && {go_on}")).ok();
    sandbox.swarm(&["merge", "retry", &later]).ok();
    sandbox.wait_idea(&later, "done");
    assert_eq!(sandbox.file_at("main", "lines.txt"), "later on by hand");
    assert_eq!(sandbox.file_at("main", "b.txt"), "x");
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// A resolver is stopped in the middle of a merge with what is taken back: the next attempt begins
/// without it.
#[test]
fn a_conflict_that_was_being_settled_is_left_when_the_target_goes_back() {
    let sandbox = with_lines();
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "early"]).ok();
    let later = sandbox.idea(
        "write lines.txt later; write b.txt x; commit; hold it; say COMPLETE\nRESOLVE: hold \
        resolver; write lines.txt both; say RESOLVED",
    );
    sandbox.wait_held("it");
    let first = sandbox.idea("write lines.txt first; write a.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    sandbox.release("it");
    sandbox.wait_held("resolver");
    roll_back(&sandbox, "early", &["--pause"]);
    sandbox.swarm(&["idea", "cancel", &first]).ok();
    sandbox.release("resolver");
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&later, "done");
    assert_eq!(sandbox.file_at("main", "lines.txt"), "later");
    assert!(!sandbox.repo().join("a.txt").exists(), "it came back");
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// The branch contains what is taken back, merged into it by its resolver.
#[test]
fn a_settled_conflict_does_not_bring_back_what_was_taken_back() {
    let sandbox = with_lines();
    let out = sandbox.path("out").display().to_string();
    let check = format!(
        "[ ! -e '{out}/settled' ] || {{ : >'{out}/verify.here'; until [ -e '{out}/verify.go' ]; do \
         sleep 0.05; done; }}"
    );
    sandbox.configure(&json!({"qualityCommands": [check], "checkpoints": {"periodic": 0}}));
    let daemon = sandbox.start();
    sandbox.swarm(&["checkpoint", "create", "early"]).ok();
    let later = sandbox.idea(
        "[ -e b.txt ] || { write lines.txt later; write b.txt x; commit; hold it; }; say COMPLETE\n\
        RESOLVE: write lines.txt both; : >$OUT/settled; say RESOLVED",
    );
    sandbox.wait_held("it");
    let first = sandbox.idea("write lines.txt first; write a.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    sandbox.release("it");
    sandbox.wait_held("verify");
    roll_back(&sandbox, "early", &["--pause"]);
    sandbox.swarm(&["idea", "cancel", &first]).ok();
    sandbox.release("verify");
    sandbox.swarm(&["resume"]).ok();
    // What its resolver made of both does not apply to the one that is there now.
    let (worktree, command) = by_hand(&sandbox);
    assert!(!sandbox.repo().join("a.txt").exists(), "it came back");
    let folder = worktree.display();
    sandbox.shell(&format!("cd '{folder}' && {command}")).ok();
    sandbox.swarm(&["merge", "retry", &later]).ok();
    sandbox.wait_idea(&later, "done");
    assert_eq!(sandbox.file_at("main", "lines.txt"), "later");
    assert_eq!(sandbox.file_at("main", "b.txt"), "x");
    assert!(!sandbox.repo().join("a.txt").exists(), "it came back");
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

#[test]
fn work_that_had_landed_and_was_taken_back_lands_whole_again() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let idea = sandbox.idea(
        "if [ -e a.txt ]; then write b.txt again; else write a.txt x; commit; hold it; \
        write b.txt first; fi; commit; say COMPLETE",
    );
    sandbox.wait_held("it");
    sandbox.swarm(&["checkpoint", "create", "half"]).ok();
    sandbox.release("it");
    sandbox.wait_idea(&idea, "done");
    roll_back(&sandbox, "half", &["--resume"]);
    sandbox.wait_idea(&idea, "done");
    assert_eq!(sandbox.file_at("main", "a.txt"), "x");
    assert_eq!(sandbox.file_at("main", "b.txt"), "again");
    daemon.stop();
    assert_tidy(&sandbox);
    sandbox.assert_log_sound();
}

/// A command that has a daemon of its own for a moment leaves the mode as it is configured, and
/// several at once all succeed.
#[test]
fn commands_at_once_without_a_daemon_all_succeed_and_leave_the_mode() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    std::thread::scope(|scope| {
        for number in 1..=4 {
            let (sandbox, name) = (&sandbox, format!("number-{number}"));
            scope.spawn(move || {
                sandbox.swarm(&["checkpoint", "create", &name]).ok();
            });
        }
    });
    let list = sandbox.swarm(&["checkpoint", "list", "--json"]).json();
    assert_eq!(list.as_array().unwrap().len(), 4, "{list}");
    assert_eq!(
        sandbox.swarm(&["status", "--json"]).json()["mode"],
        "semi-auto"
    );
}

#[test]
fn what_was_said_to_an_agent_since_is_named_before_it_is_dropped() {
    let sandbox = Sandbox::ready();
    let note = "grep -h 'mind the' \"$SWARM_PROMPT_FILE\" | grep -v DO: >>$OUT/told; iteration 1 \
        && hold it; say COMPLETE";
    sandbox.idea(note);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let say = |what: &str| {
        sandbox
            .swarm(&["agent", "say", "ed-001", what])
            .ok()
            .to_owned()
    };
    say("mind the gap");
    sandbox.swarm(&["checkpoint", "create", "mine"]).ok();
    assert_eq!(preview(&sandbox, "mine")["messagesDropped"], json!([]));
    say("mind the dog");
    let dropped = json!([{"ideaId": "idea-001", "message": "mind the dog"}]);
    assert_eq!(preview(&sandbox, "mine")["messagesDropped"], dropped);
    let said = sandbox.swarm(&["rollback", "mine", "--yes", "--resume"]);
    let words = ["no agent will get", "idea-001: mind the dog"];
    assert!(
        words.iter().all(|word| said.stderr.contains(word)),
        "{said}"
    );
    sandbox.release("it");
    sandbox.wait_idea("idea-001", "done");
    let told = sandbox.notes("told").join("\n");
    assert!(told.contains("gap") && !told.contains("dog"), "{told}");
    daemon.stop();
}
