//! The first minute: `swarm demo` where nothing is set up.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::harness::{Ran, Sandbox, Terminal};

const MINUTE: Duration = Duration::from_secs(60);

/// Runs the demo in an empty home, outside of any repository, without an identity for git.
fn demo(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.swarm_command(&["demo", "--no-open"]);
    command.args(args).current_dir(sandbox.path("home"));
    sandbox.run(&mut command, b"", MINUTE)
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The folder below `folder` that is set up for swarm.
fn repository_below(folder: &Path) -> PathBuf {
    let mut open = entries(folder);
    while let Some(path) = open.pop() {
        // In a worktree, `.git` is a file.
        if path.join(".git").is_dir() {
            return path;
        }
        if path.is_dir() {
            open.extend(entries(&path));
        }
    }
    panic!("no repository below {}", folder.display());
}

#[test]
fn a_small_demo_leaves_nothing_behind() {
    let sandbox = Sandbox::empty();
    let ran = demo(&sandbox, &["--ideas", "3", "--agents", "2", "--fast"]);
    assert!(ran.ok().contains("3 landed, 1 check mended, in "), "{ran}");
    for absent in ["KILL", "CONFLICT", "crash", "conflict"] {
        assert!(!ran.stderr.contains(absent), "{absent}: {ran}");
    }
    assert_eq!(entries(&sandbox.path("tmp")), [] as [PathBuf; 0]);
    assert_eq!(entries(&sandbox.path("home")), [] as [PathBuf; 0]);
    sandbox.assert_nothing_runs();
}

#[test]
fn the_demo_shows_a_refused_check_a_conflict_and_a_recovery() {
    let sandbox = Sandbox::empty();
    let ran = demo(&sandbox, &["--keep", "--fast"]);
    let recap = "8 landed, 1 check mended, 1 conflict resolved, 1 crash recovered, in ";
    assert!(ran.ok().contains(recap), "{ran}");
    assert_moments_told(&ran);
    sandbox.assert_nothing_runs();
    let kept = repository_below(&sandbox.path("tmp"));
    let shown = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        shown.contains(kept.to_str().unwrap()),
        "the kept place is not named: {ran}"
    );
    commands_work_as_printed(&sandbox, &ran.stderr);
    assert_recorded(&sandbox, &kept);
    sandbox.git_in(&kept, &["fsck", "--strict"]);
    sandbox.swarm_in(&kept, &["replay", "--verify"]).ok();
    let mut check = sandbox.command("./check.sh");
    sandbox.run(check.current_dir(&kept), b"", MINUTE).ok();
    assert_eq!(sandbox.git_in(&kept, &["branch", "--list", "agent/*"]), "");
    fs::remove_dir_all(kept.parent().unwrap()).unwrap();
}

/// Each moment is told when it happens.
fn assert_moments_told(ran: &Ran) {
    for (first, then) in [
        ("KILL -9: ", "RECOVERED: "),
        ("CHECK FAILED: ", "MENDED: "),
        ("CONFLICT: ", "RESOLVED: "),
    ] {
        let place = |mark| {
            ran.stderr
                .find(mark)
                .unwrap_or_else(|| panic!("no {mark}: {ran}"))
        };
        assert!(place(first) < place(then), "{ran}");
    }
    let complaint = "the link to 'directions' leads nowhere";
    let unwrapped = ran.stderr.replace("\n       ", " ");
    assert!(unwrapped.contains(complaint), "{ran}");
}

