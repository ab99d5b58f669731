//! A night in which everything outside breaks for a while: the clock, the agent's program, the
//! network, a login, the disk, and what the checks need. Nobody is there to help.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Daemon, PATIENCE, Sandbox};

const IDEAS: usize = 40;

/// Longer than the first wait for an environment that is broken, which nobody shortens here.
const LONG: Duration = Duration::from_secs(300);

/// Speaks as Claude Code does. It commits a file and completes, unless the network or its login is
/// broken; it waits before its answer while a file says that it shall.
const CLAUDE: &str = r#"#!/bin/sh
case "$*" in *--version*) echo '99.1.2 (Claude Code)'; exit ;; esac
session=$(cat /proc/sys/kernel/random/uuid)
usage='"usage":{"input_tokens":600,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":50}'
message() { printf '{"type":"assistant","message":{"id":"m%s","role":"assistant","model":"sonnet","content":[{"type":"text","text":"%s"}],%s},"parent_tool_use_id":null,"session_id":"%s"}\n' "$1" "$2" "$usage" "$session"; }
result() { printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","session_id":"%s","total_cost_usd":0.01,%s,"api_error_status":%s,"terminal_reason":"%s"}\n' "$1" "$2" "$session" "$usage" "$3" "$4"; }
printf '{"type":"system","subtype":"init","session_id":"%s","model":"sonnet"}\n' "$session"
if [ -e "$OUT/login.bad" ]; then
    result true 'Invalid authentication credentials' 401 api_error
    exit 1
fi
echo "$SWARM_IDEA_ID" >>"$OUT/paid"
# Each idea loses its connection once: how often it tries meanwhile is a matter of time.
if [ -e "$OUT/network.bad" ] && [ ! -e "$OUT/cut.$SWARM_IDEA_ID" ]; then
    touch "$OUT/cut.$SWARM_IDEA_ID"
    message 1 'I begin to'
    exit 1
fi
mv "$OUT/slow" "$OUT/slow.taken" 2>/dev/null && while [ -e "$OUT/slow.taken" ]; do sleep 0.05; done
echo work >"$SWARM_IDEA_ID.txt" && git add -A && git commit -q -m Work || exit 1
message 2 '<swarm>COMPLETE</swarm>'
result false '<swarm>COMPLETE</swarm>' null completed
"#;

/// Adds to the wall clock the seconds that a file holds. Other clocks stay as they are.
const CLOCK: &str = r"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    int done = syscall(SYS_clock_gettime, clock, time);
    if (done == 0 && clock == CLOCK_REALTIME) {
        char seconds[32] = {0};
        int file = open(AHEAD, O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            if (read(file, seconds, 31) > 0) time->tv_sec += atol(seconds);
            close(file);
        }
    }
    return done;
}
";

struct Night {
    sandbox: Sandbox,
    /// Where the worktrees lie.
    disk: PathBuf,
}

