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
