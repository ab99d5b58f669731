//! Conflicts of each kind: resolved by itself, by an agent, by a person with the printed commands.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Daemon, Sandbox};
use crate::merging::{one_after_the_other, strings};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

/// With a file of six lines to fight for.
fn with_lines() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lines.txt", LINES);
    sandbox.commit("Lines");
    sandbox.set_up();
    sandbox
}

#[test]
fn a_simple_conflict_is_resolved_by_itself() {
    let sandbox = with_lines();
    let change =
        |from: &str, to: &str| format!("sed 's/^{from}$/{to}/' lines.txt >new && mv new lines.txt");
    let second = format!("{}; commit; say COMPLETE", change("three", "THREE"));
    let (daemon, _, id) = one_after_the_other(&sandbox, &change("two", "TWO"), &second);
    sandbox.wait_idea(&id, "done");
    assert_eq!(
        sandbox.read("lines.txt"),
        "one\nTWO\nTHREE\nfour\nfive\nsix\n"
    );
    assert_eq!(sandbox.notes("runs").len(), 2, "no resolver was needed");
    let built = sandbox.logged("mergeBuilt").pop().unwrap();
    assert_eq!(built.data["resolved"], json!(["lines.txt"]), "{built:?}");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_difference_in_white_space_only_is_resolved_by_itself() {
    let sandbox = with_lines();
    let first = "sed 's/^/    /' lines.txt >new && mv new lines.txt";
    let second =
        "sed 's/^three$/three times/' lines.txt >new && mv new lines.txt; commit; say COMPLETE";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    sandbox.wait_idea(&id, "done");
    let words: Vec<String> = sandbox
        .read("lines.txt")
        .lines()
        .map(|line| line.trim().to_owned())
        .collect();
    assert_eq!(words, ["one", "two", "three times", "four", "five", "six"]);
    assert_eq!(sandbox.notes("runs").len(), 2, "no resolver was needed");
    daemon.stop();
}

#[test]
fn a_medium_conflict_is_resolved_by_an_agent_and_checked() {
    let sandbox = with_lines();
    sandbox.configure(
        &json!({"qualityCommands": ["! grep -q '^[<=>]' lines.txt"], "merge": {"resolver": "finn"},
        "agents": {"profiles": {"finn": sandbox.profile("agent.sh")}}}),
    );
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let second = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; commit; \
        say COMPLETE\nRESOLVE: note resolver; sed '/^[<>|]/d; s/^=.*/three of both/' lines.txt \
        >new && mv new lines.txt; say RESOLVED";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.notes("resolver"), [id.as_str()]);
    assert!(
        sandbox.read("lines.txt").contains("three of both"),
        "{}",
        sandbox.read("lines.txt")
    );
    let run = sandbox.notes("runs").pop().unwrap();
    let prompt = sandbox
        .private("runs")
        .join(run.split(' ').nth(4).unwrap())
        .join("prompt.md");
    let prompt = fs::read_to_string(prompt).unwrap();
    assert!(
        prompt.contains("lines.txt") && prompt.contains("`main`"),
        "{prompt}"
    );
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// It lands, as the target's side may be the better one; but nobody is left to find out by himself.
#[test]
fn a_resolver_that_takes_the_targets_side_for_all_of_the_work_is_told_of() {
    let sandbox = with_lines();
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let second = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; commit; \
        say COMPLETE\nRESOLVE: git checkout -q MERGE_HEAD -- lines.txt; say RESOLVED";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    sandbox.wait_idea(&id, "done");
    assert!(sandbox.read("lines.txt").contains("three of the first"));
    let told = |sandbox: &Sandbox| {
        let mut warnings = sandbox.warnings().into_iter();
        warnings.find(|warning| {
            let message = warning["message"].as_str().unwrap();
            message.contains("dropped the idea's changes to lines.txt")
        })
    };
    let warning = told(&sandbox).unwrap();
    let kept = sandbox.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/swarm/rescue/left-out-*",
    ]);
    assert!(
        warning["commands"][1] == format!("git update-ref -d {kept}"),
        "{warning}"
    );
    let work = sandbox.git(&["show", &format!("{kept}:lines.txt")]);
    assert!(work.contains("three of the second"), "{work}");
    daemon.stop();
    sandbox.git(&["update-ref", "-d", &kept]);
    let daemon = sandbox.start();
    sandbox.wait_for("the warning to go", || {
        told(&sandbox).is_none().then_some(())
    });
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_conflict_that_no_resolver_settles_is_a_persons() {
    let sandbox = with_lines();
    sandbox.configure(&json!({"merge": {"conflictRetries": 2}}));
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let second = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; commit; \
        say COMPLETE\nRESOLVE: note resolver; echo I cannot; say RESOLVED";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    let need = sandbox.wait_needs_you("conflict");
    assert_eq!(need["ideaId"], id.as_str());
    assert_eq!(sandbox.notes("resolver").len(), 2);
    settle_by_hand(&sandbox, &need, "lines.txt", Some("one\n"));
    sandbox.wait_idea(&id, "done");
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_conflict_that_is_committed_as_it_lies_there_does_not_land() {
    let sandbox = with_lines();
    sandbox.configure(&json!({"merge": {"conflictRetries": 2}}));
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let second = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; commit; \
        say COMPLETE\nRESOLVE: note resolver; git add -A; git commit -qm settled; say RESOLVED";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    let need = sandbox.wait_needs_you("conflict");
    let message = need["message"].as_str().unwrap();
    assert!(
        message.contains("still in conflict: lines.txt"),
        "{message}"
    );
    let resolve = ["merge", "resolve", &id];
    sandbox.swarm(&resolve).refused(1, &["lines.txt"]);
    sandbox.swarm(&["merge", "retry", &id]).ok();
    let need = sandbox.wait_needs_you("conflict");
    settle_by_hand(&sandbox, &need, "lines.txt", Some("one\n"));
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("lines.txt"), "one\n");
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// The resolution is of the conflict with the older target; the newer one is merged after it.
#[test]
fn what_the_target_gained_since_a_conflict_was_committed_is_not_missed() {
    let sandbox = with_lines();
    sandbox.configure(&json!({"merge": {"conflictRetries": 1}}));
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let second = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; commit; \
        say COMPLETE\nRESOLVE: git add -A; git commit -qm settled; say RESOLVED";
    let (daemon, _, id) = one_after_the_other(&sandbox, first, second);
    sandbox.wait_needs_you("conflict");
    let other = sandbox.idea("write z.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&other, "done");
    sandbox.swarm(&["merge", "retry", &id]).ok();
    let need = sandbox.wait_needs_you("conflict");
    let both = LINES.replace("three", "three of both");
    settle_by_hand(&sandbox, &need, "lines.txt", Some(&both));
    sandbox.wait_idea(&id, "done");
    assert_eq!(
        (sandbox.read("lines.txt"), sandbox.read("z.txt")),
        (both, "x\n".into())
    );
    let warnings = sandbox.status()["warnings"].to_string();
    assert!(!warnings.contains("dropped"), "{warnings}");
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// A resolver that asks in a conflict that it has settled in part, and goes on with an answer.
const ASKS: &str = "sed 's/^three$/three of the second/' lines.txt >new && mv new lines.txt; \
    commit; say COMPLETE\nRESOLVE: if grep -q 'take[ ]both' $SWARM_PROMPT_FILE; then cp \
    $SWARM_PROMPT_FILE $OUT/answered; sed '/^[<>|]/d; s/^=.*/three of both/' lines.txt \
    >new && mv new lines.txt; say RESOLVED; elif grep -q 'moved[ ]since' $SWARM_PROMPT_FILE; then \
    note again; sed '/^[<>|]/d; s/^=.*/three of both/' lines.txt >new && mv new \
    lines.txt; say RESOLVED; else write notes.txt half; say 'NEEDS_HUMAN:one or both?'; fi";

/// The conflict about which the resolver asks; then another idea has landed.
fn asked_before_a_landing(sandbox: &Sandbox) -> (Daemon<'_>, String) {
    let first = "sed 's/^three$/three of the first/' lines.txt >new && mv new lines.txt";
    let (daemon, _, id) = one_after_the_other(sandbox, first, ASKS);
    sandbox.wait_needs_you("conflict");
    let other = sandbox.idea("write z.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&other, "done");
    (daemon, id)
}

fn answer(sandbox: &Sandbox, id: &str) {
    let need = sandbox.wait_needs_you("conflict");
    let say = strings(&need["commands"])[0].replace("...", "take both");
    sandbox.shell(&say).ok();
    sandbox.swarm(&["merge", "retry", id]).ok();
}

/// It landed with the answer and with what the resolver had done before it asked.
fn assert_answered(sandbox: &Sandbox, id: &str) {
    sandbox.wait_idea(id, "done");
    let prompt = fs::read_to_string(sandbox.path("out").join("answered")).unwrap();
    for part in [
        "The question was: one or both?",
        "The answer: take both",
        "What had been resolved until then is in commit",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let files = ["lines.txt", "z.txt", "notes.txt"].map(|file| sandbox.read(file));
    assert!(files[0].contains("three of both"), "{files:?}");
    assert_eq!(files[1..], ["x\n", "half\n"]);
}

#[test]
fn an_answer_reaches_the_resolver_after_another_idea_landed() {
    let sandbox = with_lines();
    let (daemon, id) = asked_before_a_landing(&sandbox);
    answer(&sandbox, &id);
    assert_answered(&sandbox, &id);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn an_answer_reaches_the_resolver_although_the_daemon_was_killed_after_the_landing() {
    let sandbox = with_lines();
    let (daemon, id) = asked_before_a_landing(&sandbox);
    daemon.kill();
    let daemon = sandbox.start();
    answer(&sandbox, &id);
    assert_answered(&sandbox, &id);
    daemon.stop();
    sandbox.assert_repository_clean();
}

#[test]
fn a_retry_without_an_answer_starts_the_conflict_on_the_target_of_now() {
    let sandbox = with_lines();
    let (daemon, id) = asked_before_a_landing(&sandbox);
    sandbox.swarm(&["merge", "retry", &id]).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.notes("again"), [id.as_str()]);
    assert_eq!(sandbox.read("notes.txt"), "half\n");
    daemon.stop();
    sandbox.assert_repository_clean();
}

/// Types the printed commands, one by one; in place of the merge tool the file is written, or
/// removed.
fn settle_by_hand(sandbox: &Sandbox, need: &Value, file: &str, content: Option<&str>) {
    let commands = strings(&need["commands"]);
    assert!(
        commands.iter().any(|line| line.contains("mergetool")),
        "{commands:?}"
    );
    assert!(
        commands.last().unwrap().starts_with("swarm merge resolve"),
        "{commands:?}"
    );
    for line in commands {
        if line.contains("mergetool") {
            let id = need["ideaId"].as_str().unwrap();
            let path = sandbox.path_of(id).join(file);
            match content {
                Some(content) => fs::write(path, content).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        } else {
            sandbox.shell(&line).ok();
        }
    }
}

#[test]
fn a_complex_conflict_is_settled_by_a_person_with_the_printed_commands() {
    let sandbox = with_lines();
    sandbox.configure(&json!({"qualityCommands": ["test -e README.md"]}));
    let second =
        "sed 's/^three$/three changed/' lines.txt >new && mv new lines.txt; commit; say COMPLETE";
    let (daemon, _, id) = one_after_the_other(&sandbox, "git rm -q lines.txt", second);
    let need = sandbox.wait_needs_you("conflict");
    assert!(
        need["message"].as_str().unwrap().contains("lines.txt"),
        "{need}"
    );
    let before = sandbox.head("main");

    // Said too early: refused, and nothing has changed.
    sandbox
        .swarm(&["merge", "resolve", &id])
        .refused(1, &["lines.txt"]);
    assert_eq!(sandbox.head("main"), before);
    // Others go on meanwhile.
    let other = sandbox.idea("write other.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&other, "done");

    let need = sandbox.wait_needs_you("conflict");
    settle_by_hand(&sandbox, &need, "lines.txt", Some("one\nthree changed\n"));
    let idea = sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.read("lines.txt"), "one\nthree changed\n");
    assert_eq!(idea["retryCount"], 0, "{idea}");
    daemon.stop();
    sandbox.assert_repository_clean();
    sandbox.assert_log_sound();
}

#[test]
fn a_persons_conflict_survives_a_kill() {
    let sandbox = with_lines();
    let second =
        "sed 's/^three$/three changed/' lines.txt >new && mv new lines.txt; commit; say COMPLETE";
    let (daemon, _, id) = one_after_the_other(&sandbox, "git rm -q lines.txt", second);
    sandbox.wait_needs_you("conflict");
    daemon.kill();
    // Without a daemon nobody has judged yet what was said too early, and nothing is promised.
    let said = sandbox.swarm(&["merge", "resolve", &id]);
    said.ok();
    assert!(said.stderr.contains("the next daemon checks"), "{said}");
    assert!(!said.stderr.contains("continues"), "{said}");
    let daemon = sandbox.start();
    let need = sandbox.wait_for("what the next daemon makes of it", || {
        let need = sandbox.wait_needs_you("conflict");
        let message = need["message"].as_str()?;
        message.contains("still in conflict").then_some(need)
    });
    settle_by_hand(&sandbox, &need, "lines.txt", None);
    sandbox.wait_idea(&id, "done");
    assert!(!sandbox.repo().join("lines.txt").exists());
    daemon.stop();
    sandbox.assert_repository_clean();
}
