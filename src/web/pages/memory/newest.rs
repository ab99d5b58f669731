//! What happened to the memory last. What agents were shown or read of it is not among this: every
//! iteration would be.
//!
//! Invariant: a request reads a bounded part of the log. An event about the memory names its author
//! itself, so it needs no event before it.

use maud::{Markup, html};

use super::event_link;
use crate::domain::event::Event;
use crate::view::history::{Told, told};
use crate::view::memory::MEMORY_KINDS;
use crate::web::document::Drawing;
use crate::web::pages::WebError;
use crate::web::pages::asked::Asked;
use crate::web::pages::past::events;
use crate::web::pages::past::timeline::draw::tone;
use crate::web::parts::{local, tinted};

/// Events that are shown.
const SHOWN: usize = 12;
/// Events that are read, newest first; more only while too few are about the memory.
const READS: [u64; 3] = [500, 2_000, 10_000];

/// The newest events about the memory, newest first.
pub async fn load(asked: &Asked<'_>) -> Result<Vec<Told>, WebError> {
    let mut upto = asked.read(|state| state.seq) + 1;
    let mut newest = Vec::new();
    for count in READS {
        let from = upto.saturating_sub(count).max(1);
        let read = events::read(asked, from - 1, upto).await?;
        let read = read.iter().rev().filter(|one| one.seq < upto);
        let about = read.filter(|one| {
            let is_use = matches!(one.event, Event::MemoryShown(_) | Event::MemoryRead(_));
            !is_use && MEMORY_KINDS.contains(&one.event.kind())
        });
        newest.extend(about.map(|one| told(one.seq, one.ts, &one.event, |_| None)));
        upto = from;
        if newest.len() >= SHOWN || upto == 1 {
            break;
        }
    }
    newest.truncate(SHOWN);
    Ok(newest)
}

/// Draws them.
pub fn section(drawing: &Drawing<'_>, newest: &[Told]) -> Markup {
    html! {
        section .sec aria-labelledby="newest-title" {
            header {
                h2 #newest-title { "What happened" }
                a .more href=(drawing.link("events?all=1")) { "All events" }
            }
            @if newest.is_empty() {
                p .sub { "None of the last events is about the memory. Older ones: "
                    code { "swarm memory log" } }
            } @else {
                ol .card.clip { @for one in newest { (row(drawing, one)) } }
            }
        }
    }
}

fn row(drawing: &Drawing<'_>, told: &Told) -> Markup {
    let (shape, tint) = tone(told.tone);
    let clock = local(told.at, "%H:%M:%S");
    html! {
        li .ev {
            a .id href=(event_link(drawing, told.seq))
                aria-label={ (clock) ", event " (told.seq) } {
                time datetime=(told.at.to_string()) title=(local(told.at, "%Y-%m-%d %H:%M:%S")) {
                    (clock)
                }
            }
            (tinted(shape, tint))
            span .any { (told.words) }
            @match &told.idea {
                Some(idea) => a .id href=(drawing.link(&format!("ideas/{idea}"))) { (idea) },
                None => span {},
            }
        }
    }
}
