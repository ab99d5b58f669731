//! What an honest red costs: from the end of an agent's first failed check to its next iteration.
//!
//! `BENCH_ROUNDS` (3), `BENCH_SECONDS` (60: how long the long check takes); `BENCH_ONLY=short,long`
//! chooses parts. The work itself breaks the check, and swarm has to find that out: it runs the
//! command on the untouched target, in a worktree of its own, and once more on the work. The bare
//! command is timed in the same round.

mod common;

use std::fs;
use std::path::Path;
use std::time::Duration;

use common::daemon::{configure, swarm as call};
use common::repo::{Copy, Template};
use common::samples::{Goal, Samples, timed};
use common::{Result, chosen, ensure, note, run, size, wanted};

/// Breaks the check in its first iteration, mends it in the next, and notes when each one began.
const AGENT: &str = r#"set -e
cat >/dev/null
date +%s%N >>"$1/iterations"
mkdir -p work
if [ -e broken.txt ]; then rm broken.txt; echo "$SWARM_IDEA_ID" >"work/$SWARM_IDEA_ID.txt"
else : >broken.txt; fi
git add -A
git -c user.name=Agent -c user.email=agent@example.invalid commit -q -m Work
echo '<swarm>COMPLETE</swarm>'
"#;

fn main() -> Result {
    if !wanted() {
        return Ok(());
    }
    let rounds = size("BENCH_ROUNDS", 3, 1)?;
    let long = size("BENCH_SECONDS", 60, 3)?;
    let folder = tempfile::tempdir()?;
    let template = Template::new(&folder.path().join("template"), 100)?;
    for (name, seconds, rounds) in [("short", 1, rounds), ("long", long, 1)] {
        if chosen(name) {
            println!("honest red: a check of {seconds} s");
            measure(&template, &folder.path().join(name), seconds, rounds)?;
        }
    }
    Ok(())
}

fn measure(template: &Template, folder: &Path, seconds: usize, rounds: usize) -> Result {
    let (mut bare, mut waited, mut control) = (Samples::new(), Samples::new(), Samples::new());
    fs::create_dir_all(folder)?;
    for round in 0..rounds {
        let copy = template.copy(&folder.join(round.to_string()))?;
        let check = check(&copy, seconds);
        let (time, _) = timed(|| run(&mut copy.shell(&copy.root(), &["-c", &check], "none")))?;
        let red = honest_red(&copy, &check)?;
        let (time, wait) = (time.as_secs_f64(), red.wait.as_secs_f64());
        note(format!(
            "round {round}: {wait:.2} s, {} runs again",
            red.again
        ));
        bare.push(time);
        waited.push(wait);
        control.push(wait / time - f64::from(red.again));
    }
    bare.show("the bare command", "s");
    waited.show("from the first red to the next iteration", "s");
    Goal::AtMost(1.1).judge("the same without its re-run / bare", &control, "x");
    Ok(())
}

/// Takes this long, and notes when it fails.
fn check(copy: &Copy, seconds: usize) -> String {
    let reds = copy.place("reds");
    let reds = reds.display();
    format!("sleep {seconds}; test ! -e broken.txt || {{ date +%s%N >>'{reds}'; exit 1; }}")
}

/// What the first failed check cost.
struct Red {
    /// From its end to the agent's next iteration.
    wait: Duration,
    /// How often the command failed again in between.
    again: u32,
}

fn honest_red(copy: &Copy, check: &str) -> Result<Red> {
    fs::write(copy.agent(), AGENT)?;
    configure(copy, "autopilot", 1, &[check])?;
    let file = copy.root().join(".swarm/config.json");
    let mut config: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
    let command = ["/bin/sh".into(), copy.agent(), copy.place("")];
    config["agents"]["profiles"]["local"]["command"] = serde_json::to_value(command)?;
    fs::write(file, config.to_string())?;
    call(copy, &["idea", "add", "Write the file."])?;
    call(copy, &["start", "--until-idle", "--no-web"])?;
    let (reds, iterations) = (times(copy, "reds")?, times(copy, "iterations")?);
    let ([first, again @ ..], [_, next]) = (&reds[..], &iterations[..]) else {
        return Err(format!("reds {reds:?}, iterations {iterations:?}").into());
    };
    ensure(next > first, || "the next iteration began first".to_owned())?;
    Ok(Red {
        wait: Duration::from_nanos(next - first),
        again: u32::try_from(again.len())?,
    })
}

fn times(copy: &Copy, name: &str) -> Result<Vec<u64>> {
    let text = fs::read_to_string(copy.place(name))?;
    let times: std::result::Result<_, _> = text.lines().map(str::parse).collect();
    Ok(times?)
}
