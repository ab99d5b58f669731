//! Real projects, each made ready by `swarm init --yes` alone: ten ideas through a scripted agent
//! that adds a file and its test. All of them land, although the daemon is killed in the middle.
//!
//! What needs the network or a toolchain that CI has not is ignored; run it with
//! `cargo test --test real_projects -- --ignored --nocapture`.

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[allow(dead_code, unused_imports)] // the whole program's tests use the rest of it
#[path = "it/harness/mod.rs"]
mod harness;

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use harness::Sandbox;

/// Ideas for each project.
const IDEAS: usize = 10;
/// Landed ideas after which the daemon is killed.
const BEFORE_KILL: usize = 3;
/// Long enough for a busy machine that installs packages.
const LIMIT: Duration = Duration::from_secs(300);
/// What toolchains need of this machine besides a home folder.
const PASSED: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// A project, and what an idea adds to it; `N` stands for the idea's number.
struct Project {
    files: &'static [(&'static str, &'static str)],
    /// Makes its lock file.
    lock: &'static str,
    idea: &'static str,
}

fn passed(command: &mut Command) -> &mut Command {
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // Installed beside the home folder of whoever runs the tests.
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let (None, Some(home)) = (std::env::var_os(name), std::env::home_dir()) {
            command.env(name, home.join(folder));
        }
    }
    command
}

fn shell(sandbox: &Sandbox, line: &str) {
    let mut command = sandbox.command("sh");
    passed(&mut command).args(["-ec", line]);
    let ran = sandbox.run(&mut command, b"", LIMIT);
    ran.ok();
}

/// Sets the project up as its person would, with the agent of the tests.
fn set_up(project: &Project) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, content) in project.files {
        sandbox.write(name, content);
    }
    shell(&sandbox, project.lock);
    sandbox.commit("A project");
    let out = sandbox.path("out").display().to_string();
    let agent = sandbox.path("ed.sh");
    let script = format!(
        "OUT='{out}' exec sh '{}'\n",
        sandbox.path("agent.sh").display()
    );
    fs::write(&agent, script).unwrap();
    let agent = agent.display().to_string();
    let mut init = sandbox.swarm_command(&["init", "--yes", "--agent", "command", "--", "sh"]);
    let ran = sandbox.run(passed(init.arg(&agent)), b"", LIMIT);
    ran.ok();
    eprintln!("{}", ran.stderr);
    sandbox.commit("Set up swarm");
    sandbox
}

fn done(sandbox: &Sandbox) -> usize {
    let ideas = sandbox.ideas();
    ideas.iter().filter(|idea| idea["status"] == "done").count()
}

/// Lands all ideas, with a kill in between. Returns how many setup commands ran.
fn night(project: &Project) -> usize {
    let sandbox = set_up(project);
    for number in 1..=IDEAS {
        let doing = project.idea.replace('N', &number.to_string());
        sandbox.idea(&format!("{doing}; say COMPLETE"));
    }
    let start = || {
        let mut command = sandbox.swarm_command(&["start", "--no-web"]);
        passed(&mut command);
        let daemon = sandbox.spawn(command);
        daemon.wait_ready();
        daemon
    };
    let begun = Instant::now();
    let daemon = start();
    sandbox.wait_within(LIMIT, "the first landings", || {
        (done(&sandbox) >= BEFORE_KILL).then_some(())
    });
    daemon.kill();
    drop(daemon);
    let daemon = start();
    sandbox.wait_within(LIMIT, "all landings", || {
        (done(&sandbox) == IDEAS).then_some(())
    });
    let took = begun.elapsed();
    daemon.stop();
    drop(daemon);
    assert_eq!(sandbox.logged("iterationStarted").len(), IDEAS);
    assert_eq!(sandbox.logged("gateFailed").len(), 0);
    sandbox.assert_log_sound();
    sandbox.assert_repository_clean();
    let setups = sandbox.logged("setupStarted").len();
    eprintln!("{setups} setups, {IDEAS} ideas in {took:?}");
    setups
}

const RUST: Project = Project {
    files: &[
        (
            "Cargo.toml",
            "[package]\nname = \"real\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        ("src/lib.rs", "//! A library.\n"),
        (".gitignore", "/target/\n"),
    ],
    lock: "cargo generate-lockfile --offline",
    idea: "echo 'pub fn answer() -> u32 { N }' >src/fN.rs; mkdir -p tests; printf \
        '#[path = \"../src/fN.rs\"]\\nmod it;\\n#[test]\\nfn answers() { assert_eq!(it::answer(), \
        N); }\\n' >tests/fN.rs",
};

#[test]
fn ten_ideas_land_in_a_rust_project() {
    assert_eq!(night(&RUST), 0, "cargo needs no setup");
}

const GO: Project = Project {
    files: &[
        ("go.mod", "module example.com/real\n\ngo 1.19\n"),
        ("f0/f.go", "package f0\n"),
    ],
    lock: "go version",
    idea: "mkdir -p fN; printf 'package fN\\n\\nfunc Answer() int { return N }\\n' >fN/f.go; \
        printf 'package fN\\n\\nimport \"testing\"\\n\\nfunc TestAnswer(t *testing.T) {\\n\\tif \
        Answer() != N {\\n\\t\\tt.Fail()\\n\\t}\\n}\\n' >fN/f_test.go",
};

#[test]
#[ignore = "needs Go"]
fn ten_ideas_land_in_a_go_project() {
    night(&GO);
}

const NPM: Project = Project {
    files: &[
        (
            "package.json",
            "{\"name\":\"real\",\"private\":true,\"type\":\"module\",\
            \"scripts\":{\"test\":\"vitest run\"},\
            \"devDependencies\":{\"vitest\":\"^3.0.0\"},\"overrides\":{\"rollup\":\"4.44.0\"}}",
        ),
        (".gitignore", "node_modules/\n"),
        (
            "f0.test.js",
            "import { test } from 'vitest';\ntest('begins', () => {});\n",
        ),
    ],
    lock: "npm install --package-lock-only --no-audit --no-fund",
    idea: "echo 'export const answer = () => N;' >fN.js; printf \"import { expect, test } from \
        'vitest';\\nimport { answer } from './fN.js';\\ntest('answers', () => \
        expect(answer()).toBe(N));\\n\" >fN.test.js",
};

#[test]
#[ignore = "needs npm and the network"]
fn ten_ideas_land_in_an_npm_project() {
    assert!(night(&NPM) > 0, "no setup ran");
}

const PYTHON: Project = Project {
    files: &[
        (
            "pyproject.toml",
            "[project]\nname = \"real\"\nversion = \"0.1.0\"\nrequires-python = \">=3.9\"\n\n\
            [dependency-groups]\ndev = [\"pytest\"]\n\n[tool.pytest.ini_options]\npythonpath = \
            [\".\"]\n",
        ),
        (".gitignore", ".venv/\n__pycache__/\n.pytest_cache/\n"),
        ("test_f0.py", "def test_begins():\n    pass\n"),
    ],
    lock: "uv lock",
    idea: "printf 'def answer():\\n    return N\\n' >fN.py; printf 'import fN\\n\\n\\ndef \
        test_answers():\\n    assert fN.answer() == N\\n' >test_fN.py",
};

#[test]
#[ignore = "needs uv and the network"]
fn ten_ideas_land_in_a_python_project() {
    assert!(night(&PYTHON) > 0, "no setup ran");
}
