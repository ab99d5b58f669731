//! From a backlog of small ideas to merges on the target: the whole program against two ways of
//! doing it with git alone, and against itself without provenance records.
//!
//! Then swarm again in the other formats that git has for objects and references.
//!
//! `BENCH_IDEAS` (100), `BENCH_FILES` (5000), `BENCH_ROUNDS` (3), `BENCH_PAUSE` (70);
//! `BENCH_ONLY=unchecked,checked,formats` and `BENCH_WAYS=swarm,unrecorded,cheapest,naive` choose
//! parts.
//!
//! Between two measurements it waits `BENCH_PAUSE` seconds and deletes nothing. ext4 does not reuse
//! a deleted inode for 60 seconds (300 until it is written back), but looks at each of them
//! whenever a file is made, so whoever comes after a big deletion pays for it. With deletions in
//! between, four equal runs in a row took 11, 18, 23 and 32 seconds.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::daemon::{configure, swarm as call};
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, timed};
use common::{Result, chosen, ensure, listed, note, run, size, wanted};
use serde_json::{Value, json};

const PARALLEL: usize = 3;

/// One run of the benchmark: so many ideas, with or without a quality command.
struct Case {
    ideas: usize,
    check: Option<&'static str>,
}

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let (ideas, files) = (
        size("BENCH_IDEAS", 100, 4)?,
        size("BENCH_FILES", 5_000, 50)?,
    );
    let rounds = size("BENCH_ROUNDS", 3, 1)?;
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), files)?;
    println!(
        "landing: {ideas} ideas, {files} files, {PARALLEL} agents at a time, \
         the user has the target checked out"
    );
    for (name, check) in [("unchecked", None), ("checked", Some("true"))] {
        if chosen(name) {
            compare(&template, folder.path(), &Case { ideas, check }, rounds)?;
        }
    }
    if chosen("formats") {
        compare_formats(folder.path(), ideas, files, rounds)?;
    }
    Ok(())
}

/// Hash and references.
const FORMATS: [[&str; 2]; 3] = [
    ["--object-format=sha1", "--ref-format=files"],
    ["--object-format=sha1", "--ref-format=reftable"],
    ["--object-format=sha256", "--ref-format=reftable"],
];

/// The same landings, a repository of each format in turn.
fn compare_formats(folder: &Path, ideas: usize, files: usize, rounds: usize) -> Result {
    let case = Case { ideas, check: None };
    let pause = Duration::from_secs(size("BENCH_PAUSE", 70, 0)?.try_into()?);
    let mut times = [const { Samples::new() }; FORMATS.len()];
    let mut templates = Vec::new();
    for (index, format) in FORMATS.iter().enumerate() {
        let place = folder.join(format!("format-{index}"));
        templates.push(Template::in_format(&place, files, format)?);
    }
    let mut kept = Vec::new();
    for round in 0..rounds {
        for offset in 0..FORMATS.len() {
            let index = (round + offset) % FORMATS.len();
            let copy = templates[index].copy(&folder.join(format!("formats-{round}-{index}")))?;
            std::thread::sleep(pause);
            times[index].push(swarm(&copy, &case)?.as_secs_f64());
            copy.check_landed(ideas)?;
            kept.push(copy);
        }
    }
    println!(" in the formats of git");
    for (format, times) in FORMATS.iter().zip(&times) {
        times.show(&format.join(" "), "s");
    }
    for (format, times_of_it) in FORMATS.iter().zip(&times).skip(1) {
        let ratio = times_of_it.over(&times[0]);
        Goal::AtMost(2.0).judge(&format!("{} / the usual", format.join(" ")), &ratio, "x");
    }
    Ok(())
}

fn compare(template: &Template, folder: &Path, case: &Case, rounds: usize) -> Result {
    let ways: [(&str, Way); 4] = [
        ("swarm", swarm),
        ("unrecorded", unrecorded),
        ("cheapest", cheapest),
        ("naive", naive),
    ];
    let mut times = [const { Samples::new() }; 4];
    let mut kept = Vec::new();
    let pause = Duration::from_secs(size("BENCH_PAUSE", 70, 0)?.try_into()?);
    for round in 0..rounds {
        // Another order each round, so that no side always comes first.
        for offset in 0..ways.len() {
            let index = (round + offset) % ways.len();
            let (name, way) = ways[index];
            if !listed("BENCH_WAYS", name) {
                continue;
            }
            let place = format!("{}-{round}-{name}", case.check.unwrap_or("unchecked"));
            let copy = template.copy(&folder.join(place))?;
            std::thread::sleep(pause);
            let time = way(&copy, case)?;
            copy.check_landed(case.ideas)
                .map_err(|error| format!("{name}: {error}"))?;
            note(format!(
                "round {round}, {name}: {:.2} s",
                time.as_secs_f64()
            ));
            times[index].push(time.as_secs_f64());
            kept.push(copy);
        }
    }
    report(case, &times);
    Ok(())
}

