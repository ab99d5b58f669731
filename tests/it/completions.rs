//! What a shell offers when a person presses the tabulator key.

use std::fs;

use crate::harness::{Ran, Sandbox};

/// The words that bash offers for the last of these words.
fn offered(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (last, count) = (words.last().unwrap(), words.len() - 1);
    let script = format!(
        "source <(swarm completions bash); COMP_WORDS=({}); COMP_CWORD={count}; COMP_TYPE=9
        _clap_complete_swarm swarm '{last}' ''
        printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
    );
    fs::write(sandbox.path("complete.bash"), script).unwrap();
    let script = sandbox.path("complete.bash");
    sandbox.shell(&format!("bash {}", script.display()))
}

fn assert_offered(sandbox: &Sandbox, words: &[&str], expected: &[&str]) {
    let ran = offered(sandbox, words);
    // Options are offered after the names.
    let is_name = |line: &&str| !line.is_empty() && !line.starts_with('-');
    let lines: Vec<&str> = ran.ok().lines().filter(is_name).collect();
    assert_eq!(lines, expected, "{words:?}: {ran}");
    assert_eq!(ran.stderr, "", "{words:?}");
}

fn assert_known(sandbox: &Sandbox) {
    let both = &["idea-001", "idea-002"][..];
    for (words, expected) in [
        (&["swarm", "idea", "show", ""][..], both),
        (&["swarm", "idea", "cancel", "idea-001", "idea-0"], both),
        (&["swarm", "idea", "show", "idea-001", ""], &[]),
        (
            &["swarm", "idea", "add", "x", "--after", "idea-002"],
            &["idea-002"],
        ),
        (&["swarm", "wait", ""], both),
        (&["swarm", "idea", "add", "x", "--profile", ""], &["ed"]),
        (&["swarm", "rollback", ""], &["first"]),
        (&["swarm", "checkpoint", "delete", "f"], &["first"]),
        (&["swarm", "checkpoint", "create", "f"], &[]),
        (
            &["swarm", "hooks", "run", "post-"],
            &["post-complete", "post-merge"],
        ),
        (
            &["swarm", "config", "get", "agents.maxP"],
            &["agents.maxParallel"],
        ),
        (&["swarm", "events", "--kind", "ideaL"], &["ideaLanded"]),
        (&["swarm", "checkp"], &["checkpoint"]),
    ] {
        assert_offered(sandbox, words, expected);
    }
}

#[test]
fn bash_completes_the_ids_that_exist() {
    let sandbox = Sandbox::ready();
    sandbox.idea("hold it; write a.txt x; say COMPLETE");
    sandbox.idea("write b.txt x; say COMPLETE");
    sandbox.swarm(&["checkpoint", "create", "first"]).ok();
    assert_known(&sandbox);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    assert_known(&sandbox);
    assert_offered(&sandbox, &["swarm", "agent", "show", "ed-001"], &["ed-001"]);
    sandbox.release("it");
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    // Another repository can be meant.
    let repo = sandbox.repo();
    let repo = repo.to_str().unwrap();
    let words = ["swarm", "-C", repo, "idea", "show", "idea-002"];
    assert_offered(&sandbox, &words, &["idea-002"]);
}

#[test]
fn a_shell_sees_no_error() {
    for prepare in [
        // No repository, one that is not set up, a damaged log.
        (|_: &Sandbox| {}) as fn(&Sandbox),
        |sandbox| drop(sandbox.git(&["init", "-q"])),
        |sandbox| {
            sandbox.git(&["init", "-q", "-b", "main"]);
            sandbox.write("README.md", "x");
            sandbox.commit("Begin");
            sandbox.set_up();
            sandbox.idea("say COMPLETE");
            fs::write(
                sandbox.dot_swarm("state/events.jsonl"),
                "nonsense\nnonsense\n",
            )
            .unwrap();
            fs::write(sandbox.dot_swarm("config.json"), "{").unwrap();
        },
    ] {
        let sandbox = Sandbox::empty();
        prepare(&sandbox);
        assert_offered(&sandbox, &["swarm", "idea", "show", ""], &[]);
        assert_offered(&sandbox, &["swarm", "config", "get", "agents"], &[]);
        assert_offered(&sandbox, &["swarm", "idea", "ad"], &["add"]);
    }
}
