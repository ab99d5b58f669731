//! `swarm checks probe`: small twins of real projects whose checks test another copy of the code
//! than the tree that they run in, and of those whose checks are right.
//!
//! Invariant: every wrong tree raises one alarm that names its command; no right tree raises any.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::required_tools::{are_missing, mounts_are_forbidden};
use crate::harness::{Ran, Sandbox};

/// How long a probe of a few small commands may take.
const LONG: Duration = Duration::from_secs(120);

/// A project and how it is checked. `@ROOT@` stands for the checkout, `@ENV@` for a folder
/// elsewhere.
#[derive(Default)]
struct Project<'a> {
    tracked: &'a [(&'a str, &'a str)],
    /// Run in the checkout, once: what a person did there.
    done: &'a str,
    setup: &'a [&'a str],
    checks: &'a [&'a str],
}

const PYTHON: &[(&str, &str)] = &[
    ("src/calc.py", "def add(a, b):\n    return a + b\n"),
    (
        "tests/test_calc.py",
        "import unittest, calc\nclass T(unittest.TestCase):\n    def test_add(self):\n        \
        self.assertEqual(calc.add(1, 2), 3)\n",
    ),
];
const NODE: &[(&str, &str)] = &[
    ("packages/calc/index.js", "exports.add = (a, b) => a + b;\n"),
    (
        "test/test.js",
        "require('assert').equal(require('calc').add(1, 2), 3);\n",
    ),
];
const C: &[(&str, &str)] = &[
    ("lib/calc.c", "int add(int a, int b) { return a + b; }\n"),
    (
        "app/app.c",
        "int add(int, int); int twice(int a) { return add(a, a); }\n",
    ),
    (
        "tests/test.c",
        "int add(int, int); int main(void) { return add(1, 2) != 3; }\n",
    ),
    (
        "tests/test_app.c",
        "int twice(int); int main(void) { return twice(2) != 4; }\n",
    ),
];
const UNITTEST: &str = "-m unittest discover -s tests";

impl Project<'_> {
    fn sandbox(&self) -> Sandbox {
        self.sandbox_with(&json!({}))
    }

    /// The daemon probes the checks by itself, before anything lands.
    fn guarded(&self) -> Sandbox {
        self.sandbox_with(&json!({"baseline": "require", "canary": "require"}))
    }

    fn sandbox_with(&self, checks: &Value) -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.set_up();
        sandbox.write(
            ".gitignore",
            "/build/\n/tools/\n__pycache__/\n/node_modules\n/own/\n",
        );
        for (name, content) in self.tracked {
            sandbox.write(name, content);
        }
        sandbox.commit("Write the project");
        sandbox.shell(&placed(&sandbox, self.done)).ok();
        let all = |commands: &[&str]| -> Vec<String> {
            commands.iter().map(|it| placed(&sandbox, it)).collect()
        };
        sandbox.configure(&json!({
            "qualityCommands": all(self.checks),
            "worktree": {"setup": all(self.setup)},
            "checks": checks,
        }));
        sandbox
    }

    fn probe(&self) -> (Sandbox, Ran) {
        let sandbox = self.sandbox();
        let ran = probe(&sandbox);
        (sandbox, ran)
    }

    /// It raises one alarm, about its check of this number.
    fn is_wrong(&self, check: usize) -> Value {
        let (sandbox, ran) = self.probe();
        assert_eq!(ran.code, 1, "{ran:?}");
        let report = report(&ran);
        let alarms = report["alarms"].as_array().unwrap();
        assert_eq!(alarms.len(), 1, "{report:#}");
        assert_eq!(alarms[0]["command"], placed(&sandbox, self.checks[check]));
        report
    }

    /// It raises no alarm.
    fn is_right(&self) -> Value {
        let (_, ran) = self.probe();
        assert_eq!(ran.code, 0, "{ran:?}");
        let report = report(&ran);
        assert_eq!(report["alarms"], json!([]), "{report:#}");
        report
    }
}

