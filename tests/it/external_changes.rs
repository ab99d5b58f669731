//! What the program says of what lies outside its own state: a daemon that is silent, a target that
//! somebody else moved or deleted.

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::harness::Sandbox;

#[test]
fn a_daemon_that_is_stopped_by_a_signal_holds_nobody_up() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    daemon.signal(Signal::SIGSTOP);
    let asked = sandbox.swarm(&["status"]);
    let pid = sandbox.announced_pid().unwrap();
    daemon.signal(Signal::SIGCONT);
    asked.refused(1, &["has not answered", &format!("kill -CONT {pid}")]);
    assert_eq!(sandbox.status()["phase"], "running");
    daemon.stop();
}

#[test]
fn status_shows_where_the_target_is_and_not_where_it_was() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.write("b.txt", "by hand");
    let commit = sandbox.commit("by hand");
    assert_eq!(sandbox.status()["target"]["commit"], *commit);
    let daemon = sandbox.start();
    sandbox.write("c.txt", "by hand");
    let commit = sandbox.commit("by hand again");
    assert_eq!(sandbox.status()["target"]["commit"], *commit);
    daemon.stop();
}

#[test]
fn a_target_that_is_gone_is_said_with_the_way_back() {
    let sandbox = Sandbox::ready();
    sandbox.idea("write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    let commit = sandbox.head("main");
    let daemon = sandbox.start();
    sandbox.git(&["switch", "-q", "-c", "elsewhere"]);
    sandbox.git(&["branch", "-q", "-D", "main"]);
    let warnings = sandbox.status()["warnings"].to_string();
    let way_back = format!("git branch main {commit}");
    assert!(warnings.contains(&way_back), "{warnings}");
    sandbox.git(&["branch", "main", &commit]);
    assert_eq!(sandbox.warnings(), [Value::Null; 0]);
    daemon.stop();
}
