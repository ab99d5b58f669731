//! What the page does with a run's output of 1 GB, against its goals, each beside a bare pass over
//! the same file with `memchr`:
//!
//! - open: the last 500 lines: at most 150 ms; with the number of every line: at most 1 s;
//! - any line, with 500 lines from it on, as the first request: at most 1 s;
//! - the first line that contains a text: at most 300 ms; all of them: at most 2 s;
//! - memory: at most 16 MB more.
//!
//! `BENCH_BYTES` (1000000000), `BENCH_ROUNDS` (5). The file lies in the page cache: a disk's speed
//! is not measured.

mod common;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use common::samples::{Goal, Samples, millis, timed};
use common::{Result, ensure, isolated, note, size, wanted};
use swarm::domain::ids::RunId;
use swarm::web::output::{Limits, Output, Outputs, Pattern, Place, Stream};

const RUN: &str = "r0001-ed-001-i1";
/// Every so many lines there is one that contains this.
const OFTEN: (u64, &str) = (1_000, "hours.txt");
/// Only the last line contains this.
const LAST: &str = "the very last line";

fn main() -> Result {
    if !wanted() || isolated()? {
        return Ok(());
    }
    let bytes = size("BENCH_BYTES", 1_000_000_000, 4_000_000)? as u64;
    let rounds = size("BENCH_ROUNDS", 5, 1)?;
    let folder = tempfile::tempdir()?;
    let runs = folder.path();
    note(format!("writing {bytes} bytes of output"));
    fs::create_dir(runs.join(RUN))?;
    let path = runs.join(RUN).join("stdout.log");
    let lines = write(&path, bytes)?;
    let mut measured = Measured::default();
    for _ in 0..rounds {
        measured.round(runs, &path, lines)?;
    }
    println!("output: {bytes} bytes in {lines} lines, in milliseconds");
    measured.show();
    Ok(())
}

/// Writes lines as a build has them: colours, paths, numbers. Returns how many.
fn write(path: &Path, bytes: u64) -> Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let (mut written, mut lines) = (0, 0);
    while written < bytes {
        lines += 1;
        let name = if lines % OFTEN.0 == 0 {
            OFTEN.1
        } else {
            "check.sh"
        };
        let line = format!(
            "\x1b[32m   Compiling\x1b[0m part-{lines} v0.{}.0 (/work/pages/{name})\n",
            lines % 97
        );
        file.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    writeln!(file, "{LAST}")?;
    file.flush()?;
    Ok(lines + 1)
}

#[derive(Default)]
struct Measured {
    floor: Samples,
    open: Samples,
    numbered: Samples,
    line: Samples,
    first: Samples,
    late: Samples,
    all: Samples,
    pattern: Samples,
    memory: Samples,
}

const NO_LIMIT: Limits = Limits {
    hits: usize::MAX,
    time: Duration::MAX,
};

impl Measured {
    fn round(&mut self, runs: &Path, path: &Path, lines: u64) -> Result {
        self.floor.push(millis(timed(|| floor(path))?.0));
        fs::write("/proc/self/clear_refs", "5")?;
        let before = status("VmRSS:")?;
        let (time, chunk) = timed(|| open(runs)?.tail(500, false).map_err(fail))?;
        self.open.push(millis(time));
        ensure(chunk.lines.len() == 500, || "not 500 lines".to_owned())?;
        let (time, chunk) = timed(|| open(runs)?.tail(500, true).map_err(fail))?;
        self.numbered.push(millis(time));
        let last = chunk.lines.last().and_then(|line| line.number);
        ensure(last == Some(lines), || {
            format!("{last:?} instead of {lines}")
        })?;
        let wanted = lines / 3 * 2;
        let (time, chunk) = timed(|| open(runs)?.lines(wanted, 500).map_err(fail))?;
        self.line.push(millis(time));
        let text = chunk.lines.first().map(swarm::web::output::Line::text);
        ensure(
            text.is_some_and(|text| text.contains(&format!("part-{wanted} "))),
            || "another line".to_owned(),
        )?;
        let one = Limits {
            hits: 1,
            ..NO_LIMIT
        };
        let hits = lines / OFTEN.0;
        self.first.push(search(runs, OFTEN.1, false, one, 1)?);
        self.late.push(search(runs, LAST, false, one, 1)?);
        self.all.push(search(runs, OFTEN.1, false, NO_LIMIT, hits)?);
        self.pattern
            .push(search(runs, r"hours\.t.t\)$", true, NO_LIMIT, hits)?);
        self.memory
            .push(mebibytes(status("VmHWM:")?.saturating_sub(before)));
        Ok(())
    }

    fn show(&self) {
        self.floor.show("floor, memchr over the file", "ms");
        Goal::AtMost(150.0).judge("the last 500 lines", &self.open, "ms");
        Goal::AtMost(1_000.0).judge("the same with their numbers", &self.numbered, "ms");
        Goal::AtMost(1_000.0).judge("500 lines in the midst", &self.line, "ms");
        Goal::AtMost(300.0).judge("the first hit", &self.first, "ms");
        self.late.show("the first hit in the last line", "ms");
        Goal::AtMost(2_000.0).judge("all hits of a text", &self.all, "ms");
        Goal::AtMost(2_000.0).judge("all hits of an expression", &self.pattern, "ms");
        self.all
            .over(&self.floor)
            .show("all hits of a text over the floor", "x");
        Goal::AtMost(16.0).judge("memory", &self.memory, "MiB");
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn fail(error: std::io::Error) -> Failure {
    error.into()
}

/// Opens it as if nobody had looked at it before.
fn open(runs: &Path) -> Result<Output> {
    let run: RunId = RUN.parse()?;
    let opened = Outputs::default().open(runs, &run, Stream::Stdout, true)?;
    opened.ok_or_else(|| "the output is gone".into())
}

fn search(runs: &Path, text: &str, is_regex: bool, limits: Limits, expected: u64) -> Result<f64> {
    let (time, hits) = timed(|| {
        let pattern = Pattern::new(text, is_regex)?;
        let found = open(runs)?.search(&pattern, Place::START, limits)?;
        Ok::<_, Failure>(found.hits.len() as u64)
    })?;
    ensure(
        hits >= expected && (limits.hits == 1 || hits == expected),
        || format!("{hits} hits of {text} instead of {expected}"),
    )?;
    Ok(millis(time))
}

/// The least that looking at every byte costs.
fn floor(path: &Path) -> Result {
    let file = File::open(path)?;
    let mut block = vec![0; 256 * 1024];
    let (mut at, mut count) = (0, 0);
    loop {
        let read = file.read_at(&mut block, at)?;
        if read == 0 {
            break;
        }
        count += memchr::memchr_iter(b'\n', &block[..read]).count();
        at += read as u64;
    }
    black_box(count);
    Ok(())
}

/// Memory of this process in bytes: `VmRSS` now, `VmHWM` the most since it was reset.
fn status(name: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: u64 = kibibytes.ok_or("no such line")?.parse()?;
    Ok(kibibytes * 1_024)
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
