//! What an agent left uncommitted passes the repository's commit hooks, or goes back to it.

use insta::assert_snapshot;

use crate::domain::lifecycle::AttemptPhase;
use crate::domain::observation::RunEndKind;
use crate::domain::outcome::SealOutcome;
use crate::domain::testkit::outcomes::sealed;
use crate::domain::testkit::scenario::exit;
use crate::domain::testkit::{Scenario, agent};

/// The commit hooks run on what the first agent left uncommitted.
fn hooks_run() -> Scenario {
    let mut s = Scenario::with(|settings| settings.commit_hooks = true);
    s.add("one").well_until("iteration").completes(&agent(1));
    s.answer("seal", SealOutcome::HooksDue).quietly();
    s
}

#[test]
fn leftovers_are_committed_once_the_hooks_have_passed() {
    let mut s = hooks_run();
    s.check(exit(0));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-hooks Exited { code: 0 }
    commitHooksPassed {agent: ed-001}
    end #4
    ask #5 seal ed-001
    ");
    s.answer("seal", sealed(5, true)).quietly();
    assert!(s.pending("gate").is_some());
}

#[test]
fn rejected_leftovers_go_back_to_the_agent() {
    let mut s = hooks_run();
    s.check(exit(1));
    assert_snapshot!(s.then(), @r"
    run r0002-ed-001-hooks Exited { code: 1 }
    gateFailed {agent: ed-001, feedback: {command: the commit hooks of this repository, how: exit code 1, run: r0002-ed-001-hooks}}
    ed-001 -> Backoff
    end #4
    ed-001 -> Starting
    iterationStarted {agent: ed-001, iteration: 2, run: r0003-ed-001-i2}
    ed-001 -> Working
    ask #5 run r0003-ed-001-i2 as ed
    ");
    // The hooks judge what the next iteration leaves, whatever they said before.
    s.completes(&agent(1)).answer("seal", SealOutcome::HooksDue);
    assert!(s.pending("commitHooks").is_some());
}

#[test]
fn hooks_that_were_lost_run_again() {
    let mut s = hooks_run();
    s.check(RunEndKind::Lost);
    assert_eq!(s.attempt(1).phase, AttemptPhase::Gating);
    s.answer("seal", SealOutcome::HooksDue);
    assert!(s.pending("commitHooks").is_some());
}
