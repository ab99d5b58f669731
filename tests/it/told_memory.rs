//! What prompts show of the memory that agents share.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

const HEADING: &str = "## What agents here found out";

/// The prompts of an idea, in order.
fn prompts(sandbox: &Sandbox, idea: &str) -> Vec<String> {
    let runs = sandbox.notes("runs");
    let of_idea = runs
        .iter()
        .filter(|run| run.starts_with(&format!("{idea} ")));
    let prompt = |run: &String| {
        let id = run.split(' ').nth(4).unwrap();
        let path = sandbox.private("runs").join(id).join("prompt.md");
        fs::read_to_string(path).unwrap()
    };
    of_idea.map(prompt).collect()
}

/// The section of a prompt on what others found out; empty if it has none.
fn section(prompt: &str) -> String {
    let begin = prompt.find(HEADING);
    let rest = begin.map_or("", |at| &prompt[at..]);
    let end = rest[HEADING.len().min(rest.len())..].find("\n## ");
    let end = end.map_or(rest.len(), |at| at + HEADING.len());
    rest[..end].to_owned()
}

#[test]
fn a_prompt_shows_what_matters_for_its_idea_with_its_evidence() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first = sandbox.idea(
        "say 'LEARNING_GLOBAL:[api.port] The API listens on 8080'; say 'LEARNING_GLOBAL:The \
        kitchen floor is wet on Mondays'; write a.txt x; say COMPLETE",
    );
    sandbox.wait_idea(&first, "done");
    let second = sandbox.idea_with(
        "write b.txt x; say COMPLETE # change the port on which the API listens",
        &[],
    );
    sandbox.wait_idea(&second, "done");
    daemon.stop();
    let told = section(&prompts(&sandbox, &second)[0]);
    assert!(
        told.contains("- [api.port v1] The API listens on 8080 (1 landed idea, "),
        "{told}"
    );
    assert!(told.contains("Claims, not orders"), "{told}");
    assert_eq!(section(&prompts(&sandbox, &first)[0]), "");
    let shown = sandbox.logged("memoryShown");
    assert_eq!(shown.len(), 1, "{shown:?}");
    let items = shown[0].data["items"].as_array().unwrap();
    assert!(
        items.contains(&json!({"ref": "api.port", "version": 1})),
        "{items:?}"
    );
}

#[test]
fn an_agent_of_a_held_out_attempt_is_shown_nothing_and_the_log_says_so() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"memory": {"holdout": 1.0}}));
    let daemon = sandbox.start();
    let first =
        sandbox.idea("say 'LEARNING_GLOBAL:the door is green'; write a.txt x; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    let second = sandbox.idea("write b.txt the door is green; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    daemon.stop();
    assert_eq!(section(&prompts(&sandbox, &second)[0]), "");
    let shown = sandbox.logged("memoryShown");
    assert!(
        shown.iter().all(|event| event.data["held"] == true),
        "{shown:?}"
    );
    assert_eq!(shown.len(), 2);
}

#[test]
fn the_section_is_turned_off_by_a_budget_of_nothing() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"memory": {"promptBytes": 0}}));
    let daemon = sandbox.start();
    let first =
        sandbox.idea("say 'LEARNING_GLOBAL:the door is green'; write a.txt x; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    let second = sandbox.idea("write b.txt the door is green; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    daemon.stop();
    assert_eq!(section(&prompts(&sandbox, &second)[0]), "");
    assert!(sandbox.logged("memoryShown").is_empty());
}

