//! Rollbacks that cannot be done, and a person's uncommitted work that is in the way of one.
//!
//! Invariant: what is refused changes nothing but, where the daemon looked first, the log that says
//! so.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Fingerprint, Ran, Sandbox};

const WORK: &str = "write $SWARM_IDEA_ID.txt x; commit; say COMPLETE";

/// At the checkpoint `begin` one idea was done, and another came later.
fn two_done() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.swarm(&["checkpoint", "create", "begin"]).ok();
    sandbox.idea(WORK);
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox
}

fn file(sandbox: &Sandbox) -> PathBuf {
    sandbox.dot_swarm("checkpoints/begin.json")
}

fn refs(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref"])
}

/// Ideas, agents, queue: what a rollback would change.
fn state(sandbox: &Sandbox) -> [Value; 3] {
    let state = sandbox.swarm(&["replay", "--json"]).json();
    ["ideas", "agents", "queue"].map(|key| state[key].clone())
}

/// Asks the daemon itself, past the look that the command line takes first; the answer's status and
/// body.
fn ask_daemon(sandbox: &Sandbox, name: &str, from: &Value) -> (u16, Value) {
    let rollback = json!({"do": "rollBack", "name": name, "from": from});
    sandbox.send(&rollback).unwrap()
}

/// Something is wrong with the checkpoint: nothing changes, whoever is asked, and the message has
/// these words.
fn assert_refused(sandbox: &Sandbox, words: &[&str]) {
    let (before, refs_before) = (Fingerprint::of(&sandbox.repo()), refs(sandbox));
    let refused: Ran = sandbox.swarm(&["rollback", "begin", "--yes"]);
    refused.refused(1, words);
    let shown = sandbox
        .swarm(&["rollback", "begin", "--dry-run", "--json"])
        .json();
    let problem = shown["problem"].as_str().unwrap();
    assert!(words.iter().all(|word| problem.contains(word)), "{problem}");
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "a refused rollback");
    let daemon = sandbox.start();
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor.stdout.contains("cannot roll back to begin"),
        "{doctor}"
    );
    let state_before = state(sandbox);
    sandbox
        .swarm(&["rollback", "begin", "--yes"])
        .refused(1, words);
    let (status, answer) = ask_daemon(sandbox, "begin", &Value::Null);
    assert_eq!(status, 409, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
    assert_eq!(sandbox.status()["phase"], "running");
    assert_eq!(state(sandbox), state_before);
    assert_eq!(refs(sandbox), refs_before);
    // All the others can be done still.
    sandbox.swarm(&["checkpoint", "list"]).ok();
    daemon.stop();
    sandbox.assert_log_sound();
}

/// What the message says makes it good again.
fn assert_can_be_done(sandbox: &Sandbox) {
    let commit = sandbox.head("main~1");
    sandbox
        .swarm(&["rollback", "begin", "--yes", "--pause"])
        .ok();
    assert_eq!(sandbox.head("main"), commit);
}

#[test]
fn a_tag_that_was_deleted_or_moved_is_not_trusted_until_it_is_put_back() {
    let sandbox = two_done();
    let reference = "refs/swarm/checkpoints/begin";
    sandbox.git(&["update-ref", "-d", reference]);
    assert_refused(&sandbox, &[reference, "deleted", "git update-ref"]);
    sandbox.git(&["update-ref", reference, "main"]);
    assert_refused(&sandbox, &[reference, "moved", "git update-ref"]);
    let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
    sandbox.shell(refused.command("git update-ref")).ok();
    assert_can_be_done(&sandbox);
}

#[test]
fn a_file_that_is_gone_damaged_or_newer_is_not_trusted_until_it_is_put_back() {
    let sandbox = two_done();
    let reference = "refs/swarm/checkpoint-files/begin";
    let text = fs::read_to_string(file(&sandbox)).unwrap();
    let copy = sandbox.path("copy.json");
    let keep = |content: &str| {
        fs::write(&copy, content).unwrap();
        let name = copy.to_str().unwrap();
        let blob = sandbox.git(&["hash-object", "-w", "--no-filters", name]);
        sandbox.git(&["update-ref", reference, &blob]);
    };
    sandbox.git(&["update-ref", "-d", reference]);
    assert_refused(&sandbox, &[reference, "gone", "git update-ref"]);
    keep(&text[..text.len() / 2]);
    assert_refused(&sandbox, &[reference, "damaged"]);
    keep(&text.replace("\"idea-001\": \"done\"", "\"idea-001\": \"failed\""));
    assert_refused(&sandbox, &[reference, "has changed", "git update-ref"]);
    keep(&text.replacen("\"version\": 1", "\"version\": 7", 1));
    assert_refused(&sandbox, &[reference, "format 7", "newer swarm"]);
    keep(&text);
    assert_can_be_done(&sandbox);
}

