//! `swarm snapshot verify`: checks the event log, the snapshots and the checkpoints.
//!
//! Invariant: only reads. A damaged log is the error of every command (exit code 75).

use serde_json::json;

use crate::cli::commands::replay;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::{Tone, safe};
use crate::cli::output::{Output, write_page};
use crate::daemon::offline;

/// The next command for a snapshot that is wrong.
const REBUILD: &str = "write it anew: swarm stop; swarm snapshot rebuild";

/// What is wrong with one of the files, with the next command.
struct Fault {
    what: String,
    next: &'static str,
}

/// Checks all of it.
pub(super) fn run(context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let log = replay::verify(&paths)?;
    let (sound, damaged) = offline::sound_checkpoints(&paths)?;
    let mut faults = Vec::new();
    if let Some(difference) = &log.difference {
        faults.push(Fault {
            what: format!("the snapshot differs from the event log: {difference}"),
            next: REBUILD,
        });
    }
    for (name, why) in offline::damaged_snapshots(&paths) {
        faults.push(Fault {
            what: format!("{name} cannot be used: {why}"),
            next: REBUILD,
        });
    }
    for (name, why) in &damaged {
        faults.push(Fault {
            what: format!("checkpoint {name} cannot be used: {why}"),
            next: "see the others: swarm checkpoint list",
        });
    }
    if context.output.json {
        let what: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
        let document = json!({
            "events": log.events,
            "snapshotSeq": log.snapshot_seq,
            "checkpoints": sound,
            "faults": what,
        });
        context.output.document(&document)?;
    } else {
        let page = page(&context.output, log.events, log.snapshot_seq, sound.len());
        write_page(&mut context.output, &page)?;
    }
    let Some(first) = faults.first() else {
        return Ok(());
    };
    let message = match faults.len() {
        1 => first.what.clone(),
        count => format!("{count} things are wrong"),
    };
    let details: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
    let mut error = CliError::refused(safe(&message)).code("SNAPSHOT_FAULTY");
    if faults.len() > 1 {
        error = error.details(details.join("\n"));
    }
    for fault in &faults {
        if !error.hints.iter().any(|known| known == fault.next) {
            error = error.hint(fault.next);
        }
    }
    Err(error)
}

fn page(output: &Output, events: u64, snapshot: Option<u64>, checkpoints: usize) -> Vec<String> {
    let good = |text: String| output.paint(Tone::Good, &text).into_owned();
    let snapshot = match snapshot {
        Some(seq) => format!("snapshot      after event {seq}"),
        None => "snapshot      none; a start reads the whole log".to_owned(),
    };
    vec![
        good(format!("event log     {events} events, each intact")),
        good(snapshot),
        good(format!("checkpoints   {checkpoints} usable")),
    ]
}
