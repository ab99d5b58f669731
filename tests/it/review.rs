//! Finished work that waits for a person: looked at, approved, returned, edited, tried again,
//! cancelled, with the daemon killed right after each was accepted: done once.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox, Terminal};
use crate::merging::strings;

/// The agent does one thing first, and another when it is sent back.
const WORK: &str = "if iteration 1 && attempt 1; then write a.txt one; else write b.txt two; fi; \
     commit; say COMPLETE";

/// How often an event of this kind is in the log.
fn times(sandbox: &Sandbox, kind: &str) -> usize {
    sandbox.logged(kind).len()
}

/// All work waits for review.
fn reviewed() -> Sandbox {
    let sandbox = Sandbox::ready();
    sandbox.configure(&json!({"merge": {"autoMerge": false}}));
    sandbox
}

/// An idea whose work waits for review; the daemon, the id and what a person is told.
fn in_review<'a>(sandbox: &'a Sandbox, doing: &str) -> (Daemon<'a>, String, Value) {
    let id = sandbox.idea(doing);
    let daemon = sandbox.start();
    let need = sandbox.wait_needs_you("review");
    (daemon, id, need)
}

/// Waits until other work than this commit waits for review.
fn wait_other_work(sandbox: &Sandbox, before: &str) -> Value {
    sandbox.wait_for("other work to review", || {
        let need = sandbox.wait_needs_you("review");
        (need["commit"] != before).then_some(need)
    })
}

/// Types the command, kills the daemon as soon as it is accepted, and starts another.
fn cut_short<'a>(sandbox: &'a Sandbox, daemon: Daemon<'_>, line: &str) -> Daemon<'a> {
    sandbox.shell(line).ok();
    daemon.kill();
    drop(daemon);
    sandbox.start()
}

fn over(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    still_in_review(sandbox, daemon);
    sandbox.assert_repository_clean();
}

/// The worktree of what waits for review stays.
fn still_in_review(sandbox: &Sandbox, daemon: &Daemon<'_>) {
    daemon.stop();
    sandbox.assert_log_sound();
}

/// The prompt of the last run that began.
fn last_prompt(sandbox: &Sandbox) -> String {
    let run = sandbox.notes("runs").pop().unwrap();
    let run = run.split(' ').nth(4).unwrap().to_owned();
    fs::read_to_string(sandbox.private("runs").join(run).join("prompt.md")).unwrap()
}

/// The command that begins so, of those that a person is told to type.
fn told(need: &Value, begin: &str) -> String {
    let commands = strings(&need["commands"]);
    let found = commands.iter().find(|line| line.starts_with(begin));
    found.unwrap_or_else(|| panic!("{commands:?}")).clone()
}

#[test]
fn an_approval_lands_the_commit_that_was_shown_once() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let shown = need["commit"].as_str().unwrap().to_owned();
    let diff = sandbox.shell(&told(&need, "swarm merge diff"));
    assert!(diff.ok().contains("+one"), "{diff}");
    assert!(diff.stderr.contains(&shown[..10]), "{diff}");
    let daemon = cut_short(&sandbox, daemon, &told(&need, "swarm merge approve"));
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.head("main^2"), shown);
    assert_eq!(
        (
            times(&sandbox, "mergeApproved"),
            times(&sandbox, "ideaLanded")
        ),
        (1, 1)
    );
    over(&sandbox, &daemon);
}

#[test]
fn returned_work_is_done_again_by_the_same_agent_with_the_comment() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let shown = need["commit"].as_str().unwrap().to_owned();
    let line = format!("swarm merge reject {id} \"also write b.txt\"");
    let daemon = cut_short(&sandbox, daemon, &line);
    let need = wait_other_work(&sandbox, &shown);
    let prompt = last_prompt(&sandbox);
    assert!(prompt.contains("## The reviewer's comment\n"), "{prompt}");
    assert!(prompt.contains("\nalso write b.txt\n"), "{prompt}");
    let runs = sandbox.notes("runs");
    let runs: Vec<&str> = runs
        .iter()
        .filter_map(|run| run.split(' ').nth(1))
        .collect();
    assert_eq!(runs, ["ed-001", "ed-001"]);
    assert_eq!(times(&sandbox, "mergeRejected"), 1);
    let told_of = sandbox.swarm(&["log", "--idea", &id]);
    assert!(
        told_of.ok().contains("by a reviewer: also write b.txt"),
        "{told_of}"
    );
    let story = sandbox.swarm(&["idea", "show", &id]);
    assert!(
        story.ok().contains("by a reviewer: also write b.txt"),
        "{story}"
    );

    // What was shown first is not what waits now.
    let base = sandbox.head("main");
    let stale = ["merge", "approve", &id, "--commit", &shown];
    sandbox
        .swarm(&stale)
        .refused(1, &["has changed", "swarm merge diff"]);
    assert_eq!(sandbox.head("main"), base);
    assert_eq!(times(&sandbox, "mergeApproved"), 0);
    sandbox.shell(&told(&need, "swarm merge approve")).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(
        (sandbox.read("a.txt"), sandbox.read("b.txt")),
        ("one\n".into(), "two\n".into())
    );
    over(&sandbox, &daemon);
}

