//! Something outside the work breaks while ideas are checked: no idea is charged for it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{PATIENCE, Sandbox};
use crate::hooks::{RECORDER, hook};

/// What the check needs besides the work: a database, say.
fn service(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("out/service")
}

fn configure(sandbox: &Sandbox, check: &str) {
    sandbox.configure(&json!({
        "agents": {"maxParallel": 3},
        "qualityCommands": [check],
        "checks": {"baseline": "require"},
    }));
}

fn count(sandbox: &Sandbox, kind: &str) -> usize {
    sandbox.logged(kind).len()
}

/// Waits until an agent that holds is there.
fn wait_for_hold(sandbox: &Sandbox, name: &str) {
    let here = sandbox.path(&format!("out/{name}.here"));
    sandbox.wait_for(name, || here.exists().then_some(()));
}

fn let_go(sandbox: &Sandbox, name: &str) {
    fs::write(sandbox.path(&format!("out/{name}.go")), "").unwrap();
}

#[test]
fn a_service_that_goes_away_charges_no_idea_and_all_land_once_it_is_back() {
    let sandbox = Sandbox::ready();
    let service = service(&sandbox);
    fs::write(&service, "").unwrap();
    let check = format!(
        "test -e '{}' || {{ echo connection refused >&2; exit 1; }}",
        service.display()
    );
    configure(&sandbox, &check);
    let daemon = sandbox.start();
    let ideas: Vec<String> = (0..3)
        .map(|_| sandbox.idea("write $SWARM_IDEA_ID.txt x; hold $SWARM_IDEA_ID; say COMPLETE"))
        .collect();
    for idea in &ideas {
        wait_for_hold(&sandbox, idea);
    }
    fs::remove_file(&service).unwrap();
    for idea in &ideas {
        let_go(&sandbox, idea);
    }
    sandbox.wait_needs_you("environment");
    let need = sandbox.status()["needsYou"][0]["message"].clone();
    assert!(
        need.as_str().unwrap().contains("connection refused"),
        "{need}"
    );
    // Nobody knows of the outage but the log.
    daemon.kill();
    drop(daemon);
    let daemon = sandbox.start();
    fs::write(&service, "").unwrap();
    sandbox.swarm(&["resume"]).ok();
    for idea in &ideas {
        sandbox.wait_idea(idea, "done");
    }
    assert_eq!(
        count(&sandbox, "iterationStarted"),
        3,
        "each was paid for once"
    );
    assert_eq!(count(&sandbox, "gateFailed"), 0);
    daemon.stop();
}

#[test]
fn an_outage_calls_on_error_once_with_what_is_broken() {
    let sandbox = Sandbox::ready();
    hook(&sandbox, "on-error", RECORDER);
    let service = service(&sandbox);
    fs::write(&service, "").unwrap();
    let check = format!(
        "test -e '{}' || {{ echo connection refused >&2; exit 1; }}",
        service.display()
    );
    configure(&sandbox, &check);
    let daemon = sandbox.start();
    let idea = sandbox.idea("write a.txt x; hold it; say COMPLETE");
    sandbox.wait_held("it");
    fs::remove_file(&service).unwrap();
    sandbox.release("it");
    sandbox.wait_needs_you("environment");
    // It is checked again and is the same outage.
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_for("another check of the target", || {
        (count(&sandbox, "baselineFailed") == 2).then_some(())
    });
    sandbox.wait_needs_you("environment");
    fs::write(&service, "").unwrap();
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&idea, "done");
    daemon.stop();
    let calls = sandbox.notes("hooks");
    assert_eq!(calls.len(), 1, "{calls:?}");
    let variables = sandbox.notes(&format!("{}.env", calls[0].replace(' ', "-")));
    let of = |name: &str| {
        variables
            .iter()
            .find(|line| line.starts_with(name))
            .unwrap()
    };
    assert_eq!(of("SWARM_ERROR_TYPE="), "SWARM_ERROR_TYPE=environment");
    let message = of("SWARM_MESSAGE=");
    assert!(
        message.contains("connection refused") && message.contains("swarm resume"),
        "{message}"
    );
}

/// Work breaks it in the first iteration; on the untouched target it waits until it may end.
fn held_as_control(sandbox: &Sandbox) -> String {
    let out = sandbox.path("out");
    let out = out.display();
    format!(
        "case \"$PWD\" in */control) echo x >>'{out}/controls'; : >'{out}/control.here'; until [ \
        -e '{out}/control.go' ]; do sleep 0.05; done;; esac; test ! -e broken.txt"
    )
}

const BREAKS_AND_MENDS: &str = "if iteration 1; then write broken.txt x; else rm broken.txt; write \
    a.txt x; fi; say COMPLETE";

