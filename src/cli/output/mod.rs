//! The two streams that a command writes: data and messages.
//!
//! Invariant: nothing but data reaches standard output, and with `--json` nothing but JSON. Foreign
//! text is made safe before it gets here.

pub mod final_flush;
pub mod pager;
pub mod table;
pub mod terminal;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

use super::args::global::Global;
use super::error::{CliError, Kind, Presentation};
use terminal::{Tone, safe, safe_block};

/// The two streams and how to write to them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent option"
)]
pub struct Output {
    data: Box<dyn Write>,
    messages: Box<dyn Write>,
    /// Write JSON.
    pub json: bool,
    /// Suppress messages, except errors.
    pub quiet: bool,
    /// How many times `-v` was given.
    pub verbose: u8,
    /// Colour data.
    pub colors: bool,
    /// Colour messages.
    pub message_colors: bool,
    /// Data goes to a terminal.
    pub is_terminal: bool,
    /// Messages go to a terminal that can move its cursor.
    pub can_draw: bool,
    /// Width of the data terminal in columns; `None` without a terminal.
    pub width: Option<u16>,
    /// Height of the data terminal in lines; `None` without a terminal.
    pub rows: Option<u16>,
    /// Long output may go through a pager.
    pub pager: bool,
}

impl Output {
    /// Standard output and standard error, set up by the global options.
    pub fn standard(global: &Global) -> Self {
        let no_color = terminal::no_color_asked();
        let is_terminal = io::stdout().is_terminal();
        let errors_on_terminal = io::stderr().is_terminal();
        let colors = |on_terminal| terminal::use_colors(global.color, on_terminal, no_color);
        Self {
            data: Box::new(BufWriter::new(io::stdout())),
            messages: Box::new(io::stderr()),
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            colors: colors(is_terminal),
            message_colors: colors(errors_on_terminal),
            is_terminal,
            can_draw: errors_on_terminal
                && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            width: if is_terminal {
                table::terminal_width()
            } else {
                None
            },
            rows: terminal_rows(),
            pager: is_terminal && !global.no_pager,
        }
    }

    /// Paints pages that are shown elsewhere; nothing is written through it.
    pub fn for_pages(colors: bool) -> Self {
        Self {
            data: Box::new(io::sink()),
            messages: Box::new(io::sink()),
            json: false,
            quiet: false,
            verbose: 0,
            colors,
            message_colors: colors,
            is_terminal: false,
            can_draw: false,
            width: None,
            rows: None,
            pager: false,
        }
    }

    /// Whether a full-screen view can be shown: keys, data and messages all have a terminal, and
    /// nothing else was asked for.
    pub fn can_show_screen(&self) -> bool {
        let plain = self.json || self.quiet || self.verbose > 0;
        !plain && self.is_terminal && self.can_draw && io::stdin().is_terminal()
    }

    /// Two streams without colours, neither a terminal.
    #[cfg(test)]
    pub(super) fn plain(data: Box<dyn Write>, messages: Box<dyn Write>, json: bool) -> Self {
        Self {
            data,
            messages,
            json,
            quiet: false,
            verbose: 0,
            colors: false,
            message_colors: false,
            is_terminal: false,
            can_draw: false,
            width: None,
            rows: None,
            pager: false,
        }
    }

    /// A line of data.
    pub fn line(&mut self, text: impl Display) -> Result<(), CliError> {
        writeln!(self.data, "{text}").map_err(|error| self.lost(error))
    }

    /// Writes data unchanged; it must contain its own line ends.
    pub fn raw(&mut self, text: &str) -> Result<(), CliError> {
        let written = self.data.write_all(text.as_bytes());
        written.map_err(|error| self.lost(error))
    }

    /// One JSON document, indented for people.
    pub fn document(&mut self, document: &impl Serialize) -> Result<(), CliError> {
        serde_json::to_writer_pretty(&mut self.data, document)
            .map_err(|error| self.lost(error.into()))?;
        self.line("")
    }

    /// One JSON document on one line.
    pub fn json_line(&mut self, document: &impl Serialize) -> Result<(), CliError> {
        serde_json::to_writer(&mut self.data, document).map_err(|error| self.lost(error.into()))?;
        self.line("")
    }

