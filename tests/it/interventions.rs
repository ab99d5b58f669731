//! What people do to a running swarm, and the daemon killed right after it was accepted: it is
//! carried out by the next one, once.

use std::fs;

use serde_json::{Value, json};
use swarm::crash;

use crate::harness::{Daemon, PATIENCE, Sandbox};
use crate::merging::one_after_the_other;

/// The agent leaves a commit and an uncommitted file, and is held; tried again it must find both.
const HALF: &str = "if attempt 1; then write a.txt x; commit; write left.txt y; hold it; fi; \
     { [ -e a.txt ] && [ -e left.txt ]; } || note lost; say COMPLETE";

/// How often an event of this kind is in the log.
fn times(sandbox: &Sandbox, kind: &str) -> usize {
    sandbox.logged(kind).len()
}

/// How the attempts of an agent ended.
fn ends(sandbox: &Sandbox, agent: &str) -> Vec<String> {
    let ended = sandbox.logged("attemptEnded").into_iter();
    ended
        .filter(|event| event.data["agent"] == agent)
        .map(|event| event.data["end"].as_str().unwrap().to_owned())
        .collect()
}

/// The prompts of all runs, in the order in which they began.
fn prompts(sandbox: &Sandbox) -> Vec<String> {
    let runs = sandbox.notes("runs");
    let runs = runs.iter().map(|run| run.split(' ').nth(4).unwrap());
    let path = |run| sandbox.private("runs").join(run).join("prompt.md");
    runs.map(|run| fs::read_to_string(path(run)).unwrap())
        .collect()
}

/// `agent show`.
fn agent(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.swarm(&["agent", "show", id, "--json"]).json()
}

/// Has the command accepted, kills the daemon at once, and starts another.
fn cut_short<'a>(sandbox: &'a Sandbox, daemon: Daemon<'_>, args: &[&str]) -> Daemon<'a> {
    sandbox.swarm(args).ok();
    daemon.kill();
    drop(daemon);
    sandbox.start()
}

fn over(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    daemon.stop();
    assert_eq!(sandbox.notes("lost"), [""; 0], "an agent's work is gone");
    sandbox.assert_log_sound();
    sandbox.assert_repository_clean();
}

/// An agent is held in the first idea; another idea waits.
fn one_at_work(second: &str) -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
    sandbox.idea(HALF);
    sandbox.idea_with(second, &["--priority", "-50"]);
    sandbox
}

const TAKES_OVER: &str = "[ -e a.txt ] && [ -e left.txt ] && [ -z \"$(git status --porcelain)\" ] \
    && note took; write b.txt x; say COMPLETE";
const BEGINS_ANEW: &str =
    "[ -e left.txt ] || [ -e a.txt ] || note anew; write b.txt x; say COMPLETE";

