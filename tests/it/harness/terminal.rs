//! A terminal that a test holds the other end of.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{PtyMaster, grantpt, posix_openpt, ptsname_r, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// See the module. Dropping it closes the terminal: whoever has it as his own gets a hang-up, and
/// can write to it no more.
pub struct Terminal {
    master: PtyMaster,
}

impl Terminal {
    /// A new one, which no child of the test inherits.
    pub fn open() -> Self {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let master = posix_openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        Self { master }
    }

    /// A new one of this size.
    pub fn of_size(columns: u16, rows: u16) -> Self {
        let terminal = Self::open();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(terminal.master.as_fd(), size).unwrap();
        terminal
    }

    /// What was written to it since the last call.
    pub fn take_output(&self) -> Vec<u8> {
        let mut master = &self.master;
        let mut output = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let mut readable = [PollFd::new(self.master.as_fd(), PollFlags::POLLIN)];
            poll(&mut readable, PollTimeout::ZERO).unwrap();
            let ready = readable[0].revents().unwrap();
            if !ready.contains(PollFlags::POLLIN) {
                return output;
            }
            match master.read(&mut buffer) {
                Ok(count) => output.extend(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The last program has closed it.
                Err(_) => return output,
            }
        }
    }

    /// Starts a program on it, in a session of its own, whose terminal this is.
    pub fn start(&self, command: &Command) -> Child {
        let mut through = Command::new("setsid");
        // It makes standard input the session's terminal.
        through.arg("--ctty").arg(command.get_program());
        through.args(command.get_args()).env_clear();
        let variables = command.get_envs();
        through.envs(variables.filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            through.current_dir(folder);
        }
        let slave = self.slave();
        through.stdin(slave.try_clone().unwrap());
        through.stdout(slave.try_clone().unwrap()).stderr(slave);
        through.spawn().unwrap()
    }

    /// Types this; whoever reads the terminal gets it, even if he starts later.
    pub fn type_in(&self, text: &str) {
        let mut master = &self.master;
        master.write_all(text.as_bytes()).unwrap();
    }

    /// Another handle on this end. The terminal is closed when all of them are.
    pub fn master(&self) -> File {
        File::from(self.master.as_fd().try_clone_to_owned().unwrap())
    }

    fn slave(&self) -> File {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        options.custom_flags(OFlag::O_NOCTTY.bits());
        options.open(ptsname_r(&self.master).unwrap()).unwrap()
    }
}
