//! Writes the exported files `ideas.jsonl` and `learnings.md`, and the summaries of compactions,
//! for people and scripts. Called by the daemon and by `offline`.
//!
//! Invariant: files are replaced atomically, and never used to judge the log (only the repair
//! `rebuild` reads them). They lag behind so that writing costs at most about [`BYTES_PER_SECOND`];
//! after a clean shutdown they are exact.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::markdown::paragraph;
use super::paths::Paths;
use super::summaries;
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::lifecycle::heap;
use crate::domain::ids::AgentId;
use crate::domain::memory::Learning;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::plain_file;
use crate::remove;
use crate::view;

/// Bytes that may be written a second, on average.
const BYTES_PER_SECOND: u64 = 24 * 1024;
/// Files of this size, in bytes, needed much memory.
const LARGE: u64 = 1024 * 1024;
/// Begins the names of unfinished files.
const TEMPORARY: &str = ".view-";
const MIN_LAG: Duration = Duration::from_millis(200);
const MAX_LAG: Duration = Duration::from_secs(60);

/// The content of both files.
struct Exports {
    ideas: String,
    learnings: String,
}

/// Writes both files and missing summaries; returns the size of both files in bytes.
pub fn write(paths: &Paths, state: &State) -> io::Result<u64> {
    let missing = summaries::missing(paths, &state.compacted.seqs);
    write_summaries(paths, state, &missing);
    Exports::of(state)?.write(paths)
}

/// Writes the summaries of these compactions. The log has what they say, so a failure is no more
/// than a warning.
fn write_summaries(paths: &Paths, state: &State, seqs: &[u64]) {
    for seq in seqs {
        if let Err(error) = write_summary(paths, state, *seq) {
            tracing::warn!(%error, seq, "the summary of a compaction cannot be written");
        }
    }
}

fn write_summary(paths: &Paths, state: &State, seq: u64) -> io::Result<()> {
    crash::point("views.summary-due");
    let Some(page) = summaries::page(paths, state, seq).map_err(io::Error::other)? else {
        return Ok(());
    };
    let path = paths.summary(seq);
    plain_file::make_folder(path.parent().unwrap_or(&paths.state))?;
    replace(paths, &path, page.as_bytes())?;
    crash::point("views.summary-written");
    Ok(())
}

/// Removes unfinished files of killed writers. The caller holds the lock.
pub fn clear(paths: &Paths) -> io::Result<()> {
    for entry in std::fs::read_dir(&paths.swarm)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            remove::file(&entry.path())?;
        }
    }
    Ok(())
}

impl Exports {
    fn of(state: &State) -> io::Result<Self> {
        Ok(Self {
            ideas: ideas(state)?,
            learnings: learnings(state),
        })
    }

    fn write(&self, paths: &Paths) -> io::Result<u64> {
        replace(paths, &paths.ideas(), self.ideas.as_bytes())?;
        replace(paths, &paths.learnings(), self.learnings.as_bytes())?;
        Ok((self.ideas.len() + self.learnings.len()) as u64)
    }
}

/// Keeps the files up to date until the daemon ends.
pub(crate) async fn keep(paths: Paths, handle: Handle) {
    let mut seq = handle.seq();
    // The existing file tells how much there is to write.
    let mut written = fs::metadata(paths.ideas()).map_or(0, |file| file.len());
    // Each compaction once: one that has no summary after that has none that can be written.
    let mut summarised = 0;
    while seq.changed().await.is_ok() {
        tokio::time::sleep(lag(written)).await;
        seq.borrow_and_update();
        let (paths, handle) = (paths.clone(), handle.clone());
        let compacted = handle.read(|state| state.compacted.seqs.clone());
        let new: Vec<u64> = compacted
            .into_iter()
            .filter(|it| *it > summarised)
            .collect();
        summarised = new.last().copied().unwrap_or(summarised);
        let work = move || {
            let missing = summaries::missing(&paths, &new);
            if !missing.is_empty() {
                write_summaries(&paths, &handle.read(State::clone), &missing);
            }
            let written = handle.read(Exports::of)?.write(&paths)?;
            // The write may come long after the last event.
            if written >= LARGE {
                heap::purge();
            }
            io::Result::Ok(written)
        };
        let wrote = tokio::task::spawn_blocking(work).await;
        match wrote {
            Ok(Ok(bytes)) => written = bytes,
            Ok(Err(error)) => {
                tracing::warn!(%error, "ideas.jsonl and learnings.md cannot be written");
            }
            Err(error) => tracing::warn!(%error, "writing ideas.jsonl and learnings.md crashed"),
        }
    }
}

fn lag(bytes: u64) -> Duration {
    Duration::from_millis(bytes * 1_000 / BYTES_PER_SECOND).clamp(MIN_LAG, MAX_LAG)
}

fn ideas(state: &State) -> io::Result<String> {
    let mut text = String::new();
    for idea in view::ideas(state, None) {
        text.push_str(&serde_json::to_string(&idea)?);
        text.push('\n');
    }
    Ok(text)
}

fn learnings(state: &State) -> String {
    let mut text = String::from("# Learnings\n");
    let shown = |learning: &&Learning| learning.global && learning.retracted.is_none();
    for learning in state.learnings.iter().filter(shown) {
        let sources = learning.evidence.kept.iter();
        let sources: Vec<String> = sources.map(|it| source(&it.author)).collect();
        let sentence = format!("{} ({})", learning.content, sources.join(", "));
        text.extend(["\n", &paragraph(&sentence)]);
    }
    text
}

fn source(author: &Author) -> String {
    author
        .agent()
        .map_or_else(|| author.to_string(), AgentId::to_string)
}

/// Not synced: after a power failure the file is written again.
fn replace(paths: &Paths, path: &Path, content: &[u8]) -> io::Result<()> {
    // If killed here, git ignores the file and the next start removes it.
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .suffix(".tmp")
        .tempfile_in(&paths.swarm)?;
    file.write_all(content)?;
    crash::point("views.before-rename");
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unfinished_files_of_a_killed_writer_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let paths = Paths::new(root.path());
        std::fs::create_dir_all(&paths.swarm).unwrap();
        write(&paths, &State::default()).unwrap();
        std::fs::write(paths.swarm.join(".view-Ab1.tmp"), "half").unwrap();
        clear(&paths).unwrap();
        let left = std::fs::read_dir(&paths.swarm).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["ideas.jsonl", "learnings.md"]);
    }
}
