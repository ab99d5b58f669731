//! Folds events about what people are told.

use crate::domain::attention::NoticeKind;
use crate::domain::event::{
    Event, NeedArose, NeedSettled, NightEnded, NoticeDelivered, NoticeFailed,
};
use crate::domain::state::State;
use crate::domain::state::attention::{Night, Notice};
use crate::domain::time::Timestamp;

pub(super) fn arise(state: &mut State, at: Timestamp, arose: &NeedArose) {
    let seq = state.seq;
    let attention = &mut state.attention;
    attention.told.insert(arose.key.clone());
    if arose.webhook {
        attention.outgoing.push(Notice {
            seq,
            at,
            kind: arose.kind,
            idea: arose.idea.clone(),
            message: arose.message.clone(),
            commands: arose.commands.clone(),
            tries: 0,
            not_before: None,
        });
    }
}

pub(super) fn settle(state: &mut State, settled: &NeedSettled) {
    state.attention.told.remove(&settled.key);
}

pub(super) fn begin_night(state: &mut State, at: Timestamp) {
    state.attention.night = Some(Box::new(Night {
        since: at,
        ..Night::default()
    }));
}

pub(super) fn end_night(state: &mut State, at: Timestamp, ended: &NightEnded) {
    let seq = state.seq;
    let attention = &mut state.attention;
    attention.night = None;
    if ended.webhook {
        attention.outgoing.push(Notice {
            seq,
            at,
            kind: NoticeKind::Ended,
            idea: None,
            message: ended.message.clone(),
            commands: ended.commands.clone(),
            tries: 0,
            not_before: None,
        });
    }
}

pub(super) fn deliver(state: &mut State, delivered: &NoticeDelivered) {
    remove(state, delivered.about);
}

pub(super) fn fail(state: &mut State, failed: &NoticeFailed) {
    let Some(again_at) = failed.again_at else {
        return remove(state, failed.about);
    };
    let mut outgoing = state.attention.outgoing.iter_mut();
    if let Some(notice) = outgoing.find(|notice| notice.seq == failed.about) {
        notice.tries += 1;
        notice.not_before = Some(again_at);
    }
}

fn remove(state: &mut State, seq: u64) {
    let outgoing = &mut state.attention.outgoing;
    outgoing.retain(|notice| notice.seq != seq);
}

/// Counts what a night led to.
pub(super) fn count(state: &mut State, event: &Event) {
    let Some(night) = state.attention.night.as_deref_mut() else {
        return;
    };
    if let Event::IdeaLanded(landed) = event {
        night.landed.insert(landed.id.clone());
    } else if let Event::AttemptEnded(ended) = event
        && ended.status.is_bad()
        && let Some(attempt) = state.agents.get(&ended.agent)
    {
        night.bad.insert(attempt.idea.clone());
    } else if let Event::RunEnded(ended) = event
        && let Some(bill) = &ended.end.bill
    {
        night.spent.add(bill);
    }
}
