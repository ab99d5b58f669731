//! The real prettier, without options, leaves what swarm writes into a checkout as it is: `npm run
//! format` makes no change that somebody has to look at. The real linters of Markdown find nothing
//! in it, so that a project's `remark .` stays green.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::harness::Sandbox;
use crate::harness::required_tools::are_missing;

/// Prettier: `SWARM_PRETTIER`, else installed now.
pub fn prettier() -> PathBuf {
    std::env::var_os("SWARM_PRETTIER").map_or_else(installed, PathBuf::from)
}

fn installed() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("prettier");
    let mut install = Command::new(root.join("tests/it/install_prettier.sh"));
    install.arg(&place).stdin(Stdio::null());
    let done = install.stderr(Stdio::inherit()).output().unwrap();
    assert!(done.status.success(), "{install:?}: {}", done.status);
    String::from_utf8(done.stdout).unwrap().trim_end().into()
}

/// Fails with the names of the files that prettier would change.
fn assert_formatted(sandbox: &Sandbox, paths: &[&str]) {
    let mut check = sandbox.command(prettier());
    check.args(["--ignore-path", "/dev/null", "--check"]);
    check.args(paths.iter().map(|path| sandbox.dot_swarm(path)));
    let ran = sandbox.run(&mut check, b"", crate::harness::PATIENCE);
    assert_eq!(ran.code, 0, "{ran}");
}

/// Presets of remark, by their packages. The last is that of the repository of remark itself.
const PRESETS: [&str; 4] = [
    "remark-preset-lint-recommended",
    "remark-preset-lint-consistent",
    "remark-preset-lint-markdown-style-guide",
    "remark-preset-wooorm",
];

/// Fails with what remark and markdownlint find in the Markdown below `.swarm`.
fn assert_linted(sandbox: &Sandbox) {
    let prettier = prettier();
    let packages = prettier.ancestors().nth(2).unwrap();
    for preset in PRESETS {
        let mut remark = sandbox.command(prettier.with_file_name("remark"));
        remark.args(["--no-color", "--no-stdout", "--no-config", "--frail"]);
        remark
            .arg("--use")
            .arg(packages.join(preset).join("index.js"));
        remark.arg(".swarm");
        let ran = sandbox.run(&mut remark, b"", crate::harness::PATIENCE);
        assert!(ran.code == 0, "{preset}: {ran}");
        assert!(ran.to_string().contains("general.md"), "{preset}: {ran}");
    }
    let mut markdownlint = sandbox.command(prettier.with_file_name("markdownlint-cli2"));
    markdownlint.arg(".swarm/**/*.md");
    let ran = sandbox.run(&mut markdownlint, b"", crate::harness::PATIENCE);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!ran.to_string().contains("Linting: 0"), "{ran}");
}

#[test]
fn linters_of_markdown_find_nothing_in_what_swarm_writes() {
    if are_missing(&["node", "npm"]) {
        return;
    }
    let sandbox = Sandbox::ready();
    // The preset of remark's repository asks where a repository comes from.
    let url = "https://github.com/a/b.git";
    sandbox.git(&["remote", "add", "origin", url]);
    sandbox.write("package.json", &format!("{{\"repository\": \"{url}\"}}\n"));
    sandbox.configure(&json!({"memory": {"window": 16}}));
    let learn = |sentence: &str| {
        sandbox.swarm(&["memory", "learn", sentence]).ok();
    };
    for number in 1..=17 {
        learn(&format!("The tests of part {number} need a database"));
    }
    learn("- see https://example.org/a_b for <swarm> and *what* it means, `x * y` too, and so on");
    sandbox.swarm(&["memory", "compact"]).ok();
    let pages = fs::read_dir(sandbox.dot_swarm("state/memory")).unwrap();
    assert_eq!(pages.count(), 1);
    assert_linted(&sandbox);
    assert_formatted(&sandbox, &["learnings.md", "state/memory"]);
}

#[test]
fn prettier_changes_nothing_that_swarm_writes_for_people() {
    if are_missing(&["node", "npm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("package.json", "{\"scripts\": {\"test\": \"true\"}}\n");
    sandbox.write("package-lock.json", "{}\n");
    let init = [
        "init", "--yes", "--agent", "command", "--", "sh", "agent.sh",
    ];
    sandbox.swarm(&init).ok();
    let steps = [
        (
            "worktree.setup",
            json!(["first step ".repeat(5), "second step ".repeat(5)]),
        ),
        ("agents.profiles.ed.env", json!({"SOME": "value"})),
    ];
    for (key, value) in steps {
        let set = ["config", "set", key, &value.to_string()];
        sandbox.swarm(&set).ok();
    }
    let tracked = [
        "config.json",
        "config.schema.json",
        "agents",
        "hooks",
        "rules",
    ];
    assert_formatted(&sandbox, &tracked);
    sandbox.configure(&json!({}));
    sandbox.swarm(&["checkpoint", "create", "empty"]).ok();
    assert_formatted(&sandbox, &["learnings.md"]);
    let text = "write a.txt x; hold it; say COMPLETE # ".to_owned() + &"日本 ".repeat(40);
    sandbox
        .swarm(&["memory", "learn", "tests need a database"])
        .ok();
    sandbox.idea(&text);
    let daemon = sandbox.start();
    sandbox.wait_held("it");
    sandbox.swarm(&["checkpoint", "create", "working"]).ok();
    sandbox.release("it");
    sandbox.wait_idea("idea-001", "done");
    sandbox.swarm(&["checkpoint", "create", "done"]).ok();
    daemon.stop();
    let learnings = fs::read_to_string(sandbox.dot_swarm("learnings.md")).unwrap();
    assert!(learnings.contains("a database"), "{learnings}");
    assert_formatted(&sandbox, &["checkpoints", "learnings.md"]);
}