#[test]
fn an_edited_idea_is_done_again_with_its_new_text() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let shown = need["commit"].as_str().unwrap().to_owned();
    let text = "DO: write c.txt three; commit; say COMPLETE";
    let line = format!("swarm idea edit {id} --text '{text}'");
    let daemon = cut_short(&sandbox, daemon, &line);
    let need = wait_other_work(&sandbox, &shown);
    assert_eq!(
        (
            times(&sandbox, "ideaEdited"),
            times(&sandbox, "mergeRejected")
        ),
        (1, 1)
    );
    sandbox.shell(&told(&need, "swarm merge approve")).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("c.txt"), "three\n");
    over(&sandbox, &daemon);
}

#[test]
fn a_message_is_refused_with_the_command_that_returns_the_work() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let instead = format!("swarm merge reject {id}");
    sandbox
        .swarm(&["agent", "say", "ed-001", "also b.txt"])
        .refused(1, &["waits for your review", &instead]);
    assert_eq!(sandbox.wait_needs_you("review"), need);
    sandbox
        .swarm(&["merge", "retry", &id])
        .refused(1, &["swarm merge diff"]);
    still_in_review(&sandbox, &daemon);
}

#[test]
fn tried_again_a_new_attempt_continues_from_the_work() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let shown = need["commit"].as_str().unwrap().to_owned();
    let daemon = cut_short(&sandbox, daemon, &format!("swarm idea retry {id}"));
    let need = wait_other_work(&sandbox, &shown);
    assert_eq!(times(&sandbox, "ideaRetried"), 1);
    assert_eq!(sandbox.show(&id)["attempts"], 2);
    sandbox.shell(&told(&need, "swarm merge approve")).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(
        (sandbox.read("a.txt"), sandbox.read("b.txt")),
        ("one\n".into(), "two\n".into())
    );
    over(&sandbox, &daemon);
}

#[test]
fn a_cancelled_ideas_work_is_rescued() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let daemon = cut_short(&sandbox, daemon, &format!("swarm idea cancel {id}"));
    sandbox.wait_idea(&id, "cancelled");
    sandbox.wait_for("the branch to go", || {
        let branches = sandbox.git(&["branch", "--list", "agent/*"]);
        branches.is_empty().then_some(())
    });
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/swarm/rescue/",
    ]);
    assert!(kept.contains(need["commit"].as_str().unwrap()), "{kept}");
    over(&sandbox, &daemon);
}

#[test]
fn a_stopped_agents_idea_continues_from_the_work() {
    let sandbox = reviewed();
    let (daemon, id, need) = in_review(&sandbox, WORK);
    let shown = need["commit"].as_str().unwrap().to_owned();
    let daemon = cut_short(&sandbox, daemon, "swarm agent stop ed-001");
    wait_other_work(&sandbox, &shown);
    assert_eq!(sandbox.show(&id)["attempts"], 2);
    still_in_review(&sandbox, &daemon);
}

#[test]
fn on_a_target_that_moved_the_merge_is_checked_again_and_lands() {
    let sandbox = reviewed();
    let checked = sandbox.path("out").join("checked");
    let check = format!("git rev-parse HEAD >>'{}'", checked.display());
    sandbox.configure(&json!({"qualityCommands": [check], "merge": {"autoMerge": false}}));
    let (daemon, id, need) = in_review(&sandbox, WORK);
    sandbox.write("person.txt", "by hand\n");
    let moved = sandbox.commit("By hand");
    let daemon = cut_short(&sandbox, daemon, &told(&need, "swarm merge approve"));
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.head("main^1"), moved);
    let checked = fs::read_to_string(checked).unwrap();
    assert!(checked.contains(&sandbox.head("main")), "{checked}");
    assert_eq!(times(&sandbox, "mergeApproved"), 1);
    over(&sandbox, &daemon);
}

#[test]
fn a_branch_that_went_on_is_not_approved() {
    let sandbox = reviewed();
    let (daemon, id, _) = in_review(&sandbox, WORK);
    let worktree = sandbox.swarm(&["agent", "show", "ed-001", "--json"]).json();
    let worktree = sandbox.repo().join(worktree["worktree"].as_str().unwrap());
    fs::write(worktree.join("mine.txt"), "mine\n").unwrap();
    sandbox.git_in(&worktree, &["add", "--all"]);
    sandbox.git_in(&worktree, &["commit", "-qm", "Mine"]);
    let base = sandbox.head("main");
    let approve = ["merge", "approve", &id];
    sandbox
        .swarm(&approve)
        .refused(1, &["has moved", "swarm merge reject"]);
    daemon.stop();
    sandbox
        .swarm(&approve)
        .refused(1, &["has moved", "swarm merge reject"]);
    assert_eq!(sandbox.head("main"), base);
}

