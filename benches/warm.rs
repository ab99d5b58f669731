//! The second idea's setup and check: in a warm worktree, in a cold one, and in a new one made by
//! `git worktree add`.
//!
//! `BENCH_ROUNDS` (3), `BENCH_MODULES` (60), `BENCH_PACKAGE_FILES` (20,000); `BENCH_ONLY=cargo,npm`
//! chooses projects. A project is a [`Kind`]: files, a setup and a check. There is no network here,
//! so `npm` is a script that writes as many files as an `npm ci` of a middling project; it measures
//! what is saved on the disk, not what a registry would take.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, timed};
use common::{Result, chosen, ensure, note, run, size, wanted};
use swarm::domain::time::Timestamp;
use swarm::git::{Identity, KeepIgnored, Places, Prepare, Proof, Release, Repo};

/// One project.
struct Kind {
    name: &'static str,
    /// Writes its files into a new repository.
    write: fn(&Path) -> Result,
    /// What makes a worktree ready.
    setup: Option<&'static str>,
    /// The quality command.
    check: &'static str,
    /// The file that the idea of this number changes.
    changed: fn(usize) -> String,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "cargo",
        write: cargo,
        setup: None,
        check: "cargo test --offline --quiet",
        changed: |number| format!("src/part{number}.rs"),
    },
    Kind {
        name: "npm",
        write: npm,
        setup: Some("sh install.sh"),
        check: "test -f node_modules/p1/f1.js",
        changed: |number| format!("part{number}.js"),
    },
];

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 3, 1)?;
    let folder = tempfile::tempdir()?;
    for kind in KINDS.iter().filter(|kind| chosen(kind.name)) {
        println!(
            "warm: the second idea's setup and check, {} project",
            kind.name
        );
        let template = Template::new(&folder.path().join(kind.name), 1)?;
        compare(kind, &template, folder.path(), rounds)?;
    }
    Ok(())
}

fn compare(kind: &Kind, template: &Template, folder: &Path, rounds: usize) -> Result {
    let ways: [(&str, Way); 3] = [("warm", warm), ("cold", cold), ("naive", naive)];
    let mut times = [const { Samples::new() }; 3];
    for round in 0..rounds {
        for offset in 0..ways.len() {
            let index = (round + offset) % ways.len();
            let (name, way) = ways[index];
            let copy = template.copy(&folder.join(format!("{}-{round}-{name}", kind.name)))?;
            (kind.write)(&copy.root())?;
            copy.git(&["add", "-A"])?;
            copy.git(&["commit", "-q", "-m", "The project"])?;
            let time = way(&copy, kind)?.as_secs_f64();
            note(format!("round {round}, {name}: {time:.2} s"));
            times[index].push(time);
        }
    }
    let [warm, cold, naive] = &times;
    warm.show("warm worktree", "s");
    cold.show("cold worktree (keepIgnored: false)", "s");
    naive.show("git worktree add", "s");
    Goal::AtMost(0.3).judge("warm / cold", &warm.over(cold), "x");
    Goal::AtMost(0.3).judge("warm / naive", &warm.over(naive), "x");
    Ok(())
}

type Way = fn(&Copy, &Kind) -> Result<Duration>;

fn warm(copy: &Copy, kind: &Kind) -> Result<Duration> {
    swarm(copy, kind, &KeepIgnored::All)
}

fn cold(copy: &Copy, kind: &Kind) -> Result<Duration> {
    swarm(copy, kind, &KeepIgnored::Nothing)
}

/// Two ideas one after the other in `w01`; the time of the second.
fn swarm(copy: &Copy, kind: &Kind, keep: &KeepIgnored) -> Result<Duration> {
    let repo = Repo::open(&copy.root())?;
    repo.settle_folder(&Places {
        root: Some(copy.home()),
        ..Places::default()
    })?;
    let base = repo.branch_commit("main")?.ok_or("there is no main")?;
    let idea = |number: usize| -> Result {
        let prepared = repo.prepare_worktree(&Prepare {
            name: "w01".into(),
            branch: branch(number),
            base,
            from: None,
            saved: None,
            keep: keep.clone(),
        })?;
        let expected = number > 1 && *keep == KeepIgnored::All;
        ensure(prepared.warm == expected, || format!("{prepared:?}"))?;
        repo.note_use("w01")?;
        attempt(copy, kind, &prepared.path, number, prepared.warm)
    };
    idea(1)?;
    repo.release_worktree(&Release {
        reuse: true,
        name: "w01".into(),
        branch: branch(1),
        proof: Proof::Abandoned,
        identity: Identity {
            name: "Bench".into(),
            email: "bench@example.invalid".into(),
            configured: true,
        },
        time: Timestamp::from_millis(0),
    })?;
    Ok(timed(|| idea(2))?.0)
}

