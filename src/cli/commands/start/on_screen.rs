//! `start` on a terminal: the full-screen view here, the daemon in a child process below it.
//!
//! Invariant: the daemon's promises do not depend on the view. Signals to this process go on to the
//! daemon through the [`Lifeline`]; its messages and its exit code come back. Whatever happens to
//! the daemon, the terminal is given back before anything is printed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use nix::sys::signal::Signal;

use super::detach::answers;
use super::lifeline::{Lifeline, VIEW_GONE, VIEW_SHOWN, byte_of};
use super::{LAST_WORDS, Start};
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::host::own_program;
use crate::cli::output::final_flush::FinalFlush;
use crate::cli::repo::Repo;
use crate::cli::screen::mailbox::{Mailbox, mailbox};
use crate::cli::screen::terminal::restore;
use crate::cli::screen::{self, Ended, Message, View, signals};

/// How long to wait between two checks whether the daemon answers.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the daemon's last messages may take after its end.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How long the view may take to end; its terminal may be blocked.
const LAST_FRAME: Duration = Duration::from_millis(300);

/// Whether `start` shows the full-screen view.
pub(super) fn is_wanted(args: &Start, context: &Context) -> bool {
    let plain = args.plain || args.detach || args.detached || args.below_view;
    !plain && context.output.can_show_screen()
}

/// Runs the daemon below the view until it ends.
pub(super) fn run(args: &Start, repo: &Repo, context: &mut Context) -> Result<(), CliError> {
    context.output.flush()?;
    let (mailbox, inbox) = mailbox();
    let lifeline = Arc::new(Lifeline::default());
    pass_signals_on(&mailbox, &lifeline)?;
    let program = own_program()?;
    let mut child = command(&program, args, repo, context)
        .spawn()
        .map_err(|error| CliError::io(format!("start {}", program.display()), &error))?;
    let relay = Arc::new(Relay::default());
    let read = relay_output(&mut child, &relay, &mailbox)?;
    if let Some(stdin) = child.stdin.take() {
        lifeline.connect(stdin);
    }
    let broken = |error: io::Error| CliError::io("wait for the daemon", &error);
    let view = if wait_until_it_answers(&mut child, repo).map_err(broken)? {
        let view = View {
            repo: repo.clone(),
            colors: context.output.colors,
            interrupt: Some(interrupt(&mailbox, &lifeline)),
            mailbox: mailbox.clone(),
            inbox,
        };
        show(view, &relay, &lifeline)
    } else {
        None
    };
    let status = child.wait().map_err(broken)?;
    wait_for_all(&read, LAST_OUTPUT);
    mailbox.send(Message::DaemonEnded);
    if let Some(view) = view {
        wait_for_all(&view, LAST_FRAME);
        restore();
    }
    context.last_words = FinalFlush::within(LAST_WORDS, exit_code(status));
    relay.release();
    conclude(status)
}

fn command(program: &std::path::Path, args: &Start, repo: &Repo, context: &Context) -> Command {
    let colors = if context.output.message_colors {
        "always"
    } else {
        "never"
    };
    let mut command = Command::new(program);
    command.arg("-C").arg(repo.root());
    command.args(["--color", colors, "start", "--below-view"]);
    if let Some(mode) = args.mode.as_ref().and_then(ValueEnum::to_possible_value) {
        command.args(["--mode", mode.get_name()]);
    }
    if args.until_idle {
        command.arg("--until-idle");
    }
    if args.no_web {
        command.arg("--no-web");
    }
    if args.no_open {
        command.arg("--no-open");
    }
    if let Some(port) = args.port {
        command.arg("--port").arg(port.to_string());
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The terminal's signals reach this process only, and the daemon once.
        .process_group(0);
    command
}

/// Installed before the daemon is started, so that no signal ends this process alone.
fn pass_signals_on(mailbox: &Mailbox, lifeline: &Arc<Lifeline>) -> Result<(), CliError> {
    let (to_view, lifeline) = (mailbox.clone(), Arc::clone(lifeline));
    let pass_on = move |signal| {
        if let Some(byte) = byte_of(signal) {
            if signal != nix::libc::SIGUSR1 {
                to_view.send(Message::Interrupted);
            }
            lifeline.send(byte);
        }
    };
    signals::receive(mailbox.clone(), pass_on)
        .map_err(|error| CliError::io("receive signals", &error))
}

fn interrupt(mailbox: &Mailbox, lifeline: &Arc<Lifeline>) -> Box<dyn Fn() + Send> {
    let (to_view, lifeline) = (mailbox.clone(), Arc::clone(lifeline));
    Box::new(move || {
        to_view.send(Message::Interrupted);
        if let Some(byte) = byte_of(nix::libc::SIGINT) {
            lifeline.send(byte);
        }
    })
}

/// `false` if the daemon has ended before.
fn wait_until_it_answers(child: &mut Child, repo: &Repo) -> io::Result<bool> {
    while child.try_wait()?.is_none() {
        if answers(child.id(), repo) {
            return Ok(true);
        }
        thread::sleep(PAUSE);
    }
    Ok(false)
}

/// Shows the view on a thread of its own, so that a blocked terminal blocks nothing else. The
/// receiver is disconnected when the view has ended. Without a thread, messages are lines.
fn show(view: View, relay: &Arc<Relay>, lifeline: &Arc<Lifeline>) -> Option<Receiver<()>> {
    let (relay, lifeline) = (Arc::clone(relay), Arc::clone(lifeline));
    let (ended, waiting) = channel::<()>();
    let show = move || {
        relay.hold();
        lifeline.send(VIEW_SHOWN);
        let how = screen::show(view);
        lifeline.send(VIEW_GONE);
        let words = match how {
            Ok(Ended::Daemon | Ended::HungUp | Ended::Left) => None,
            Err(error) => Some(error.message),
        };
        if let Some(words) = words {
            let line = format!("the view has ended: {words}; the daemon continues\n");
            relay.take(Stream::Messages, line.into_bytes());
            relay.release();
        }
        drop(ended);
    };
    let thread = thread::Builder::new().name("view".into());
    thread.spawn(show).ok().map(|_| waiting)
}

/// Waits until all senders are gone.
fn wait_for_all(receiver: &Receiver<()>, limit: Duration) {
    let until = Instant::now() + limit;
    let left = || until.saturating_duration_since(Instant::now());
    while receiver.recv_timeout(left()).is_ok() {}
}

/// Which of the daemon's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Data,
    Messages,
}

