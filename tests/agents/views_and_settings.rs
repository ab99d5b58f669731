//! What people see of real agents, and what they may not configure.

use serde_json::json;

use crate::lab::{Lab, commit};

#[test]
fn logs_can_be_read_and_are_there_as_they_were_written() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    lab.ideas(|name| {
        let file = commit(&format!("{name}.txt"), name);
        let work = format!(
            "echo the tool of {name} said this; {file}; {}",
            lab.hold(name)
        );
        json!([{"sh": work, "text": "I look at it."}, {"text": "Done.", "say": "COMPLETE"}])
    });
    let daemon = lab.sandbox.start();
    lab.wait_both_held();
    let status = lab.sandbox.status();
    for agent in status["agents"].as_array().unwrap() {
        let id = agent["id"].as_str().unwrap();
        let read = lab.wait("its words", || {
            let read = lab.sandbox.swarm(&["agent", "logs", id]).ok().to_owned();
            // It says what it thinks before it says what it runs.
            let words = ["I look at it.", "echo the tool of"];
            words.iter().all(|word| read.contains(word)).then_some(read)
        });
        assert!(!read.contains("{\""), "{read}");
        let raw = lab
            .sandbox
            .swarm(&["agent", "logs", id, "--raw"])
            .ok()
            .to_owned();
        // After the line that names the run.
        assert!(raw.contains("<==\n{\""), "{raw}");
        // Its conversation is told, so that a person can take it up.
        // The daemon reads the output by itself, perhaps after who asked for the log.
        let session = lab.wait("its conversation", || {
            let shown = lab.sandbox.swarm(&["agent", "show", id, "--json"]).json();
            shown["session"].as_str().map(str::to_owned)
        });
        let asked = lab.stub.asked();
        let mut sessions = asked.iter().map(|asked| asked.session.as_ref());
        assert!(sessions.any(|asked| asked == Some(&session)), "{session}");
    }
    lab.release_both();
    for idea in lab.sandbox.ideas() {
        lab.wait_idea(idea["id"].as_str().unwrap(), "done");
    }
    daemon.stop();
}

#[test]
fn what_the_adapter_gives_itself_is_refused_in_args() {
    if crate::harness::required_tools::are_missing(&["npm"]) {
        return;
    }
    let lab = Lab::new();
    for (name, arg) in [("claude", "--output-format=text"), ("codex", "--json")] {
        let mut profile = lab.profile(name);
        profile["args"] = json!([arg]);
        let mut changes = json!({"agents": {"profile": name, "profiles": {}}});
        changes["agents"]["profiles"][name] = profile;
        lab.configure(&changes);
        let started = lab.sandbox.swarm(&["start", "--until-idle"]);
        let place = format!("agents.profiles.{name}.args");
        started.refused(4, &[arg, &place]);
    }
    assert_eq!(lab.stub.asked().len(), 0);
}