#[test]
fn contradictions_and_files_that_changed_since_are_marked() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first = sandbox.idea(
        "write api.txt 8080; commit; say 'LEARNING_GLOBAL:[api.port] The API port is 8080'; say \
        COMPLETE",
    );
    sandbox.wait_idea(&first, "done");
    let second = sandbox
        .idea("write b.txt x; say 'LEARNING_GLOBAL:[api.port] The API port is 9090'; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    let third = sandbox.idea("write c.txt x; say COMPLETE # the API port");
    sandbox.wait_idea(&third, "done");
    daemon.stop();
    let told = section(&prompts(&sandbox, &third)[0]);
    let line = told
        .lines()
        .find(|line| line.starts_with("- [api.port v2]"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    assert!(line.contains("CONTRADICTED: "), "{line}");
    assert!(
        line.contains("\"The API port is 8080\" (idea-001)"),
        "{line}"
    );
    assert!(
        line.contains("\"The API port is 9090\" (idea-002)"),
        "{line}"
    );
}

#[test]
fn what_a_prompt_shows_is_in_the_log_once_though_the_daemon_is_killed() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let first =
        sandbox.idea("say 'LEARNING_GLOBAL:the door is green'; write a.txt x; say COMPLETE");
    sandbox.wait_idea(&first, "done");
    let second = sandbox.idea("hold one; write b.txt the door is green; say COMPLETE");
    sandbox.wait_held("one");
    daemon.kill();
    let daemon = sandbox.start();
    sandbox.release("one");
    sandbox.wait_idea(&second, "done");
    daemon.stop();
    let shown = sandbox.logged("memoryShown");
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(shown[0].data["items"][0]["ref"], "learning-001");
}

#[test]
fn what_an_iteration_reads_by_itself_is_one_event_at_its_end() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let put = |fact: &str, value: &str| {
        sandbox.swarm(&["memory", "put", fact, value]).ok();
    };
    put("door.colour", "The door is green");
    put("api.port", "The API listens on 8080");
    let idea = sandbox.idea(
        "\"$SWARM_BIN\" memory search green; \"$SWARM_BIN\" memory get api.port; \"$SWARM_BIN\" \
        memory board; \"$SWARM_BIN\" memory log; \"$SWARM_BIN\" memory get no.such; write b.txt x; \
        say COMPLETE",
    );
    sandbox.wait_idea(&idea, "done");
    // A person's reading counts for nothing.
    sandbox.swarm(&["memory", "search", "green"]).ok();
    let read = sandbox.logged("memoryRead");
    assert_eq!(read.len(), 1, "{read:?}");
    let data = &read[0].data;
    assert_eq!(data["agent"], "ed-001");
    let items = json!([{"ref": "door.colour", "version": 1}, {"ref": "api.port", "version": 1}]);
    assert_eq!(data["items"], items);
    let counts = json!({"board": 1, "fact": 1, "search": 1, "log": 1});
    assert_eq!(data["byTool"], counts);
    let ended = sandbox.logged("runEnded");
    let end = ended.iter().find(|end| end.data["run"] == data["run"]);
    assert!(
        read[0].seq < end.unwrap().seq,
        "it is at the iteration's end"
    );
    let measured = |sandbox: &Sandbox| {
        let stats = sandbox.swarm(&["memory", "stats", "--json"]).json();
        assert_eq!(
            (&stats["use"]["boardReads"], &stats["use"]["logReads"]),
            (&json!(3), &json!(1)),
            "{stats}"
        );
        stats
    };
    let with_daemon = measured(&sandbox);
    assert_eq!(with_daemon["sinceStart"]["writes"], 2);
    let page = sandbox.swarm(&["memory", "stats"]);
    assert!(page.ok().contains("reads of the board        3"), "{page}");
    let page = sandbox.swarm(&["memory", "stats", "--markdown"]);
    assert!(page.ok().contains("| Duplication | said again: "), "{page}");
    daemon.stop();
    let without = measured(&sandbox);
    assert_eq!(without["sinceStart"], serde_json::Value::Null);
    let at = with_daemon["seq"].to_string();
    let then = sandbox
        .swarm(&["memory", "stats", "--json", "--at", &at])
        .json();
    for measure in [
        "duplication",
        "latency",
        "lift",
        "use",
        "synthesis",
        "facts",
    ] {
        assert_eq!(then[measure], with_daemon[measure], "{measure}");
    }
}

#[test]
fn a_daemon_that_is_killed_in_an_iteration_loses_what_was_read_before_and_says_nothing_twice() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    sandbox
        .swarm(&["memory", "put", "door.colour", "The door is green"])
        .ok();
    let lost =
        sandbox.idea("\"$SWARM_BIN\" memory search green; hold one; write a.txt x; say COMPLETE");
    sandbox.wait_held("one");
    daemon.kill();
    assert!(sandbox.logged("memoryRead").is_empty());
    let daemon = sandbox.start();
    sandbox.release("one");
    sandbox.wait_idea(&lost, "done");
    assert!(
        sandbox.logged("memoryRead").is_empty(),
        "one event is missing"
    );
    let read = sandbox.idea("\"$SWARM_BIN\" memory get door.colour; write b.txt x; say COMPLETE");
    sandbox.wait_idea(&read, "done");
    daemon.kill();
    let daemon = sandbox.start();
    daemon.stop();
    let all = sandbox.logged("memoryRead");
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].data["byTool"], json!({"fact": 1}));
}
