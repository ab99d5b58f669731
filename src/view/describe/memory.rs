//! The lines of events about the memory that agents share.

use super::text::title;
use crate::domain::event::{
    ClaimEffect, FactConfirmed, FactDisputed, FactPinned, FactWritten, Learned, MemoryCompacted,
    MemoryRead, MemoryRetracted, MemoryShown, NotePut, NotesDropped, ReadCounts, Synthesised,
};
use crate::domain::memory::NoteKey;
use crate::domain::request::Author;
use crate::view::memory::dropped;

/// Characters of a text that a line shows.
const SHOWN: usize = 120;
/// Items that a line names.
const ITEMS: usize = 3;

pub(super) fn learned(learned: &Learned) -> String {
    let Learned { id, content, .. } = learned;
    let by = author(&learned.evidence.author);
    let what = title(content, SHOWN);
    let Some(claimed) = &learned.claim else {
        return format!("{by} learned ({id}): {what}");
    };
    let key = &claimed.key;
    match claimed.effect {
        ClaimEffect::Wrote => format!("{by} learned ({id}): [{key}] {what}"),
        ClaimEffect::Confirmed => format!("{by} confirmed ({id}): [{key}] {what}"),
        ClaimEffect::Disputed(_) => format!("{by} contradicts {key} ({id}): {what}"),
    }
}

/// As it begins a line.
fn author(author: &Author) -> String {
    match author.agent() {
        Some(agent) => agent.to_string(),
        None => author.to_string(),
    }
}

pub(super) fn fact_written(written: &FactWritten) -> String {
    let FactWritten {
        key,
        version,
        value,
        evidence,
        ..
    } = written;
    let by = author(&evidence.author);
    format!(
        "{by} wrote {key} (version {version}): {}",
        title(value, SHOWN)
    )
}

pub(super) fn fact_confirmed(confirmed: &FactConfirmed) -> String {
    let FactConfirmed {
        key,
        version,
        evidence,
    } = confirmed;
    format!(
        "{} confirmed {key} (version {version})",
        author(&evidence.author)
    )
}

pub(super) fn fact_disputed(disputed: &FactDisputed) -> String {
    let by = author(&disputed.evidence.author);
    let key = &disputed.key;
    match &disputed.value {
        Some(value) => format!("{by} contradicts {key}: {}", title(value, SHOWN)),
        None => format!("{by} says that {key} is wrong"),
    }
}

pub(super) fn fact_pinned(pinned: &FactPinned) -> String {
    let FactPinned { key, on } = pinned;
    if *on {
        format!("{key} was pinned")
    } else {
        format!("{key} is no longer pinned")
    }
}

pub(super) fn retracted(retracted: &MemoryRetracted) -> String {
    let by = author(&retracted.by);
    let what = retracted_items(retracted);
    match &retracted.why {
        Some(why) => format!("{by} took back {what}: {}", title(why, SHOWN)),
        None => format!("{by} took back {what}"),
    }
}

fn retracted_items(retracted: &MemoryRetracted) -> String {
    let learnings = retracted.learnings.iter().cloned();
    let facts = retracted.facts.iter().map(ToString::to_string);
    let claims = retracted.claims.iter();
    let claims = claims.map(|rival| format!("claim {} on {}", rival.claim, rival.key));
    let items: Vec<String> = learnings.chain(facts).chain(claims).collect();
    match items.len().checked_sub(ITEMS) {
        None | Some(0) => items.join(", "),
        Some(more) => format!("{} and {more} more", items[..ITEMS].join(", ")),
    }
}

pub(super) fn note_put(put: &NotePut) -> String {
    let NotePut { key, title, by, .. } = put;
    format!("{} wrote the note {key}: {title}", author(by))
}

pub(super) fn notes_dropped(dropped: &NotesDropped) -> String {
    let keys: Vec<&str> = dropped.keys.iter().map(NoteKey::as_str).collect();
    let keys = keys.join(", ");
    match &dropped.by {
        Some(by) => format!("{} dropped the note {keys}", author(by)),
        None => format!("notes expired: {keys}"),
    }
}

pub(super) fn shown(shown: &MemoryShown) -> String {
    let MemoryShown {
        agent, items, held, ..
    } = shown;
    if *held {
        return format!("{agent} is shown nothing of the memory, as memory.holdout says");
    }
    match items.len() {
        1 => format!("{agent} was shown 1 item of the memory"),
        count => format!("{agent} was shown {count} items of the memory"),
    }
}

pub(super) fn read(read: &MemoryRead) -> String {
    let ReadCounts {
        board,
        fact,
        search,
        log,
    } = read.by_tool;
    let times = board + fact + search + log;
    let times = match times {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let items = match read.items.len() {
        1 => "1 item".to_owned(),
        count => format!("{count} items"),
    };
    format!("{} read the memory {times}: {items}", read.agent)
}

pub(super) fn compacted(compacted: &MemoryCompacted) -> String {
    let by = compacted.by.as_ref().map(author);
    let by = by.unwrap_or_else(|| "swarm".to_owned());
    let dropped = dropped(compacted);
    format!("{by} compacted the memory: {dropped} left the state")
}

pub(super) fn synthesised(synthesised: &Synthesised) -> String {
    let Synthesised { run, up_to, failed } = synthesised;
    if *failed {
        return format!("the synthesis {run} failed before it read the learnings");
    }
    format!("the synthesis {run} has read the learnings up to learning-{up_to:03}")
}