#[test]
fn a_redirected_agent_hands_its_worktree_over_and_its_work_is_kept() {
    let sandbox = one_at_work(TAKES_OVER);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let said = sandbox.swarm(&["agent", "redirect", "ed-001", "idea-002"]);
    said.ok();
    assert!(said.stderr.contains("idea-002 starts next"), "{said}");
    sandbox.wait_idea("idea-002", "done");
    assert_eq!(sandbox.notes("took"), ["idea-002"]);
    let first = sandbox.wait_idea("idea-001", "done");
    assert_eq!(
        (&first["retryCount"], &first["attempts"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(ends(&sandbox, "ed-001"), ["redirected"]);
    let order: Vec<Value> = sandbox
        .logged("ideaClaimed")
        .into_iter()
        .map(|event| event.data["id"].clone())
        .collect();
    assert_eq!(order, ["idea-001", "idea-002", "idea-001"]);
    let kept = "refs/swarm/rescue/redirected-ed-001-idea-001";
    assert_eq!(
        sandbox.git(&["log", "-1", "--format=%s", kept]),
        "WIP: idea-001"
    );
    assert_eq!(sandbox.file_at(kept, "left.txt"), "y");
    let prompt = &prompts(&sandbox)[1];
    assert!(prompt.contains("## Where you start") && prompt.contains("`idea-001`"));
    sandbox
        .swarm(&["agent", "redirect", "ed-001", "idea-002"])
        .refused(1, &["ed-001", "was redirected", "swarm idea show idea-001"]);
    over(&sandbox, &daemon);
}

#[test]
fn with_a_new_worktree_the_old_one_stays_with_its_idea() {
    let sandbox = one_at_work(BEGINS_ANEW);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox
        .swarm(&["agent", "redirect", "ed-001", "idea-002", "--new-worktree"])
        .ok();
    sandbox.wait_idea("idea-002", "done");
    assert_eq!(sandbox.notes("anew"), ["idea-002"]);
    sandbox.wait_idea("idea-001", "done");
    over(&sandbox, &daemon);
}

#[test]
fn work_that_cannot_be_committed_stays_as_it_is_in_its_worktree() {
    let strayed = "git checkout -q -b mine; write c.txt x; commit; write d.txt y";
    let merging = "write README.md ours; commit; git checkout -q -b side HEAD~1; write README.md \
        theirs; commit; git checkout -q agent/ed-001/idea-001; git merge -q side; write c.txt x; \
        write d.txt y";
    let again = "{ [ -e c.txt ] && [ -e d.txt ]; } || note lost; write README.md done; commit; \
         git checkout -q -B $SWARM_BRANCH; say COMPLETE";
    for (doing, why) in [
        (strayed, "branch `mine`"),
        (merging, "a merge is in progress"),
    ] {
        let sandbox = Sandbox::ready();
        sandbox.configure(&json!({"agents": {"maxParallel": 1}}));
        sandbox.idea(&format!(
            "if attempt 1; then {doing}; hold it; else {again}; fi\nRESOLVE: {again}"
        ));
        sandbox.idea("[ -e c.txt ] || note anew; write b.txt x; say COMPLETE");
        let daemon = sandbox.start();
        sandbox.wait_held("it");
        sandbox
            .swarm(&["agent", "redirect", "ed-001", "idea-002"])
            .ok();
        let kept = sandbox.wait_for("the end of the first attempt", || {
            sandbox.logged("attemptEnded").into_iter().next()
        });
        let said = kept.data["message"].as_str().unwrap();
        assert!(
            said.contains(why) && said.contains("keeps its worktree"),
            "{said}"
        );
        sandbox.wait_idea("idea-002", "done");
        sandbox.wait_idea("idea-001", "done");
        assert_eq!(sandbox.notes("anew"), ["idea-002"]);
        daemon.stop();
        assert_eq!(sandbox.notes("lost"), [""; 0], "{doing}");
        sandbox.assert_log_sound();
    }
}

#[test]
fn a_redirect_is_carried_out_once() {
    for (second, note, more) in [
        (TAKES_OVER, "took", &[][..]),
        (BEGINS_ANEW, "anew", &["--new-worktree"][..]),
    ] {
        let sandbox = one_at_work(second);
        let daemon = sandbox.start();
        sandbox.wait_held("it");
        let args = [&["agent", "redirect", "ed-001", "idea-002"][..], more].concat();
        let daemon = cut_short(&sandbox, daemon, &args);
        sandbox.wait_idea("idea-002", "done");
        sandbox.wait_idea("idea-001", "done");
        assert_eq!(sandbox.notes(note), ["idea-002"]);
        assert_eq!(ends(&sandbox, "ed-001"), ["redirected"]);
        assert_eq!(sandbox.show("idea-002")["attempts"], 1);
        assert_eq!(times(&sandbox, "agentRedirected"), 1);
        over(&sandbox, &daemon);
    }
}

#[test]
fn a_redirect_that_was_accepted_is_carried_out_by_the_start_after_the_next_stop() {
    let sandbox = one_at_work(TAKES_OVER);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.swarm(&["pause"]).ok();
    sandbox
        .swarm(&["agent", "redirect", "ed-001", "idea-002"])
        .ok();
    daemon.stop();
    drop(daemon);
    let daemon = sandbox.start();
    assert_eq!(sandbox.status()["phase"], "paused");
    assert_eq!(sandbox.notes("took"), [""; 0]);
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(sandbox.notes("took"), ["idea-002"]);
    over(&sandbox, &daemon);
}

#[test]
fn a_stop_is_carried_out_once() {
    let sandbox = Sandbox::ready();
    sandbox.idea(HALF);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let daemon = cut_short(&sandbox, daemon, &["agent", "stop", "ed-001"]);
    let idea = sandbox.wait_idea("idea-001", "done");
    assert_eq!(ends(&sandbox, "ed-001"), ["stopped"]);
    assert_eq!(
        (&idea["attempts"], &idea["retryCount"]),
        (&json!(2), &json!(0))
    );
    over(&sandbox, &daemon);
}

#[test]
fn a_pause_and_a_resume_are_carried_out_once() {
    let sandbox = Sandbox::ready();
    sandbox.idea("if iteration 1; then hold it; echo busy; else write a.txt x; say COMPLETE; fi");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let daemon = cut_short(&sandbox, daemon, &["pause", "--reason", "lunch"]);
    sandbox.release("it");
    sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    assert_eq!(sandbox.notes("runs").len(), 1);
    assert_eq!(times(&sandbox, "pauseSet"), 1);
    let daemon = cut_short(&sandbox, daemon, &["resume"]);
    sandbox.wait_idea("idea-001", "done");
    assert_eq!(times(&sandbox, "pauseLifted"), 1);
    assert_eq!(sandbox.notes("runs").len(), 2);
    over(&sandbox, &daemon);
}

#[test]
fn a_message_goes_from_accepted_over_delivered_to_seen() {
    let sandbox = Sandbox::ready();
    sandbox.idea(
        "iteration 1 && hold one; iteration 2 && hold two; echo busy; if iteration 3; \
        then write a.txt x; say COMPLETE; fi",
    );
    let daemon = sandbox.start();
    sandbox.wait_held("one");
    let say = ["agent", "say", "ed-001", "mind the gap"];
    let daemon = cut_short(&sandbox, daemon, &say);
    // The answer may have been lost: asked again, it is not said twice.
    sandbox.swarm(&say).ok();
    let said = &agent(&sandbox, "ed-001")["said"];
    assert_eq!(said.as_array().unwrap().len(), 1);
    assert_eq!(
        (&said[0]["stage"], &said[0]["text"]),
        (&json!("accepted"), &json!("mind the gap"))
    );
    sandbox.release("one");
    sandbox.wait_held("two");
    let said = agent(&sandbox, "ed-001")["said"][0].clone();
    assert_eq!(said["stage"], "delivered", "{said}");
    assert!(said["run"].as_str().unwrap().ends_with("-i2"), "{said}");
    let page = sandbox.swarm(&["agent", "show", "ed-001"]).ok().to_owned();
    assert!(page.contains("mind the gap  (delivered "), "{page}");
    sandbox.release("two");
    sandbox.wait_idea("idea-001", "done");
    let said = agent(&sandbox, "ed-001")["said"][0].clone();
    assert_eq!(said["stage"], "seen", "{said}");
    let times = ["acceptedAt", "deliveredAt", "seenAt"].map(|key| said[key].as_str().unwrap());
    assert!(times.is_sorted(), "{said}");
    let carried: Vec<usize> = prompts(&sandbox)
        .iter()
        .map(|prompt| prompt.matches("mind the gap").count())
        .collect();
    assert_eq!(carried, [0, 1, 0]);
    over(&sandbox, &daemon);
}

#[test]
fn a_message_comes_again_after_a_crash_between_prompt_and_run_and_once_in_each_prompt() {
    for point in ["effect.run.begin", "run.prepared", "run.launched"] {
        let sandbox = Sandbox::ready();
        sandbox.idea(
            "iteration 1 && hold one; echo busy; if iteration 2; then write a.txt x; say \
            COMPLETE; fi",
        );
        let daemon = sandbox.start();
        sandbox.wait_held("one");
        sandbox
            .swarm(&["agent", "say", "ed-001", "mind the gap"])
            .ok();
        daemon.kill();
        drop(daemon);
        let mut command = sandbox.swarm_command(&["start"]);
        // The run that is adopted is the first to reach the beginning.
        let visit = if point == "effect.run.begin" { 2 } else { 1 };
        command.env(crash::VARIABLE, format!("{point}#{visit}"));
        let daemon = sandbox.spawn(command);
        daemon.wait_ready();
        sandbox.release("one");
        assert_eq!(daemon.wait_exit(PATIENCE), 137, "{point}");
        drop(daemon);
        let daemon = sandbox.start();
        sandbox.wait_idea("idea-001", "done");
        let last = prompts(&sandbox).pop().unwrap();
        assert_eq!(last.matches("mind the gap").count(), 1, "{point}: {last}");
        assert_eq!(agent(&sandbox, "ed-001")["said"][0]["stage"], "seen");
        over(&sandbox, &daemon);
    }
}

#[test]
fn an_edit_of_a_running_idea_is_for_the_next_attempt_and_says_so() {
    let sandbox = Sandbox::ready();
    let doing = "iteration 1 && hold one; iteration 2 && hold two; echo busy";
    let id = sandbox.idea(doing);
    let daemon = sandbox.start();
    sandbox.wait_held("one");
    let text = "Something else\n\nDO: note new; write a.txt x; say COMPLETE";
    let edit = ["idea", "edit", id.as_str(), "--text", text];
    let said = sandbox.swarm(&edit);
    said.ok();
    assert!(
        said.stderr.contains("next attempt") && said.stderr.contains("swarm agent stop ed-001"),
        "{said}"
    );
    let daemon = cut_short(&sandbox, daemon, &edit);
    let json = sandbox.swarm(&[&edit[..], &["--json"]].concat()).json();
    assert!(json["note"].as_str().unwrap().contains("ed-001"), "{json}");
    sandbox.release("one");
    sandbox.wait_held("two");
    assert!(
        prompts(&sandbox)[1].contains(doing),
        "the attempt has another text"
    );
    assert!(
        sandbox.show(&id)["content"]
            .as_str()
            .unwrap()
            .starts_with("Something else")
    );
    sandbox.swarm(&["agent", "stop", "ed-001"]).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.notes("new"), [id.as_str()]);
    over(&sandbox, &daemon);
}

#[test]
fn a_retry_is_carried_out_once_with_fresh_counters_and_the_feedback() {
    let sandbox = Sandbox::ready();
    sandbox.configure(
        &json!({"qualityCommands": ["test -e good.txt || { echo no good; exit 3; }"],
        "completion": {"maxIterations": 1}}),
    );
    let id = sandbox.idea("attempt 2 && write good.txt x; write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea(&id, "timeout");
    let daemon = cut_short(&sandbox, daemon, &["idea", "retry", &id]);
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(
        (&idea["attempts"], times(&sandbox, "ideaRetried")),
        (&json!(2), 1)
    );
    assert!(
        prompts(&sandbox)[1].contains("no good"),
        "the feedback is gone"
    );
    over(&sandbox, &daemon);
}

#[test]
fn a_cancellation_is_carried_out_once() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea("write a.txt x; commit; hold it");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let daemon = cut_short(&sandbox, daemon, &["idea", "cancel", &id]);
    sandbox.wait_idea(&id, "cancelled");
    sandbox.wait_status("the slot to be free", |status| status["slots"]["used"] == 0);
    assert_eq!(ends(&sandbox, "ed-001"), ["cancelled"]);
    let kept = "refs/swarm/rescue/agent/ed-001/idea-001";
    sandbox.wait_for("its work to be kept", || {
        let found = sandbox.git(&["for-each-ref", "--format=%(refname)", kept]);
        (found == kept).then_some(())
    });
    assert_eq!(sandbox.file_at(kept, "a.txt"), "x");
    over(&sandbox, &daemon);
}

#[test]
fn an_assignment_is_carried_out_once() {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"mode": "semi-auto"}));
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    let daemon = sandbox.start();
    let daemon = cut_short(&sandbox, daemon, &["idea", "assign", &id]);
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(
        (&idea["attempts"], times(&sandbox, "ideaAssigned")),
        (&json!(1), 1)
    );
    over(&sandbox, &daemon);
}

