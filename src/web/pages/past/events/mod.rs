//! Every event of the log, newest first.
//!
//! Invariant: a request reads a bounded part of the log; when nothing fits in it, the page says
//! where to go on.

mod draw;

use std::sync::Arc;

use serde_json::Value;

use crate::daemon::actor::handle::Journaled;
use crate::domain::ids::{AgentId, IdeaId};
use crate::view::describe::{self, Interest, KINDS, Subjects};
use crate::view::history::{Told, told};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Query};
use crate::web::pages::past::timeline::idea_of;

/// Events on a page.
const ROWS: usize = 100;
/// Events that are read, newest first; more only while too few fit.
const READS: [u64; 3] = [1_000, 4_000, 15_000];
/// Events before the first one shown, to know whose their runs are.
const LEAD: u64 = 300;
/// The longest JSON that is shown, in characters.
const LONGEST: usize = 4_000;

/// What the page shows.
pub struct View {
    rows: Vec<Row>,
    wanted: Wanted,
    /// What does not fit the filters' form.
    wrong: Option<String>,
    /// Shows the events before this one next; `None`: the log begins here.
    older: Option<u64>,
    /// Whether these are the newest.
    is_newest: bool,
    query: Query,
}

struct Row {
    told: Told,
    json: String,
    is_cut: bool,
}

/// What somebody asks for.
#[derive(Default)]
struct Wanted {
    kind: Option<String>,
    idea: Option<IdeaId>,
    agent: Option<AgentId>,
    all: bool,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let (wanted, wrong) = Wanted::of(asked.query);
    let end = asked.read(|state| state.seq) + 1;
    let before = asked.query.get("before").and_then(|seq| seq.parse().ok());
    let before = before.unwrap_or(end).min(end);
    let mut upto = before;
    let mut rows: Vec<Row> = Vec::new();
    for count in READS {
        let from = upto.saturating_sub(count).max(1);
        let events = read(asked, from.saturating_sub(LEAD + 1), upto).await?;
        let idea_of = |agent: &AgentId| asked.read(|state| idea_of(state, agent));
        let found = select(&events, (from, upto), &wanted, idea_of);
        rows.extend(found);
        upto = from;
        if rows.len() >= ROWS || upto == 1 {
            break;
        }
    }
    if rows.len() > ROWS {
        rows.truncate(ROWS);
        upto = rows.last().map_or(upto, |row| row.told.seq);
    }
    Ok(View {
        rows,
        wanted,
        wrong,
        older: (upto > 1).then_some(upto),
        is_newest: before == end,
        query: asked.query.clone(),
    })
}

/// The events after `after` and before `upto`: from memory if they are there.
pub async fn read(
    asked: &Asked<'_>,
    after: u64,
    upto: u64,
) -> Result<Vec<Arc<Journaled>>, WebError> {
    let count = usize::try_from(upto.saturating_sub(after + 1)).unwrap_or(usize::MAX);
    if let Some(events) = asked.site.api.handle.recent_after(after, count) {
        return Ok(events);
    }
    let log = Arc::clone(&asked.site.api.log);
    let read = move || {
        let mut events = Vec::new();
        log.scan(after, upto.saturating_sub(1), &mut |event| {
            events.push(Arc::new(event));
        })?;
        Ok::<_, std::io::Error>(events)
    };
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| WebError::failed(error.to_string()))?
        .map_err(|error| WebError::failed(error.to_string()))
}

/// The wanted events in a range, newest first.
fn select(
    events: &[Arc<Journaled>],
    (from, upto): (u64, u64),
    wanted: &Wanted,
    idea_of: impl Fn(&AgentId) -> Option<IdeaId>,
) -> Vec<Row> {
    let mut subjects = Subjects::default();
    let mut rows = Vec::new();
    for event in events.iter().filter(|event| event.seq < upto) {
        let mut subject = subjects.resolve(event.seq, &event.event);
        if subject.ideas.is_empty() {
            let own = subject.agent.as_ref().and_then(&idea_of);
            subject.ideas.extend(own);
        }
        let is_plumbing = describe::interest(&event.event) == Interest::Plumbing;
        // Who asks for a kind wants to see it.
        let is_shown = wanted.all || wanted.kind.is_some() || !is_plumbing;
        let kind = wanted.kind.as_deref();
        let fits = kind.is_none_or(|kind| kind == event.event.kind())
            && (wanted.idea.as_ref()).is_none_or(|idea| subject.ideas.contains(idea))
            && (wanted.agent.as_ref()).is_none_or(|agent| subject.agent.as_ref() == Some(agent));
        if event.seq >= from && is_shown && fits {
            rows.push((event, subject));
        }
    }
    let row = |(event, subject): (&Arc<Journaled>, describe::Subject)| {
        let mut told = told(event.seq, event.ts, &event.event, |_| None);
        told.words = subject.named_in(told.words);
        told.idea = subject.ideas.first().cloned();
        told.agent = subject.agent;
        let (json, is_cut) = json(event);
        Row { told, json, is_cut }
    };
    rows.into_iter().rev().take(ROWS + 1).map(row).collect()
}

