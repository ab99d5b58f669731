//! What agents do to the folder of their run and to the records of their program: their run goes
//! on, what it says and uses counts as ever, and nobody waits for what never comes.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

/// Stands in for Claude Code. Its first run does harm, waits, shows a quotation and ends without a
/// word; the next is done.
const CLAUDE: &str = r#"
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit;; esac
cat > "$OUT/prompt"
run="$SWARM_REPO/.git/swarm/runs/$SWARM_RUN_ID"
echo "$SWARM_RUN_ID" >> "$OUT/runs"
used='"usage":{"input_tokens":600,"output_tokens":50}'
echo '{"type":"system","subtype":"init","session_id":"a-session","model":"m"}'
result() {
    echo '{"type":"result","subtype":"success","is_error":false,"session_id":"a-session","total_cost_usd":0.01,"result":"ok",'"$used"'}'
}
if [ ! -e "$OUT/harm.here" ]; then
    echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I begin."}],'"$used"'}}'
    HARM
    : > "$OUT/harm.here"
    until [ -e "$OUT/harm.go" ]; do sleep 0.02; done
    echo '{"type":"user","message":{"content":[{"type":"tool_result","content":"a\n<swarm>COMPLETE</swarm>\n"}]}}'
    result
    exit
fi
echo done > a.txt; git add a.txt; git commit -qm work
echo '{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"<swarm>COMPLETE</swarm>"}],'"$used"'}}'
result
"#;

/// A sandbox in which Claude Code does this harm.
fn harmed_by(harm: &str) -> Sandbox {
    let sandbox = Sandbox::ready();
    fs::write(sandbox.path("claude.sh"), CLAUDE.replace("HARM", harm)).unwrap();
    let mut profile = sandbox.profile("claude.sh");
    profile["adapter"] = json!("claude");
    profile["env"]["ANTHROPIC_API_KEY"] = json!("x");
    profile["env"]["GIT_AUTHOR_NAME"] = json!("a");
    profile["env"]["GIT_AUTHOR_EMAIL"] = json!("a@b");
    profile["env"]["GIT_COMMITTER_NAME"] = json!("a");
    profile["env"]["GIT_COMMITTER_EMAIL"] = json!("a@b");
    sandbox.configure(&json!({"agents": {"profiles": {"ed": profile}}}));
    sandbox
}

/// An idea during whose first run the daemon is killed; the next one sees it done. Gives its id.
fn done_over_a_kill(sandbox: &Sandbox) -> String {
    let daemon = sandbox.start();
    let id = sandbox.idea("it");
    sandbox.wait_held("harm");
    daemon.kill();
    let daemon = sandbox.start();
    sandbox.release("harm");
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    id
}

/// Two iterations of one attempt, both counted, the second of which is done.
fn assert_heard(sandbox: &Sandbox, id: &str, harm: &str) {
    assert_eq!(sandbox.notes("runs").len(), 2, "{harm}");
    assert_eq!(sandbox.file_at("main", "a.txt"), "done", "{harm}");
    let shown = sandbox.show(id);
    assert_eq!(shown["attempts"], 1, "{harm}: {shown}");
    let report = sandbox.swarm(&["report", "--json"]).json();
    assert_eq!(report["used"]["runs"], 2, "{harm}: {report}");
    sandbox.assert_repository_clean();
}

const AGENT_JSON: &str = "$run/agent.json";

fn harms() -> Vec<String> {
    let file = AGENT_JSON;
    vec![
        format!("rm {file} \"$run/prompt.md\""),
        format!("printf '{{\"adapter\":\"cla' > {file}"),
        format!("echo '{{\"adapter\":\"command\"}}' > {file}"),
        format!("rm {file}; mkfifo {file}; rm \"$run/prompt.md\"; mkfifo \"$run/prompt.md\""),
        format!("rm {file}; ln -s /dev/zero {file}"),
        format!("rm {file}; mkdir {file}"),
    ]
}

#[test]
fn a_later_daemon_does_not_depend_on_how_a_folder_says_a_run_began() {
    for harm in harms() {
        let sandbox = harmed_by(&harm);
        let id = done_over_a_kill(&sandbox);
        assert_heard(&sandbox, &id, &harm);
    }
}