#[test]
fn a_commit_that_git_has_thrown_away_is_named() {
    let sandbox = two_done();
    // A person rewrites the history, deletes the tag, and git tidies up.
    let commit = sandbox.head("refs/swarm/checkpoints/begin");
    sandbox.git(&["checkout", "-q", "--orphan", "fresh"]);
    sandbox.git(&["commit", "-q", "-m", "Again", "--", "README.md"]);
    sandbox.git(&["branch", "-f", "main", "HEAD"]);
    sandbox.git(&["checkout", "-q", "-f", "main"]);
    for line in sandbox
        .git(&["for-each-ref", "--format=%(refname)"])
        .lines()
    {
        if line != "refs/heads/main" {
            sandbox.git(&["update-ref", "-d", line]);
        }
    }
    fs::remove_dir_all(sandbox.repo().join(".git/worktrees")).ok();
    fs::remove_dir_all(sandbox.worktrees()).ok();
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
    refused.refused(1, &["begin", &commit[..10], "gone"]);
    assert_eq!(sandbox.idea_status("idea-002"), "done");
}

/// Between the checkpoint and now an agent has changed, made and deleted files; a person has every
/// kind of change in their place.
fn in_the_way() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in [
        "modified",
        "staged",
        "both",
        "removed",
        "deleted",
        "ignored",
        "untracked",
        "other",
        "mode",
    ] {
        sandbox.write(&format!("{name}.txt"), "at first\n");
    }
    sandbox.write("linked.txt", "at first\n");
    sandbox.commit("Files");
    sandbox.set_up();
    sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
    sandbox.swarm(&["checkpoint", "create", "begin"]).ok();
    sandbox.idea(
        "for f in modified staged both removed deleted mode linked; do write $f.txt later; done; \
        rm ignored.txt untracked.txt; write .gitignore ignored.txt; write made.txt later; commit; \
        say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox
}

fn disturb(sandbox: &Sandbox) {
    let path = |name: &str| sandbox.repo().join(name);
    sandbox.write("modified.txt", "by hand: modified\n");
    sandbox.write("staged.txt", "by hand: staged\n");
    sandbox.write("both.txt", "by hand: index\n");
    sandbox.git(&["add", "staged.txt", "both.txt"]);
    // Only the index has it.
    sandbox.write("staged.txt", "later\n");
    sandbox.write("both.txt", "by hand: file\n");
    sandbox.git(&["rm", "-q", "removed.txt"]);
    fs::remove_file(path("deleted.txt")).unwrap();
    sandbox.write("ignored.txt", "by hand: ignored\n");
    sandbox.write("untracked.txt", "by hand: untracked\n");
    sandbox.write("made.txt", "by hand: made\n");
    sandbox.write("other.txt", "by hand: other\n");
    sandbox.write("loose.txt", "by hand: loose\n");
    fs::remove_file(path("linked.txt")).unwrap();
    std::os::unix::fs::symlink("other.txt", path("linked.txt")).unwrap();
}

const IN_THE_WAY: [&str; 8] = [
    "modified.txt",
    "staged.txt",
    "both.txt",
    "removed.txt",
    "ignored.txt",
    "untracked.txt",
    "made.txt",
    "linked.txt",
];

#[test]
fn uncommitted_work_in_the_way_is_named_and_nothing_changes() {
    let sandbox = in_the_way();
    disturb(&sandbox);
    let before = Fingerprint::of(&sandbox.repo());
    let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
    refused.refused(1, &["git -C", "stash push"]);
    let shown = sandbox
        .swarm(&["rollback", "begin", "--dry-run", "--json"])
        .json();
    let files = shown["dirtyFiles"].as_array().unwrap();
    assert!(!files.is_empty(), "{shown}");
    for file in files {
        assert!(IN_THE_WAY.contains(&file.as_str().unwrap()), "{shown}");
        assert!(refused.stderr.contains(file.as_str().unwrap()), "{refused}");
    }
    assert_eq!(files.len(), IN_THE_WAY.len(), "{shown}");
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "a refused rollback");
    let daemon = sandbox.start();
    let (refs_before, status) = (
        refs(&sandbox),
        sandbox.git(&["status", "--porcelain", "--ignored", "--", ".", ":!.swarm"]),
    );
    let (code, answer) = ask_daemon(&sandbox, "begin", &Value::Null);
    assert_eq!(
        (code, &answer["error"]["code"]),
        (409, &json!("ROLLBACK_ABANDONED")),
        "{answer}"
    );
    let details = answer["error"]["details"].as_str().unwrap();
    assert!(details.contains("ignored.txt"), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("stash push --include-untracked"),
        "{answer}"
    );
    assert_eq!(refs(&sandbox), refs_before);
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "--ignored", "--", ".", ":!.swarm"]),
        status
    );
    assert_eq!(sandbox.idea_status("idea-001"), "done");
    daemon.stop();
}

