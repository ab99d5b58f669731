//! Which processes belong to a sandbox: those that carry its path in their environment, command
//! line or working directory.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every living process of the sandbox in this folder, as `pid command line`.
pub fn of(folder: &Path) -> Vec<String> {
    let found = all().filter(|pid| belongs(*pid, folder));
    found
        .map(|pid| format!("{pid} {}", command_line(pid)))
        .collect()
}

/// The numbers of [`of`].
pub fn numbers(folder: &Path) -> Vec<i32> {
    all().filter(|pid| belongs(*pid, folder)).collect()
}

/// Ends what belongs to the sandbox and says what that was.
pub fn end_all(folder: &Path) -> Vec<String> {
    let left = of(folder);
    let begun = Instant::now();
    loop {
        let pids = numbers(folder);
        if pids.is_empty() || begun.elapsed() > Duration::from_secs(5) {
            return left;
        }
        // Stopped first, none sees the end of another and goes on with that.
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for pid in &pids {
                let _ = kill(Pid::from_raw(*pid), signal);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process with this number lives; a zombie does not.
pub fn lives(pid: i32) -> bool {
    state(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Whether it is a git that a swarm keeps to read objects.
pub fn reads_objects(pid: i32) -> bool {
    command_line(pid)
        .trim_end()
        .ends_with("cat-file --batch-command")
}

/// Children of this process that nobody has waited for.
pub fn zombies_of(parent: i32) -> Vec<i32> {
    all()
        .filter(|pid| state(*pid) == Some(('Z', parent)))
        .collect()
}

/// Resident memory in bytes.
pub fn resident(pid: i32) -> u64 {
    let text = status(pid, "VmRSS:").unwrap_or_default();
    let kib = text.trim_end_matches(" kB").parse::<u64>().ok();
    kib.unwrap_or(0) * 1024
}

/// Whether a process ignores this signal; none: it is not there.
pub fn ignores(pid: i32, signal: Signal) -> Option<bool> {
    let set = u64::from_str_radix(&status(pid, "SigIgn:")?, 16).ok()?;
    Some(set & (1 << (signal as i32 - 1)) != 0)
}

/// What the system says of a process under this name.
fn status(pid: i32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

fn all() -> impl Iterator<Item = i32> {
    let own = std::process::id().cast_signed();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(move |pid| *pid != own)
}

fn belongs(pid: i32, folder: &Path) -> bool {
    let path = folder.as_os_str().as_encoded_bytes();
    let holds = |name: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        bytes.windows(path.len()).any(|window| window == path)
    };
    let inside = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
    lives(pid) && (inside || holds("environ") || holds("cmdline"))
}

/// State letter and parent.
fn state(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn command_line(pid: i32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
