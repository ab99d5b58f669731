//! Runs the scripted agent: reads its prompt, then follows its script in the current directory.
//!
//! Invariant: every line is flushed at once, so readers see its progress, whatever ends it.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::options::Options;
use super::resolve::combine;
use super::script::{self, Situation, Step};
use super::{SUBCOMMAND, WAITING_TO_BE_KILLED};
use crate::agents::{prompt, recovery_context};

/// Why the scripted agent failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkError {
    #[error("{0} is not set; swarm starts this program, so do not run it by hand")]
    NoVariable(&'static str),
    #[error("cannot {what} {path}: {source}", path = path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot read the prompt or write the output: {0}")]
    Stream(#[from] io::Error),
    #[error("`git commit` failed; see its message above")]
    Commit,
}

/// Runs one iteration.
pub(super) fn work(options: &Options) -> Result<(), WorkError> {
    let mut prompt = String::new();
    io::stdin().lock().read_to_string(&mut prompt)?;
    let idea_id = variable("SWARM_IDEA_ID")?;
    let (attempt, iteration) = (count("SWARM_ATTEMPT")?, count("SWARM_ITERATION")?);
    let situation = Situation {
        idea_id: &idea_id,
        title: script::title_in(&prompt),
        attempt,
        iteration,
        has_feedback: has_heading(&prompt, prompt::FEEDBACK_HEADING),
        recovers: has_heading(&prompt, recovery_context::HEADING),
    };
    print(&format!(
        "demo: a scripted agent, no model; {idea_id}, attempt {attempt}, iteration {iteration}"
    ))?;
    let mut pauses = Pauses::new(options, &situation);
    if has_heading(&prompt, prompt::CONFLICT_HEADING) {
        return settle_conflicts(&mut pauses);
    }
    for step in script::steps(&situation) {
        follow(&step, &prompt, options, &mut pauses)?;
    }
    Ok(())
}

fn follow(
    step: &Step,
    prompt: &str,
    options: &Options,
    pauses: &mut Pauses,
) -> Result<(), WorkError> {
    match step {
        Step::Say(text) => print(text)?,
        Step::Signal(body) => print(&format!("<swarm>{body}</swarm>"))?,
        Step::Pause => pauses.pause(),
        Step::Write(path, content) => write(Path::new(path), content)?,
        Step::ChangeLine { path, old, new } => {
            let path = Path::new(path);
            write(path, &changed(&read(path)?, old, new))?;
        }
        Step::AddLine(path, line) => {
            let path = Path::new(path);
            write(path, &with_line(&read(path)?, line))?;
        }
        Step::Commit(subject) => commit(subject)?,
        Step::QuotePrompt => quote(prompt)?,
        Step::WaitToBeKilled => wait_to_be_killed(options.patience)?,
    }
    Ok(())
}

/// Resolves the conflicts in the worktree.
fn settle_conflicts(pauses: &mut Pauses) -> Result<(), WorkError> {
    let mut settled = 0;
    for path in files_below(Path::new("."))? {
        let Ok(text) = fs::read_to_string(&path) else {
            continue; // binary, so it has no conflict markers
        };
        if let Some(combined) = combine(&text) {
            print(&format!(
                "Both sides of {} belong together.",
                path.display()
            ))?;
            pauses.pause();
            write(&path, &combined)?;
            settled += 1;
        }
    }
    if settled == 0 {
        return Ok(print(
            "<swarm>NEEDS_HUMAN:there are no conflict markers in any file</swarm>",
        )?);
    }
    let files = if settled == 1 { "file" } else { "files" };
    Ok(print(&format!(
        "<swarm>RESOLVED:kept both sides in {settled} {files}</swarm>"
    ))?)
}

/// Every file below `folder` except hidden ones, in a fixed order. Does not follow links.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, WorkError> {
    let failed = |source| WorkError::File {
        what: "list",
        path: folder.to_owned(),
        source,
    };
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)
        .and_then(Iterator::collect)
        .map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let kind = entry.file_type().map_err(failed)?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() && !hidden {
            files.extend(files_below(&entry.path())?);
        } else if kind.is_file() && !hidden {
            files.push(entry.path());
        }
    }
    Ok(files)
}

fn has_heading(prompt: &str, heading: &str) -> bool {
    prompt.lines().any(|line| line == heading)
}

fn variable(name: &'static str) -> Result<String, WorkError> {
    std::env::var(name).map_err(|_| WorkError::NoVariable(name))
}

fn count(name: &'static str) -> Result<u32, WorkError> {
    let text = variable(name)?;
    text.parse().map_err(|_| WorkError::NoVariable(name))
}

