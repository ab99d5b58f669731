//! Labelled points at which a test can kill the process, as `kill -9` does.
//!
//! Invariant: without `SWARM_CRASH_POINT` in the environment, a point does nothing. With it, the
//! process that reaches the point with that label gets SIGKILL: no destructor, flush or exit
//! handler runs. A label is `<room>.<act>.<where>`, for example `git.prepare.after-branch`.
//! `label#3` means the third visit.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Environment variable with the label of the point at which to die.
pub const VARIABLE: &str = "SWARM_CRASH_POINT";

/// Environment variable with the path of a file. A process creates the file before it dies; while
/// the file exists, no process dies and no visit counts. Without the variable, every process that
/// reaches the point dies.
pub const ONCE: &str = "SWARM_CRASH_ONCE";

/// Every label, sorted.
pub const LABELS: &[&str] = &[
    "actor.answered",
    "actor.decided",
    "actor.dispatched",
    "actor.durable",
    "actor.end.marked",
    "actor.end.snapshot-taken",
    "actor.mark",
    "actor.published",
    "actor.recover.begin",
    "actor.recover.dispatched",
    "agents.conversation-copied",
    "checkpoint.file-kept",
    "checkpoint.file-removed",
    "checkpoint.one-work-kept",
    "checkpoint.tag-removed",
    "checkpoint.tagged",
    "checkpoint.work-kept",
    "checkpoint.written",
    "child.after-claim",
    "child.before-claim",
    "clean.deleted",
    "clean.planned",
    "clean.renamed",
    "daemon.actor-ended",
    "daemon.announced",
    "daemon.checkouts-settled",
    "daemon.closed",
    "daemon.locked",
    "daemon.log-read",
    "daemon.socket-bound",
    "daemon.tidied",
    "doctor.before-end",
    "doctor.before-intention",
    "doctor.dropped",
    "doctor.ended",
    "doctor.folder-made",
    "doctor.intended",
    "doctor.moved",
    "doctor.old-kept",
    "doctor.prepared",
    "doctor.put",
    "doctor.verified",
    "effect.archive.begin",
    "effect.archive.done",
    "effect.baseline.begin",
    "effect.baseline.done",
    "effect.build.begin",
    "effect.build.done",
    "effect.check.begin",
    "effect.check.done",
    "effect.checkpoint.begin",
    "effect.checkpoint.done",
    "effect.finish.begin",
    "effect.finish.done",
    "effect.forget.begin",
    "effect.forget.done",
    "effect.judge.begin",
    "effect.judge.done",
    "effect.land.begin",
    "effect.land.done",
    "effect.lend.begin",
    "effect.lend.done",
    "effect.move.begin",
    "effect.move.done",
    "effect.notify.begin",
    "effect.notify.done",
    "effect.prepare.begin",
    "effect.prepare.done",
    "effect.release.begin",
    "effect.release.done",
    "effect.resolve.begin",
    "effect.resolve.done",
    "effect.run.begin",
    "effect.run.done",
    "effect.save.begin",
    "effect.save.done",
    "effect.seal.begin",
    "effect.seal.done",
    "effect.stop.begin",
    "effect.stop.done",
    "effect.verify.begin",
    "effect.verify.done",
    "export.before-rename",
    "export.part",
    "git.clean.listed",
    "git.discard.between",
    "git.land.after-ref",
    "git.land.before-ref",
    "git.land.followed",
    "git.land.noted",
    "git.prepare.after-branch",
    "git.prepare.before-branch",
    "git.prepare.before-mark",
    "git.prepare.before-name",
    "git.prepare.saved-files",
    "git.release.after-rename",
    "git.release.before-branch",
    "git.release.before-delete",
    "git.release.before-embedding",
    "git.release.before-module",
    "git.release.before-nested",
    "git.release.before-rename",
    "git.release.embedding",
    "git.rename.between",
    "git.reset.after-files",
    "git.reset.before-files",
    "git.reset.before-modules",
    "git.resolve.after-ref",
    "git.resolve.before-ref",
    "git.resolve.brought-back",
    "git.resolve.merged",
    "git.resolve.noted",
    "git.resolve.thrown-away",
    "git.seal.after-add",
    "git.seal.after-ref",
    "git.seal.before-ref",
    "git.seal.brought-back",
    "git.take.after-branch",
    "git.take.before-branch",
    "git.take.before-delete",
    "git.take.before-mark",
    "git.worktrees.made",
    "git.worktrees.owned",
    "git.worktrees.written",
    "import.agent-fetched",
    "import.agent-kept",
    "import.agent-placed",
    "import.agent-written",
    "import.fetched",
    "import.placed",
    "import.renamed",
    "import.staged",
    "inbox.moved",
    "inbox.read",
    "journal.append.after-sync",
    "journal.append.before-sync",
    "journal.append.before-write",
    "journal.recover.cut",
    "journal.recover.kept-aside",
    "journal.rotate.before-sync",
    "journal.rotate.between",
    "journal.rotate.prepared",
    "journal.snapshot.before-sync",
    "journal.snapshot.begun",
    "journal.snapshot.last-kept",
    "journal.snapshot.written",
    "offline.decided",
    "offline.durable",
    "offline.marked",
    "prepare.before-rename",
    "probe.kept",
    "probe.reported",
    "record.before-rename",
    "record.trees-kept",
    "record.written",
    "redirect.committed",
    "replay.measured",
    "replay.prepared",
    "replay.tree-made",
    "replay.written",
    "run.launched",
    "run.over",
    "run.prepared",
    "runner.after-exit-record",
    "runner.before-exit-record",
    "runner.child-ended",
    "runner.locked",
    "runner.spawned",
    "setup.copy.written",
    "synthesis.prepared",
    "target.dropped-kept",
    "trust.before-rename",
    "views.before-rename",
    "views.summary-due",
    "views.summary-written",
];

