//! `swarm snapshot export` and `import` of a large log, against `tar` and `zstd` with the same
//! files, and the memory that they take.
//!
//! `BENCH_EVENTS` (1000000 without it), `BENCH_ROUNDS` (5).

// Kibibytes as they are printed, with three digits.
#![allow(clippy::cast_precision_loss)]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::log::Maker;
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, SWARM, command, ensure, note, run, size, sizes, wanted};
use swarm::daemon::Paths;
use swarm::daemon::offline::{Upto, state_at};

/// An export of a million events must take at most this, in milliseconds.
const EXPORT: f64 = 4_000.0;
/// The same for an import.
const IMPORT: f64 = 5_000.0;
/// Either must take at most this much memory, in MiB.
const MEMORY: f64 = 64.0;
/// How often a program's memory is looked at; its end is seen that much too late.
const LOOK: Duration = Duration::from_millis(2);

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    for events in sizes("BENCH_EVENTS", &[1_000_000], 2_000)? {
        measure(events as u64, rounds)?;
    }
    Ok(())
}

fn measure(events: u64, rounds: usize) -> Result {
    let folder = tempfile::tempdir()?;
    let home = folder.path();
    let repo = home.join("repo");
    make_repository(home, &repo)?;
    let paths = Paths::new(&repo);
    note(format!("making a log of {events} events"));
    let commit = run(command("git", home)
        .current_dir(&repo)
        .args(["rev-parse", "main"]))?;
    let mut maker = Maker::at_commit(&paths.state, commit.trim())?;
    maker.work_until(events)?;
    maker.finish()?;
    let last = maker.state.seq.to_string();
    let ideas = maker.state.ideas.len();
    drop(maker);
    println!("archive: {last} events, {ideas} ideas");
    let [mut export, mut import] = [(); 2].map(|()| Side::default());
    let mut replay = Samples::new();
    for round in 0..rounds {
        let file = home.join(format!("{round}.swarm.tar.zst"));
        let mut exporting = swarm(home, &repo, &["export", "--at", &last]);
        export.measure(exporting.arg(&file))?;
        let line = "tar -C \"$1\" -cf - . | zstd -q -3 >\"$2\"";
        export.floor(shell(home, line, [&paths.state, &home.join("floor")]))?;

        let clone = home.join(format!("clone-{round}"));
        make_clone(home, &repo, &clone)?;
        let mut importing = swarm(home, &clone, &["import", "--accept-partial", "--yes"]);
        import.measure(importing.arg(&file))?;
        let (time, state) = timed(|| state_at(&Paths::new(&clone), Upto::End))?;
        replay.push(millis(time));
        ensure(state.ideas.len() == ideas, || {
            format!("{} ideas were imported", state.ideas.len())
        })?;
        let unpacked = home.join(format!("unpacked-{round}"));
        fs::create_dir(&unpacked)?;
        let line = "zstd -q -dc \"$1\" | tar -C \"$2\" -xf - && \
            find \"$2\" -type f -exec sync {} +";
        import.floor(shell(home, line, [&file, &unpacked]))?;
        for folder in [clone, unpacked] {
            fs::remove_dir_all(folder)?;
        }
        fs::remove_file(file)?;
    }
    export.show("export", "tar and zstd of the same files");
    import.show("import", "zstd and tar unpack the same file, synced");
    replay.show("full replay of the imported log, for comparison", "ms");
    export.judge("export", EXPORT);
    import.judge("import", IMPORT);
    Ok(())
}

/// One direction: the program and its floor.
#[derive(Default)]
struct Side {
    time: Samples,
    /// Most memory of a round, in MiB.
    memory: Samples,
    floor: Samples,
}

impl Side {
    fn measure(&mut self, program: &mut Command) -> Result {
        let (time, memory) = timed(|| peak(program))?;
        self.time.push(millis(time));
        self.memory.push(memory as f64 / 1024.0);
        Ok(())
    }

    fn floor(&mut self, mut program: Command) -> Result {
        self.floor.push(millis(timed(|| run(&mut program))?.0));
        Ok(())
    }

    fn show(&self, name: &str, floor: &str) {
        self.time.show(&format!("{name} of the whole log"), "ms");
        self.floor.show(&format!("floor, {floor}"), "ms");
    }

    fn judge(&self, name: &str, most: f64) {
        Goal::AtMost(most).judge(name, &self.time, "ms");
        Goal::AtMost(MEMORY).judge(&format!("memory of the {name}"), &self.memory, "MiB");
    }
}

/// Runs a program to its end; the most memory that it had, without its children, in KiB.
fn peak(program: &mut Command) -> Result<u64> {
    let mut child = program
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait()?.is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        // A program that has just ended has no memory any more.
        most = most.max(number.map_or(Ok(0), str::parse)?);
        std::thread::sleep(LOOK);
    }
    let output = child.wait_with_output()?;
    ensure(output.status.success(), || {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{program:?} ended with {}\n{said}", output.status)
    })?;
    Ok(most)
}

/// A `swarm snapshot` command in a repository.
fn swarm(home: &Path, repo: &Path, args: &[&str]) -> Command {
    let mut swarm = command(SWARM, home);
    swarm.current_dir(repo).arg("snapshot").args(args);
    swarm
}

fn shell(home: &Path, line: &str, paths: [&Path; 2]) -> Command {
    let mut shell = command("sh", home);
    shell.args(["-c", line, "sh"]).args(paths);
    shell
}

/// A repository with one commit, set up for swarm.
fn make_repository(home: &Path, repo: &Path) -> Result {
    fs::create_dir(repo)?;
    fs::write(repo.join("a.txt"), "a\n")?;
    let lines = [
        "init -q -b main",
        "add .",
        "-c user.name=n -c user.email=n@localhost commit -q -m first",
    ];
    for line in lines {
        run(command("git", home).current_dir(repo).args(line.split(' ')))?;
    }
    set_up(home, repo)
}

/// Another clone of it, set up, too.
fn make_clone(home: &Path, repo: &Path, clone: &Path) -> Result {
    let mut git = command("git", home);
    run(git.args(["clone", "-q"]).args([repo, clone]))?;
    set_up(home, clone)
}

fn set_up(home: &Path, repo: &Path) -> Result {
    run(command(SWARM, home)
        .current_dir(repo)
        .args(["init", "--yes"]))?;
    Ok(())
}
