//! What hostile reality does to worktrees, branches and the repository: it costs no idea, and
//! nobody is stuck.

use std::fs;

use serde_json::Value;

use crate::harness::{Sandbox, raised};

#[test]
fn an_agent_that_deletes_its_worktree_goes_on_from_its_branch() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if iteration 1; then write a.txt x; commit; rm -rf \"$SWARM_WORKTREE\"; else write b.txt \
        y; say COMPLETE; fi",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    for (file, content) in [("a.txt", "x"), ("b.txt", "y")] {
        assert_eq!(sandbox.file_at("main", file), content);
    }
    sandbox.assert_repository_clean();
}

#[test]
fn trouble_with_the_repository_pauses_and_fails_no_idea() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let id =
        sandbox.idea("write a.txt x; attempt 1 && git config filter.x.clean evil; say COMPLETE");
    sandbox.wait_status("the pause", |status| status["phase"] == "paused");
    sandbox.wait_idea(&id, "pending");
    sandbox.git(&["config", "--unset", "filter.x.clean"]);
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.warnings(), [Value::Null; 0]);
    daemon.stop();
}

#[test]
fn a_branch_without_its_history_goes_back_to_its_agent() {
    let sandbox = Sandbox::ready();
    let base = sandbox.head("main");
    let id = sandbox.idea(&format!(
        "if iteration 1; then git update-ref -d refs/heads/$SWARM_BRANCH; write a.txt x; commit; \
         else git reset -q --soft {base}; commit; fi; say COMPLETE"
    ));
    sandbox.commit("Set up");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.notes("runs").len(), 2);
    assert_eq!(sandbox.file_at("main", "a.txt"), "x");
}

#[test]
fn files_among_the_state_of_swarm_do_not_land() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if iteration 1; then write .swarm/state/evil x; git add -f .swarm/state/evil; git commit \
        -qm evil; else git rm -rq --cached .swarm/state; git commit -qm mended; rm -rf \
        .swarm/state; write a.txt x; fi; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    assert_eq!(sandbox.notes("runs").len(), 2);
    assert!(!sandbox.dot_swarm("state/evil").exists());
}

#[test]
fn branches_of_attempts_that_were_taken_over_do_not_pile_up() {
    let sandbox = Sandbox::ready();
    let id =
        sandbox.idea("write a$SWARM_ATTEMPT.txt x; commit; attempt 3 || kill -9 $$; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    for file in ["a1.txt", "a2.txt", "a3.txt"] {
        assert!(fs::exists(sandbox.repo().join(file)).unwrap(), "{file}");
    }
    assert_eq!(sandbox.git(&["branch", "--list", "agent/*"]), "");
}

