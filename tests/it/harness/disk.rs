//! A disk of a chosen size for one folder, seen by one daemon only: a tmpfs in a mount namespace.

use std::path::Path;
use std::process::Command;

use super::{Daemon, Sandbox};

/// As a plain user, root of a user namespace may mount; as root, a mount namespace alone does.
fn as_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

impl Sandbox {
    /// Starts a daemon for which this folder is an empty disk of `size`, as `mount` writes it
    /// (`2m`).
    pub fn start_on_disk(&self, folder: &Path, size: &str) -> Daemon<'_> {
        self.spawn(self.daemon_on_disk(folder, size))
    }

    /// The command with which [`start_on_disk`](Self::start_on_disk) starts its daemon.
    pub fn daemon_on_disk(&self, folder: &Path, size: &str) -> Command {
        let script = format!(
            "mount -t tmpfs -o size={size},mode=700 tmpfs '{}' && exec '{}' start",
            folder.display(),
            env!("CARGO_BIN_EXE_swarm"),
        );
        let mut command = self.command("unshare");
        command
            .arg(if as_root() { "-m" } else { "-rm" })
            .args(["sh", "-c", &script]);
        command
    }
}

impl Daemon<'_> {
    /// A command that sees the disks that this daemon sees.
    pub fn beside(&self, program: &str) -> Command {
        let mut command = self.sandbox.command("nsenter");
        if !as_root() {
            command.arg(format!("--user=/proc/{}/ns/user", self.pid));
            command.arg("--preserve-credentials");
        }
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.pid));
        command.arg(format!("--wdns={}", self.sandbox.repo().display()));
        command.args(["--", program]);
        command
    }
}
