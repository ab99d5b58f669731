//! Labelled points at which a test may kill the process, as `kill -9` would.
//!
//! Invariant: without `SWARM_CRASH_POINT` in the environment a point does nothing at all. With it, the process that
//! reaches the point of that label gets SIGKILL: no destructor, no flush, no exit handler runs. A label is
//! `<room>.<act>.<where>`, for example `git.prepare.after-branch`; `label#3` means the third time that it is reached.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The variable that names the point at which to die.
pub const VARIABLE: &str = "SWARM_CRASH_POINT";

struct Wanted {
    label: String,
    time: u32,
    seen: AtomicU32,
}

/// Dies here if the environment asks for it.
pub fn point(label: &str) {
    static WANTED: OnceLock<Option<Wanted>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| parse(&text)));
    if wanted.as_ref().is_some_and(|wanted| wanted.is_now(label)) {
        die();
    }
}

/// Gives the wanted point on to a child of ours that inherits no environment.
pub fn pass_on(command: &mut std::process::Command) {
    if let Some(wanted) = std::env::var_os(VARIABLE) {
        command.env(VARIABLE, wanted);
    }
}

fn parse(text: &str) -> Wanted {
    let (label, time) = match text.rsplit_once('#') {
        Some((label, time)) => (label, time.parse().unwrap_or(1)),
        None => (text, 1),
    };
    Wanted {
        label: label.to_owned(),
        time,
        seen: AtomicU32::new(0),
    }
}

impl Wanted {
    fn is_now(&self, label: &str) -> bool {
        self.label == label && self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.time
    }
}

fn die() {
    if kill(Pid::this(), Signal::SIGKILL).is_ok() {
        // The signal is on its way; nothing may happen until it is here.
        loop {
            std::thread::park();
        }
    }
    std::process::abort();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_counts_its_own_visits_only() {
        let wanted = parse("git.land.after-ref#2");
        let visits = [
            "git.land.after-ref",
            "git.land.other",
            "git.land.after-ref",
            "git.land.after-ref",
        ];
        let now: Vec<bool> = visits.iter().map(|label| wanted.is_now(label)).collect();
        assert_eq!(now, [false, false, true, false]);
    }
}