#[test]
fn what_git_may_run_is_remembered_over_restarts() {
    let sandbox = Sandbox::ready();
    let sprung = sandbox.path("out/sprung");
    let trap = format!("touch '{}'; cat", sprung.display());
    // A filter that is there before the first start is the person's own.
    sandbox.git(&["config", "filter.own.clean", "cat"]);
    sandbox.swarm(&["config", "trust-git"]).ok();
    // The agent's part comes after every git of ours: nothing of this daemon's can see it.
    sandbox.idea("write .gitattributes '* filter=evil'; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    assert!(sandbox.private("git-programs.json").exists());
    sandbox.git(&["config", "filter.evil.clean", &trap]);
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    for _ in 0..2 {
        let refused = sandbox.swarm(&["start", "--until-idle"]);
        refused.refused(
            1,
            &[
                "filter.evil.clean = touch",
                "swarm config trust-git",
                "--unset-all",
            ],
        );
        assert!(!refused.stderr.contains("filter.own"), "{refused}");
    }
    sandbox
        .swarm(&["config", "trust-git"])
        .refused(1, &["filter.evil.clean", "--yes"]);
    assert!(!sprung.exists(), "swarm ran what an agent had configured");
    sandbox.git(&["config", "--unset", "filter.evil.clean"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
    sandbox.git(&["config", "filter.mine.clean", "cat"]);
    sandbox.swarm(&["config", "trust-git", "--yes"]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
}

#[test]
fn a_damaged_record_of_what_git_may_run_is_not_guessed_over() {
    let sandbox = Sandbox::ready();
    sandbox.git(&["config", "filter.own.clean", "cat"]);
    assert_eq!(sandbox.run_until_idle(), 0);
    for damage in ["", "{}", "[\"x\"]", "{\"version\":2,\"programs\":[]}"] {
        std::fs::write(sandbox.private("git-programs.json"), damage).unwrap();
        sandbox
            .swarm(&["start", "--until-idle"])
            .refused(1, &["git-programs.json", "swarm config trust-git"]);
        let accepted = sandbox.swarm(&["config", "trust-git", "--yes", "--json"]);
        let accepted = accepted.json();
        let mut keys = accepted["accepted"].as_array().unwrap().iter();
        assert!(
            keys.any(|one| one["key"] == "filter.own.clean"),
            "{accepted}"
        );
        assert_eq!(sandbox.run_until_idle(), 0);
    }
}

#[test]
fn an_agent_that_moves_the_target_itself_is_taken_off_it_and_named() {
    let sandbox = Sandbox::ready();
    sandbox.commit("Set up");
    // Nobody has the target checked out, so an agent can.
    sandbox.git(&["switch", "-q", "-c", "elsewhere"]);
    let daemon = sandbox.start();
    sandbox
        .idea("git checkout -q main; write a.txt x; commit; write b.txt y; hold a; say COMPLETE");
    sandbox.wait_held("a");
    let moved = sandbox.head("main");
    sandbox.swarm(&["pause"]).ok();
    sandbox.release("a");
    let status = sandbox.wait_status("the warning", |status| !raised(status).is_empty());
    let warning = raised(&status)[0]["message"].as_str().unwrap().to_owned();
    for words in [&moved[..10], "ed-001", "`main`", "no check"] {
        assert!(warning.contains(words), "`{words}` is missing: {warning}");
    }
    sandbox.swarm(&["resume"]).ok();
    sandbox.wait_idea("idea-001", "done");
    // What it left uncommitted has come with it, by way of the gate.
    assert_eq!(sandbox.file_at("main", "b.txt"), "y");
    let second = sandbox.idea("write c.txt x; say COMPLETE");
    sandbox.wait_idea(&second, "done");
    let third = sandbox.idea("write d.txt x; say COMPLETE");
    sandbox.wait_idea(&third, "done");
    assert_eq!(sandbox.warnings(), [Value::Null; 0]);
    daemon.stop();
}

#[test]
fn a_link_in_place_of_a_folder_that_swarm_writes_is_refused_and_nothing_behind_it_changes() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    // Names that would do for runs, worktrees and checkpoints.
    let other = sandbox.path("other");
    for name in ["r0001-ed-001-i1", "ed-001-idea-001", ".trash-old"] {
        fs::create_dir_all(other.join(name)).unwrap();
        fs::write(other.join(name).join("precious"), "x").unwrap();
    }
    for folder in ["state", "checkpoints", "logs", "inbox"] {
        let (ours, aside) = (sandbox.dot_swarm(folder), sandbox.path("aside"));
        let was_there = fs::rename(&ours, &aside).is_ok();
        std::os::unix::fs::symlink(&other, &ours).unwrap();
        for args in [
            &["start", "--until-idle"][..],
            &["status"],
            &["clean"],
            &["idea", "list"],
        ] {
            let words = ["symbolic link", folder, "rm "];
            sandbox.swarm(args).refused(1, &words);
        }
        fs::remove_file(&ours).unwrap();
        if was_there {
            fs::rename(&aside, &ours).unwrap();
        }
    }
    let (worktrees, aside) = (sandbox.worktrees(), sandbox.path("aside"));
    fs::rename(&worktrees, &aside).unwrap();
    std::os::unix::fs::symlink(&other, &worktrees).unwrap();
    let started = sandbox.swarm(&["start", "--until-idle"]);
    started.refused(1, &["symbolic link", worktrees.to_str().unwrap()]);
    sandbox.swarm(&["clean"]).ok();
    fs::remove_file(&worktrees).unwrap();
    fs::rename(&aside, &worktrees).unwrap();
    for name in ["r0001-ed-001-i1", "ed-001-idea-001", ".trash-old"] {
        let precious = fs::read_to_string(other.join(name).join("precious"));
        assert_eq!(precious.unwrap(), "x", "{name}");
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 3);
    assert_eq!(sandbox.run_until_idle(), 0);
}

#[test]
fn an_idea_whose_work_git_has_lost_fails_alone() {
    let sandbox = Sandbox::ready();
    let lost = sandbox.idea("if attempt 1; then write a.txt x; commit; hold it; fi; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill_everything();
    drop(daemon);
    let tip = sandbox.head("agent/ed-001/idea-001");
    let object = sandbox
        .repo()
        .join(format!(".git/objects/{}/{}", &tip[..2], &tip[2..]));
    let away = sandbox.path("away");
    fs::rename(&object, &away).unwrap();
    let other = sandbox.idea("write b.txt x; commit; say COMPLETE");
    let daemon = sandbox.start();
    sandbox.wait_idea(&other, "done");
    let idea = sandbox.wait_idea(&lost, "failed");
    let why = idea["lastError"].as_str().unwrap();
    assert!(why.contains("git has lost commit"), "{why}");
    for way_out in ["swarm idea retry idea-001", "swarm idea cancel idea-001"] {
        assert!(why.contains(way_out), "{why}");
    }
    fs::rename(&away, &object).unwrap();
    sandbox.swarm(&["idea", "retry", &lost]).ok();
    sandbox.wait_idea(&lost, "done");
    daemon.stop();
}

#[test]
fn lost_work_that_is_given_up_holds_nobody() {
    let sandbox = Sandbox::ready();
    let lost = sandbox.idea("write a.txt x; commit; hold it");
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    daemon.kill_everything();
    drop(daemon);
    let tip = sandbox.head("agent/ed-001/idea-001");
    let object = format!(".git/objects/{}/{}", &tip[..2], &tip[2..]);
    fs::remove_file(sandbox.repo().join(object)).unwrap();
    let daemon = sandbox.start();
    sandbox.wait_idea(&lost, "failed");
    sandbox.swarm(&["idea", "cancel", &lost]).ok();
    let again = sandbox.idea("write a.txt x; commit; say COMPLETE");
    sandbox.wait_idea(&again, "done");
    daemon.stop();
}
