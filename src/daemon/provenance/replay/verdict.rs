//! The last verdict of a record's replays, `.swarm/provenance/replays/<run>.json`, named after the
//! recorded run.
//!
//! Invariant: a file is whole or missing, and the record beside it does not change. It is there
//! before the log says so, and names the replay's run, by which a repeated comparison finds it.

use std::io::{self, Read as _};

use crate::daemon::Paths;
use crate::daemon::provenance::store;
use crate::domain::effect::JudgeReplay;
use crate::domain::event::ReplayJudged;
use crate::domain::ids::RunId;
use crate::domain::outcome::{Judgement, ReplayMeasured};
use crate::plain_file;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// The verdict as its file and the log have it.
pub(super) fn of(effect: &JudgeReplay, measured: &ReplayMeasured) -> ReplayJudged {
    let judgement = measured.judgement.as_ref();
    ReplayJudged {
        of: effect.of.clone(),
        run: effect.run.clone(),
        verdict: judgement.ok().map(|it| it.verdict),
        measures: judgement.ok().map(|it| it.measures),
        why: judgement.err().cloned(),
    }
}

/// What a file says; `None` if it says neither a verdict nor why there is none.
pub(super) fn measured(judged: ReplayJudged) -> Option<ReplayMeasured> {
    let judgement = match judged.verdict.zip(judged.measures) {
        Some((verdict, measures)) => Ok(Judgement { verdict, measures }),
        None => Err(judged.why?),
    };
    Some(ReplayMeasured { judgement })
}

/// The last verdict of this record; `None` if there is none, or its file is not as swarm writes it.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read(paths: &Paths, of: &RunId) -> io::Result<Option<ReplayJudged>> {
    let mut content = Vec::new();
    let file = match plain_file::open(&paths.replay_verdict(of)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    // A damaged file is no verdict: the worktree is then compared again.
    Ok(serde_json::from_slice(&content).ok())
}

/// Writes it durably in place of an earlier one.
pub(super) fn write(paths: &Paths, judged: &ReplayJudged) -> io::Result<()> {
    let mut content = serde_json::to_vec(judged)?;
    content.push(b'\n');
    store::write_file(paths, &paths.replay_verdict(&judged.of), &content, || {})
}
