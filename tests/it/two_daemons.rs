//! One log has one daemon, whatever somebody does to the files that say so, and under whatever path
//! the checkout is reached.

use std::fs;
use std::os::unix::fs::symlink;

use crate::harness::Sandbox;

/// The daemon that runs still works, and no other one has written to its log.
fn assert_alone(sandbox: &Sandbox) {
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "done");
    assert_eq!(sandbox.logged("daemonStarted").len(), 1);
    sandbox.assert_log_sound();
}

#[test]
fn a_second_daemon_is_refused_where_somebody_unlinked_the_lock() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    fs::remove_file(sandbox.private("lock")).unwrap();
    let second = sandbox.swarm(&["start"]);
    assert_ne!(second.code, 0, "{second}");
    assert!(second.stderr.contains("another daemon"), "{second}");
    assert_alone(&sandbox);
    daemon.stop();
}

#[test]
fn a_link_to_the_checkout_leads_to_the_same_daemon() {
    let sandbox = Sandbox::ready();
    let daemon = sandbox.start();
    let link = sandbox.path("link");
    symlink(sandbox.repo(), &link).unwrap();
    let second = sandbox.swarm_in(&link, &["start"]);
    assert_ne!(second.code, 0, "{second}");
    sandbox
        .swarm_in(&link, &["idea", "add", "DO: write b.txt x; say COMPLETE"])
        .ok();
    assert_eq!(sandbox.ideas().len(), 1);
    assert_alone(&sandbox);
    daemon.stop();
}