fn report(case: &Case, [swarm, unrecorded, cheapest, naive]: &[Samples; 4]) {
    match case.check {
        Some(check) => println!(" with the quality command `{check}`"),
        None => println!(" without quality commands"),
    }
    swarm.show("swarm start --until-idle", "s");
    if !unrecorded.is_empty() {
        unrecorded.show("the same with provenance.keep: false", "s");
        let ratio = swarm.over(unrecorded);
        Goal::AtMost(1.03).judge("swarm / without records", &ratio, "x");
    }
    if !naive.is_empty() {
        naive.show("floor 1, the naive git way", "s");
        Goal::AtMost(0.5).judge("swarm / naive", &swarm.over(naive), "x");
    }
    if !cheapest.is_empty() {
        cheapest.show("floor 2, the cheapest known way", "s");
        Goal::AtMost(1.5).judge("swarm / cheapest", &swarm.over(cheapest), "x");
    }
}

type Way = fn(&Copy, &Case) -> Result<Duration>;

/// The program itself, from the start of the daemon to its end. The ideas are there before.
fn swarm(copy: &Copy, case: &Case) -> Result<Duration> {
    let time = land(copy, case, true)?;
    // The last ones may be written by the next daemon.
    let records = records(copy)?;
    ensure(records + PARALLEL >= case.ideas, || {
        format!("there are {records} records")
    })?;
    Ok(time)
}

/// As [`swarm`], but it keeps no records.
fn unrecorded(copy: &Copy, case: &Case) -> Result<Duration> {
    let time = land(copy, case, false)?;
    let records = records(copy)?;
    ensure(records == 0, || format!("there are {records} records"))?;
    Ok(time)
}

/// Provenance records, by the log.
fn records(copy: &Copy) -> Result<usize> {
    let text = call(copy, &["provenance", "list", "--json", "--limit", "100000"])?;
    let listed: Value = serde_json::from_str(&text)?;
    Ok(listed.as_array().map_or(0, Vec::len))
}

fn land(copy: &Copy, case: &Case, records: bool) -> Result<Duration> {
    let checks: Vec<&str> = case.check.into_iter().collect();
    configure(copy, "autopilot", PARALLEL, &checks)?;
    let file = copy.root().join(".swarm/config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    config["provenance"] = json!({ "keep": records });
    fs::write(file, config.to_string())?;
    for number in 1..=case.ideas {
        call(
            copy,
            &["idea", "add", &format!("Write the file of idea {number}.")],
        )?;
    }
    let (time, _) = timed(|| call(copy, &["start", "--until-idle", "--no-web"]))?;
    Ok(time)
}

/// Hands the numbers 1 to `ideas` to the workers, each a thread that does one idea after the other.
fn work(
    ideas: usize,
    worker: impl Fn(usize, &dyn Fn() -> Option<usize>) -> Result + Sync,
) -> Result {
    let next = AtomicUsize::new(1);
    let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number <= ideas);
    std::thread::scope(|scope| {
        let (worker, take) = (&worker, &take);
        let threads: Vec<_> = (0..PARALLEL)
            .map(|index| scope.spawn(move || worker(index, take)))
            .collect();
        let mut ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.try_for_each(|end| end.unwrap_or_else(|_| Err("a worker panicked".into())))
    })
}

/// What both floors do in an idea's worktree: the agent's script, then the quality command, if any.
fn attempt(copy: &Copy, case: &Case, tree: &Path, idea: &str) -> Result {
    let script = copy.agent();
    let said = run(&mut copy.shell(tree, &[&script.to_string_lossy()], idea))?;
    if !said.contains("<swarm>COMPLETE</swarm>") {
        return Err(format!("the agent of {idea} said: {said}").into());
    }
    check(copy, case, tree, idea)
}

fn check(copy: &Copy, case: &Case, tree: &Path, idea: &str) -> Result {
    if let Some(check) = case.check {
        run(&mut copy.shell(tree, &["-c", check], idea))?;
    }
    Ok(())
}

/// A fresh worktree for each idea, and another fresh one for each merge.
fn naive(copy: &Copy, case: &Case) -> Result<Duration> {
    let target = Mutex::new(());
    let (time, ()) = timed(|| {
        work(case.ideas, |_, take| {
            while let Some(number) = take() {
                naive_idea(copy, case, number, &target)?;
            }
            Ok(())
        })
    })?;
    Ok(time)
}

/// `-B`, so that it can be tried again.
fn add_worktree(copy: &Copy, tree: &Path, branch: &str, from: &str) -> Result {
    let tree = tree.to_string_lossy();
    again(|| copy.git(&["worktree", "add", "-q", "-f", "-B", branch, &tree, from]))
}

/// Two `git worktree add` at the same time may read each other's half-made files and fail, so this
/// tries again.
fn again(add: impl Fn() -> Result<String>) -> Result {
    let mut added = add();
    for _ in 0..4 {
        added = added.or_else(|_| add());
    }
    added.map(drop)
}

