//! The terminal while the full-screen view has it: the alternate screen, no cursor, and every key
//! as it is typed.
//!
//! Invariant: whatever ends the view (its end, a signal, a panic) goes through [`restore`]. What
//! nothing in this process can see, its own `kill -9`, the daemon below it puts right.

use std::io::{self, BufWriter, Stdout, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use crossterm::cursor::{Hide, Show};
use crossterm::queue;
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;

/// The size of a terminal that does not tell.
const UNKNOWN_SIZE: (u16, u16) = (80, 24);
/// How long a terminal that takes nothing may delay its restoration.
const RESTORE_PATIENCE: Duration = Duration::from_millis(100);

/// The modes from before the view; `None` while the view does not have the terminal.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The terminal in the hands of the view; dropping it gives the terminal back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes the terminal of standard output, whose keys arrive on standard input.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        // Whether there are colours is decided elsewhere, from the flag and the environment.
        crossterm::style::force_color_output(true);
        take()?;
        let terminal = fresh_terminal();
        if terminal.is_err() {
            restore();
        }
        Ok(Self {
            terminal: terminal?,
        })
    }

    /// Takes the terminal again, with its present size: it was resized, or the process was stopped
    /// and the shell had it meanwhile.
    pub fn retake(&mut self) -> io::Result<()> {
        take()?;
        self.terminal = fresh_terminal()?;
        Ok(())
    }

    /// Stops the process as Ctrl+Z does. When it continues, SIGCONT asks for [`Self::retake`].
    pub fn suspend() -> io::Result<()> {
        restore();
        emulate_default_handler(SIGTSTP)
    }

    /// Draws a frame.
    pub fn draw(&mut self, frame: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(frame).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if the view has it: modes, screen and cursor as before.
pub fn restore() {
    let Some(modes) = before().take() else {
        return;
    };
    give_back(io::stdout(), &modes);
}

/// Puts the modes back, leaves the alternate screen and shows the cursor. A terminal that is gone
/// or takes nothing is left alone.
pub fn give_back(terminal: impl AsFd, modes: &Termios) {
    if tcsetattr(&terminal, OptionalActions::Now, modes).is_err() {
        return; // it is gone
    }
    let mut ready = [PollFd::new(terminal.as_fd(), PollFlags::POLLOUT)];
    let patience = PollTimeout::try_from(RESTORE_PATIENCE).unwrap_or(PollTimeout::ZERO);
    if poll(&mut ready, patience).is_ok_and(|count| count > 0) {
        let mut bytes = Vec::new();
        let queued = queue!(
            bytes,
            SetAttribute(Attribute::Reset),
            LeaveAlternateScreen,
            Show
        );
        // Not through the stream's buffer: another thread may hold its lock.
        drop(queued.and_then(|()| {
            let written = rustix::io::write(&terminal, &bytes);
            written.map(|_| ()).map_err(io::Error::from)
        }));
    }
}

/// Whether a terminal has the modes of the view. A shell that edits its line keeps signals.
pub fn has_the_views_modes(modes: &Termios) -> bool {
    let edits = LocalModes::ICANON | LocalModes::ISIG;
    !modes.local_modes.intersects(edits)
}

/// Sets the modes of the view, and switches to the alternate screen unless it is there already:
/// switching twice would lose the cursor's place on the normal screen.
fn take() -> io::Result<()> {
    let mut stdout = io::stdout();
    let now = tcgetattr(&stdout)?;
    let mut saved = before();
    let enters = saved.is_none();
    let mut raw = saved.get_or_insert(now).clone();
    raw.make_raw();
    tcsetattr(&stdout, OptionalActions::Now, &raw)?;
    drop(saved);
    if enters {
        queue!(stdout, EnterAlternateScreen)?;
    }
    queue!(stdout, Hide, Clear(ClearType::All))?;
    stdout.flush()
}

/// One that knows nothing of what is on the screen.
fn fresh_terminal() -> io::Result<Terminal<CrosstermBackend<BufWriter<Stdout>>>> {
    let backend = CrosstermBackend::new(BufWriter::new(io::stdout()));
    let viewport = Viewport::Fixed(area());
    Terminal::with_options(backend, TerminalOptions { viewport })
}

fn area() -> Rect {
    let size = tcgetwinsize(io::stdout()).map(|size| (size.ws_col, size.ws_row));
    let (width, height) = match size {
        Ok((width, height)) if width > 0 && height > 0 => (width, height),
        Ok(_) | Err(_) => UNKNOWN_SIZE,
    };
    Rect::new(0, 0, width, height)
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            next(info);
        }));
    });
}
