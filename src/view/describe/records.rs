//! Describes events about provenance records and replays.

use crate::domain::event::{IterationRecorded, RecordsExpired, ReplayAsked, ReplayJudged};
use crate::view::provenance::MatchStatus;

pub(super) fn recorded(recorded: &IterationRecorded) -> String {
    let IterationRecorded { agent, run, .. } = recorded;
    match &recorded.why {
        None => format!("the record of {agent}'s run {run} was written"),
        Some(why) => format!("there is no record of {agent}'s run {run}: {why}"),
    }
}

pub(super) fn expired(expired: &RecordsExpired) -> String {
    let RecordsExpired { before } = expired;
    format!("records of iterations that ended before {before} have expired")
}

pub(super) fn replay_asked(asked: &ReplayAsked) -> String {
    let ReplayAsked {
        by,
        of,
        profile,
        run,
        ..
    } = asked;
    format!("{by} asked to replay {of} with {profile} ({run})")
}

pub(super) fn replay_judged(judged: &ReplayJudged) -> String {
    let of = &judged.of;
    let why = judged.why.as_deref().unwrap_or("its result is unknown");
    match &judged.verdict {
        Some(verdict) => format!(
            "the replay of {of}: {}",
            MatchStatus::from(verdict.match_status).words()
        ),
        None => format!("the replay of {of} has no verdict: {why}"),
    }
}
