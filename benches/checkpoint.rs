//! A checkpoint beside live worktrees, and a rollback of many landings: the whole program against
//! git's own commands alone.
//!
//! `BENCH_FILES` (5000), `BENCH_CHANGED` (20), `BENCH_IDEAS` (100), `BENCH_ROUNDS` (7);
//! `BENCH_ONLY=checkpoint` or `rollback` runs one half.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use common::daemon::{Daemon, configure, swarm as call};
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, millis, timed};
use common::{Result, chosen, command, ensure, note, run, size, wanted};

const AGENTS: usize = 3;
/// The checkpoint before anything has landed.
const START: &str = "start";
/// The one after everything has.
const LANDED: &str = "landed";

/// Changes files, new ones and old ones, and holds until it is let go.
const HOLDING_AGENT: &str = r#"cat > /dev/null
n=0
for file in src/part*/file*; do
  [ "$n" -ge "$((CHANGED / 2))" ] && break
  echo "changed" >> "$file"
  echo "new" > "$file.new"
  n=$((n + 1))
done
: > "$HOLD.$SWARM_AGENT"
while [ ! -e "$HOLD.go" ]; do sleep 0.1; done
echo '<swarm>COMPLETE</swarm>'
"#;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let (files, rounds) = (size("BENCH_FILES", 5_000, 50)?, size("BENCH_ROUNDS", 7, 2)?);
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), files)?;
    if chosen("checkpoint") {
        checkpoint(&template, folder.path(), rounds)?;
    }
    if chosen("rollback") {
        rollback(&template, folder.path(), rounds)?;
    }
    Ok(())
}

/// Uncommitted files in each live worktree.
fn changed_files() -> Result<usize> {
    size("BENCH_CHANGED", 20, 4)
}

/// Three live worktrees with uncommitted files.
fn checkpoint(template: &Template, folder: &Path, rounds: usize) -> Result {
    let changed = changed_files()?;
    println!("checkpoint: {AGENTS} live worktrees with {changed} changed files each, milliseconds");
    let copy = template.copy(&folder.join("checkpoint"))?;
    let hold = holding(&copy, changed)?;
    configure(&copy, "autopilot", AGENTS, &[])?;
    add_ideas(&copy, AGENTS, "Hold, number")?;
    let daemon = Daemon::start(&copy)?;
    let trees = live_worktrees(&copy, &hold)?;
    ensure(trees.len() == AGENTS, || {
        format!("the live worktrees are {trees:?}")
    })?;
    let (mut ours, mut bare, mut floor) = (Samples::new(), Samples::new(), Samples::new());
    for round in 0..rounds {
        let names = (format!("ours-{round}"), format!("bare-{round}"));
        let mine = || timed(|| call(&copy, &["checkpoint", "create", &names.0]));
        let theirs = || timed(|| with_git_alone(&copy, &trees, &names.1));
        let ((our_time, _), (their_time, ())) = if round % 2 == 0 {
            let first = mine()?;
            (first, theirs()?)
        } else {
            let first = theirs()?;
            (mine()?, first)
        };
        ours.push(millis(our_time));
        bare.push(millis(their_time));
        floor.push(millis(timed(|| call(&copy, &["status"]))?.0));
    }
    expect_checkpoints(&copy, rounds)?;
    ours.show("swarm checkpoint create", "ms");
    floor.show("swarm status, for comparison", "ms");
    bare.show("floor, the same by a shell script of git", "ms");
    Goal::AtMost(1.5).judge("swarm / git", &ours.over(&bare), "x");
    fs::write(format!("{}.go", hold.display()), "")?;
    daemon.stop()
}

/// Checks that `swarm` and the floor made a checkpoint in each round.
fn expect_checkpoints(copy: &Copy, rounds: usize) -> Result {
    let listed = call(copy, &["checkpoint", "list", "--json"])?;
    for round in 0..rounds {
        let ours = format!("\"ours-{round}\"");
        ensure(listed.contains(&ours), || format!("no {ours} in {listed}"))?;
        for agent in 0..AGENTS {
            let bare = format!("refs/bench/bare-{round}/{agent}");
            copy.git(&["rev-parse", "--verify", "--quiet", &bare])?;
        }
    }
    Ok(())
}

/// Makes agents that hold; the files by which they say so begin with the returned path.
fn holding(copy: &Copy, changed: usize) -> Result<PathBuf> {
    let hold = copy.place("hold");
    let agent = HOLDING_AGENT
        .replace("$HOLD", &hold.to_string_lossy())
        .replace("CHANGED", &changed.to_string());
    fs::write(copy.agent(), agent)?;
    Ok(hold)
}

/// The files by which agents say that they hold.
fn held(copy: &Copy, hold: &Path) -> Result<Vec<PathBuf>> {
    let name = hold.file_name().ok_or("no name")?.to_string_lossy();
    let mut there = Vec::new();
    for entry in fs::read_dir(copy.place(""))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&*name) {
            there.push(entry.path());
        }
    }
    Ok(there)
}

/// Forgets the agents that held: those of a daemon that was stopped say so for nobody.
fn forget_held(copy: &Copy, hold: &Path) -> Result {
    Ok(held(copy, hold)?.iter().try_for_each(fs::remove_file)?)
}