fn probe(sandbox: &Sandbox) -> Ran {
    sandbox.run(
        &mut sandbox.swarm_command(&["checks", "probe", "--json"]),
        b"",
        LONG,
    )
}

fn report(ran: &Ran) -> Value {
    let document: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    document["report"].clone()
}

fn placed(sandbox: &Sandbox, text: &str) -> String {
    let root = fs::canonicalize(sandbox.repo()).unwrap();
    let env = sandbox.path("env");
    let text = text.replace("@ROOT@", root.to_str().unwrap());
    text.replace("@ENV@", env.to_str().unwrap())
}

fn cannot_run(tools: &[&str]) -> bool {
    mounts_are_forbidden() || are_missing(tools)
}

/// Makes an environment outside of the checkout, and writes this into its packages.
fn environment(write: &str) -> String {
    format!("python3 -m venv --without-pip @ENV@ && cd @ENV@/lib/python3*/site-packages && {write}")
}

#[test]
fn an_editable_install_of_the_checkout_raises_an_alarm() {
    if cannot_run(&["python3"]) {
        return;
    }
    let done = environment("echo @ROOT@/src > __editable__.calc.pth");
    let tests = format!("@ENV@/bin/python {UNITTEST}");
    let linter_first = format!("python3 -m py_compile src/calc.py && {tests}");
    for (checks, named) in [
        (&[&*tests][..], 0),
        (&[&*linter_first], 0),
        (&["python3 -m py_compile src/calc.py", &tests], 1),
    ] {
        let project = Project {
            tracked: PYTHON,
            done: &done,
            checks,
            ..Project::default()
        };
        let report = project.is_wrong(named);
        let message = report["alarms"][0]["message"].as_str().unwrap();
        assert!(message.contains("repo/src/calc.py instead of"), "{message}");
    }
}

#[test]
fn a_python_path_into_the_checkout_raises_an_alarm() {
    if cannot_run(&["python3"]) {
        return;
    }
    let tests = format!("PYTHONPATH=@ROOT@/src python3 {UNITTEST}");
    let project = Project {
        tracked: PYTHON,
        checks: &[&tests],
        ..Project::default()
    };
    project.is_wrong(0);
}

#[test]
fn a_stale_copy_elsewhere_raises_an_alarm() {
    if cannot_run(&["python3"]) {
        return;
    }
    let tests = format!("@ENV@/bin/python {UNITTEST}");
    let project = Project {
        tracked: PYTHON,
        done: &environment("cp @ROOT@/src/calc.py ."),
        checks: &[&tests],
        ..Project::default()
    };
    let report = project.is_wrong(0);
    assert_eq!(report["commands"][0]["checkout"], "none", "{report:#}");
}

#[test]
fn node_modules_of_the_checkout_raise_an_alarm() {
    if cannot_run(&["node"]) {
        return;
    }
    let project = Project {
        tracked: NODE,
        done: "mkdir node_modules && ln -s ../packages/calc node_modules/calc",
        setup: &["ln -sfn @ROOT@/node_modules node_modules"],
        checks: &["node test/test.js"],
    };
    project.is_wrong(0);
}

/// Node.js looks upwards from a worktree.
#[test]
fn node_modules_of_the_checkout_are_not_found_without_a_setup() {
    if cannot_run(&["node"]) {
        return;
    }
    let project = Project {
        tracked: NODE,
        done: "mkdir node_modules && ln -s ../packages/calc node_modules/calc",
        setup: &[],
        checks: &["node test/test.js"],
    };
    let report = project.is_right();
    let why = &report["commands"][0]["why"];
    assert_eq!(why, "it fails on this tree as it is", "{report:#}");
}

