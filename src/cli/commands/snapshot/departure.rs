//! `swarm snapshot export --move`: packs a stopped swarm and leaves this clone to the archive.
//!
//! Invariant: `swarmMoved` is in the log before the archive has its name. Killed in between, the
//! same command finishes; killed before, it starts over.

use std::fs::File;
use std::path::Path;

use super::export::make_checkpoint;
use crate::archive::part_file::{part_of, publish};
use crate::archive::read::Reader;
use crate::archive::{Limits, Manifest, PartFile, Purpose, Written};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::daemon::export::Export;
use crate::daemon::files::hash;
use crate::daemon::transfer::Departure;
use crate::daemon::{Paths, offline};
use crate::domain::decide::transfer::refuse_moved;
use crate::domain::request::Author;
use crate::domain::state::State;
use crate::domain::state::checkpoint::unfinished;
use crate::plain_file;

/// Packs the swarm and moves it away; returns what was written.
pub(super) fn run(file: &Path, context: &mut Context) -> Result<Manifest, CliError> {
    let paths = context.repo()?.paths();
    let state = offline::read(&paths)?;
    if let Some(sha256) = &state.swarm.moved {
        return finish(file, sha256, &state);
    }
    if offline::is_locked(&paths)? {
        return Err(
            CliError::refused("the swarm is running; only a stopped one can move")
                .hint("stop it first: swarm stop"),
        );
    }
    let mut part = PartFile::create(file)?;
    match pack(&paths, &state, context, &mut part) {
        Ok(packed) => depart(packed, part),
        Err(error) => {
            part.discard();
            Err(error)
        }
    }
}

/// An archive that is on disk, and the swarm that it is of.
struct Packed {
    written: Written,
    departure: Departure,
}

fn pack(
    paths: &Paths,
    before: &State,
    context: &mut Context,
    part: &mut PartFile,
) -> Result<Packed, CliError> {
    refuse_running(paths, before)?;
    // Uncommitted work becomes commits; without unfinished work there is none.
    let checkpoint = match unfinished(before).as_slice() {
        [] => None,
        _ => Some(make_checkpoint(context)?),
    };
    // From here on nobody adds anything.
    let departure = Departure::begin(paths)?;
    refuse_running(paths, departure.state())?;
    let export = Export::gather(paths, departure.state(), Purpose::Move, checkpoint.as_ref())?;
    let written = export.write(&mut *part)?;
    part.sync()?;
    Ok(Packed { written, departure })
}

fn depart(packed: Packed, part: PartFile) -> Result<Manifest, CliError> {
    let Packed {
        written,
        mut departure,
    } = packed;
    departure.move_away(&written.sha256, &Author::Person)?;
    part.publish()?;
    Ok(written.manifest)
}

fn refuse_running(paths: &Paths, state: &State) -> Result<(), CliError> {
    let running = offline::left_running(paths, state);
    if running.is_empty() {
        return Ok(());
    }
    let agents: Vec<String> = running.iter().map(|(id, _)| id.to_string()).collect();
    let message = format!("agents are still running: {}", agents.join(", "));
    Err(CliError::refused(message).hint("start swarm, then stop it with its agents: swarm stop"))
}

/// The swarm has moved away in this archive, which only lacks its name; or it has that already.
fn finish(file: &Path, moved: &str, state: &State) -> Result<Manifest, CliError> {
    let part = part_of(file);
    if let Some(manifest) = manifest_of(&part, moved) {
        publish(file)?;
        return Ok(manifest);
    }
    if let Some(manifest) = manifest_of(file, moved) {
        return Ok(manifest);
    }
    refuse_moved(state)?;
    Err(CliError::refused("this swarm has moved away"))
}

/// The manifest of the archive at this path, if it is the one with this digest.
fn manifest_of(path: &Path, sha256: &str) -> Option<Manifest> {
    let file: File = plain_file::open(path).ok()?;
    let reader = Reader::open(file, Limits::default()).ok()?;
    let found = hash::sha256(reader.manifest_bytes());
    (found == sha256).then(|| reader.manifest().clone())
}
