//! Tools that clean the checkout while swarm works or rests: no idea is lost.

use std::fs;

use crate::doctor::CUT;
use crate::harness::{PATIENCE, Sandbox};

/// One idea that has landed and one that waits; the setup is committed, so `git clean` leaves it.
fn with_backlog() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.git(&["add", "-f", ".swarm/config.json"]);
    sandbox.git(&["commit", "-q", "-m", "Set up swarm"]);
    sandbox
}

fn clean(sandbox: &Sandbox) {
    sandbox.git(&["clean", "-fdxq"]);
    assert!(!sandbox.dot_swarm("state").exists());
}

#[test]
fn git_clean_loses_no_idea_and_no_number() {
    let sandbox = with_backlog();
    let before = sandbox.log().len();
    clean(&sandbox);
    let list = sandbox.swarm(&["idea", "list"]);
    assert!(list.stderr.contains("swarm put it back"), "{list}");
    assert!(list.ok().contains("idea-002"), "{list}");
    assert_eq!(sandbox.log().len(), before);
    assert_eq!(sandbox.idea("write c.txt x; say COMPLETE"), "idea-003");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.file_at("main", "b.txt"), "x");
    sandbox.assert_log_sound();
    let again = sandbox.swarm(&["status"]);
    assert!(!again.stderr.contains("put it back"), "{again}");
}

#[test]
fn a_checkout_that_is_cleaned_beside_a_daemon_ends_it_and_the_next_one_goes_on() {
    let sandbox = Sandbox::ready();
    let held = sandbox.idea("hold it; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.git(&["clean", "-fdxq", ".swarm/state"]);
    assert_eq!(daemon.wait_exit(PATIENCE), 74, "{}", daemon.output());
    drop(daemon);
    sandbox.release("it");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&held), "done");
    assert_eq!(
        sandbox.logged("iterationStarted").len(),
        1,
        "it was paid for once"
    );
    sandbox.assert_log_sound();
}

#[test]
fn a_swarm_whose_folder_was_removed_is_restored_or_begun_anew_as_a_person_says() {
    let sandbox = with_backlog();
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    let kept = "kept in the git directory";
    sandbox
        .swarm(&["status"])
        .refused(1, &[kept, "swarm init --restore"]);
    let init = ["init", "--yes", "--agent", "command"];
    let ways = [kept, "swarm init --restore", "swarm init --new"];
    sandbox.swarm(&init).refused(1, &ways);
    assert!(!sandbox.dot_swarm("").exists());
    sandbox.swarm(&[&init[..], &["--restore"]].concat()).ok();
    assert_eq!(sandbox.idea_status("idea-001"), "done");
    assert_eq!(sandbox.idea_status("idea-002"), "pending");
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    sandbox.swarm(&[&init[..], &["--new"]].concat()).ok();
    assert_eq!(sandbox.ideas(), Vec::<serde_json::Value>::new());
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    sandbox
        .swarm(&[&init[..], &["--restore"]].concat())
        .refused(1, &["no earlier swarm", "swarm init"]);
}

/// A swarm whose daemon was killed while an agent works, and the agent's idea.
fn killed_beside_an_agent(doing: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::ready();
    sandbox.git(&["add", "-f", ".swarm/config.json"]);
    sandbox.git(&["commit", "-q", "-m", "Set up swarm"]);
    let held = sandbox.idea(doing);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill();
    drop(daemon);
    (sandbox, held)
}

/// What an agent was paid for is known, whatever cleans the checkout while no daemon looks.
#[test]
fn an_agent_that_a_cleaned_checkout_meets_between_two_daemons_is_paid_once() {
    for tool in [
        "git clean -fdxq",
        "git stash -u -q",
        "rm -rf .swarm/state .swarm/logs .swarm/ideas.jsonl .swarm/checkpoints",
    ] {
        let (sandbox, held) = killed_beside_an_agent("hold it; write a.txt x; say COMPLETE");
        sandbox.shell(tool).ok();
        sandbox.release("it");
        assert_eq!(sandbox.run_until_idle(), 0, "{tool}");
        assert_eq!(sandbox.idea_status(&held), "done", "{tool}");
        assert_eq!(sandbox.notes("runs").len(), 1, "{tool}");
        assert_eq!(sandbox.file_at("main", "a.txt"), "x", "{tool}");
        sandbox.assert_log_sound();
    }
}

/// The same where nothing at all is left of `.swarm`, and with it of the agent's worktree.
#[test]
fn the_outcome_of_a_run_outlives_the_whole_folder() {
    let doing = "attempt 1 && iteration 1 && hold it; write a.txt x; say COMPLETE";
    let (sandbox, held) = killed_beside_an_agent(doing);
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    sandbox.git(&["checkout", "-q", "--", ".swarm"]);
    sandbox.release("it");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&held), "done");
    let runs = sandbox.notes("runs");
    assert_eq!(runs.len(), 1, "nothing is paid twice");
    let first = runs[0].split(' ').nth(4).unwrap();
    let ends = sandbox.logged("runEnded");
    let of_first = ends.iter().filter(|end| end.data["run"] == first);
    let how: Vec<_> = of_first.map(|end| &end.data["end"]["how"]).collect();
    assert_eq!(
        how,
        [&serde_json::json!({"exited": {"code": 0}})],
        "{ends:?}"
    );
    sandbox.assert_log_sound();
}

