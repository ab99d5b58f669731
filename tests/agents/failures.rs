//! A service that fails, refuses, limits, cuts off: each time the state that is documented, nothing
//! spins, and nothing is taken for success.

use serde_json::{Value, json};

use crate::lab::{BOTH, Lab, commit};
use crate::stub::{End, now};

/// Commits after this first step.
fn after(name: &str, first: &Value) -> Value {
    let mut step = json!({"sh": commit(&format!("{name}.txt"), name)});
    for (key, value) in first.as_object().unwrap() {
        step[key] = value.clone();
    }
    json!([step, {"text": "Done.", "say": "COMPLETE"}])
}

fn failing(lab: &Lab, name: &str) -> usize {
    let asked = lab.stub.asked_for(&format!("{name}.txt"));
    asked
        .iter()
        .filter(|asked| matches!(asked.end, End::Failed(_)))
        .count()
}

/// Neither counted as an iteration nor as a failure, and done in the end.
fn assert_unharmed(lab: &Lab, id: &str, name: &str) {
    let idea = lab.sandbox.show(id);
    assert_eq!(
        (&idea["status"], &idea["retryCount"]),
        (&json!("done"), &json!(0)),
        "{idea:#}"
    );
    assert_eq!(idea["attempts"], 1, "{idea:#}");
    assert_eq!(lab.sandbox.file_at("main", &format!("{name}.txt")), name);
}

fn assert_no_account_waits(lab: &Lab) {
    let status = lab.sandbox.status();
    let waiting = status["accounts"].as_array();
    assert!(waiting.is_none_or(Vec::is_empty), "{status:#}");
}

#[test]
fn a_refused_request_fails_the_idea_with_its_message() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let message = "this prompt is longer than allowed";
    let ideas =
        lab.ideas(|name| after(name, &json!({"fail": {"status": 400, "message": message}})));
    let daemon = lab.sandbox.start();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        let idea = lab.wait_idea(idea, "failed");
        let why = idea["lastError"].as_str().unwrap();
        assert!(why.contains(message), "{why}");
        // Claude tries it in other forms by itself.
        assert!(failing(&lab, name) <= 8, "{name} spins");
    }
    assert_no_account_waits(&lab);
    daemon.stop();
}

#[test]
fn a_person_ends_the_wait_for_a_refused_login() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.configure(&lab.impatient());
    let ideas = lab.ideas(|name| after(name, &json!({"fail": {"status": 401}})));
    let daemon = lab.sandbox.start();
    for name in BOTH {
        let account = lab.wait_account(name, "login");
        assert_ne!(account["until"], json!(null), "{account}");
    }
    lab.sandbox.wait_status("both attempts to wait", |status| {
        let agents = status["agents"].as_array().unwrap();
        agents.len() == 2 && agents.iter().all(|agent| agent["phase"] == "backoff")
    });
    let needs = lab.sandbox.status()["needsYou"].to_string();
    for name in BOTH {
        assert!(needs.contains(name), "{needs}");
        assert!(
            failing(&lab, name) <= 12,
            "{name} spins: {}",
            failing(&lab, name)
        );
    }
    lab.stub.mend();
    lab.sandbox.swarm(&["resume"]).ok();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        lab.wait_idea(idea, "done");
        assert_unharmed(&lab, idea, name);
    }
    assert_no_account_waits(&lab);
    daemon.stop();
}

#[test]
fn a_rate_limit_that_passes_harms_nothing() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    let fail = json!({"fail": {"status": 429, "times": 2, "retryAfter": 1}});
    let ideas = lab.ideas(|name| after(name, &fail));
    lab.work_off();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        assert_eq!(failing(&lab, name), 2);
        assert_unharmed(&lab, idea, name);
    }
}

#[test]
fn a_limit_with_a_reset_is_waited_for() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.configure(&lab.subscribed());
    // Codex tells the minute only. Claude takes seconds until it has met the limit.
    let minute = (now() + 15).div_ceil(60) * 60;
    let resets = [now() + 15, minute];
    let ideas = lab.ideas(|name| {
        let reset = if name == "claude" {
            resets[0]
        } else {
            resets[1]
        };
        after(name, &json!({"fail": {"status": 429, "reset": reset}}))
    });
    let daemon = lab.sandbox.start();
    for name in BOTH {
        let account = lab.wait_account(name, "limit");
        assert!(account["until"].is_string(), "{account}");
    }
    // Other work of the account is not even tried.
    let other = lab.idea(
        "claude",
        &json!([{"sh": commit("other.txt", "other")},
            {"text": "Other work.", "say": "COMPLETE"}]),
    );
    for ((name, idea), reset) in BOTH.into_iter().zip(&ideas).zip(resets) {
        lab.wait_idea(idea, "done");
        assert!(now() >= reset, "{name} did not wait for the reset");
        assert_unharmed(&lab, idea, name);
        assert!(failing(&lab, name) <= 3, "{name} spins");
    }
    lab.wait_idea(&other, "done");
    let tried = lab.stub.asked_for("Other work.");
    assert!(
        tried.iter().all(|asked| asked.end == End::Served),
        "{tried:#?}"
    );
    assert_no_account_waits(&lab);
    daemon.stop();
}

#[test]
fn an_overload_without_an_end_is_waited_for() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.configure(&lab.impatient());
    let ideas = lab.ideas(|name| after(name, &json!({"fail": {"status": 529}})));
    let daemon = lab.sandbox.start();
    // Tried again after a while, one run at a time, and then again.
    lab.wait("the accounts to be held twice", || {
        let held = lab.sandbox.logged("accountHeld");
        let twice = |name: &str| {
            let mut of_it = held.iter().filter(|event| event.data["account"] == name);
            of_it.any(|event| event.data["hold"]["times"] == 2)
        };
        BOTH.into_iter().all(twice).then_some(())
    });
    for idea in &ideas {
        let idea = lab.sandbox.show(idea);
        assert_eq!(
            (&idea["status"], &idea["retryCount"]),
            (&json!("active"), &json!(0)),
            "{idea:#}"
        );
    }
    lab.stub.mend();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        lab.wait_idea(idea, "done");
        assert_unharmed(&lab, idea, name);
    }
    daemon.stop();
}

#[test]
fn an_answer_that_is_cut_off_is_asked_for_again() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.configure(&lab.impatient());
    let text = "A long answer that is cut off in its middle, more than once.";
    let ideas = lab.ideas(|name| after(name, &json!({"text": text, "cut": 2})));
    lab.work_off();
    for (name, idea) in BOTH.into_iter().zip(&ideas) {
        let asked = lab.stub.asked_for(&format!("{name}.txt"));
        assert_eq!(
            asked.iter().filter(|asked| asked.end == End::Cut).count(),
            2
        );
        assert_unharmed(&lab, idea, name);
    }
}

#[test]
fn an_answer_that_always_breaks_off_fails_its_idea_and_holds_up_nobody_elses() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.configure(&lab.impatient());
    let text = "An answer that is cut off in its middle, each time.";
    let bad = lab.idea("codex", &after("bad", &json!({"text": text, "cut": 1_000})));
    let good = lab.idea("codex", &after("good", &json!({"text": "Quick work."})));
    let daemon = lab.sandbox.start();
    lab.wait_idea(&good, "done");
    let bad = lab.wait_idea(&bad, "failed");
    let why = bad["lastError"].as_str().unwrap();
    assert!(why.contains("5 times in a row"), "{why}");
    assert!(lab.sandbox.logged("accountHeld").is_empty());
    daemon.stop();
}