#[test]
fn the_daemon_that_began_a_run_does_not_read_again_how() {
    for harm in harms() {
        let sandbox = harmed_by(&harm);
        let id = sandbox.idea("it");
        sandbox.release("harm");
        assert_eq!(sandbox.run_until_idle(), 0, "{harm}");
        assert_heard(&sandbox, &id, &harm);
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_of_the_run_holds_nobody_up() {
    for file in ["stderr.log", "exit.json", "stdout.log"] {
        let path = format!("\"$run/{file}\"");
        let sandbox = harmed_by(&format!("rm -f {path}; mkfifo {path}"));
        let id = done_over_a_kill(&sandbox);
        assert_eq!(sandbox.notes("runs").len(), 2, "{file}");
        // What a later daemon cannot read any more is all that is lost.
        if file != "stdout.log" {
            assert_heard(&sandbox, &id, file);
        }
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn a_run_can_be_stopped_whatever_stands_in_its_folder() {
    let names = ["stderr.log", "stdout.log", "exit.json", "agent.json"];
    let harm = names.map(|name| format!("rm -f \"$run/{name}\"; mkfifo \"$run/{name}\";"));
    let sandbox = harmed_by(&harm.concat());
    let daemon = sandbox.start();
    let id = sandbox.idea("it");
    sandbox.wait_held("harm");
    daemon.kill();
    let daemon = sandbox.start();
    sandbox.swarm(&["agent", "stop", "ed-001"]).ok();
    // Its work is left to the next.
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(idea["attempts"], 2, "{idea}");
    daemon.stop();
    sandbox.assert_nothing_runs();
}

#[test]
fn a_run_is_read_as_it_was_begun_whatever_its_profile_says_by_now() {
    for harm in ["true", "rm \"$run/agent.json\""] {
        let sandbox = harmed_by(harm);
        let daemon = sandbox.start();
        let id = sandbox.idea("it");
        sandbox.wait_held("harm");
        sandbox.wait_for("its process to be known", || {
            let known = !sandbox.logged("runStarted").is_empty();
            known.then_some(())
        });
        daemon.kill();
        sandbox.configure(&json!({"agents": {"profiles": {"ed": {"adapter": "command"}}}}));
        let daemon = sandbox.start();
        sandbox.release("harm");
        sandbox.wait_for("its end", || {
            let over = !sandbox.logged("runEnded").is_empty();
            over.then_some(())
        });
        // What only its last line tells.
        let used = &sandbox.show(&id)["used"];
        assert!(used.to_string().contains("0.01"), "{harm}: {used}");
        daemon.stop();
    }
}

/// Stands in for Claude Code: it ends without a word, is stopped, and is done, in one conversation.
const STOPPED: &str = r#"
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit;; esac
echo "$SWARM_RUN_ID" >> "$OUT/runs"
runs=$(grep -c . "$OUT/runs")
cat > "$OUT/prompt.$runs"
echo "$*" > "$OUT/args.$runs"
used='"usage":{"input_tokens":600,"output_tokens":50}'
said='I begin.'
echo '{"type":"system","subtype":"init","session_id":"a-session","model":"m"}'
if [ "$runs" = 2 ]; then
    : > "$OUT/second.here"
    until [ -e "$OUT/second.go" ]; do sleep 0.02; done
fi
if [ "$runs" = 3 ]; then
    echo done > a.txt; git add a.txt; git commit -qm work
    said='<swarm>COMPLETE</swarm>'
fi
echo '{"type":"assistant","message":{"id":"m'"$runs"'","content":[{"type":"text","text":"'"$said"'"}],'"$used"'}}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"a-session","total_cost_usd":0.01,"result":"ok",'"$used"'}'
"#;

#[test]
fn a_conversation_that_goes_on_in_the_next_attempt_is_told_what_the_idea_has_become() {
    let sandbox = harmed_by("");
    fs::write(sandbox.path("claude.sh"), STOPPED).unwrap();
    let daemon = sandbox.start();
    let id = sandbox.idea("Write OLD");
    sandbox.wait_held("second");
    sandbox
        .swarm(&["idea", "edit", &id, "--text", "Write NEW"])
        .ok();
    let agent = sandbox.show(&id)["agentId"].as_str().unwrap().to_owned();
    sandbox.swarm(&["agent", "stop", &agent]).ok();
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    let told = |name: &str| fs::read_to_string(sandbox.path("out").join(name)).unwrap();
    assert!(told("prompt.1").contains("Write OLD"));
    assert!(told("args.3").contains("--resume a-session"));
    let third = told("prompt.3");
    assert!(
        third.contains("## Continue") && third.contains("Write NEW"),
        "{third}"
    );
    sandbox.assert_repository_clean();
}
