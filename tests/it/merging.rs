//! Landing work: the user's checkout, a target that moves, checks that fail only together.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox};

/// Two agents that both begin at the same commit; the first one's work has landed, the second one
/// is about to do its.
pub fn one_after_the_other<'a>(
    sandbox: &'a Sandbox,
    first: &str,
    second: &str,
) -> (Daemon<'a>, String, String) {
    let first = sandbox.idea(&format!("hold first; {first}; commit First; say COMPLETE"));
    let second = sandbox.idea(&format!("hold second; {second}"));
    let daemon = sandbox.start();
    sandbox.wait_held("first");
    sandbox.wait_held("second");
    sandbox.release("first");
    sandbox.wait_idea(&first, "done");
    sandbox.release("second");
    (daemon, first, second)
}

/// A sandbox whose quality command waits at `hold verify` when it runs on a merged tree, and notes
/// the commits that it checked there.
fn with_slow_verification() -> Sandbox {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("out");
    let check = format!(
        "case $PWD in */w[0-9]*) exit 0 ;; esac; cd . && : >'{out}/verify.here'; until [ -e \
        '{out}/verify.go' ]; do sleep 0.05; done; git rev-parse HEAD >>'{out}/verified'",
        out = out.display()
    );
    sandbox.configure(&json!({"qualityCommands": [check]}));
    sandbox
}

/// A list of texts in a JSON document.
pub fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list}"));
    list.iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_checkout_follows_and_unrelated_work_in_it_stays() {
    let sandbox = Sandbox::new();
    for name in ["modified.txt", "staged.txt", "deleted.txt"] {
        sandbox.write(name, "before\n");
    }
    sandbox.commit("Files");
    sandbox.set_up();
    sandbox.write("modified.txt", "by hand\n");
    sandbox.write("staged.txt", "by hand\n");
    sandbox.git(&["add", "staged.txt"]);
    fs::remove_file(sandbox.repo().join("deleted.txt")).unwrap();
    sandbox.write("new.txt", "by hand\n");
    let before = sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]);
    sandbox.idea("write a.txt hello; write README.md changed; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(
        sandbox.git(&["status", "--porcelain", "--", ".", ":!.swarm"]),
        before
    );
    assert_eq!(sandbox.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main");
    assert_eq!(
        (sandbox.read("a.txt"), sandbox.read("README.md")),
        ("hello\n".into(), "changed\n".into())
    );
    assert_eq!(sandbox.read("modified.txt"), "by hand\n");
    assert_eq!(sandbox.read("new.txt"), "by hand\n");
}

/// Neither for the worktree that the merge will give back nor for as long as making one of so many
/// files takes.
#[test]
fn a_merge_that_waits_for_a_person_delays_no_new_worktree() {
    let sandbox = Sandbox::ready();
    // Many files by the index, of which none is in the way.
    let staged = "seq 30000 | sed \"s,.*,100644 $(git rev-parse HEAD:README.md)\tmany/&,\" | git \
        update-index --index-info";
    sandbox.shell(staged).ok();
    sandbox.write("README.md", "by hand\n");
    let daemon = sandbox.start();
    sandbox.idea("write README.md by an agent; commit; say COMPLETE");
    sandbox.wait_needs_you("checkout");
    let begun = Instant::now();
    sandbox.idea("hold it; say COMPLETE");
    sandbox.wait_held("it");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    sandbox.release("it");
    daemon.stop();
}

