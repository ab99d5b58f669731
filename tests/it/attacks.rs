//! What hostile reality does to worktrees, branches and the repository: it costs no idea, and nobody is stuck.

use std::fs;

use serde_json::json;

use crate::harness::Sandbox;

#[test]
fn an_idea_whose_worktree_was_deleted_can_be_tried_again() {
    let sandbox = Sandbox::ready();
    let id = sandbox.idea(
        "if attempt 1; then rm -rf \"$SWARM_WORKTREE\"; else write a.txt x; fi; say COMPLETE",
    );
    assert_eq!(sandbox.run_until_idle(), 5);
    assert_eq!(sandbox.idea_status(&id), "failed");
    sandbox.swarm(&["idea", "retry", &id]).ok();
    assert_eq!(sandbox.run_until_idle(), 0);
    assert_eq!(sandbox.idea_status(&id), "done");
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
    assert_eq!(sandbox.status()["warnings"], json!([]));
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
        "if iteration 1; then write .swarm/state/evil x; git add -f .swarm/state/evil; git commit -qm evil; \
         else git rm -rq --cached .swarm/state; git commit -qm mended; rm -rf .swarm/state; write a.txt x; fi; say COMPLETE",
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