#[test]
fn without_a_daemon_work_is_looked_at_and_judged() {
    let sandbox = reviewed();
    let one = sandbox.idea("write z.txt one; commit; say COMPLETE");
    let two = sandbox.idea(WORK);
    // A night ends when only reviews are left, and says so.
    let night = sandbox.swarm(&["start", "--until-idle"]);
    assert_eq!(night.code, 6, "{night}");
    for words in ["waits for your review", "swarm merge diff idea-001"] {
        assert!(night.stdout.contains(words), "{night}");
    }
    let diff = sandbox.swarm(&["merge", "diff", &one, "--json"]).json();
    let files = json!([{"path": "z.txt", "status": "added", "insertions": 1, "deletions": 0}]);
    assert_eq!((&diff["files"], &diff["held"]), (&files, &json!(true)));
    assert_eq!(diff["targetCommit"], sandbox.head("main"));
    assert_eq!(diff["base"], diff["targetCommit"]);
    assert!(
        diff["diff"].as_str().unwrap().contains("\n+one\n"),
        "{diff}"
    );
    let said = sandbox.swarm(&["merge", "reject", &two, "also b.txt"]);
    said.ok();
    assert!(said.stderr.contains("with the next start"), "{said}");
    sandbox.swarm(&["merge", "approve", "--all"]).ok();
    assert_eq!(sandbox.swarm(&["start", "--until-idle"]).code, 6);
    assert_eq!(sandbox.idea_status(&one), "done");
    assert_eq!(sandbox.read("z.txt"), "one\n");
    sandbox.swarm(&["merge", "approve", &two]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.read("b.txt"), "two\n");
    sandbox.assert_log_sound();
}

#[test]
fn one_idea_asks_for_review_and_the_others_land() {
    let sandbox = Sandbox::ready();
    let one = sandbox.idea_with("write a.txt one; commit; say COMPLETE", &["--review"]);
    let two = sandbox.idea("write b.txt two; commit; say COMPLETE");
    let dropped = "---\nreview: true\n---\nDO: write c.txt three; commit; say COMPLETE\n";
    fs::write(sandbox.dot_swarm("inbox/three.md"), dropped).unwrap();
    assert_eq!(sandbox.run_until_idle(), 6);
    assert_eq!(sandbox.idea_status(&two), "done");
    let waiting = sandbox.swarm(&["merge", "list"]);
    assert_eq!(
        waiting.ok().matches("waiting for your review").count(),
        2,
        "{waiting}"
    );
    assert_eq!(sandbox.show(&one)["review"], true);
    assert!(
        sandbox
            .swarm(&["idea", "show", &one])
            .ok()
            .contains("review")
    );
    sandbox.swarm(&["merge", "approve", "--all"]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.read("c.txt"), "three\n");
}

#[test]
fn what_an_agent_wrote_cannot_reach_the_terminal() {
    let sandbox = reviewed();
    let name = r"$(printf 'evil\033[2J.txt')";
    let doing = format!(
        "printf 'a\\tb \\033]0;owned\\007 \\342\\200\\256\\n' >\"{name}\"; commit; say COMPLETE"
    );
    let (daemon, id, _) = in_review(&sandbox, &doing);
    for args in [
        &["merge", "diff", &id][..],
        &["merge", "diff", &id, "--stat"],
    ] {
        let ran = sandbox.swarm(args);
        let shown = format!("{}{}", ran.ok(), ran.stderr);
        assert!(
            !shown.contains('\u{1b}') && !shown.contains('\u{202e}'),
            "{shown:?}"
        );
    }
    let diff = sandbox.swarm(&["merge", "diff", &id]);
    assert!(diff.ok().contains("+a\tb ␛]0;owned␇ \\u{202e}"), "{diff}");
    let coloured = sandbox.swarm(&["merge", "diff", &id, "--color", "always"]);
    assert!(coloured.ok().contains("\u{1b}[32m+a\tb"), "{coloured}");
    still_in_review(&sandbox, &daemon);
}

#[test]
fn long_output_goes_through_the_pager_on_a_terminal() {
    let sandbox = reviewed();
    let (daemon, id, _) = in_review(&sandbox, "seq 100 >a.txt; commit; say COMPLETE");
    let swarm = sandbox.swarm_command(&[]);
    let swarm = swarm.get_program().to_str().unwrap();
    let paged = sandbox.path("out").join("paged");
    let shown = |height: usize, options: &str| {
        let line = format!("stty rows {height} cols 80; exec '{swarm}' merge diff {id} {options}");
        let mut command = sandbox.command("sh");
        command.args(["-c", &line]).env("TERM", "xterm");
        command.env("SWARM_PAGER", format!("cat >'{}'", paged.display()));
        let terminal = Terminal::open();
        assert!(terminal.start(&command).wait().unwrap().success());
        let text = fs::read_to_string(&paged).ok();
        let _ = fs::remove_file(&paged);
        text
    };
    let text = shown(20, "").unwrap();
    assert!(text.contains("\u{1b}[32m+100"), "{text}");
    assert_eq!(shown(20, "--no-pager"), None);
    assert_eq!(shown(300, ""), None);
    assert_eq!(shown(20, "--stat"), None);
    still_in_review(&sandbox, &daemon);
}