#[test]
fn what_is_no_longer_in_the_way_lands_with_the_next_start() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("write README.md changed; commit; say COMPLETE");
    sandbox.write("README.md", "by hand\n");
    assert_eq!(sandbox.run_until_idle(), 6);
    sandbox.git(&["checkout", "-q", "--", "README.md"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
}

#[test]
fn a_checkout_of_another_branch_is_left_alone() {
    let sandbox = Sandbox::ready();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.idea("write a.txt hello; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "a.txt"), "hello");
    assert!(!sandbox.repo().join("a.txt").exists());
    assert_eq!(sandbox.git(&["symbolic-ref", "HEAD"]), "refs/heads/other");
    sandbox.assert_repository_clean();
}

#[test]
fn a_checkout_of_the_target_in_a_persons_worktree_follows_too() {
    let sandbox = Sandbox::ready();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    let theirs = sandbox.path("theirs");
    sandbox.git(&["worktree", "add", "-q", theirs.to_str().unwrap(), "main"]);
    sandbox.idea("write a.txt hello; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(fs::read_to_string(theirs.join("a.txt")).unwrap(), "hello\n");
    assert_eq!(sandbox.git_in(&theirs, &["status", "--porcelain"]), "");
    sandbox.git(&["worktree", "remove", theirs.to_str().unwrap()]);
    sandbox.assert_repository_clean();
}

#[test]
fn a_changed_file_in_the_way_is_named_and_the_merge_waits_for_it() {
    let sandbox = Sandbox::ready();
    sandbox.write("README.md", "by hand\n");
    let base = sandbox.head("main");
    let daemon = sandbox.start();
    let id = sandbox.idea("write README.md by an agent; commit; say COMPLETE");
    let need = sandbox.wait_needs_you("checkout");
    assert!(
        need["message"].as_str().unwrap().contains("README.md"),
        "{need}"
    );
    assert_eq!(
        (sandbox.head("main"), sandbox.read("README.md")),
        (base, "by hand\n".into())
    );
    let queue = sandbox.swarm(&["merge", "list", "--json"]).json();
    assert_eq!(queue[0]["ideaId"], id.as_str(), "{queue}");
    // Another retry with the file still there changes nothing.
    sandbox.swarm(&["merge", "retry", &id]).ok();
    sandbox.wait_needs_you("checkout");
    assert_eq!(sandbox.read("README.md"), "by hand\n");
    sandbox.git(&["checkout", "-q", "--", "README.md"]);
    let again = strings(&need["commands"])
        .into_iter()
        .find(|line| line.contains("merge retry"));
    sandbox.shell(&again.unwrap()).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("README.md"), "by an agent\n");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn an_untracked_file_in_the_way_holds_the_merge_until_it_is_gone() {
    let sandbox = Sandbox::ready();
    sandbox.write("a.txt", "by hand\n");
    let daemon = sandbox.start();
    let id = sandbox.idea("write a.txt by an agent; commit; say COMPLETE");
    let need = sandbox.wait_needs_you("checkout");
    assert!(
        need["message"].as_str().unwrap().contains("a.txt"),
        "{need}"
    );
    fs::rename(sandbox.repo().join("a.txt"), sandbox.path("out/saved.txt")).unwrap();
    // Nobody says anything: it is tried again by itself.
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("a.txt"), "by an agent\n");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_target_that_a_person_moved_is_merged_and_checked_again() {
    let sandbox = with_slow_verification();
    let daemon = sandbox.start();
    let id = sandbox.idea("write a.txt hello; commit; say COMPLETE");
    sandbox.wait_held("verify");
    sandbox.write("person.txt", "by hand\n");
    let persons = sandbox.commit("By hand");
    sandbox.release("verify");
    let idea = sandbox.wait_idea(&id, "done");
    let landed = idea["commit"].as_str().unwrap();
    assert_eq!(sandbox.head(&format!("{landed}^1")), persons);
    assert_eq!(
        sandbox.notes("verified").last().unwrap(),
        landed,
        "it landed unchecked"
    );
    assert_eq!(sandbox.file_at("main", "person.txt"), "by hand");
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// An idea is being verified when a person rewrites the target: `dropped.txt` is gone,
/// `rewritten.txt` has come.
pub fn force_pushed() -> (Sandbox, String) {
    let sandbox = with_slow_verification();
    sandbox.write("dropped.txt", "soon gone\n");
    sandbox.commit("To be dropped");
    (
        sandbox,
        "write a.txt hello; commit; say COMPLETE".to_owned(),
    )
}

/// What a rewrite of the target dropped.
const DROPPED: &str = "refs/swarm/rescue/dropped-*";

pub fn rewrite(sandbox: &Sandbox) -> String {
    sandbox.wait_held("verify");
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.write("rewritten.txt", "new history\n");
    let rewritten = sandbox.commit("Another history");
    sandbox.release("verify");
    rewritten
}

fn choose(sandbox: &Sandbox, choice: &str) {
    let need = sandbox.wait_needs_you("target");
    let command = strings(&need["commands"])
        .into_iter()
        .find(|line| line.ends_with(choice));
    sandbox.shell(&command.unwrap()).ok();
}

fn wait_for_no_need(sandbox: &Sandbox) {
    sandbox.wait_status("no need of anybody", |status| {
        status["needsYou"] == json!([])
    });
}

#[test]
fn work_begun_on_a_history_that_was_rewritten_is_rebased_without_asking() {
    let (sandbox, doing) = force_pushed();
    let daemon = sandbox.start();
    let id = sandbox.idea(&doing);
    let rewritten = rewrite(&sandbox);
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(
        sandbox.head(&format!("{}^1", idea["commit"].as_str().unwrap())),
        rewritten
    );
    assert!(sandbox.repo().join("a.txt").exists() && sandbox.repo().join("rewritten.txt").exists());
    assert!(
        !sandbox.repo().join("dropped.txt").exists(),
        "the dropped commit came back"
    );
    assert_eq!(
        sandbox.notes("verified").last().unwrap(),
        idea["commit"].as_str().unwrap()
    );
    wait_for_no_need(&sandbox);
    // What was dropped is kept.
    let kept = sandbox.git(&["for-each-ref", "--format=%(refname)", DROPPED]);
    assert_eq!(sandbox.file_at(kept.trim(), "dropped.txt"), "soon gone");
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// The work of the second idea was reset away while a third one was at work, which lands.
fn second_idea_reset_away(sandbox: &Sandbox) -> (Daemon<'_>, String) {
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt x; commit; say COMPLETE");
    let kept = sandbox.wait_idea(&first, "done")["commit"].clone();
    let second = sandbox.idea("write b.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    let third = sandbox.idea("write c.txt x; commit; hold it; say COMPLETE");
    sandbox.wait_held("it");
    sandbox.git(&["reset", "-q", "--hard", kept.as_str().unwrap()]);
    sandbox.write("other.txt", "x");
    sandbox.commit("Another history");
    sandbox.release("it");
    sandbox.wait_idea(&third, "done");
    assert!(!sandbox.repo().join("b.txt").exists());
    (daemon, second)
}

#[test]
fn landed_work_that_a_rewrite_lost_is_asked_about_until_somebody_brings_it_back() {
    let sandbox = Sandbox::ready();
    let (daemon, second) = second_idea_reset_away(&sandbox);
    let need = sandbox.wait_needs_you("target");
    let message = need["message"].as_str().unwrap();
    assert!(
        message.contains("the work of idea-002 is missing"),
        "{message}"
    );
    let kept = sandbox.git(&["for-each-ref", "--format=%(refname)", DROPPED]);
    assert!(message.contains(kept.trim()), "{message}: {kept}");
    assert_eq!(sandbox.file_at(kept.trim(), "b.txt"), "x");
    let audit = sandbox.show(&second)["history"].to_string();
    assert!(audit.contains("dropped_by_rewrite"), "{audit}");
    let commands = strings(&need["commands"]);
    let git: Vec<&str> = commands[0].split_whitespace().skip(1).take(4).collect();
    sandbox.git(&git);
    wait_for_no_need(&sandbox);
    assert_eq!(sandbox.show(&second)["commit"], json!(sandbox.head("main")));
    assert!(sandbox.repo().join("b.txt").exists());
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_reset_of_the_target_is_noticed_and_taken_back_while_nothing_is_merged() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let idea = sandbox.idea("write a.txt x; commit; say COMPLETE");
    let landed = sandbox.wait_idea(&idea, "done")["commit"].clone();
    // A branch whose work is not on the target stays.
    sandbox.wait_for("the branch to be deleted", || {
        let branches = sandbox.git(&["branch", "--list", "agent/*"]);
        branches.is_empty().then_some(())
    });
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.wait_needs_you("target");
    daemon.stop();
    drop(daemon);
    // Brought back while no daemon runs: a start sees it before it finds that a person is needed.
    sandbox.git(&["merge", "-q", "--ff-only", landed.as_str().unwrap()]);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&idea), "done");
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(sandbox.run_until_idle(), 6);
    sandbox.git(&["cherry-pick", "-m", "1", landed.as_str().unwrap()]);
    sandbox
        .swarm(&["merge", "target", "redo"])
        .refused(1, &["has all the work that has landed"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.assert_repository_clean();
}

#[test]
fn landed_work_that_a_rewrite_lost_can_be_done_again() {
    let sandbox = Sandbox::ready();
    let (daemon, second) = second_idea_reset_away(&sandbox);
    choose(&sandbox, "redo");
    sandbox.wait_status("it lands again", |_| sandbox.repo().join("b.txt").exists());
    sandbox.wait_idea(&second, "done");
    wait_for_no_need(&sandbox);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn after_a_pull_with_rebase_landed_work_is_recognised_and_running_work_lands() {
    let sandbox = Sandbox::ready();
    let (bare, other) = (sandbox.path("up.git"), sandbox.path("colleague"));
    let [bare, other] = [&bare, &other].map(|path| path.to_str().unwrap());
    sandbox.git(&["clone", "-q", "--bare", ".", bare]);
    let daemon = sandbox.start();
    let first = sandbox.idea("write a.txt x; commit; write b.txt x; commit; say COMPLETE");
    let merge = sandbox.wait_idea(&first, "done")["commit"].clone();
    let second = sandbox.idea("write c.txt x; commit; hold it; say COMPLETE");
    sandbox.wait_held("it");
    sandbox.git(&["clone", "-q", bare, other]);
    sandbox.git(&["-C", other, "commit", "-q", "--allow-empty", "-m", "Theirs"]);
    fs::write(sandbox.path("colleague/theirs.txt"), "x").unwrap();
    sandbox.git(&["-C", other, "add", "theirs.txt"]);
    sandbox.git(&["-C", other, "commit", "-q", "-m", "Theirs"]);
    sandbox.git(&["-C", other, "push", "-q"]);
    // Killed in the middle: the agent works on.
    daemon.kill();
    drop(daemon);
    sandbox.git(&["pull", "-q", "--rebase", bare, "main"]);
    let pulled = sandbox.head("main");
    sandbox.release("it");
    let daemon = sandbox.start();
    let landed = sandbox.wait_idea(&second, "done");
    let landed = landed["commit"].as_str().unwrap();
    assert_eq!(sandbox.head(&format!("{landed}^1")), pulled);
    let own = sandbox.git(&["log", "--format=%s", &format!("{landed}^1..{landed}^2")]);
    assert_eq!(own.lines().count(), 1, "old commits came along: {own}");
    // It is the last of its two commits now.
    let now = sandbox.show(&first)["commit"].clone();
    assert_ne!(now, merge);
    assert_eq!(now, json!(pulled));
    wait_for_no_need(&sandbox);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn work_that_fails_only_together_with_others_goes_back_to_its_agent() {
    let sandbox = Sandbox::ready();
    let base = sandbox.head("main");
    let check = "! { test -e a.txt && test -e b.txt; }";
    sandbox.configure(&json!({"qualityCommands": [check]}));
    let second = "if iteration 1; then write b.txt x; else git rm -q b.txt; write c.txt x; fi; \
        commit; say COMPLETE";
    let (daemon, _, id) = one_after_the_other(&sandbox, "write a.txt x", second);
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.logged("mergeReturned").len(), 1);
    let run = sandbox.notes("runs").pop().unwrap();
    let prompt = sandbox
        .private("runs")
        .join(run.split(' ').nth(4).unwrap())
        .join("prompt.md");
    let prompt = fs::read_to_string(prompt).unwrap();
    assert!(
        prompt.contains(check),
        "the failed command is not in\n{prompt}"
    );
    for (commit, idea) in sandbox.landings(&base, "main") {
        let files = sandbox.git(&["ls-tree", "--name-only", &commit]);
        assert!(
            !(files.contains("a.txt") && files.contains("b.txt")),
            "{idea} broke the target"
        );
    }
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn without_auto_merge_a_person_approves() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"merge": {"autoMerge": false}}));
    let base = sandbox.head("main");
    let daemon = sandbox.start();
    let id = sandbox.idea("write a.txt x; commit; say COMPLETE");
    let need = sandbox.wait_needs_you("review");
    assert_eq!((&need["ideaId"], sandbox.head("main")), (&json!(id), base));
    sandbox.swarm(&["wait", "--until", "idle"]).refused(6, &[]);
    sandbox.shell(&strings(&need["commands"])[1]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn without_clean_up_worktree_and_branch_stay() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"merge": {"cleanupOnSuccess": false}}));
    sandbox.idea("write a.txt x; commit; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert!(sandbox.worktrees().join("w01/a.txt").exists());
    assert!(
        !sandbox
            .git(&["branch", "--list", "agent/ed-001/idea-001"])
            .is_empty()
    );
}

#[test]
fn an_idea_that_changes_nothing_moves_nothing() {
    let sandbox = Sandbox::ready();
    let base = sandbox.head("main");
    let id = sandbox.idea("echo '<swarm>COMPLETE</swarm>'");
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&id), "blocked");
    assert_eq!(sandbox.head("main"), base);
}

#[test]
fn a_landing_is_one_merge_commit_with_trailers() {
    let sandbox = Sandbox::ready();
    let base = sandbox.head("main");
    let id = sandbox.idea(
        "write a.txt x; commit One; write b.txt x; commit Two; write c.txt left; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    let landings = sandbox.landings(&base, "main");
    assert_eq!(landings.len(), 1);
    assert_eq!(landings[0].1, id);
    let own = sandbox.git(&["log", "--format=%s", &format!("{base}..main^2")]);
    assert!(own.contains("One") && own.contains("Two"), "{own}");
    assert_eq!(sandbox.file_at("main", "c.txt"), "left");
}
