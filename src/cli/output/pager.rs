//! Shows long output in the person's pager: `$SWARM_PAGER`, else `$PAGER`, else `less`.
//!
//! Invariant: only on a terminal, and only what does not fit on it. Whatever the pager does, the
//! output is shown, and the terminal's keys go to the pager alone.

use std::io::{self, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Output, write_page};
use crate::cli::error::CliError;

/// Colours pass through, and the text stays on the screen when the pager ends.
const LESS: &str = "less -FRX";
/// What a shell answers if there is no such program, or it cannot run.
const NO_PROGRAM: [i32; 2] = [126, 127];

/// Writes a page, through the pager if it is longer than the terminal.
pub fn show(output: &mut Output, page: &[String]) -> Result<(), CliError> {
    let rows = output.rows.filter(|_| output.pager && !output.json);
    let is_long = rows.is_some_and(|rows| page.len() >= usize::from(rows));
    let Some(command) = is_long.then(chosen).flatten() else {
        return write_page(output, page);
    };
    output.flush()?;
    match run(&command, page) {
        Ok(status) if !status.code().is_some_and(|code| NO_PROGRAM.contains(&code)) => Ok(()),
        Ok(_) | Err(_) => {
            output.note(format!("the pager `{command}` could not be run"));
            write_page(output, page)
        }
    }
}

/// The pager's command; an empty one, or `cat`, means none.
fn chosen() -> Option<String> {
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return None;
    }
    let named = ["SWARM_PAGER", "PAGER"].map(std::env::var);
    let named = named.into_iter().find_map(Result::ok);
    let command = match named {
        Some(command) => command.trim().to_owned(),
        None if is_installed("less") => LESS.to_owned(),
        None => return None,
    };
    (!command.is_empty() && command != "cat").then_some(command)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The variable may hold arguments too, so a shell reads it.
fn run(command: &str, page: &[String]) -> io::Result<ExitStatus> {
    // Ctrl+C stops what the pager does, and not the program that it reads from.
    let pressed = Arc::new(AtomicBool::new(false));
    let ignored = signal_hook::flag::register(signal_hook::consts::SIGINT, pressed)?;
    let mut pager = Command::new("sh");
    pager.arg("-c").arg(command).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        pager.env("LESS", "FRX");
    }
    let status = pager.spawn().and_then(|mut child| {
        feed(&mut child, page);
        child.wait()
    });
    signal_hook::low_level::unregister(ignored);
    status
}

/// The person may leave before the end.
fn feed(pager: &mut Child, page: &[String]) {
    let Some(input) = pager.stdin.take() else {
        return;
    };
    let mut input = io::BufWriter::new(input);
    for line in page {
        if writeln!(input, "{line}").is_err() {
            return;
        }
    }
    drop(input.flush());
}