struct Wanted {
    label: String,
    time: u32,
    seen: AtomicU32,
}

/// Environment variable with the path of a file that records each visit as `<pid> <label>`. Tests
/// use it to learn which points a scenario reaches.
pub const VISITS: &str = "SWARM_CRASH_VISITS";

/// Kills this process if the environment asks for it at this point.
pub fn point(label: &str) {
    static RECORD: OnceLock<Option<std::path::PathBuf>> = OnceLock::new();
    static WANTED: OnceLock<Option<Wanted>> = OnceLock::new();
    let record = RECORD.get_or_init(|| std::env::var_os(VISITS).map(Into::into));
    if let Some(file) = record {
        note_visit(file, label);
    }
    let wanted = WANTED.get_or_init(|| std::env::var(VARIABLE).ok().map(|text| parse(&text)));
    if wanted.as_ref().is_some_and(|wanted| wanted.is_now(label)) && is_first() {
        die();
    }
}

/// Whether a process may die: a test that wants one to die later creates the file of [`ONCE`]
/// before, and removes it then.
fn is_armed() -> bool {
    std::env::var_os(ONCE).is_none_or(|file| !std::path::Path::new(&file).exists())
}

/// Passes the crash variables to a child process that inherits no environment.
pub fn pass_on(command: &mut std::process::Command) {
    for name in [VARIABLE, VISITS, ONCE] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

fn is_first() -> bool {
    let Some(file) = std::env::var_os(ONCE) else {
        return true;
    };
    std::fs::File::create_new(file).is_ok()
}

/// Appends one line. A small write in append mode is atomic, even with several writers.
fn note_visit(file: &std::path::Path, label: &str) {
    let line = format!("{} {label}\n", std::process::id());
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(file);
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("cannot record a visit of {label}: {error}");
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
        let is_visit = self.label == label && is_armed();
        is_visit && self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.time
    }
}

fn die() {
    if kill(Pid::this(), Signal::SIGKILL).is_ok() {
        // The signal arrives asynchronously; nothing may run until then.
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
    fn a_label_counts_only_its_own_visits() {
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