/// Lines that wait, oldest first.
type Held = Vec<(Stream, Vec<u8>)>;

/// The daemon's output on its way to the terminal; held while the view is shown.
#[derive(Default)]
struct Relay(Mutex<Option<Held>>);

impl Relay {
    fn hold(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.get_or_insert_default();
    }

    fn take(&self, stream: Stream, line: Vec<u8>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held.as_mut() {
            Some(held) => held.push((stream, line)),
            None => write(stream, &line),
        }
    }

    fn release(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (stream, line) in held.take().unwrap_or_default() {
            write(stream, &line);
        }
    }
}

/// The daemon continues even if nobody reads.
fn write(stream: Stream, line: &[u8]) {
    match stream {
        Stream::Data => {
            let mut stdout = io::stdout();
            drop(stdout.write_all(line).and_then(|()| stdout.flush()));
        }
        Stream::Messages => drop(io::stderr().write_all(line)),
    }
}

/// Relays the daemon's streams. The receiver is disconnected when both have ended.
fn relay_output(
    child: &mut Child,
    relay: &Arc<Relay>,
    mailbox: &Mailbox,
) -> Result<Receiver<()>, CliError> {
    let (ended, waiting) = channel::<()>();
    let begin = |from: Box<dyn Read + Send>, stream| {
        let (relay, mailbox) = (Arc::clone(relay), mailbox.clone());
        let ended = ended.clone();
        let thread = thread::Builder::new().name("relay".into());
        let begun = thread.spawn(move || read_lines(from, stream, &relay, &mailbox, ended));
        begun.map_err(|error| CliError::io("read the daemon's messages", &error))
    };
    if let Some(stdout) = child.stdout.take() {
        begin(Box::new(stdout), Stream::Data)?;
    }
    if let Some(stderr) = child.stderr.take() {
        begin(Box::new(stderr), Stream::Messages)?;
    }
    Ok(waiting)
}

fn read_lines(
    from: impl Read,
    stream: Stream,
    relay: &Relay,
    mailbox: &Mailbox,
    ended: Sender<()>,
) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from
        .read_until(b'\n', &mut line)
        .is_ok_and(|count| count > 0)
    {
        if stream == Stream::Messages {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            mailbox.send(Message::Said(text));
        }
        relay.take(stream, std::mem::take(&mut line));
    }
    drop(ended);
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.unwrap_or(Kind::Refused.exit_code())
}

/// The daemon's exit code is this command's, and the daemon has said why.
fn conclude(status: ExitStatus) -> Result<(), CliError> {
    let Some(signal) = status.signal() else {
        let kind = match exit_code(status) {
            0 => return Ok(()),
            code => Kind::from_exit_code(code),
        };
        return Err(CliError::new(kind, format!("the daemon ended: {status}")).shown());
    };
    let name = Signal::try_from(signal).map_or("a signal", Signal::as_str);
    if signal == nix::libc::SIGINT {
        let message = "interrupted before the daemon was ready";
        return Err(CliError::new(Kind::Interrupted, message));
    }
    Err(CliError::refused(format!(
        "the daemon was killed by {name}; nothing is lost, and its agents keep running"
    ))
    .hint("the next start adopts them: swarm start"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_exit_code_is_the_commands() {
        let exited = |code: i32| conclude(ExitStatus::from_raw(code << 8));
        assert_eq!(exited(0), Ok(()));
        for code in [1, 4, 5, 6, 74, 75, 130] {
            let error = exited(code).unwrap_err();
            assert_eq!(i32::from(error.kind.exit_code()), code);
        }
        let killed = conclude(ExitStatus::from_raw(9)).unwrap_err();
        assert!(killed.message.contains("SIGKILL"), "{killed}");
        let early = conclude(ExitStatus::from_raw(2)).unwrap_err();
        assert_eq!(early.kind.exit_code(), 130);
    }
}