/// The event's data as JSON, cut when it is very long.
fn json(event: &Journaled) -> (String, bool) {
    let value = serde_json::to_value(&event.event).unwrap_or(Value::Null);
    let data = value.get("data").unwrap_or(&Value::Null);
    let text = serde_json::to_string_pretty(data).unwrap_or_default();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => (text[..end].to_owned(), true),
        None => (text, false),
    }
}

impl Wanted {
    fn of(query: &Query) -> (Self, Option<String>) {
        let mut wrong = None;
        let kind = query.get("kind").map(str::to_owned);
        let kind = kind.filter(|kind| {
            let is_known = KINDS.contains(&kind.as_str());
            if !is_known {
                wrong = Some(format!("`{kind}` is not a kind of event"));
            }
            is_known
        });
        let mut parsed = |name: &str, what: &str| {
            let text = query.get(name)?.trim();
            if text.is_empty() || text.parse::<IdeaId>().is_ok() {
                return Some(text.to_owned());
            }
            wrong = Some(format!("`{text}` is not the id of {what}"));
            None
        };
        let idea = parsed("idea", "an idea").and_then(|text| text.parse().ok());
        let agent = parsed("agent", "an agent").and_then(|text| text.parse().ok());
        let wanted = Self {
            kind,
            idea,
            agent,
            all: query.get("all") == Some("1"),
        };
        (wanted, wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testkit as samples;
    use crate::domain::time::Timestamp;

    fn journaled() -> Vec<Arc<Journaled>> {
        let all = (1..).zip(samples::events());
        all.map(|(seq, event)| {
            let ts = Timestamp::from_millis(1_000);
            Arc::new(Journaled { seq, ts, event })
        })
        .collect()
    }

    fn seqs(wanted: &Wanted) -> Vec<u64> {
        let events = journaled();
        let rows = select(&events, (1, u64::MAX), wanted, |_| None);
        rows.iter().map(|row| row.told.seq).collect()
    }

    #[test]
    fn plumbing_is_hidden_unless_asked_for_and_the_newest_come_first() {
        let (usual, all) = (
            Wanted::default(),
            Wanted {
                all: true,
                ..Wanted::default()
            },
        );
        let (usual, all) = (seqs(&usual), seqs(&all));
        let mut hidden = 0;
        assert!(all.is_sorted_by(|one, next| one > next));
        let events = journaled();
        for event in events.iter().rev().take(ROWS) {
            let is_plumbing = describe::interest(&event.event) == Interest::Plumbing;
            assert_eq!(
                usual.contains(&event.seq),
                !is_plumbing,
                "{}",
                event.event.kind()
            );
            assert!(all.contains(&event.seq));
            hidden += usize::from(is_plumbing);
        }
        assert!(hidden > 0);
    }

    #[test]
    fn filters_select_by_kind_idea_and_agent() {
        let (wanted, wrong) = Wanted::of(&Query::of("kind=effectRequested&idea=&agent="));
        assert_eq!(wrong, None);
        let events = journaled();
        for seq in seqs(&wanted) {
            let index = usize::try_from(seq - 1).unwrap();
            assert_eq!(events[index].event.kind(), "effectRequested");
        }
        assert!(
            !seqs(&wanted).is_empty(),
            "plumbing that is asked for by its kind is shown"
        );
        let (wanted, _) = Wanted::of(&Query::of(&format!("idea={}", samples::idea_id())));
        let about = seqs(&wanted);
        assert!(!about.is_empty() && about.len() < events.len());
        for text in ["kind=<script>", "idea=../x", "agent=a b"] {
            assert!(Wanted::of(&Query::of(text)).1.is_some(), "{text}");
        }
    }

    #[test]
    fn very_long_json_is_cut() {
        let text = "grüße".repeat(10_000);
        let event = crate::domain::event::Event::IdeaAdded(crate::domain::event::IdeaAdded {
            id: samples::idea_id(),
            idea: crate::domain::operation::NewIdea {
                text,
                ..Default::default()
            },
        });
        let ts = Timestamp::from_millis(0);
        let (json, is_cut) = json(&Journaled { seq: 1, ts, event });
        assert!(is_cut);
        assert_eq!(json.chars().count(), LONGEST);
    }
}