/// Waits until all hold, and forgets that they do.
fn wait_for_agents(copy: &Copy, hold: &Path) -> Result {
    let begun = Instant::now();
    loop {
        if held(copy, hold)?.len() == AGENTS {
            return forget_held(copy, hold);
        }
        if begun.elapsed() > Duration::from_secs(60) {
            return Err("the agents do not come to their hold".into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn live_worktrees(copy: &Copy, hold: &Path) -> Result<Vec<PathBuf>> {
    wait_for_agents(copy, hold)?;
    let mut trees = Vec::new();
    let worktrees = fs::read_to_string(copy.root().join(".git/swarm/worktrees"))?;
    for entry in fs::read_dir(worktrees.trim_end())? {
        let path = entry?.path();
        let ours = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('w'));
        if ours {
            trees.push(path);
        }
    }
    Ok(trees)
}

/// What the checkpoint leaves in git, by the commands that a person would type: an annotated tag,
/// and the files of each worktree as a commit under a reference, made with a separate index.
fn with_git_alone(copy: &Copy, trees: &[PathBuf], name: &str) -> Result {
    let mut script = String::from("set -e\n");
    for (number, tree) in trees.iter().enumerate() {
        let tree = tree.display();
        writeln!(
            script,
            "cd '{tree}'\n\
             git_dir=$(git rev-parse --git-dir)\n\
             cp \"$git_dir/index\" \"$git_dir/bench-index\"\n\
             GIT_INDEX_FILE=\"$git_dir/bench-index\" git add -A\n\
             tree=$(GIT_INDEX_FILE=\"$git_dir/bench-index\" git write-tree)\n\
             commit=$(git commit-tree -p HEAD -m wip \"$tree\")\n\
             git update-ref refs/bench/{name}/{number} \"$commit\"\n\
             rm \"$git_dir/bench-index\""
        )?;
    }
    writeln!(
        script,
        "cd '{}'\ngit tag -a -m checkpoint bench/{name} main",
        copy.root().display()
    )?;
    let mut shell = command("/bin/sh", &copy.home());
    run(shell.arg("-c").arg(script)).map(drop)
}

/// Back over so many landings while three agents work, who have to be stopped first.
fn rollback(template: &Template, folder: &Path, rounds: usize) -> Result {
    let ideas = size("BENCH_IDEAS", 100, 3)?;
    println!("rollback of {ideas} landed ideas, {AGENTS} agents to be stopped, milliseconds");
    let copy = template.copy(&folder.join("rollback"))?;
    configure(&copy, "autopilot", AGENTS, &[])?;
    add_ideas(&copy, ideas, "Write the file of idea")?;
    call(&copy, &["checkpoint", "create", START])?;
    call(&copy, &["start", "--until-idle", "--no-web"])?;
    copy.check_landed(ideas)?;
    note("all have landed");
    let hold = holding(&copy, changed_files()?)?;
    let first = copy.git(&["rev-list", "--max-parents=0", "main"])?;
    let landed = copy.git(&["rev-parse", "main"])?;
    call(&copy, &["checkpoint", "create", LANDED])?;
    let [mut ours, mut bare, mut kept] = [(); 3].map(|()| Samples::new());
    for round in 0..rounds {
        // The ideas are those of the checkpoint, and then these.
        add_ideas(&copy, AGENTS, "Hold, number")?;
        let daemon = Daemon::start(&copy)?;
        let trees = live_worktrees(&copy, &hold)?;
        let name = format!("bare-{round}");
        let keeping = timed(|| with_git_alone(&copy, &trees, &name))?.0;
        let back = ["rollback", START, "--yes", "--pause"];
        ours.push(millis(timed(|| call(&copy, &back))?.0));
        expect(&copy, first.trim())?;
        call(&copy, &["rollback", LANDED, "--yes"])?;
        expect(&copy, landed.trim())?;
        call(&copy, &["resume"])?;
        daemon.stop()?;
        forget_held(&copy, &hold)?;
        let agents = idle_agents(&copy)?;
        let (time, ()) = timed(|| stop_and_reset(&copy, agents, &first))?;
        bare.push(millis(time));
        kept.push(millis(time + keeping));
        copy.git(&["reset", "-q", "--hard", landed.trim()])?;
        note(format!("round {round}"));
    }
    ours.show("swarm rollback --yes", "ms");
    bare.show("floor, kill the agents, git reset --hard", "ms");
    kept.show("the same, and before it the agents' work kept by git", "ms");
    Goal::AtMost(2.0).judge("swarm / floor", &ours.over(&bare), "x");
    Goal::AtMost(2.0).judge("swarm / floor that keeps work", &ours.over(&kept), "x");
    Ok(())
}

/// As many processes as there are agents, of the same kind.
fn idle_agents(copy: &Copy) -> Result<Vec<Child>> {
    let one = || {
        let mut shell = command("/bin/sh", &copy.home());
        shell.args(["-c", "while :; do sleep 0.1; done"]).spawn()
    };
    let agents: std::io::Result<Vec<Child>> = (0..AGENTS).map(|_| one()).collect();
    Ok(agents?)
}

fn stop_and_reset(copy: &Copy, agents: Vec<Child>, to: &str) -> Result {
    let ids = agents.iter().map(|agent| agent.id().to_string());
    run(command("kill", &copy.home()).args(ids))?;
    for mut agent in agents {
        agent.wait()?;
    }
    copy.git(&["reset", "-q", "--hard", to.trim()]).map(drop)
}

fn add_ideas(copy: &Copy, count: usize, words: &str) -> Result {
    (1..=count).try_for_each(|number| {
        call(copy, &["idea", "add", &format!("{words} {number}.")]).map(drop)
    })
}

fn expect(copy: &Copy, commit: &str) -> Result {
    let found = copy.git(&["rev-parse", "main"])?;
    let dirty = copy.git(&["status", "--porcelain"])?;
    if found.trim() == commit && dirty.is_empty() {
        return Ok(());
    }
    Err(format!("main is at {found} instead of {commit}; dirty: [{dirty}]").into())
}
