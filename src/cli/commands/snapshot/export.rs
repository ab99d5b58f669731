//! `swarm snapshot export`: packs the swarm as an archive, with and without a daemon.
//!
//! Invariant: the file is opened before anything is made for it. Killed at any instant, the same
//! command starts over; a checkpoint that it made stays.

use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use super::{Export as Args, archive, departure};
use crate::archive::{Manifest, PartFile, Purpose};
use crate::cli::access::Past;
use crate::cli::access::temporary_daemon::on_the_daemon;
use crate::cli::clock;
use crate::cli::commands::clean;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::event_log::read_point;
use crate::daemon::export::Export;
use crate::daemon::{DaemonError, offline};
use crate::domain::ids::{BadId, CheckpointName};
use crate::domain::lifecycle::AttemptPhase;
use crate::domain::operation::Command;
use crate::domain::state::Attempt;
use crate::domain::time::Timestamp;
use crate::git;
use crate::view::describe::Point;

/// Counts what passes through.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Runs the command.
pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    if args.moves {
        return move_away(args, context);
    }
    if args.file == Path::new("-") {
        return to_stdout(args, context);
    }
    let mut part = PartFile::create(&args.file)?;
    match pack(args, context, &mut part) {
        Ok(manifest) => {
            part.sync()?;
            part.publish()?;
            let size = fs::metadata(&args.file).map_or(0, |there| there.len());
            tell(args, context, &manifest, size)
        }
        Err(error) => {
            part.discard();
            Err(error)
        }
    }
}

/// Moves the swarm away in the archive.
fn move_away(args: &Args, context: &mut Context) -> Result<(), CliError> {
    if args.file == Path::new("-") {
        let message = "a swarm moves in a file, which the same command can finish";
        return Err(CliError::new(Kind::Usage, message)
            .hint("name one: swarm snapshot export FILE.swarm.tar.zst --move"));
    }
    // Nothing may fail once the swarm has moved.
    let unsettled = unsettled(context)?;
    let manifest = departure::run(&args.file, context)?;
    let size = fs::metadata(&args.file).map_or(0, |there| there.len());
    tell(args, context, &manifest, size)?;
    context
        .output
        .note("the swarm has moved away: nothing starts here");
    if let Some(unsettled) = unsettled {
        context.output.note(unsettled);
        context
            .output
            .next_step("decide here first: swarm snapshot reclaim, and move again afterwards");
    }
    context.output.next_step(format!(
        "go on in another clone: swarm snapshot import {}",
        args.file.display()
    ));
    Ok(())
}

/// What a person has not decided, which the next clone's agents work on once more.
fn unsettled(context: &mut Context) -> Result<Option<String>, CliError> {
    let state = offline::read(&context.repo()?.paths())?;
    let waits = |attempt: &&Attempt| attempt.phase == AttemptPhase::WaitingForHuman;
    let questions = state.agents.values().filter(waits).count();
    let count = state.queue.len() + questions;
    let ideas = match count {
        0 => return Ok(None),
        1 => "1 idea waits for a person or for its merge, and its agent finishes it".to_owned(),
        count => {
            format!("{count} ideas wait for a person or for their merge, and agents finish them")
        }
    };
    Ok(Some(format!("{ideas} once more after the import")))
}

fn to_stdout(args: &Args, context: &mut Context) -> Result<(), CliError> {
    if context.output.json {
        let message = "--json needs a file: the archive itself goes to standard output";
        return Err(CliError::new(Kind::Usage, message));
    }
    let stdout = io::stdout();
    if stdout.is_terminal() {
        let message = "an archive is not for a terminal";
        return Err(CliError::new(Kind::Usage, message)
            .hint("write it to a file: swarm snapshot export FILE.swarm.tar.zst")
            .hint("or send it on: swarm snapshot export - | age -r RECIPIENT > FILE"));
    }
    let mut out = Counted {
        inner: stdout.lock(),
        bytes: 0,
    };
    let manifest = pack(args, context, &mut out)?;
    let size = out.bytes;
    tell(args, context, &manifest, size)
}

