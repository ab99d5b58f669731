//! Reading commands answer without a daemon, and an answer is exit code 0.

use crate::harness::Sandbox;

/// Every command that only reads, for a repository in which ed-001 has landed idea-001.
const READING: [&str; 29] = [
    "status",
    "idea list",
    "idea list --status done",
    "idea show idea-001",
    "agent list",
    "agent show ed-001",
    "agent logs ed-001",
    "agent logs ed-001 --raw",
    "merge list",
    "checkpoint list",
    "checkpoint show before",
    "rollback before --dry-run",
    "hooks list",
    "memory log",
    "memory learnings",
    "memory board",
    "memory search hello",
    "memory shown ed-001",
    "memory stats",
    "memory synthesize --dry-run",
    "scratch list",
    "report",
    "log",
    "events",
    "events --all --idea idea-001",
    "replay",
    "config show",
    "config check",
    "clean --dry-run",
];

/// A daemon follows, steers and is waited for; nothing else can.
const NEEDS_A_DAEMON: [&str; 13] = [
    "attach",
    "status --watch",
    "events -f",
    "memory log -f",
    "memory synthesize",
    "provenance replay idea-001",
    "pause",
    "resume",
    "stop",
    "agent stop ed-001",
    "agent say ed-001 hello",
    "agent redirect ed-001 idea-002",
    "wait idea-002",
];

fn run(sandbox: &Sandbox, line: &str, also: &[&str]) -> crate::harness::Ran {
    let mut args: Vec<&str> = line.split(' ').collect();
    args.extend(also);
    sandbox.swarm(&args)
}

#[test]
fn reading_commands_end_with_0_without_a_daemon() {
    let sandbox = Sandbox::ready();
    sandbox.swarm(&["checkpoint", "create", "before"]).ok();
    sandbox.idea("echo hello; write a.txt x; say COMPLETE");
    assert_eq!(sandbox.run_until_idle(), 0);
    sandbox.swarm(&["idea", "add", "A second idea"]).ok();
    sandbox.swarm(&["memory", "learn", "hello"]).ok();
    for line in READING {
        let ran = run(&sandbox, line, &[]);
        assert_eq!(ran.code, 0, "{ran}");
        let ran = run(&sandbox, line, &["--json"]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(!ran.stdout.is_empty(), "{ran}");
    }
    for line in NEEDS_A_DAEMON {
        let ran = run(&sandbox, line, &[]);
        assert_eq!(ran.code, 3, "{ran}");
        let ran = run(&sandbox, line, &["--json"]);
        assert_eq!(ran.code, 3, "{ran}");
    }
}
