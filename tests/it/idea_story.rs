//! `idea show`: what happened to an idea in each attempt, and where its output is.

use serde_json::{Value, json};

use crate::harness::Sandbox;

/// Landed at the second attempt: the first failed, the second was sent back by a check once.
fn with_a_past() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"qualityCommands": ["test ! -f bad.txt"]}));
    sandbox.idea_with(
        "attempt 1 && exit 3; if iteration 1; then say NEEDS_HUMAN:which; else if iteration 2; \
         then write bad.txt x; else rm bad.txt; write good.txt x; fi; say COMPLETE; fi",
        &["--tag", "later", "--priority", "4"],
    );
    let daemon = sandbox.start();
    sandbox.wait_idea("idea-001", "failed");
    sandbox.swarm(&["idea", "retry", "1"]).ok();
    sandbox.wait_status("the question", |status| {
        status["needsYou"][0]["kind"] == "question"
    });
    sandbox.swarm(&["agent", "say", "2", "this way"]).ok();
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    drop(daemon);
    sandbox
}

fn runs<'v>(attempt: &'v Value, purpose: &str) -> Vec<&'v Value> {
    let runs = attempt["runs"].as_array().unwrap().iter();
    runs.filter(|run| run["purpose"] == purpose).collect()
}

#[test]
fn each_attempt_tells_what_happened_and_names_its_output() {
    let sandbox = with_a_past();
    let idea = sandbox.swarm(&["idea", "show", "1", "--json"]).json();
    let attempts = idea["story"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{idea}");
    assert_eq!(attempts[0]["agent"]["end"], "failed");
    assert_eq!(attempts[1]["agent"]["iteration"], 3);
    assert_eq!(runs(&attempts[1], "iteration").len(), 3);
    let checks = runs(&attempts[1], "check");
    assert_eq!(
        checks[0]["how"],
        json!({"exited": {"code": 1}}),
        "{checks:?}"
    );
    assert_eq!(runs(&attempts[1], "merge check").len(), 1);
    for run in runs(&attempts[1], "iteration") {
        let file = run["output"][0].as_str().unwrap();
        assert!(sandbox.read(file).contains("swarm>"), "{file}");
    }
    let page = sandbox.swarm(&["idea", "show", "1"]);
    for said in [
        "Attempt 1: ed-001, 1 iteration",
        "Attempt 2: ed-002, 3 iterations",
        "asks",
        "test ! -f bad.txt",
        "this way",
        "landed as",
        ".git/swarm/runs/",
        "Next",
        "git show ",
    ] {
        assert!(page.ok().contains(said), "{said}: {page}");
    }
}
