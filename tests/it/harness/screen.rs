//! A terminal whose screen a test can see, type on and resize, with a shell that runs `swarm` on
//! it.
//!
//! Invariant: what is on the screen is read only while a test waits for something on it, so every
//! wait is for a condition.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::Child;
use std::sync::Mutex;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::{Sandbox, Terminal};

/// See the module.
pub struct Screen<'s> {
    sandbox: &'s Sandbox,
    terminal: Terminal,
    keys: File,
    shown: Mutex<Shown>,
    shell: Child,
}

/// What the terminal got.
struct Shown {
    parser: vt100::Parser,
    output: File,
    /// Everything that was ever written, with all control sequences.
    written: Vec<u8>,
}

impl Sandbox {
    /// Runs this on a terminal of this size, with `swarm` on the PATH, in a shell that then prints
    /// `[exit CODE]` and waits for a line.
    pub fn on_screen(&self, columns: u16, rows: u16, line: &str) -> Screen<'_> {
        let script = format!("{line}; echo \"[exit $?]\"; read line");
        self.on_screen_of("sh", columns, rows, &script)
    }

    /// Runs a script of this shell on a terminal of this size, with `swarm` on the PATH.
    pub fn on_screen_of(&self, shell: &str, columns: u16, rows: u16, script: &str) -> Screen<'_> {
        let terminal = Terminal::open();
        resize(&terminal, columns, rows);
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_swarm")).parent();
        let path = std::env::var("PATH").unwrap();
        let mut command = self.command(shell);
        command.args(["-c", script]).env("TERM", "xterm-256color");
        command.env("PATH", format!("{}:{path}", own.unwrap().display()));
        let shell = terminal.start(&command);
        let output = terminal.master();
        fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let parser = vt100::Parser::new(size(rows), size(columns), 200);
        Screen {
            sandbox: self,
            keys: terminal.master(),
            shown: Mutex::new(Shown {
                parser,
                output,
                written: Vec::new(),
            }),
            terminal,
            shell,
        }
    }
}

fn size(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn resize(terminal: &Terminal, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal.master(), size).unwrap();
}

impl Screen<'_> {
    /// Does this with the screen as it is now.
    fn see<T>(&self, see: impl FnOnce(&vt100::Screen) -> T) -> T {
        let mut shown = self.shown.lock().unwrap();
        let mut bytes = vec![0; 65_536];
        loop {
            match shown.output.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => {
                    shown.parser.process(&bytes[..count]);
                    shown.written.extend(&bytes[..count]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nothing more, or nobody has the terminal open any more.
                Err(_) => break,
            }
        }
        see(shown.parser.screen())
    }

    /// The rows, without spaces at their ends.
    pub fn rows(&self) -> Vec<String> {
        self.see(|screen| {
            let (_, columns) = screen.size();
            let rows = screen.rows(0, columns.get());
            rows.map(|row| row.trim_end().to_owned()).collect()
        })
    }

    /// Everything on the screen as one line with single spaces: text that was wrapped at spaces is
    /// whole again.
    pub fn flat(&self) -> String {
        let text = self.rows().join(" ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Types this.
    pub fn type_keys(&self, keys: &str) {
        (&self.keys).write_all(keys.as_bytes()).unwrap();
    }

    /// Gives the terminal another size.
    pub fn resize(&self, columns: u16, rows: u16) {
        self.see(|_| ());
        let mut shown = self.shown.lock().unwrap();
        shown.parser.set_size(size(rows), size(columns));
        drop(shown);
        resize(&self.terminal, columns, rows);
    }

    /// Waits until the screen satisfies a condition.
    pub fn wait(&self, what: &str, condition: impl Fn(&Self) -> bool) {
        let shown = || condition(self).then_some(());
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.sandbox.wait_for(what, shown);
        }));
        if let Err(panic) = found {
            eprintln!("--- the screen\n{}\n---", self.rows().join("\n"));
            std::panic::resume_unwind(panic);
        }
    }

    /// Waits until this text is on the screen, wrapped or not.
    pub fn wait_text(&self, text: &str) {
        self.wait(&format!("`{text}` on the screen"), |screen| {
            screen.flat().contains(text)
        });
    }

    /// Waits until this text was written, even to a screen that is gone by now.
    pub fn wait_written(&self, text: &str) {
        self.wait(&format!("`{text}` to be written"), |screen| {
            screen.see(|_| ());
            let shown = screen.shown.lock().unwrap();
            String::from_utf8_lossy(&shown.written).contains(text)
        });
    }

    /// Waits until this text is no more on the screen.
    pub fn wait_gone(&self, text: &str) {
        self.wait(&format!("`{text}` to leave the screen"), |screen| {
            !screen.flat().contains(text)
        });
    }

    /// Whether any cell has a colour or another attribute.
    pub fn is_styled(&self) -> bool {
        self.see(|screen| {
            let (rows, columns) = screen.size();
            let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |c| (row, c)));
            let mut cells = cells.filter_map(|(row, column)| screen.cell(row, column));
            cells.any(|cell| {
                let plain = cell.fgcolor() == vt100::Color::Default
                    && cell.bgcolor() == vt100::Color::Default;
                !plain || cell.bold() || cell.dim() || cell.inverse()
            })
        })
    }

    /// Whether the full-screen view has the terminal: screen, cursor and modes.
    pub fn has_view(&self) -> bool {
        let (alternate, hidden) =
            self.see(|screen| (screen.alternate_screen(), screen.hide_cursor()));
        alternate && hidden && !self.edits_lines()
    }

    /// Whether the terminal is as it was before: screen, cursor and modes.
    pub fn is_restored(&self) -> bool {
        let (alternate, hidden) =
            self.see(|screen| (screen.alternate_screen(), screen.hide_cursor()));
        !alternate && !hidden && self.edits_lines()
    }

    fn edits_lines(&self) -> bool {
        let modes = tcgetattr(self.terminal.master()).unwrap().local_modes;
        let wanted = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        modes.contains(wanted)
    }

    /// Waits until the shell says that the command ended with this code, on a restored terminal.
    pub fn wait_exit(&self, code: i32) {
        self.wait_text(&format!("[exit {code}]"));
        assert!(self.is_restored(), "{:?}", self.rows());
    }

    /// Ends the shell, which waits for a line.
    pub fn close(mut self) {
        self.type_keys("\n");
        let sandbox = self.sandbox;
        sandbox.wait_for("the shell to end", || {
            self.see(|_| ());
            self.shell.try_wait().unwrap().map(|_| ())
        });
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}