/// Makes the checkpoint, if one is asked for, and writes the archive.
fn pack(args: &Args, context: &mut Context, to: &mut dyn Write) -> Result<Manifest, CliError> {
    let paths = context.repo()?.paths();
    let purpose = if args.share {
        Purpose::Share
    } else {
        Purpose::Copy
    };
    let mut checkpoint = None;
    let past = match &args.at {
        Some(text) => Past::read(&paths, read_point(text, &context.zone, clock::now())?)?,
        None if args.share => Past::from(offline::read(&paths)?),
        None => {
            let name = make_checkpoint(context)?;
            let past = after_checkpoint(context, &name)?;
            checkpoint = Some(name);
            past
        }
    };
    if past.seq() == 0 && args.at.is_some() {
        return Err(
            CliError::refused("there was no swarm here yet at that moment")
                .hint("see what happened when: swarm log"),
        );
    }
    if past.seq() == 0 {
        return Err(
            CliError::refused("there is nothing to export yet: the event log is empty")
                .hint("add an idea: swarm idea add \"...\""),
        );
    }
    let export = Export::gather(&paths, past.state(), purpose, checkpoint.as_ref())?;
    Ok(export.write(to)?.manifest)
}

/// Makes the checkpoint `export-TIME`, with the agents' uncommitted work as commits.
pub(super) fn make_checkpoint(context: &mut Context) -> Result<CheckpointName, CliError> {
    let repo = git::Repo::open(context.repo()?.root()).map_err(DaemonError::from)?;
    if repo.is_shallow() {
        let message = "this clone lacks the beginning of its history, which an archive contains";
        return Err(CliError::refused(message).hint("fetch it: git fetch --unshallow"));
    }
    let name = free_name(context)?;
    let create = Command::CreateCheckpoint {
        name: name.clone(),
        tag: false,
    };
    on_the_daemon(context, &create)?;
    if !context.output.json {
        context.output.note(format!("checkpoint {name} created"));
    }
    Ok(name)
}

/// The name with the time, or that with a number behind it: an export that was killed may have made
/// its checkpoint in the same second.
fn free_name(context: &Context) -> Result<CheckpointName, CliError> {
    let known = offline::read(&context.repo()?.paths())?.checkpoints;
    let first = checkpoint_name(clock::now())?;
    let numbered = (2_u32..).filter_map(|number| format!("{first}-{number}").parse().ok());
    let free = std::iter::once(first.clone())
        .chain(numbered)
        .find(|name| !known.contains_key(name));
    Ok(free.unwrap_or_else(|| first.clone()))
}

/// `export-20260131-235959`.
fn checkpoint_name(now: Timestamp) -> Result<CheckpointName, CliError> {
    let text = now.to_string();
    let seconds = text.split('.').next().unwrap_or_default();
    let digits: String = seconds.chars().filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(digits.len().min(8));
    let name = format!("export-{day}-{time}").parse();
    name.map_err(|error: BadId| CliError::refused(error.to_string()))
}

/// The state right after the event that the checkpoint was made.
fn after_checkpoint(context: &Context, name: &CheckpointName) -> Result<Past, CliError> {
    use crate::domain::event::Event;

    let paths = context.repo()?.paths();
    let now = offline::read(&paths)?;
    let gone = || {
        CliError::refused(format!("the checkpoint {name} was deleted meanwhile")).hint("try again")
    };
    let begun = now.checkpoints.get(name).ok_or_else(gone)?.seq;
    let mut made = None;
    offline::scan(&paths, begun, now.seq, &mut |journaled| {
        if let Event::CheckpointMade(it) = &journaled.event
            && it.name == *name
        {
            made = Some(journaled.seq);
        }
    })?;
    let made = made.ok_or_else(gone)?;
    if made == now.seq {
        return Ok(Past::from(now));
    }
    Past::read(&paths, Point::Seq(made))
}

/// Says what was written.
fn tell(
    args: &Args,
    context: &mut Context,
    manifest: &Manifest,
    size: u64,
) -> Result<(), CliError> {
    if context.output.json {
        let document = archive::document(&args.file, size, manifest);
        return context.output.document(&document);
    }
    let name = if args.file == Path::new("-") {
        "the archive".to_owned()
    } else {
        args.file.display().to_string()
    };
    context.output.note(format!(
        "{name} written ({}): {}, up to event {}",
        clean::size(size),
        archive::inside(manifest),
        manifest.snapshot.seq
    ));
    if args.share {
        let count: u64 = manifest.redactions.iter().map(|it| it.count).sum();
        context.output.note(format!(
            "secrets replaced: {count}. It still has the texts of ideas, messages and learnings: \
            read them before you send it"
        ));
        context
            .output
            .next_step("look into it: swarm snapshot show FILE --section ideas");
        return Ok(());
    }
    context
        .output
        .note("it has conversations and code, in the clear: keep it as you keep your code");
    context
        .output
        .next_step("encrypted: swarm snapshot export - | age -r RECIPIENT > FILE.age");
    context.output.next_step(format!(
        "check it: swarm snapshot verify {}",
        args.file.display()
    ));
    Ok(())
}