impl Night {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        // Hardly compressible: a worktree is too large for a disk that is nearly full.
        sandbox.write("large.txt", &"0123456789abcdef".repeat(256 * 1024));
        sandbox.commit("Something large");
        sandbox.set_up();
        let program = sandbox.path("bin/claude");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, CLAUDE).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let night = Self {
            disk: sandbox.path("disk"),
            sandbox,
        };
        fs::create_dir_all(&night.disk).unwrap();
        night.breaks_nothing();
        let service = night.out("service");
        let check = format!(
            "test -e '{}' || {{ echo connection refused >&2; exit 1; }}",
            service.display()
        );
        night.sandbox.configure(&json!({
            "agents": {"maxParallel": 4, "profile": "cl", "profiles": {"cl": {
                "adapter": "claude", "command": [program],
                "env": {"OUT": night.sandbox.path("out"), "ANTHROPIC_API_KEY": "k"},
            }}},
            "qualityCommands": [check],
            "checks": {"baseline": "require"},
            "worktree": {"root": night.disk},
        }));
        night
    }

    fn out(&self, name: &str) -> PathBuf {
        self.sandbox.path(&format!("out/{name}"))
    }

    fn touch(&self, name: &str) {
        fs::write(self.out(name), "").unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.out(name)).unwrap();
    }

    fn breaks_nothing(&self) {
        self.touch("service");
        self.clock_is_ahead(0);
    }

    fn clock_is_ahead(&self, seconds: i64) {
        // In one step, as a reader may come at any time.
        let new = self.out("ahead.new");
        fs::write(&new, seconds.to_string()).unwrap();
        fs::rename(new, self.out("ahead")).unwrap();
    }

    /// A daemon whose worktrees have a small disk, and whose clock can be set.
    fn begin(&self) -> Daemon<'_> {
        let (source, library) = (self.out("clock.c"), self.out("clock.so"));
        let ahead = self.out("ahead");
        fs::write(
            &source,
            CLOCK.replace("AHEAD", &format!("\"{}\"", ahead.display())),
        )
        .unwrap();
        let mut compiler = self.sandbox.command("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source]);
        self.sandbox.run(&mut compiler, b"", PATIENCE).ok();
        let mut command = self.sandbox.daemon_on_disk(&self.disk, "96m");
        command.env("LD_PRELOAD", library);
        let daemon = self.sandbox.spawn(command);
        daemon.wait_ready();
        daemon
    }

    fn count(&self, kind: &str) -> usize {
        self.sandbox.logged(kind).len()
    }

    fn add(&self, ideas: usize) {
        for _ in 0..ideas {
            self.sandbox.idea("anything");
        }
    }

    /// Waits until as many ideas have landed.
    fn wait_for_landings(&self, ideas: usize) {
        let landed = || (self.count("ideaLanded") >= ideas).then_some(());
        self.sandbox.wait_within(LONG, "landings", landed);
    }

    /// Waits until all ideas have landed.
    fn wait_for_all(&self) {
        self.wait_for_landings(self.count("ideaAdded"));
    }

    fn wait_for_more(&self, kind: &str, before: usize) {
        let seen = || (self.count(kind) > before).then_some(());
        self.sandbox.wait_within(LONG, kind, seen);
    }

    /// The laptop sleeps for eight hours, and the clock is set back afterwards.
    fn clock_jumps(&self) {
        self.add(6);
        self.clock_is_ahead(8 * 3_600);
        self.wait_for_landings(3);
        self.clock_is_ahead(0);
        self.wait_for_all();
    }

    /// The agent's program replaces itself.
    fn program_is_away(&self) {
        let program = self.sandbox.path("bin/claude");
        let before = self.count("profileHeld");
        fs::rename(&program, program.with_extension("old")).unwrap();
        self.add(6);
        self.wait_for_more("profileHeld", before);
        fs::rename(program.with_extension("old"), &program).unwrap();
        self.wait_for_all();
    }

    fn network_breaks(&self) {
        let before = self.count("iterationExcused");
        self.touch("network.bad");
        self.add(6);
        self.wait_for_more("iterationExcused", before);
        self.remove("network.bad");
        self.wait_for_all();
    }

    /// One refusal passes while another agent of the account is at work.
    fn login_is_refused_once(&self) {
        let before = self.count("accountHeld");
        self.touch("slow");
        self.add(1);
        let taken = self.out("slow.taken");
        let at_work = || taken.exists().then_some(());
        self.sandbox.wait_for("a slow agent", at_work);
        self.touch("login.bad");
        self.add(7);
        self.wait_for_more("accountHeld", before);
        self.remove("login.bad");
        self.remove("slow.taken");
        self.wait_for_all();
    }

    /// No worktree can get what a person has committed meanwhile.
    fn disk_is_full(&self, daemon: &Daemon<'_>) {
        let before = self.count("roomAwaited");
        let filler = self.disk.join("filler");
        // All but what a small file needs.
        let script = format!(
            "free=$(df --output=avail -k '{0}' | tail -n 1); head -c $(((free - 512) * 1024)) \
            /dev/zero >'{1}'",
            self.disk.display(),
            filler.display()
        );
        let mut full = daemon.beside("sh");
        let full = full.args(["-c", &script]);
        self.sandbox.run(full, b"", PATIENCE).ok();
        let large = "fedcba9876543210".repeat(256 * 1024);
        self.sandbox.write("large.txt", &large);
        self.sandbox.commit("Something larger");
        self.add(6);
        self.wait_for_more("roomAwaited", before);
        let mut free = daemon.beside("rm");
        self.sandbox.run(free.arg(&filler), b"", PATIENCE).ok();
        self.wait_for_all();
    }

    fn service_goes_away(&self) {
        self.remove("service");
        self.add(8);
        self.sandbox.wait_needs_you("environment");
        self.touch("service");
        self.wait_for_all();
    }
}

#[test]
fn a_night_in_which_everything_breaks_for_a_while_charges_no_idea() {
    if crate::harness::required_tools::mounts_are_forbidden() {
        return;
    }
    let night = Night::new();
    let daemon = night.begin();
    night.clock_jumps();
    night.program_is_away();
    night.network_breaks();
    night.login_is_refused_once();
    night.disk_is_full(&daemon);
    night.service_goes_away();
    let ideas = night.sandbox.ideas();
    assert_eq!(ideas.len(), IDEAS);
    assert!(
        ideas.iter().all(|idea| idea["status"] == "done"),
        "{ideas:?}"
    );
    let ends = night.sandbox.logged("attemptEnded");
    let charged: Vec<_> = ends
        .iter()
        .filter(|event| {
            ["failed", "blocked", "timedOut", "crashed"]
                .iter()
                .any(|end| event.data["end"] == *end)
        })
        .collect();
    assert!(charged.is_empty(), "{charged:?}");
    assert_eq!(night.count("gateFailed"), 0);
    assert_eq!(night.count("verifyFailed"), 0);
    assert_eq!(night.count("pauseSet"), 0, "nobody had to help");
    let mut paid: BTreeMap<&str, usize> = BTreeMap::new();
    let lines = fs::read_to_string(night.out("paid")).unwrap();
    for idea in lines.lines() {
        *paid.entry(idea).or_default() += 1;
    }
    assert!(paid.values().all(|runs| *runs <= 2), "{paid:?}");
    daemon.stop();
}