/// The command that the refusal names, done in a folder of the repository, and then the rollback;
/// what the stash has, as `git stash show` tells it.
fn put_aside(sandbox: &Sandbox) -> String {
    let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
    refused.refused(1, &["stash push"]);
    let command = refused.command("git -C");
    sandbox
        .shell(&format!("mkdir -p in && cd in && {command}"))
        .ok();
    sandbox
        .swarm(&["rollback", "begin", "--yes", "--pause"])
        .ok();
    sandbox.git(&["stash", "show", "--include-untracked", "--name-only"])
}

#[test]
fn the_command_that_is_named_puts_aside_what_is_in_the_way_and_nothing_else() {
    let sandbox = in_the_way();
    disturb(&sandbox);
    // A deletion that is staged cannot be stashed by its path.
    sandbox.git(&["reset", "-q", "--", "removed.txt"]);
    let stashed = put_aside(&sandbox);
    // Of what is only staged the index of the stash tells.
    let files = IN_THE_WAY
        .into_iter()
        .filter(|name| !["removed.txt", "staged.txt"].contains(name));
    let expected: BTreeSet<&str> = files.collect();
    assert_eq!(stashed.lines().collect::<BTreeSet<_>>(), expected);
    assert_eq!(
        sandbox.file_at("stash", "modified.txt"),
        "by hand: modified"
    );
    assert_eq!(sandbox.file_at("stash", "both.txt"), "by hand: file");
    assert_eq!(sandbox.file_at("stash^2", "staged.txt"), "by hand: staged");
    assert_eq!(
        sandbox.file_at("stash^3", "ignored.txt"),
        "by hand: ignored"
    );
    assert_eq!(
        sandbox.head("main"),
        sandbox.head("refs/swarm/checkpoints/begin")
    );
    for name in [
        "modified",
        "staged",
        "both",
        "ignored",
        "untracked",
        "linked",
    ] {
        assert_eq!(sandbox.read(&format!("{name}.txt")), "at first\n", "{name}");
    }
    assert!(!sandbox.repo().join("made.txt").exists());
    assert_eq!(sandbox.read("other.txt"), "by hand: other\n");
    assert_eq!(sandbox.read("loose.txt"), "by hand: loose\n");
    sandbox.assert_sound();
}

/// Swarm's own files, which nobody has committed here, stay where they are.
#[test]
fn with_a_staged_deletion_or_many_files_the_whole_checkout_is_stashed() {
    let sandbox = in_the_way();
    sandbox.write("other.txt", "by hand\n");
    sandbox.git(&["rm", "-q", "removed.txt"]);
    assert_eq!(
        put_aside(&sandbox).lines().collect::<Vec<_>>(),
        ["other.txt", "removed.txt"]
    );
    sandbox.swarm(&["config", "check"]).ok();
}

#[test]
fn what_is_not_in_the_way_stays() {
    let sandbox = in_the_way();
    sandbox.write("other.txt", "by hand: other\n");
    sandbox.write("loose.txt", "by hand: loose\n");
    sandbox.git(&["add", "other.txt"]);
    let before = sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]);
    sandbox
        .swarm(&["rollback", "begin", "--yes", "--pause"])
        .ok();
    let after = sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]);
    assert_eq!(after, before);
}