#[test]
fn a_conflict_that_a_person_settled_is_concluded_once() {
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", "one\ntwo\nthree\n");
    sandbox.commit("Lines");
    sandbox.set_up();
    let change =
        "sed 's/^three$/three changed/' lines.txt >new && mv new lines.txt; commit; say COMPLETE";
    let (daemon, _, id) = one_after_the_other(&sandbox, "git rm -q lines.txt", change);
    sandbox.wait_needs_you("conflict");
    let worktree = sandbox.path_of(&id);
    fs::write(worktree.join("lines.txt"), "three changed\n").unwrap();
    sandbox.git_in(&worktree, &["add", "--all"]);
    sandbox.git_in(&worktree, &["commit", "--no-edit", "-q"]);
    let daemon = cut_short(&sandbox, daemon, &["merge", "resolve", &id]);
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("lines.txt"), "three changed\n");
    let landed = sandbox.logged("ideaLanded").into_iter();
    assert_eq!(
        landed
            .filter(|event| event.data["id"] == id.as_str())
            .count(),
        1
    );
    over(&sandbox, &daemon);
}

#[test]
fn what_is_refused_says_why_and_what_would_be_possible() {
    let sandbox = one_at_work("say COMPLETE");
    let later = sandbox.idea_with("say COMPLETE", &["--after", "idea-002"]);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    let redirect = |to: &str| sandbox.swarm(&["agent", "redirect", "ed-001", to]);
    redirect("idea-001").refused(1, &["works on", "swarm agent say ed-001"]);
    redirect("idea-009").refused(1, &["idea-009", "swarm idea list"]);
    redirect(&later).refused(1, &["waits for idea-002", "--no-after"]);
    sandbox.swarm(&["idea", "cancel", "idea-002"]).ok();
    redirect("idea-002").refused(1, &["cancelled", "swarm idea retry idea-002"]);
    sandbox
        .swarm(&["agent", "redirect", "ed-009", "idea-001"])
        .refused(1, &["ed-009", "swarm agent list"]);
    sandbox
        .swarm(&["agent", "redirect", "ed-001"])
        .refused(2, &["IDEA"]);
    sandbox.release("it");
    sandbox.wait_idea("idea-001", "done");
    daemon.stop();
    sandbox
        .swarm(&["agent", "redirect", "ed-001", "idea-002"])
        .refused(3, &["swarm start"]);
}