    /// Flushes all data.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.data.flush().map_err(|error| self.lost(error))
    }

    /// A closed terminal counts as a closed pipe: the reader has left.
    fn lost(&self, error: io::Error) -> CliError {
        let closed = self.is_terminal && error.raw_os_error() == Some(nix::libc::EIO);
        if closed {
            return io::Error::from(io::ErrorKind::BrokenPipe).into();
        }
        error.into()
    }

    /// A message, unless `--quiet`. A failure to write it is ignored: only data counts.
    pub fn note(&mut self, text: impl Display) {
        if !self.quiet {
            // Both streams may go to the same terminal; keep them in order.
            drop(self.data.flush());
            drop(writeln!(self.messages, "{text}"));
        }
    }

    /// A next step below a message: a command, or `words: command`.
    pub fn next_step(&mut self, text: impl Display) {
        let arrow = terminal::paint(self.message_colors, Tone::Live, "->").into_owned();
        self.note(format!("  {arrow} {text}"));
    }

    /// Colours data text by its tone.
    pub fn paint<'t>(&self, tone: Tone, text: &'t str) -> Cow<'t, str> {
        terminal::paint(self.colors, tone, text)
    }

    /// Writes why the command failed, or what else its exit code means.
    pub fn error(&mut self, error: &CliError) {
        let text = if self.json {
            error.to_json().to_string()
        } else {
            match error.presentation {
                Presentation::Shown => return,
                Presentation::Error => self.error_text(error),
            }
        };
        // There is no other place to report that standard error is closed.
        drop(writeln!(self.messages, "{text}"));
    }

    fn error_text(&self, error: &CliError) -> String {
        let (tone, label) = if error.kind == Kind::NeedsPerson {
            (Tone::Warn, "needs you:")
        } else {
            (Tone::Bad, "error:")
        };
        let label = terminal::paint(self.message_colors, tone, label);
        let mut text = format!("{label} {}", safe_block(&error.message));
        if let Some(details) = &error.details {
            for line in safe_block(details).lines() {
                text.push_str("\n  ");
                text.push_str(line);
            }
        }
        for hint in &error.hints {
            let arrow = terminal::paint(self.message_colors, Tone::Live, "->");
            text.push_str("\n  ");
            text.push_str(&arrow);
            text.push(' ');
            text.push_str(&safe(hint));
        }
        text
    }
}

/// Height of the data terminal in lines.
fn terminal_rows() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_row > 0).then_some(size.ws_row)
}

/// Writes a page.
pub fn write_page(output: &mut Output, page: &[String]) -> Result<(), CliError> {
    page.iter().try_for_each(|line| output.line(line))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A stream that a test can read.
    #[derive(Clone, Default)]
    pub(in crate::cli) struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Shared {
        pub(in crate::cli) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A stream whose reader has left.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_error_is_safe_text_or_json() {
        let error = CliError::refused("bad \u{1b}[2J thing")
            .details("a\nb")
            .hint("do this");
        let messages = Shared::default();
        let mut output = Output::plain(
            Box::new(Shared::default()),
            Box::new(messages.clone()),
            false,
        );
        output.quiet = true;
        output.error(&error);
        assert_eq!(
            messages.text(),
            "error: bad ␛[2J thing\n  a\n  b\n  -> do this\n"
        );
        output.json = true;
        output.error(&error);
        let last = messages.text().lines().last().unwrap().to_owned();
        let json: serde_json::Value = serde_json::from_str(&last).unwrap();
        assert_eq!(json["error"]["suggestions"][0], "do this");
    }

    #[test]
    fn what_was_shown_is_not_repeated() {
        let messages = Shared::default();
        let data = Box::new(Shared::default());
        let mut output = Output::plain(data, Box::new(messages.clone()), false);
        output.error(&CliError::refused("said above").shown());
        assert!(!messages.text().contains("said above"));
        output.json = true;
        output.error(&CliError::refused("said above").shown());
        assert!(messages.text().contains("said above"));
    }

    #[test]
    fn quiet_silences_messages_only() {
        let (data, messages) = (Shared::default(), Shared::default());
        let mut output = Output::plain(Box::new(data.clone()), Box::new(messages.clone()), false);
        output.quiet = true;
        output.note("hello");
        output.line("data").unwrap();
        assert_eq!(
            (data.text().as_str(), messages.text().as_str()),
            ("data\n", "")
        );
    }

    #[test]
    fn a_closed_pipe_is_recognised_through_json_too() {
        let mut output = Output::plain(Box::new(Closed), Box::new(Closed), true);
        assert_eq!(output.line("x").unwrap_err().kind, Kind::BrokenPipe);
        assert_eq!(output.document(&[1]).unwrap_err().kind, Kind::BrokenPipe);
        output.note("not a failure");
    }

    /// A stream whose terminal was closed or whose disk fails.
    struct Fails;

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(nix::libc::EIO))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_terminal_counts_as_a_closed_pipe_and_a_failing_disk_does_not() {
        let mut output = Output::plain(Box::new(Fails), Box::new(Fails), true);
        assert_eq!(output.line("x").unwrap_err().kind, Kind::Refused);
        output.is_terminal = true;
        assert_eq!(output.line("x").unwrap_err().kind, Kind::BrokenPipe);
        assert_eq!(output.json_line(&1).unwrap_err().kind, Kind::BrokenPipe);
    }
}