/// The log has every moment.
fn assert_recorded(sandbox: &Sandbox, kept: &Path) {
    let ideas = sandbox.swarm_in(kept, &["idea", "list", "--json"]).json();
    let ideas = ideas.as_array().unwrap();
    assert_eq!(ideas.len(), 8, "{ideas:?}");
    for idea in ideas {
        assert_eq!(idea["status"], "done", "{idea}");
    }
    let events = sandbox.swarm_in(kept, &["events", "--json"]);
    let events: Vec<Value> = events
        .ok()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    for kind in [
        "gateFailed",
        "mergeConflicted",
        "conflictSettled",
        "ideaLanded",
    ] {
        assert!(kinds.contains(&kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "ideaLanded").count(),
        ideas.len()
    );
    let recovered = ideas.iter().any(|idea| {
        let id = idea["id"].as_str().unwrap();
        let shown = sandbox
            .swarm_in(kept, &["idea", "show", id, "--json"])
            .json();
        let history = shown["history"].as_array().unwrap().clone();
        history
            .iter()
            .any(|entry| entry["what"] == "crash_recovery")
    });
    assert!(recovered, "no idea was recovered");
}

/// Types what the demo says to type.
fn commands_work_as_printed(sandbox: &Sandbox, shown: &str) {
    let lines = shown.lines().skip_while(|line| !line.starts_with("  cd "));
    let lines: Vec<&str> = lines.map(str::trim).collect();
    assert_eq!(lines.len(), 4, "{shown}");
    let typed = sandbox.shell(&lines.join(" && "));
    for words in ["landed", "Add a price list", "The bakery's pages"] {
        assert!(typed.ok().contains(words), "{words}: {typed}");
    }
    assert_eq!(lines[2], "swarm idea show idea-005");
}

/// How often each moment was told, and how often the recap says that it happened.
fn told_and_counted(ran: &Ran) -> [(usize, usize); 3] {
    let recap = ran.ok().trim();
    let counted = |what: &str| {
        let part = recap.split(", ").find(|part| part.ends_with(what));
        part.map_or(0, |part| part.split(' ').next().unwrap().parse().unwrap())
    };
    [
        ("MENDED: ", "mended"),
        ("RESOLVED: ", "resolved"),
        ("RECOVERED: ", "recovered"),
    ]
    .map(|(told, what)| (ran.stderr.matches(told).count(), counted(what)))
}

#[test]
fn the_demo_tells_only_what_happened() {
    for (ideas, agents, expected) in [
        ("1", "1", [0, 0, 0]),
        ("2", "3", [1, 0, 0]),
        // Nothing meets a conflict where one agent works after the other.
        ("8", "1", [1, 0, 1]),
        ("20", "4", [1, 1, 1]),
    ] {
        let sandbox = Sandbox::empty();
        let ran = demo(&sandbox, &["--fast", "--ideas", ideas, "--agents", agents]);
        let landed = format!("{ideas} landed");
        assert!(ran.ok().contains(&landed), "{ran}");
        assert_eq!(
            told_and_counted(&ran),
            expected.map(|count| (count, count)),
            "{ran}"
        );
        assert_eq!(entries(&sandbox.path("tmp")), [] as [PathBuf; 0]);
    }
}

fn begin(sandbox: &Sandbox) -> (Child, PathBuf) {
    let shown = sandbox.path("out/demo.log");
    let file = fs::File::create(&shown).unwrap();
    let mut command = sandbox.swarm_command(&["demo"]);
    command.current_dir(sandbox.path("home"));
    command.stdout(file.try_clone().unwrap()).stderr(file);
    (command.spawn().unwrap(), shown)
}

/// Whether this process, if it is still there, has taken the signal (`ShdPnd` of proc(5)).
fn has_arrived(signal: Signal, process: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{process}/status")) else {
        return true;
    };
    let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
    let pending = u64::from_str_radix(pending.unwrap().trim(), 16).unwrap();
    pending & (1 << (signal as u32 - 1)) == 0
}

#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    // Before, at the beginning of and in the middle of the work; once, and by somebody impatient.
    for (wait, times) in [("", 1), ("worktree", 1), ("KILL -9", 1), ("KILL -9", 3)] {
        let sandbox = Sandbox::empty();
        let (mut demo, shown) = begin(&sandbox);
        sandbox.wait_for("the demo to begin", || {
            let shown = fs::read_to_string(&shown).unwrap();
            let begun = fs::read_dir(sandbox.path("tmp")).unwrap().next().is_some();
            (begun && shown.contains(wait)).then_some(())
        });
        for _ in 0..times {
            kill(Pid::from_raw(demo.id().cast_signed()), Signal::SIGINT).unwrap();
            // Signals that are still on their way count as one.
            sandbox.wait_for("the signal to arrive", || {
                has_arrived(Signal::SIGINT, demo.id()).then_some(())
            });
        }
        let status = sandbox.wait_for("the demo to end", || demo.try_wait().unwrap());
        let shown = fs::read_to_string(&shown).unwrap();
        assert_eq!(status.code(), Some(0), "{wait}, {times}: {shown}");
        assert!(shown.contains("stopped"), "{wait}, {times}: {shown}");
        assert_eq!(
            entries(&sandbox.path("tmp")),
            [] as [PathBuf; 0],
            "{wait}, {times}"
        );
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn the_demo_fits_a_narrow_terminal() {
    for (no_color, columns) in [("", 60), ("1", 80)] {
        let sandbox = Sandbox::empty();
        let terminal = Terminal::of_size(columns, 24);
        let mut command = sandbox.swarm_command(&["demo", "--fast"]);
        command.env("TERM", "xterm").env("NO_COLOR", no_color);
        command.current_dir(sandbox.path("home"));
        let mut demo = terminal.start(&command);
        let mut bytes = Vec::new();
        let status = sandbox.wait_within(MINUTE, "the demo to end", || {
            bytes.extend(terminal.take_output());
            demo.try_wait().unwrap()
        });
        bytes.extend(terminal.take_output());
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(status.code(), Some(0), "{text}");
        assert_eq!(text.contains('\u{1b}'), no_color.is_empty(), "{text}");
        let plain = without_colors(&text);
        assert!(plain.contains("8 landed, "), "{plain}");
        // Only the path of the repository may be longer: it must stay whole.
        let width = usize::from(columns);
        let long = plain
            .lines()
            .find(|line| line.chars().count() > width && !line.contains('/'));
        assert_eq!(long, None, "{plain}");
    }
}

fn without_colors(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| all + part.split_once('m').unwrap().1)
}
