//! The check of the untouched target: nothing is paid for before it passes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Sandbox};

const SIMPLE: &str = "write $SWARM_IDEA_ID.txt x; say COMPLETE";
/// Fails until a person commits this file.
const NEEDS_A_FILE: &str = "test -e fixed.txt || { echo no fixed.txt here >&2; exit 3; }";

fn sandbox_with(baseline: &str, check: &str) -> Sandbox {
    let sandbox = Sandbox::ready();
    configure(&sandbox, baseline, check);
    sandbox
}

fn configure(sandbox: &Sandbox, baseline: &str, check: &str) {
    sandbox.configure(&json!({
        "qualityCommands": [check], "checks": {"baseline": baseline},
    }));
}

fn count(sandbox: &Sandbox, kind: &str) -> usize {
    sandbox.logged(kind).len()
}

/// A check that says that it runs and waits until it may end.
fn slow_check(sandbox: &Sandbox) -> String {
    let out = sandbox.path("out");
    let out = out.display();
    format!(": >'{out}/check.here'; until [ -e '{out}/check.go' ]; do sleep 0.05; done")
}

#[test]
fn a_target_that_fails_its_own_checks_costs_no_iteration() {
    let sandbox = sandbox_with("require", NEEDS_A_FILE);
    let id = sandbox.idea(SIMPLE);
    sandbox.idea(SIMPLE);
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    assert_eq!(daemon.wait_exit(PATIENCE), 6);
    let head = &sandbox.head("main")[..10];
    let said = daemon.output();
    for words in [
        "no idea begins: `test -e fixed.txt",
        &format!("fails on main at {head}, before any work (exit code 3): no fixed.txt here"),
        "swarm resume",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    drop(daemon);
    assert_eq!(count(&sandbox, "iterationStarted"), 0);
    assert_eq!(count(&sandbox, "ideaClaimed"), 0);
    assert_eq!(sandbox.idea_status(&id), "pending");
    let status = sandbox.status();
    let need = &status["needsYou"][0];
    assert_eq!(need["kind"], "target", "{status}");
    // What it says to type shows the output.
    let look = need["commands"][0].as_str().unwrap();
    let shown = sandbox.shell(look);
    assert!(shown.ok().contains("no fixed.txt here"), "{look}");
    let shown = sandbox.swarm(&["status"]);
    assert!(shown.ok().contains("no idea begins: `test -e"), "{status}");
}

#[test]
fn it_goes_on_by_itself_when_the_target_is_mended() {
    let sandbox = sandbox_with("require", NEEDS_A_FILE);
    let id = sandbox.idea(SIMPLE);
    let daemon = sandbox.start();
    sandbox.wait_needs_you("target");
    sandbox.write("fixed.txt", "now\n");
    sandbox.commit("Fix");
    sandbox.wait_idea(&id, "done");
    assert!(sandbox.status()["needsYou"].as_array().unwrap().is_empty());
    daemon.stop();
}

#[test]
fn a_person_who_fixes_the_surroundings_says_resume() {
    let sandbox = Sandbox::ready();
    let tool = sandbox.path("out/tool");
    configure(
        &sandbox,
        "require",
        &format!("test -e '{}'", tool.display()),
    );
    let id = sandbox.idea(SIMPLE);
    let daemon = sandbox.start();
    sandbox.wait_needs_you("target");
    std::fs::write(&tool, "").unwrap();
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn warn_and_off_hold_nothing() {
    for (baseline, checks) in [("warn", 1), ("off", 0)] {
        let sandbox = sandbox_with(baseline, NEEDS_A_FILE);
        let id = sandbox.idea("write fixed.txt x; say COMPLETE");
        let daemon = sandbox.start();
        sandbox.wait_idea(&id, "done");
        assert_eq!(count(&sandbox, "baselineFailed"), checks, "{baseline}");
        daemon.stop();
    }
}

#[test]
fn warn_says_so_in_the_status() {
    let sandbox = sandbox_with("warn", NEEDS_A_FILE);
    sandbox.idea("hold it; write fixed.txt x; say COMPLETE");
    let daemon = sandbox.start();
    let warned = |status: &Value| {
        let warnings = status["warnings"].to_string();
        warnings.contains("before any work (exit code 3)")
    };
    sandbox.wait_status("a warning", warned);
    sandbox.wait_held("it");
    sandbox.release("it");
    // What landed passes.
    sandbox.wait_status("no warning", |status| !warned(status));
    daemon.stop();
}

#[test]
fn only_what_somebody_else_changed_is_checked_again() {
    let sandbox = sandbox_with("require", "test -e README.md");
    let daemon = sandbox.start();
    for _ in 0..2 {
        let id = sandbox.idea(SIMPLE);
        sandbox.wait_idea(&id, "done");
    }
    assert_eq!(count(&sandbox, "baselineStarted"), 1);
    sandbox.write("mine.txt", "by hand\n");
    sandbox.commit("By hand");
    let id = sandbox.idea(SIMPLE);
    sandbox.wait_idea(&id, "done");
    assert_eq!(count(&sandbox, "baselineStarted"), 2);
    configure(&sandbox, "require", "test -e mine.txt");
    sandbox.wait_for("the new configuration", || {
        (count(&sandbox, "settingsLoaded") > 1).then_some(())
    });
    let id = sandbox.idea(SIMPLE);
    sandbox.wait_idea(&id, "done");
    assert_eq!(count(&sandbox, "baselineStarted"), 3);
    daemon.stop();
}

#[test]
fn a_person_who_breaks_the_target_stops_the_next_idea_before_it_costs_anything() {
    let sandbox = sandbox_with("require", "test ! -e broken.txt");
    let daemon = sandbox.start();
    let id = sandbox.idea(SIMPLE);
    sandbox.wait_idea(&id, "done");
    sandbox.write("broken.txt", "by hand\n");
    sandbox.commit("Break it");
    let id = sandbox.idea(SIMPLE);
    sandbox.wait_needs_you("target");
    assert_eq!(count(&sandbox, "iterationStarted"), 1);
    sandbox.git(&["rm", "-q", "broken.txt"]);
    sandbox.commit("Mend it");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

#[test]
fn a_check_survives_its_daemon_and_begins_anew_without_its_runner() {
    for everything in [false, true] {
        let sandbox = Sandbox::ready();
        configure(&sandbox, "require", &slow_check(&sandbox));
        let id = sandbox.idea(SIMPLE);
        let daemon = sandbox.start();
        sandbox.wait_held("check");
        if everything {
            daemon.kill_everything();
        } else {
            daemon.kill();
        }
        drop(daemon);
        let daemon = sandbox.start();
        sandbox.release("check");
        sandbox.wait_idea(&id, "done");
        let runs = count(&sandbox, "baselineStarted");
        assert_eq!(runs, 1 + usize::from(everything));
        daemon.stop();
        sandbox.assert_log_sound();
    }
}

#[test]
fn a_stop_in_the_middle_is_no_result() {
    let sandbox = Sandbox::ready();
    configure(&sandbox, "require", &slow_check(&sandbox));
    let id = sandbox.idea(SIMPLE);
    let daemon = sandbox.start();
    sandbox.wait_held("check");
    daemon.interrupt();
    assert_eq!(daemon.wait_exit(Duration::from_secs(20)), 0);
    drop(daemon);
    assert_eq!(count(&sandbox, "baselineFailed"), 0);
    sandbox.release("check");
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
}

/// Somebody breaks the target while approved work waits: nothing is paid for, and the work lands
/// when the target is mended.
#[test]
fn work_that_is_finished_waits_for_a_target_that_somebody_broke() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({
        "qualityCommands": ["! test -e broken.txt"], "merge": {"autoMerge": false},
        "checks": {"baseline": "require"},
    }));
    let id = sandbox.idea(SIMPLE);
    let daemon = sandbox.start();
    sandbox.wait_needs_you("review");
    sandbox.write("broken.txt", "oh\n");
    sandbox.commit("Break");
    sandbox.swarm(&["merge", "approve", &id]).ok();
    sandbox.wait_needs_you("target");
    assert_eq!(sandbox.idea_status(&id), "merging");
    std::fs::remove_file(sandbox.repo().join("broken.txt")).unwrap();
    sandbox.commit("Mend");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    assert_eq!(count(&sandbox, "iterationStarted"), 1);
    assert_eq!(count(&sandbox, "mergeReturned"), 0);
}

#[test]
fn a_check_is_shown_and_stopped_when_nobody_needs_it() {
    let sandbox = Sandbox::ready();
    let check = slow_check(&sandbox);
    configure(&sandbox, "require", &check);
    let id = sandbox.idea(SIMPLE);
    let daemon = sandbox.spawn_daemon(&["--until-idle"]);
    let here = sandbox.path("out/check.here");
    sandbox.wait_for("the check", || here.exists().then_some(()));
    let baseline = &sandbox.status()["baseline"];
    assert_eq!(baseline["command"], json!(check));
    assert_eq!(baseline["commit"], json!(sandbox.head("main")));
    assert!(baseline["since"].is_string(), "{baseline}");
    let status = sandbox.swarm(&["status"]);
    assert!(status.ok().contains("checking main at "), "{}", status.ok());
    let log = sandbox.swarm(&["log"]);
    assert!(log.ok().contains("checking the target: "), "{}", log.ok());
    sandbox.swarm(&["idea", "cancel", &id]).ok();
    assert_eq!(daemon.wait_exit(PATIENCE), 0);
    drop(daemon);
    sandbox.assert_nothing_runs();
}