fn print(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn quote(prompt: &str) -> io::Result<()> {
    print("I was told:")?;
    let explains = |line: &&str| line.contains("<swarm>COMPLETE</swarm>");
    match prompt.lines().find(explains) {
        Some(line) => print(line),
        None => print("(nothing about how to finish)"),
    }
}

fn wait_to_be_killed(patience: Duration) -> io::Result<()> {
    print(WAITING_TO_BE_KILLED)?;
    thread::sleep(patience);
    print("demo: nobody came; continuing")
}

fn read(path: &Path) -> Result<String, WorkError> {
    fs::read_to_string(path).map_err(|source| WorkError::File {
        what: "read",
        path: path.to_owned(),
        source,
    })
}

/// Writes atomically through a file beside `path`: a kill leaves the old content or the new. A
/// restarted script overwrites a leftover.
fn write(path: &Path, content: &str) -> Result<(), WorkError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = path.with_extension("new");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&beside, content))
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|source| WorkError::File {
            what: "write",
            path: path.to_owned(),
            source,
        })
}

/// See [`Step::ChangeLine`].
fn changed(text: &str, old: &str, new: &str) -> String {
    if text.lines().any(|line| line == new) {
        return text.to_owned();
    }
    let first_word = old.split(' ').next().unwrap_or(old);
    let has_old = text.lines().any(|line| line == old);
    let mut lines: Vec<&str> = Vec::new();
    let mut done = false;
    for line in text.lines() {
        let replaces = has_old && line == old;
        if !replaces {
            lines.push(line);
        }
        if !done && (replaces || (!has_old && line.starts_with(first_word))) {
            lines.push(new);
            done = true;
        }
    }
    if !done {
        lines.push(new);
    }
    lines.join("\n") + "\n"
}

fn with_line(text: &str, line: &str) -> String {
    if text.lines().any(|there| there == line) {
        return text.to_owned();
    }
    format!("{text}{line}\n")
}

/// Commits everything through a shell, as an agent would. Nothing to commit is fine.
fn commit(subject: &str) -> Result<(), WorkError> {
    const SCRIPT: &str =
        r#"git add -A && { git diff --cached --quiet || git commit -q -m "$1"; } 1>&2"#;
    let status = Command::new("sh")
        .args(["-c", SCRIPT, SUBCOMMAND, subject])
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(WorkError::Commit)
    }
}

/// Short pauses whose lengths depend on the seed and the work.
#[derive(Debug)]
struct Pauses {
    state: u64,
    pace: u32,
}

impl Pauses {
    fn new(options: &Options, situation: &Situation<'_>) -> Self {
        let work = format!(
            "{} {} {}",
            situation.idea_id, situation.attempt, situation.iteration
        );
        let state = work
            .bytes()
            .fold(options.seed, |state, byte| mixed(state ^ u64::from(byte)));
        Self {
            state,
            pace: options.pace,
        }
    }

    fn pause(&mut self) {
        thread::sleep(self.next());
    }

    /// Length of the next pause: 150 to 600 ms at a pace of 100 percent.
    fn next(&mut self) -> Duration {
        self.state = mixed(self.state);
        Duration::from_millis(150 + self.state % 451) * self.pace / 100
    }
}

/// One step of a pseudo-random generator.
fn mixed(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ (state >> 27)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_changed_once_or_added_below_a_similar_one() {
        let old = "Fresh bread.";
        let new = "Fresh bread and cakes.";
        for (text, expected) in [
            ("a\nFresh bread.\nb\n", "a\nFresh bread and cakes.\nb\n"),
            ("a\nFresh bread and cakes.\n", "a\nFresh bread and cakes.\n"),
            (
                "a\nFresh rolls.\nb\n",
                "a\nFresh rolls.\nFresh bread and cakes.\nb\n",
            ),
            ("a\n", "a\nFresh bread and cakes.\n"),
        ] {
            assert_eq!(changed(text, old, new), expected);
        }
    }

    #[test]
    fn a_line_is_added_once() {
        let once = with_line("a\n", "b");
        assert_eq!(once, "a\nb\n");
        assert_eq!(with_line(&once, "b"), once);
    }

    #[test]
    fn pauses_depend_on_the_seed_and_stay_in_range() {
        let lengths = |seed, pace| {
            let options = Options {
                seed,
                pace,
                patience: Duration::ZERO,
            };
            let situation = Situation {
                idea_id: "idea-001",
                title: None,
                attempt: 1,
                iteration: 1,
                has_feedback: false,
                recovers: false,
            };
            let mut pauses = Pauses::new(&options, &situation);
            (0..100).map(|_| pauses.next()).collect::<Vec<_>>()
        };
        assert_eq!(lengths(1, 100), lengths(1, 100));
        assert_ne!(lengths(1, 100), lengths(2, 100));
        let range = Duration::from_millis(150)..=Duration::from_millis(600);
        assert!(lengths(3, 100).iter().all(|length| range.contains(length)));
        assert!(lengths(3, 0).iter().all(Duration::is_zero));
    }
}
