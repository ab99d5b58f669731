//! What telling agents is worth: one backlog with the shared memory in the prompts, and without.
//!
//! Each idea uses three modules, and each module is a trap: work that uses it passes the quality
//! command only with a line that nobody can guess. The scripted agent adds the line at once if its
//! prompt tells it. Otherwise it fails its check, learns the line from the failure, reports it and
//! goes on. Without the memory every agent finds out everything by itself.
//!
//! `BENCH_IDEAS` (30), `BENCH_TRAPS` (12, at most 12, a multiple of three).

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use common::daemon::swarm;
use common::repo::{Copy, Template};
use common::samples::timed;
use common::{Result, ensure, note, size, wanted};
use swarm::daemon::Paths;
use swarm::daemon::offline::scan;

/// Agents at a time.
const PARALLEL: usize = 3;
/// The modules that an idea uses.
const OF_AN_IDEA: usize = 3;
/// How many times as much must be found out without the memory.
const REQUIRED: u64 = 3;
/// The longest section of a prompt about the memory, in bytes; the default of the program.
const PROMPT_BYTES: u64 = 6_144;

const MODULES: [&str; 12] = [
    "amber", "basil", "cedar", "delta", "ember", "fjord", "grove", "heron", "ivory", "jade",
    "koala", "lemon",
];

/// Writes the file of its idea: a line for each module that it uses, and the module's own line once
/// it was told or has failed without it.
const AGENT: &str = r#"prompt=$(cat)
modules=$(printf '%s\n' "$prompt" | sed -n 's/^.*Modules: \([a-z ]*\)\..*$/\1/p' | head -n 1)
file="work/$SWARM_IDEA_ID.txt"
mkdir -p work
if [ ! -f "$file" ]; then
    for module in $modules; do echo "uses $module"; done > "$file"
fi
for module in $modules; do
    if grep -q "^rule of $module$" "$file"; then continue; fi
    if printf '%s\n' "$prompt" | grep -q "^- \[$module\.rule v"; then
        echo "rule of $module" >> "$file"
    elif printf '%s\n' "$prompt" | grep -q "check: $module needs its rule"; then
        echo "rule of $module" >> "$file"
        echo "<swarm>LEARNING_GLOBAL:[$module.rule] Work that uses $module needs its rule</swarm>"
    fi
done
git add "$file"
git commit -q -m "Work of $SWARM_IDEA_ID"
echo '<swarm>COMPLETE</swarm>'
"#;

/// Fails with the first module whose line is missing.
const CHECK: &str = r#"for file in work/*.txt; do
    [ -f "$file" ] || continue
    for module in $(sed -n 's/^uses //p' "$file"); do
        if ! grep -q "^rule of $module$" "$file"; then
            echo "check: $module needs its rule"
            exit 1
        fi
    done
done
"#;

/// What a backlog took.
struct Took {
    mentions: u64,
    failed: u64,
    iterations: u64,
    time: Duration,
}

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let ideas = size("BENCH_IDEAS", 30, 10)?;
    let traps = size("BENCH_TRAPS", MODULES.len(), OF_AN_IDEA)?;
    let is_right = traps.is_multiple_of(OF_AN_IDEA) && (1..=MODULES.len()).contains(&traps);
    ensure(is_right, || {
        format!("BENCH_TRAPS={traps} is not 3, 6, 9 or 12")
    })?;
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 20)?;
    println!(
        "told: {ideas} ideas, {traps} traps of which each idea meets {OF_AN_IDEA}, {PARALLEL} \
         scripted agents (they use no tokens)"
    );
    let measure = |name: &str, prompt_bytes| -> Result<Took> {
        note(name);
        let copy = template.copy(&folder.path().join(name))?;
        work(&copy, (ideas, traps), prompt_bytes)
    };
    let off = measure("off", 0)?;
    let on = measure("on", PROMPT_BYTES)?;
    report(&off, &on);
    let met = (ideas * OF_AN_IDEA) as u64;
    ensure(off.mentions == met && off.failed == met, || {
        format!(
            "without the memory each of {met} meetings with a trap is one mention and one failed \
             check, not {} and {}",
            off.mentions, off.failed
        )
    })?;
    ensure(off.mentions >= REQUIRED * on.mentions, || {
        format!(
            "{} mentions without the memory are not {REQUIRED} times the {} with it",
            off.mentions, on.mentions
        )
    })
}

/// The whole backlog, from the start of the daemon until nothing is left to do.
fn work(copy: &Copy, (ideas, traps): (usize, usize), prompt_bytes: u64) -> Result<Took> {
    configure(copy, prompt_bytes)?;
    for number in 0..ideas {
        // Equal steps, so that each trap is met equally often.
        let step = traps / OF_AN_IDEA;
        let modules = (0..OF_AN_IDEA).map(|turn| MODULES[(number + turn * step) % traps]);
        let modules: Vec<&str> = modules.collect();
        let text = format!("Write file {number}. Modules: {}.", modules.join(" "));
        swarm(copy, &["idea", "add", &text])?;
    }
    let (time, _) = timed(|| swarm(copy, &["start", "--until-idle", "--no-web"]))?;
    copy.check_landed(ideas)?;
    let counts = events(&copy.root())?;
    let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    Ok(Took {
        mentions: count("learned"),
        failed: count("gateFailed"),
        iterations: count("iterationStarted"),
        time,
    })
}

fn configure(copy: &Copy, prompt_bytes: u64) -> Result {
    fs::write(copy.agent(), AGENT)?;
    let check = copy.place("check.sh");
    fs::write(&check, CHECK)?;
    let folder = copy.root().join(".swarm");
    fs::create_dir_all(&folder)?;
    let config = serde_json::json!({
        "mode": "autopilot",
        "target": "main",
        "agents": {
            "maxParallel": PARALLEL,
            "profile": "local",
            "profiles": { "local": { "adapter": "command", "command": ["/bin/sh", copy.agent()] } },
        },
        "qualityCommands": [format!("sh {}", check.display())],
        "checks": { "canary": "off" },
        "memory": { "promptBytes": prompt_bytes },
        "checkpoints": { "periodic": 0, "beforeAutopilot": false },
    });
    Ok(fs::write(folder.join("config.json"), config.to_string())?)
}

/// How many events of each kind are in the log.
fn events(root: &Path) -> Result<BTreeMap<&'static str, u64>> {
    let mut counts = BTreeMap::new();
    scan(&Paths::new(root), 0, u64::MAX, &mut |one| {
        *counts.entry(one.event.kind()).or_default() += 1;
    })?;
    Ok(counts)
}

#[allow(clippy::cast_precision_loss)] // small counts
fn report(off: &Took, on: &Took) {
    println!("  {:<28} {:>10} {:>10} {:>8}", "", "off", "on", "off/on");
    for (name, off, on) in [
        ("mentions of facts", off.mentions, on.mentions),
        ("failed checks", off.failed, on.failed),
        ("iterations", off.iterations, on.iterations),
    ] {
        let ratio = off as f64 / on.max(1) as f64;
        println!("  {name:<28} {off:>10} {on:>10} {ratio:>7.1}x");
    }
    let (off, on) = (off.time.as_secs_f64(), on.time.as_secs_f64());
    let ratio = off / on;
    println!("  {:<28} {off:>8.1} s {on:>8.1} s {ratio:>7.1}x", "time");
}