/// A new worktree for each idea.
fn naive(copy: &Copy, kind: &Kind) -> Result<Duration> {
    let idea = |number: usize| -> Result {
        let tree = copy.place(&format!("tree-{number}"));
        let path = tree.to_string_lossy();
        copy.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            &branch(number),
            &path,
            "main",
        ])?;
        attempt(copy, kind, &tree, number, false)
    };
    idea(1)?;
    Ok(timed(|| idea(2))?.0)
}

fn branch(number: usize) -> String {
    format!("agent/ed-{number:03}/idea-{number:03}")
}

/// The setup if it is needed, a change, and the check.
fn attempt(copy: &Copy, kind: &Kind, tree: &Path, number: usize, is_set_up: bool) -> Result {
    if let Some(setup) = kind.setup.filter(|_| !is_set_up) {
        run(&mut shell(copy, tree, setup))?;
    }
    let file = tree.join((kind.changed)(number));
    let mut text = fs::read_to_string(&file)?;
    text.push_str("// changed\n");
    fs::write(&file, text)?;
    run(&mut shell(copy, tree, kind.check)).map(drop)
}

/// A shell that finds the toolchain of whoever runs the benchmark.
fn shell(copy: &Copy, tree: &Path, line: &str) -> Command {
    let mut shell = copy.shell(tree, &["-c", line], "idea");
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    for (name, folder) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo")] {
        shell.env(
            name,
            std::env::var_os(name).unwrap_or_else(|| home.join(folder).into()),
        );
    }
    shell
}

/// A crate without dependencies and with many modules.
fn cargo(root: &Path) -> Result {
    let modules = size("BENCH_MODULES", 60, 3)?;
    fs::create_dir_all(root.join("src"))?;
    fs::write(root.join(".gitignore"), "/target/\n")?;
    let manifest = "[package]\nname = \"bench\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    fs::write(root.join("Cargo.toml"), manifest)?;
    let lock = "version = 4\n\n[[package]]\nname = \"bench\"\nversion = \"0.1.0\"\n";
    fs::write(root.join("Cargo.lock"), lock)?;
    let mut list = Vec::new();
    for number in 0..modules {
        list.push(format!("pub mod part{number};\n"));
        fs::write(root.join(format!("src/part{number}.rs")), module(number))?;
    }
    fs::write(root.join("src/lib.rs"), list.concat())?;
    Ok(())
}

fn module(number: usize) -> String {
    let function = |n: usize| {
        format!(
            "#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]\n\
            pub struct S{n} {{ pub a: String, pub b: Vec<u64> }}\n\
            pub fn f{n}(x: &[u64]) -> S{n} {{\n    \
            let b: Vec<u64> = x.iter().map(|y| y * {number} + {n}).collect();\n    \
            S{n} {{ a: format!(\"{{b:?}}\"), b }}\n}}\n"
        )
    };
    let test = "#[test]\nfn it_works() { assert!(f0(&[]).b.is_empty()); }\n";
    (0..20).map(function).chain([test.to_owned()]).collect()
}

/// A project whose setup writes a folder of packages.
fn npm(root: &Path) -> Result {
    let files = size("BENCH_PACKAGE_FILES", 20_000, 200)?;
    fs::write(root.join(".gitignore"), "node_modules/\n")?;
    for number in 1..=2 {
        fs::write(root.join(format!("part{number}.js")), "// part\n")?;
    }
    let script = format!(
        "rm -rf node_modules\n\
        i=1; while [ $i -le {packages} ]; do\n\
        mkdir -p node_modules/p$i\n\
        j=1; while [ $j -le 100 ]; do echo \"export const x = $i$j;\" > node_modules/p$i/f$j.js; \
        j=$((j+1)); done\n\
        i=$((i+1)); done\n",
        packages = files.div_ceil(100)
    );
    fs::write(root.join("install.sh"), script)?;
    Ok(())
}