#[test]
fn libraries_of_the_checkout_raise_an_alarm() {
    if cannot_run(&["cc"]) {
        return;
    }
    let out = "-o \"$(mktemp -d)/t\"";
    let source = format!("cc tests/test.c @ROOT@/lib/calc.c {out}");
    let mixture = format!("cc tests/test_app.c app/app.c @ROOT@/lib/calc.c {out}");
    let built = format!("cc tests/test.c @ROOT@/build/calc.o {out}");
    for check in [&source, &mixture, &built] {
        let project = Project {
            tracked: C,
            done: "mkdir build && cc -c lib/calc.c -o build/calc.o",
            checks: &[check],
            ..Project::default()
        };
        project.is_wrong(0);
    }
}

#[test]
fn a_check_that_tests_nothing_raises_an_alarm_until_it_is_accepted() {
    if cannot_run(&["python3"]) {
        return;
    }
    let project = Project {
        tracked: PYTHON,
        checks: &["true"],
        ..Project::default()
    };
    let (sandbox, ran) = project.probe();
    assert_eq!(ran.code, 1, "{ran:?}");
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor.stdout.contains("`true` passes although"),
        "{doctor:?}"
    );
    let start = sandbox.swarm(&["start", "--until-idle"]);
    assert!(
        start.stderr.contains("warning: `true` passes although"),
        "{start:?}"
    );

    let other = sandbox.swarm(&["checks", "accept-blind", "false", "--why", "x"]);
    assert!(
        other.stderr.contains("not one of your quality commands"),
        "{other:?}"
    );
    sandbox
        .swarm(&[
            "checks",
            "accept-blind",
            "true",
            "--why",
            "nothing to test yet",
        ])
        .ok();
    let start = sandbox.swarm(&["start", "--until-idle"]);
    assert!(!start.stderr.contains("warning: `true`"), "{start:?}");
    let again = probe(&sandbox);
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(report(&again)["commands"][0]["accepted"], true);
}

#[test]
fn checks_of_their_own_tree_raise_no_alarm() {
    if cannot_run(&["python3", "node", "cc"]) {
        return;
    }
    let tests = format!("PYTHONPATH=src python3 {UNITTEST}");
    let own = format!("own/bin/python {UNITTEST}");
    let c = "cc tests/test.c lib/calc.c -o \"$(mktemp -d)/t\"";
    for project in [
        Project {
            tracked: PYTHON,
            checks: &[&tests, "python3 -m py_compile src/calc.py", "git log -1"],
            ..Project::default()
        },
        Project {
            tracked: PYTHON,
            setup: &[
                "python3 -m venv --without-pip own",
                "echo $PWD/src > $(echo own/lib/python3*/site-packages)/calc.pth",
            ],
            checks: &[&own],
            ..Project::default()
        },
        Project {
            tracked: NODE,
            setup: &["mkdir -p node_modules && ln -sfn ../packages/calc node_modules/calc"],
            checks: &["node test/test.js"],
            ..Project::default()
        },
        Project {
            tracked: C,
            checks: &[c],
            ..Project::default()
        },
    ] {
        let report = project.is_right();
        assert_eq!(report["commands"][0]["sight"], "executes", "{report:#}");
        assert_eq!(report["commands"][0]["checkout"], "none", "{report:#}");
    }
}

#[test]
fn tools_of_the_checkout_are_noted_without_an_alarm() {
    if cannot_run(&["python3"]) {
        return;
    }
    let tests = format!("PYTHONPATH=src @ROOT@/tools/python {UNITTEST}");
    let project = Project {
        tracked: PYTHON,
        done: "mkdir tools && ln -s \"$(command -v python3)\" tools/python",
        checks: &[&tests],
        ..Project::default()
    };
    let report = project.is_right();
    assert_eq!(report["commands"][0]["checkout"], "other", "{report:#}");
    let note = report["notes"][0]["message"].as_str().unwrap();
    assert!(note.contains("that are not source"), "{note}");
}

#[test]
fn a_tree_without_source_files_is_not_checked() {
    if cannot_run(&["git"]) {
        return;
    }
    let project = Project {
        tracked: &[("tasks/main.yml", "- name: x\n")],
        checks: &["true"],
        ..Project::default()
    };
    let report = project.is_right();
    assert_eq!(report["commands"], json!([]));
    let note = report["notes"][0]["message"].as_str().unwrap();
    assert!(note.contains("2 files look like settings"), "{note}");
}