fn naive_idea(copy: &Copy, case: &Case, number: usize, target: &Mutex<()>) -> Result {
    let (idea, branch) = (format!("idea-{number:03}"), format!("agent/{number}"));
    let tree = copy.place(&format!("tree-{number}"));
    let merge = copy.place(&format!("merge-{number}"));
    let (tree_path, merge_path) = (tree.to_string_lossy(), merge.to_string_lossy());
    add_worktree(copy, &tree, &branch, "main")?;
    attempt(copy, case, &tree, &idea)?;
    {
        let _turn = target.lock().map_err(|_| "another worker panicked")?;
        again(|| copy.git(&["worktree", "add", "-q", "--detach", &merge_path, "main"]))?;
        let message = format!("Merge {idea}");
        run(&mut copy.git_in(&merge, &["merge", "-q", "--no-ff", "-m", &message, &branch]))?;
        check(copy, case, &merge, &idea)?;
        let commit = run(&mut copy.git_in(&merge, &["rev-parse", "HEAD"]))?;
        copy.git(&["merge", "-q", "--ff-only", commit.trim()])?;
        copy.git(&["worktree", "remove", "--force", &merge_path])?;
    }
    copy.git(&["worktree", "remove", "--force", &tree_path])?;
    copy.git(&["branch", "-q", "-D", &branch])?;
    Ok(())
}

/// Where the cheapest way lands: one at a time, on what the last one left.
struct Target {
    main: String,
    /// The kept worktree for merged trees, once there is one.
    verify: Option<PathBuf>,
}

/// A kept worktree for each worker, merges in memory, and a kept worktree for the merged trees.
fn cheapest(copy: &Copy, case: &Case) -> Result<Duration> {
    let main = copy.git(&["rev-parse", "main"])?.trim().to_owned();
    let target = Mutex::new(Target { main, verify: None });
    let (time, ()) = timed(|| {
        work(case.ideas, |worker, take| {
            let tree = copy.place(&format!("tree-{worker}"));
            let mut before = None;
            while let Some(number) = take() {
                let branch = format!("agent/{number}");
                let main = target
                    .lock()
                    .map_err(|_| "another worker panicked")?
                    .main
                    .clone();
                give(copy, &tree, &branch, &main, before.as_deref())?;
                cheapest_idea(copy, case, &tree, number, &target)?;
                before = Some(branch);
            }
            match before {
                Some(branch) => {
                    copy.git(&["worktree", "remove", "--force", &tree.to_string_lossy()])?;
                    forget(copy, &branch)
                }
                None => Ok(()),
            }
        })?;
        let kept = target
            .lock()
            .map_err(|_| "a worker panicked")?
            .verify
            .take();
        if let Some(verify) = kept {
            copy.git(&["worktree", "remove", "--force", &verify.to_string_lossy()])?;
        }
        Result::Ok(())
    })?;
    Ok(time)
}

/// Resets the worker's worktree for the next idea. From a commit, not from `main`: `checkout -B`
/// reads a branch twice, and when it moves in between, the new branch begins at one commit with the
/// files of another.
fn give(copy: &Copy, tree: &Path, branch: &str, main: &str, before: Option<&str>) -> Result {
    let Some(before) = before else {
        return add_worktree(copy, tree, branch, main);
    };
    run(&mut copy.git_in(tree, &["checkout", "-q", "-f", "-B", branch, main]))?;
    run(&mut copy.git_in(tree, &["clean", "-q", "-fdx"]))?;
    forget(copy, before)
}

fn forget(copy: &Copy, branch: &str) -> Result {
    copy.git(&["update-ref", "-d", &format!("refs/heads/{branch}")])?;
    Ok(())
}

fn cheapest_idea(
    copy: &Copy,
    case: &Case,
    tree: &Path,
    number: usize,
    target: &Mutex<Target>,
) -> Result {
    let (idea, branch) = (format!("idea-{number:03}"), format!("agent/{number}"));
    attempt(copy, case, tree, &idea)?;
    let mut target = target.lock().map_err(|_| "another worker panicked")?;
    let merged = copy.git(&["merge-tree", "--write-tree", &target.main, &branch])?;
    let message = format!("Merge {idea}");
    let parents = ["-p", &target.main, "-p", &branch, "-m", &message];
    let commit = copy.git(&[&["commit-tree", merged.trim()], &parents[..]].concat())?;
    let commit = commit.trim();
    if case.check.is_some() {
        let verify = lay_out(copy, &mut target, commit)?;
        check(copy, case, &verify, &idea)?;
    }
    // As `merge --ff-only` does it, less the look at files that do not change.
    copy.git(&["read-tree", "-m", "-u", &target.main, commit])?;
    copy.git(&["update-ref", "refs/heads/main", commit, &target.main])?;
    commit.clone_into(&mut target.main);
    Ok(())
}

/// The merged tree in the kept worktree.
fn lay_out(copy: &Copy, target: &mut Target, commit: &str) -> Result<PathBuf> {
    if let Some(verify) = &target.verify {
        run(&mut copy.git_in(verify, &["checkout", "-q", "-f", "--detach", commit]))?;
        return Ok(verify.clone());
    }
    let verify = copy.place("verify");
    copy.git(&[
        "worktree",
        "add",
        "-q",
        "--detach",
        &verify.to_string_lossy(),
        commit,
    ])?;
    target.verify = Some(verify.clone());
    Ok(verify)
}