#[test]
fn a_committed_configuration_is_brought_back_and_not_made_anew() {
    let sandbox = with_backlog();
    sandbox.configure(&serde_json::json!({"merge": {"autoMerge": false}}));
    sandbox.git(&["commit", "-qam", "Review everything"]);
    fs::remove_dir_all(sandbox.dot_swarm("")).unwrap();
    sandbox
        .swarm(&["init", "--yes"])
        .refused(1, &["swarm init --restore"]);
    sandbox.swarm(&["init", "--restore", "--yes"]).ok();
    assert_eq!(sandbox.git(&["diff", "--name-only", "HEAD"]), "");
    let review = sandbox.swarm(&["config", "get", "merge.autoMerge"]);
    assert_eq!(review.ok().trim(), "false");
}

#[test]
fn an_older_backup_of_the_log_is_replaced_by_what_went_on_from_it() {
    let sandbox = with_backlog();
    let log = sandbox.dot_swarm("state/events.jsonl");
    let backup = fs::read(&log).unwrap();
    let later = sandbox.idea("write c.txt x; say COMPLETE");
    fs::remove_file(&log).unwrap();
    fs::write(&log, backup).unwrap();
    let list = sandbox.swarm(&["idea", "list"]);
    assert!(list.stderr.contains("swarm put it back"), "{list}");
    assert!(list.ok().contains(&later), "{list}");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&later), "done");
    sandbox.assert_log_sound();
}

/// The ids in the log of a swarm that starts over: of the last idea, its agent, and its run.
fn last_ids(sandbox: &Sandbox) -> (String, String, u64) {
    let claimed = sandbox.logged("ideaClaimed").pop().unwrap().data;
    let runs = sandbox.notes("runs");
    let run = runs.last().unwrap().split(' ').nth(4).unwrap();
    let id = |key: &str| claimed[key].as_str().unwrap().to_owned();
    (id("id"), id("agent"), run[1..5].parse().unwrap())
}

#[test]
fn a_swarm_that_starts_over_gives_no_number_out_twice() {
    let sandbox = with_backlog();
    sandbox.idea("write c.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.idea("write d.txt x; say COMPLETE");
    let (_, _, run) = last_ids(&sandbox);
    sandbox.git(&["rm", "-rq", "--cached", ".swarm"]);
    sandbox.git(&["commit", "-q", "-m", "Untrack"]);
    clean(&sandbox);
    let init = ["init", "--yes", "--agent", "command", "--new"];
    sandbox.swarm(&init).ok();
    sandbox.configure(&serde_json::json!({}));
    assert_eq!(sandbox.ideas(), Vec::<serde_json::Value>::new());
    assert_eq!(sandbox.idea("write e.txt x; say COMPLETE"), "idea-005");
    assert_eq!(sandbox.run_until_idle(), 0);
    let (idea, agent, later) = last_ids(&sandbox);
    assert_eq!((idea.as_str(), agent.as_str()), ("idea-005", "ed-004"));
    assert!(later > run, "{later} after {run}");
    sandbox.assert_log_sound();
}

#[test]
fn a_swarm_without_its_log_goes_on_after_the_numbers_that_git_shows() {
    let sandbox = with_backlog();
    sandbox.idea("write c.txt x; commit; say BLOCKED: no key");
    assert_eq!(sandbox.run_until_idle(), 5);
    clean(&sandbox);
    fs::remove_dir_all(sandbox.private("")).unwrap();
    assert_eq!(sandbox.idea("write d.txt x; say COMPLETE"), "idea-004");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(last_ids(&sandbox).1, "ed-004");
    sandbox.assert_log_sound();
}

#[test]
fn a_repair_is_not_undone_by_what_is_kept() {
    let sandbox = with_backlog();
    let log = sandbox.dot_swarm("state/events.jsonl");
    let mut text = fs::read_to_string(&log).unwrap();
    let last = text.rfind("ideaAdded").unwrap();
    text.replace_range(last..last + 4, "Idea");
    fs::write(&log, text).unwrap();
    sandbox.swarm(&["status"]).refused(75, &["swarm doctor"]);
    sandbox.swarm(CUT).ok();
    let cut = fs::read_to_string(&log).unwrap();
    sandbox.swarm(&["status"]).ok();
    assert_eq!(fs::read_to_string(&log).unwrap(), cut);
    sandbox.idea("write c.txt x; say COMPLETE");
    let repaired = fs::read_to_string(&log).unwrap();
    assert!(repaired.starts_with(&cut));
    clean(&sandbox);
    sandbox.swarm(&["status"]).ok();
    assert_eq!(fs::read_to_string(&log).unwrap(), repaired);
}