#[test]
fn a_script_that_runs_on_without_its_source_harms_only_what_is_thrown_away() {
    if cannot_run(&["git"]) {
        return;
    }
    let project = Project {
        tracked: &[("src/folder.sh", "echo /nowhere\n")],
        done: "mkdir \"$HOME/precious\" && echo kept > \"$HOME/precious/file\"",
        checks: &["D=$(sh src/folder.sh); rm -rf \"${D:-$HOME}/precious\" && test -n \"$D\""],
        ..Project::default()
    };
    let (sandbox, ran) = project.probe();
    let report = report(&ran);
    assert_eq!(report["commands"][0]["sight"], "executes", "{report:#}");
    let kept = fs::read_to_string(sandbox.path("home/precious/file")).unwrap();
    assert_eq!(kept, "kept\n");
    assert!(sandbox.repo().join("src/folder.sh").exists());
}

#[test]
fn a_check_that_fails_as_it_is_is_no_all_clear() {
    let sandbox = Sandbox::ready();
    sandbox.write("calc.py", "x = 1\n");
    sandbox.commit("Source");
    sandbox.configure(&json!({"qualityCommands": ["false"]}));
    probe(&sandbox);
    let doctor = sandbox.swarm(&["doctor"]);
    let words = "could not tell whether `false` sees the tree";
    assert!(doctor.stdout.contains(words), "{doctor}");
}

#[test]
fn a_probe_is_refused_while_a_daemon_runs_and_without_checks() {
    let sandbox = Sandbox::ready();
    let refused = probe(&sandbox);
    assert!(
        refused.stderr.contains("no quality commands"),
        "{refused:?}"
    );
    sandbox.configure(&json!({"qualityCommands": ["true"]}));
    let daemon = sandbox.start();
    let refused = probe(&sandbox);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("swarm stop"), "{refused:?}");
    daemon.stop();
}

/// A project whose tests import the checkout.
fn wrong_tree(tests: &str) -> Sandbox {
    let done = environment("echo @ROOT@/src > __editable__.calc.pth");
    let project = Project {
        tracked: PYTHON,
        done: &done,
        checks: &[tests],
        ..Project::default()
    };
    project.guarded()
}

/// Work is finished, and waits because its check is blind.
fn waits_for_person(sandbox: &Sandbox) -> Value {
    let id = sandbox.idea("write a.txt x; say COMPLETE");
    sandbox.wait_idea(&id, "merging");
    let need = sandbox.wait_within(LONG, "an alarm", || {
        let status = sandbox.status();
        let needs = status["needsYou"].as_array().unwrap().clone();
        needs.into_iter().find(|need| need["kind"] == "environment")
    });
    let later = sandbox.idea("write b.txt x; say COMPLETE");
    let queue = sandbox.status()["mergeQueue"].clone();
    assert_eq!(queue[0]["reason"], "a check cannot be trusted", "{queue}");
    assert_eq!(sandbox.idea_status(&later), "pending");
    assert!(sandbox.logged("ideaLanded").is_empty());
    need
}

