//! Looks into an archive: its state, and whether all of it is whole. Works outside a repository.
//!
//! Invariant: only reads. An archive is not trusted; what is not as swarm wrote it is refused.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::json;

use crate::archive::names::{EVENTS, RESTORED};
use crate::archive::read::Reader;
use crate::archive::{ArchiveError, Limits, Manifest, Purpose};
use crate::cli::access::Past;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::Tone;
use crate::cli::output::write_page;
use crate::daemon::export::Counts;
use crate::domain::state::State;
use crate::journal::{JournalError, parse_snapshot, position_of};
use crate::{journal, plain_file};

/// How the names of archives end.
const EXTENSION: &str = ".tar.zst";
/// Largest state that is read, in bytes.
const LARGEST_STATE: u64 = 1 << 30;

/// Whether a text that may be a state names an archive.
pub(super) fn is_named_by(text: &str) -> bool {
    text.ends_with(EXTENSION) || text.contains('/')
}

/// The state in an archive; reads only its beginning.
pub(super) fn state(path: &Path) -> Result<Past, CliError> {
    let mut reader = open(path)?;
    let size = reader.upcoming().map_or(0, |entry| entry.size);
    if size > LARGEST_STATE {
        return Err(ArchiveError::TooLarge {
            limit: LARGEST_STATE,
        }
        .into());
    }
    let mut bytes = Vec::new();
    reader.read_next(&mut bytes)?;
    let snapshot = parse_snapshot::<State>(bytes).map_err(|fault| {
        CliError::refused(format!(
            "the state in {} cannot be used: {fault}",
            path.display()
        ))
        .hint("check the archive: swarm snapshot verify FILE")
    })?;
    Ok(Past::from(snapshot.state))
}

fn open(path: &Path) -> Result<Reader<File>, CliError> {
    let file = plain_file::open_through_links(path).map_err(|error| {
        let error = CliError::io(format!("open {}", path.display()), &error);
        error.hint("make an archive: swarm snapshot export FILE.swarm.tar.zst")
    })?;
    Ok(Reader::open(file, Limits::default())?)
}

/// Checks every byte of an archive, and the chain of its log.
pub(super) fn verify(path: &Path, context: &mut Context) -> Result<(), CliError> {
    let mut reader = open(path)?;
    let folder = tempfile::tempdir().map_err(|error| CliError::io("make a folder", &error))?;
    while let Some(entry) = reader.upcoming().cloned() {
        match place_of(&entry.path) {
            Some(name) => {
                let to = folder.path().join(name);
                let file = File::create_new(&to);
                let mut file =
                    file.map_err(|error| CliError::io(format!("make {}", to.display()), &error))?;
                reader.read_next(&mut file)?;
            }
            None => {
                reader.read_next(&mut io::sink())?;
            }
        }
    }
    let manifest = reader.finish()?;
    check_log(folder.path(), &manifest)?;
    let size = fs::metadata(path).map_or(0, |there| there.len());
    if context.output.json {
        let document = document(path, size, &manifest);
        return context.output.document(&document);
    }
    let good = |text: String| context.output.paint(Tone::Good, &text).into_owned();
    let snapshot = &manifest.snapshot;
    let page = vec![
        good(format!(
            "archive       {} files, each intact",
            manifest.files.len()
        )),
        good(format!(
            "event log     {} events, each intact",
            snapshot.seq
        )),
        format!("inside        {}", inside(&manifest)),
        format!("for           {}", purpose(manifest.purpose)),
    ];
    write_page(&mut context.output, &page)
}

/// Where a file of the log lies in a state folder; `None` for other files.
fn place_of(name: &str) -> Option<String> {
    let events = name.strip_prefix(EVENTS).map(ToOwned::to_owned);
    let restored = || Some(format!("restored-{}", name.strip_prefix(RESTORED)?));
    events.or_else(restored)
}

/// Checks that the log is whole, and ends where the manifest says.
fn check_log(folder: &Path, manifest: &Manifest) -> Result<(), CliError> {
    let wrong = |why: String| {
        CliError::refused(format!("the event log in the archive is damaged: {why}"))
            .code("ARCHIVE_DAMAGED")
            .hint("the archive is not as swarm wrote it: copy it again from where it was made")
    };
    // Its words about files would name a folder that is gone by then.
    let why = |error: JournalError| {
        if let JournalError::Damaged { seq, why, .. } = error {
            return wrong(format!("event {seq}: {why}"));
        }
        wrong(error.to_string())
    };
    let last = journal::verify(folder).map_err(why)?;
    let snapshot = &manifest.snapshot;
    if last != snapshot.seq {
        return Err(wrong(format!(
            "it ends at event {last}, but the manifest says {}",
            snapshot.seq
        )));
    }
    let end = position_of(folder, last).map_err(why)?;
    if end.is_none_or(|end| end.crc != snapshot.log_crc) {
        return Err(wrong(
            "its checksum is not the one in the manifest".to_owned(),
        ));
    }
    Ok(())
}

/// What an archive has, for people.
pub(super) fn inside(manifest: &Manifest) -> String {
    let counts = Counts::of(manifest);
    let parts = [
        (counts.checkpoints, "checkpoint", "checkpoints"),
        (counts.provenance, "record", "records"),
        (counts.refs, "branch or tag", "branches and tags"),
        (counts.agents, "agent", "agents"),
        (
            counts.conversations,
            "file of conversations",
            "files of conversations",
        ),
        (counts.runs, "run", "runs"),
    ];
    let some = parts.iter().filter(|(count, _, _)| *count > 0);
    let each = some.map(|(count, one, more)| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    });
    let events = match manifest.snapshot.seq {
        1 => "1 event".to_owned(),
        seq => format!("{seq} events"),
    };
    let all: Vec<String> = std::iter::once(events).chain(each).collect();
    all.join(", ")
}

/// What an archive is for, for people.
fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Copy => "a copy of a swarm",
        Purpose::Share => "a bug report: no conversations, no commits; it cannot be imported",
        Purpose::Move => "a swarm that moves",
    }
}

/// An archive as JSON.
pub(super) fn document(path: &Path, size: u64, manifest: &Manifest) -> serde_json::Value {
    let counts = Counts::of(manifest);
    json!({
        "file": path.display().to_string(),
        "bytes": size,
        "purpose": manifest.purpose,
        "seq": manifest.snapshot.seq,
        "at": manifest.snapshot.at,
        "swarmId": manifest.swarm_id,
        "swarmVersion": manifest.swarm_version,
        "files": manifest.files.len(),
        "checkpoints": counts.checkpoints,
        "provenance": counts.provenance,
        "refs": counts.refs,
        "agents": counts.agents,
        "conversations": counts.conversations,
        "runs": counts.runs,
        "redactions": manifest.redactions,
    })
}