#[test]
fn no_landing_waits_for_a_control() {
    let sandbox = Sandbox::ready();
    let control = held_as_control(&sandbox);
    configure(&sandbox, &control);
    let daemon = sandbox.start();
    let other = sandbox.idea("write b.txt x; hold other; say COMPLETE");
    sandbox.wait_held("other");
    let idea = sandbox.idea(BREAKS_AND_MENDS);
    sandbox.wait_held("control");
    sandbox.release("other");
    sandbox.wait_idea(&other, "done");
    // What landed has passed the command since, so the control is not needed any more.
    sandbox.wait_idea(&idea, "done");
    assert_eq!(count(&sandbox, "gateFailed"), 1);
    assert_eq!(sandbox.notes("controls").len(), 1);
    assert!(sandbox.worktrees().join("control").exists());
    daemon.stop();
    sandbox.assert_nothing_runs();
    sandbox.assert_repository_clean();
}

#[test]
fn a_control_survives_its_daemon_and_one_that_nobody_waits_for_any_more_does_not() {
    for wanted in [true, false] {
        let sandbox = Sandbox::ready();
        let control = held_as_control(&sandbox);
        configure(&sandbox, &control);
        let daemon = sandbox.start();
        let idea = sandbox.idea(BREAKS_AND_MENDS);
        sandbox.wait_held("control");
        daemon.kill();
        drop(daemon);
        if wanted {
            sandbox.release("control");
        } else {
            configure(&sandbox, "true");
        }
        let daemon = sandbox.start();
        sandbox.wait_idea(&idea, "done");
        let charged = usize::from(wanted);
        assert_eq!(count(&sandbox, "gateFailed"), charged, "{wanted}");
        assert_eq!(count(&sandbox, "baselineFailed"), 0, "{wanted}");
        assert_eq!(sandbox.notes("controls").len(), 1, "{wanted}");
        daemon.stop();
        sandbox.assert_nothing_runs();
        sandbox.assert_log_sound();
    }
}

#[test]
fn a_stop_and_an_interrupt_end_a_control_in_time_without_a_verdict() {
    for by_command in [true, false] {
        let sandbox = Sandbox::ready();
        let control = held_as_control(&sandbox);
        configure(&sandbox, &control);
        let daemon = sandbox.start();
        let idea = sandbox.idea(BREAKS_AND_MENDS);
        sandbox.wait_held("control");
        let begun = Instant::now();
        if by_command {
            sandbox.swarm(&["stop"]).ok();
        } else {
            daemon.interrupt();
        }
        assert_eq!(daemon.wait_exit(PATIENCE), 0, "{}", daemon.output());
        // The grace of these tests is a second.
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(6), "took {took:?}");
        drop(daemon);
        sandbox.assert_nothing_runs();
        assert_eq!(count(&sandbox, "baselineFailed"), 0);
        assert_eq!(count(&sandbox, "gateFailed"), 0);
        sandbox.release("control");
        assert_eq!(sandbox.run_until_idle(), 0);
        assert_eq!(sandbox.idea_status(&idea), "done");
        assert_eq!(count(&sandbox, "gateFailed"), 1);
    }
}

#[test]
fn a_check_that_fails_now_and_then_costs_no_iteration() {
    let sandbox = Sandbox::ready();
    let once = sandbox.path("out/once");
    let once = once.display();
    configure(&sandbox, &format!("! rm '{once}' 2>/dev/null"));
    let daemon = sandbox.start();
    let idea = sandbox.idea(&format!("write a.txt x; : >'{once}'; say COMPLETE"));
    sandbox.wait_idea(&idea, "done");
    assert_eq!(count(&sandbox, "gateDoubted"), 1);
    assert_eq!(count(&sandbox, "iterationStarted"), 1);
    daemon.stop();
}

#[test]
fn work_that_breaks_the_check_by_itself_goes_back_to_its_agent() {
    let sandbox = Sandbox::ready();
    configure(&sandbox, "test ! -e broken.txt");
    let daemon = sandbox.start();
    let idea = sandbox.idea(BREAKS_AND_MENDS);
    sandbox.wait_idea(&idea, "done");
    assert_eq!(count(&sandbox, "iterationStarted"), 2);
    assert_eq!(count(&sandbox, "gateFailed"), 1);
    daemon.stop();
}

#[test]
fn a_check_that_fails_only_on_the_merged_tree_for_a_moment_sends_no_work_back() {
    let sandbox = Sandbox::ready();
    let once = sandbox.path("out/once");
    let once = once.display();
    // The first run on a tree that has the file passes, the second fails, later ones pass.
    let check =
        format!("test ! -e a.txt || {{ echo x >>'{once}'; test \"$(wc -l <'{once}')\" -ne 2; }}");
    configure(&sandbox, &check);
    let daemon = sandbox.start();
    let idea = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&idea, "done");
    assert_eq!(count(&sandbox, "verifyDoubted"), 1);
    assert_eq!(count(&sandbox, "mergeReturned"), 0);
    assert_eq!(count(&sandbox, "iterationStarted"), 1);
    daemon.stop();
}