#[test]
fn a_wrong_tree_lands_nothing_until_the_configuration_is_mended() {
    if cannot_run(&["python3"]) {
        return;
    }
    let sandbox = wrong_tree(&format!("@ENV@/bin/python {UNITTEST}"));
    let daemon = sandbox.start();
    let need = waits_for_person(&sandbox);
    let message = need["message"].as_str().unwrap();
    assert!(message.contains("repo/src/calc.py instead of"), "{need}");
    let commands = need["commands"].to_string();
    assert!(commands.contains("swarm checks accept-blind '"), "{need}");
    let shown = sandbox.swarm(&["status"]);
    assert!(
        shown.stdout.contains("instead of this tree's file"),
        "{shown:?}"
    );
    let doctor = sandbox.swarm(&["doctor"]);
    assert!(
        doctor.stdout.contains("instead of this tree's file"),
        "{doctor:?}"
    );

    sandbox.configure(&json!({
        "checks": {"baseline": "require", "canary": "require"},
        "worktree": {"setup": [
            "python3 -m venv --without-pip own",
            "echo $PWD/src > $(echo own/lib/python3*/site-packages)/calc.pth",
        ]},
        "qualityCommands": [format!("own/bin/python {UNITTEST}")],
    }));
    sandbox.wait_within(LONG, "both landings", || {
        (sandbox.logged("ideaLanded").len() == 2).then_some(())
    });
    assert_eq!(sandbox.status()["needsYou"], json!([]));
    daemon.stop();
}

#[test]
fn a_running_daemon_goes_on_when_a_blind_check_is_accepted() {
    if cannot_run(&["python3"]) {
        return;
    }
    let sandbox = wrong_tree(&format!("@ENV@/bin/python {UNITTEST}"));
    let daemon = sandbox.start();
    waits_for_person(&sandbox);
    let check = placed(&sandbox, &format!("@ENV@/bin/python {UNITTEST}"));
    sandbox
        .swarm(&["checks", "accept-blind", &check, "--why", "it is meant"])
        .ok();
    sandbox.wait_within(LONG, "both landings", || {
        (sandbox.logged("ideaLanded").len() == 2).then_some(())
    });
    daemon.stop();
}

#[test]
fn checks_of_their_own_tree_are_probed_once_and_hold_nothing_up() {
    if cannot_run(&["python3"]) {
        return;
    }
    let tests = format!("PYTHONPATH=src python3 {UNITTEST}");
    let project = Project {
        tracked: PYTHON,
        checks: &[&tests],
        ..Project::default()
    };
    let sandbox = project.guarded();
    for name in ["a.txt", "b.txt"] {
        sandbox.idea(&format!("write {name} x; say COMPLETE"));
        assert_eq!(sandbox.run_until_idle_within(LONG), 0);
    }
    assert_eq!(sandbox.logged("ideaLanded").len(), 2);
    let probed = sandbox.logged("checksProbed");
    assert_eq!(probed.len(), 1, "{probed:?}");
    assert_eq!(probed[0].data["found"], json!({"sourceFiles": 1}));
}

#[test]
fn a_probe_goes_on_after_a_kill_of_the_daemon_and_starts_over_after_a_stop() {
    if cannot_run(&["python3"]) {
        return;
    }
    let wait = "case $SWARM_RUN_ID in *probe*) : > @ENV@.here; until [ -e @ENV@.go ]; do sleep \
        0.1; done;; esac";
    let tests = format!("{wait}; PYTHONPATH=src python3 {UNITTEST}");
    let project = Project {
        tracked: PYTHON,
        checks: &[&tests],
        ..Project::default()
    };
    let sandbox = project.guarded();
    sandbox.idea("write a.txt x; say COMPLETE");
    let here = sandbox.path("env.here");
    let probing = || {
        sandbox.wait_for("a probe", || here.exists().then_some(()));
    };
    let begun = || {
        let all = sandbox.logged("baselineStarted");
        all.iter().filter(|it| it.data["probe"] == true).count()
    };
    let daemon = sandbox.start();
    probing();
    daemon.kill();
    let daemon = sandbox.start();
    assert_eq!(begun(), 1, "it was not adopted");
    daemon.stop();
    sandbox.assert_nothing_runs();

    fs::remove_file(&here).unwrap();
    let daemon = sandbox.start();
    probing();
    assert_eq!(begun(), 2);
    assert!(sandbox.logged("ideaLanded").is_empty());
    fs::write(sandbox.path("env.go"), "").unwrap();
    sandbox.wait_within(LONG, "the landing", || {
        (sandbox.logged("ideaLanded").len() == 1).then_some(())
    });
    daemon.stop();
}