#[test]
fn while_a_person_is_in_the_middle_of_something_it_is_refused() {
    let sandbox = in_the_way();
    sandbox.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    sandbox.write("modified.txt", "side\n");
    sandbox.git(&["commit", "-q", "-a", "-m", "Side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    let merge = sandbox.shell("git merge side");
    assert_ne!(merge.code, 0, "{merge}");
    let before = Fingerprint::of(&sandbox.repo());
    let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
    refused.refused(1, &["merge", "in progress"]);
    before.assert_same(&Fingerprint::of(&sandbox.repo()), "a refused rollback");
    sandbox.git(&["merge", "--abort"]);
    sandbox.swarm(&["rollback", "begin", "--yes"]).ok();
}

#[test]
fn a_checkpoint_of_another_branch_moves_none() {
    let sandbox = two_done();
    let main = sandbox.head("main");
    sandbox.git(&["branch", "other", "main"]);
    sandbox.configure(&json!({"target": "other", "checkpoints": {"periodic": 0}}));
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_refused(&sandbox, &["`main`", "`other`"]);
    assert_eq!(sandbox.head("other"), main);
    // Where it was renamed it is that branch still.
    sandbox.git(&["switch", "-q", "other"]);
    sandbox.git(&["branch", "-D", "-q", "main"]);
    let commit = sandbox.head("other~1");
    sandbox
        .swarm(&["rollback", "begin", "--yes", "--pause"])
        .ok();
    assert_eq!(sandbox.head("other"), commit);
}

/// Takes an object out of the repository.
fn lose(sandbox: &Sandbox, name: &str) -> String {
    let object = sandbox.git(&["rev-parse", name]);
    let objects = sandbox.repo().join(".git/objects");
    fs::remove_file(objects.join(&object[..2]).join(&object[2..])).unwrap();
    object[..10].to_owned()
}

#[test]
fn a_file_that_git_has_lost_is_named_before_anything_is_stopped() {
    let sandbox = in_the_way();
    let gone = lose(&sandbox, "refs/swarm/checkpoints/begin:modified.txt");
    assert_refused(&sandbox, &[&gone, "damaged"]);
}

#[test]
fn work_that_git_has_lost_is_named() {
    let work = "refs/swarm/checkpoint-work/begin/ed-001";
    for what in [format!("{work}:w.txt"), format!("{work}^{{tree}}")] {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"checkpoints": {"periodic": 0}}));
        let daemon = sandbox.start();
        sandbox.idea("write w.txt precious; hold one; write w.txt other; hold two; say COMPLETE");
        sandbox.wait_held("one");
        sandbox.swarm(&["checkpoint", "create", "begin"]).ok();
        sandbox.release("one");
        sandbox.wait_held("two");
        lose(&sandbox, &what);
        let refused = sandbox.swarm(&["rollback", "begin", "--yes"]);
        refused.refused(1, &["ed-001", "idea-001", "gone"]);
        assert_eq!(sandbox.idea_status("idea-001"), "active");
        daemon.stop();
    }
}

/// What was agreed to is what happens, or nothing.
#[test]
fn a_target_that_has_moved_since_it_was_looked_at_stays() {
    let sandbox = two_done();
    let daemon = sandbox.start();
    let preview = sandbox
        .swarm(&["rollback", "begin", "--dry-run", "--json"])
        .json();
    let from = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(preview["from"], from.trim());
    fs::write(sandbox.repo().join("later.txt"), "later").unwrap();
    sandbox.git(&["add", "later.txt"]);
    sandbox.git(&["commit", "-qm", "Later"]);
    let before = (refs(&sandbox), state(&sandbox));
    let (status, answer) = ask_daemon(&sandbox, "begin", &preview["from"]);
    assert_eq!(status, 409, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("has moved since"), "{answer}");
    assert_eq!((refs(&sandbox), state(&sandbox)), before);
    // On the command line it is looked at again by itself.
    let shown = sandbox.swarm(&["rollback", "begin", "--yes"]);
    assert!(shown.stderr.contains("Later"), "{shown}");
    shown.ok();
    daemon.stop();
}

/// Without its configuration swarm could not even go back again.
#[test]
fn swarms_own_configuration_is_never_taken_away() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["checkpoint", "create", "early"]).ok();
    sandbox.git(&["add", "-f", ".swarm/config.json"]);
    sandbox.git(&["commit", "-qm", "Set up"]);
    let before = refs(&sandbox);
    sandbox
        .swarm(&["rollback", "early", "--yes"])
        .refused(1, &[".swarm/config.json", "git rm -r -q --cached .swarm"]);
    assert_eq!(refs(&sandbox), before);
    sandbox.git(&["rm", "-r", "-q", "--cached", ".swarm"]);
    sandbox.git(&["commit", "-qm", "Untrack .swarm"]);
    sandbox.swarm(&["rollback", "early", "--yes"]).ok();
    sandbox.swarm(&["status"]).ok();
}
