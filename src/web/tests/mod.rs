//! What holds on every page, whatever the log holds: the pages over a log in memory, at each of its
//! events.

mod changes;
mod counts;
mod hostile;
mod past;
mod touched;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use super::Site;
use super::document::Fragment;
use super::entry::access::Access;
use super::history::Chronicle;
use super::moment::Moment;
use super::pages::asked::Query;
use super::pages::{Drawn, Route, draw};
use crate::api::{ApiContext, Control, EventLog, ReloadError};
use crate::daemon::actor::handle::Journaled;
use crate::daemon::checkpoints::list::Preview;
use crate::daemon::clean::Report;
use crate::daemon::hooks::HookView;
use crate::daemon::offline::Upto;
use crate::daemon::review::Wanted;
use crate::daemon::testkit::Seat;
use crate::domain::event::Event;
use crate::domain::evolve::evolve;
use crate::domain::ids::CheckpointName;
use crate::domain::state::State;
use crate::domain::testkit::memories::remember;
use crate::domain::testkit::people;
use crate::domain::testkit::scenario::fold;
use crate::domain::testkit::sim::Sim;
use crate::domain::time::Timestamp;
use crate::view::{MergeDiff, TargetNow};

/// A whole log, of which the daemon knows a part.
struct Memory(Vec<Arc<Journaled>>);

impl EventLog for Memory {
    fn read(&self, after: u64, limit: usize) -> io::Result<Vec<Journaled>> {
        let later = self.0.iter().filter(|one| one.seq > after);
        Ok(later.take(limit).map(|one| Journaled::clone(one)).collect())
    }

    fn state_at(&self, upto: Upto) -> io::Result<State> {
        let mut state = State::default();
        for one in &self.0 {
            let is_beyond = match upto {
                Upto::Seq(seq) => one.seq > seq,
                Upto::Time(time) => one.ts > time,
                Upto::End => false,
            };
            if is_beyond {
                break;
            }
            evolve(&mut state, one.seq, one.ts, &one.event);
        }
        Ok(state)
    }
}

/// What the daemon tells besides its state.
#[derive(Default)]
struct Told {
    checkpoints: Mutex<Vec<Value>>,
    diff: Mutex<Option<MergeDiff>>,
    preview: Mutex<Option<Preview>>,
    hooks: Mutex<Vec<HookView>>,
}

impl Control for Told {
    fn reload(&self) -> BoxFuture<'_, Result<u64, ReloadError>> {
        Box::pin(async { Ok(0) })
    }

    fn target(&self, _: String) -> BoxFuture<'_, TargetNow> {
        Box::pin(async { TargetNow::Unknown })
    }

    fn merge_diff(&self, _: Wanted) -> BoxFuture<'_, Result<MergeDiff, String>> {
        let diff = self.diff.lock().unwrap().clone();
        Box::pin(async move { diff.ok_or_else(|| "nobody told".to_owned()) })
    }

    fn clean(&self, _: bool) -> BoxFuture<'_, Result<Report, String>> {
        Box::pin(async { Err("nobody told".into()) })
    }

    fn checkpoints(&self) -> BoxFuture<'_, Result<Vec<Value>, String>> {
        let all = self.checkpoints.lock().unwrap().clone();
        Box::pin(async move { Ok(all) })
    }

    fn hooks(&self) -> BoxFuture<'_, Result<Vec<HookView>, String>> {
        let all = self.hooks.lock().unwrap().clone();
        Box::pin(async move { Ok(all) })
    }

    fn preview(&self, _: &CheckpointName) -> BoxFuture<'_, Result<Preview, String>> {
        let preview = self.preview.lock().unwrap().clone();
        Box::pin(async move { preview.ok_or_else(|| "nobody told".to_owned()) })
    }
}

/// The pages over a log.
struct World {
    site: Arc<Site>,
    seat: Seat,
    log: Vec<Arc<Journaled>>,
    told: Arc<Told>,
    dir: tempfile::TempDir,
}

impl World {
    /// The daemon knows nothing of this log yet.
    fn of(log: &[(Timestamp, Event)]) -> Self {
        let all = (1..).zip(log).map(|(seq, (ts, event))| {
            let (ts, event) = (*ts, event.clone());
            Arc::new(Journaled { seq, ts, event })
        });
        let log: Vec<_> = all.collect();
        let dir = tempfile::tempdir().unwrap();
        let (handle, seat) = Seat::new(State::default(), usize::MAX);
        let told = Arc::new(Told::default());
        let api = ApiContext {
            handle,
            repo_root: dir.path().to_owned(),
            runs_dir: dir.path().join("runs"),
            pid: 1,
            web_url: None,
            log: Arc::new(Memory(log.clone())),
            control: told.clone(),
            entrance: None,
            finder: Arc::default(),
            measured: Arc::default(),
            stop: watch::channel(false).1,
        };
        let access = Access::open(dir.path(), 4_000).unwrap();
        let site = Arc::new(Site::new(Arc::new(api), Arc::new(access)));
        Chronicle::begin(&site);
        Self {
            site,
            seat,
            log,
            told,
            dir,
        }
    }

    fn seq(&self) -> u64 {
        self.read(|state| state.seq)
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.site.api.handle.read(read)
    }

    /// The daemon comes to this event, and the pages know it.
    async fn go_to(&self, seq: u64) {
        let (from, to) = (self.seq(), seq);
        let new = self
            .log
            .iter()
            .filter(|one| one.seq > from && one.seq <= to);
        let new: Vec<_> = new.cloned().collect();
        self.seat.publish(&new);
        while self.site.chronicle.read(|history| history.seq) < seq {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The page at this address, in a document that a browser has or in a new one.
    async fn draw(&self, address: &str, moment: &Moment, document: Option<&str>) -> Option<Drawn> {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let (route, query) = (Route::of(path).unwrap(), Query::of(query));
        let drawn = draw(&self.site, moment, (&route, path, &query), document).await;
        drawn.ok()
    }

    /// The page at this address, now.
    async fn page(&self, address: &str) -> String {
        let drawn = self.draw(address, &Moment::now(), None).await;
        drawn.unwrap_or_else(|| panic!("no {address}")).document
    }

    /// The page at this address, at an earlier event.
    async fn past(&self, address: &str, seq: u64) -> Option<String> {
        let moment = Moment::of(&self.site, Some(seq.to_string())).await;
        let drawn = self.draw(address, &moment.unwrap(), None).await;
        drawn.map(|drawn| drawn.document)
    }

    /// The fragments of the page at this address, at a time that stands still.
    async fn fragments(&self, address: &str, clock: Timestamp) -> Vec<Fragment> {
        let now = Moment::now_at(clock);
        let drawn = self.draw(address, &now, Some("1-document")).await;
        drawn.map_or_else(Vec::new, |drawn| drawn.fragments)
    }

    /// The addresses of all kinds of pages.
    fn addresses(&self) -> Vec<String> {
        self.read(addresses)
    }
}

/// The addresses of all kinds of pages of this state.
fn addresses(state: &State) -> Vec<String> {
    let fixed = [
        "",
        "ideas",
        "ideas?status=pending",
        "ideas/graph",
        "ideas/add",
        "agents",
        "train",
        "timeline",
        "timeline?by=agent&last=all&as=table",
        "events",
        "events?all=1",
        "checkpoints",
        "changes",
        "changes?from=0&to=now&section=ideas",
        "changes?from=0&to=1",
        "report",
        "cost",
        "cost?by=idea",
        "learnings",
        "memory",
        "memory?status=contradicted",
        "memory?q=api+tokens&note=tasks/auth.md",
        "hooks",
        "settings",
    ];
    let mut all: Vec<String> = fixed.iter().map(|one| (*one).to_owned()).collect();
    let mut ideas: Vec<_> = state.ideas.keys().map(ToString::to_string).collect();
    ideas.truncate(3);
    for id in ideas {
        all.push(format!("ideas/{id}"));
        let tabs = ["changes", "output", "history", "prompt", "provenance"];
        all.extend(tabs.map(|tab| format!("ideas/{id}?tab={tab}")));
    }
    let facts = state.facts.iter().take(3);
    all.extend(facts.map(|(key, _)| format!("memory/{key}")));
    let hooks = state.hooks_last.keys().take(3);
    all.extend(hooks.map(|hook| format!("hooks/{hook}")));
    let agents = state.agents.keys().take(2);
    all.extend(agents.map(|id| format!("agents/{id}")));
    let checkpoints = state.checkpoints.keys().take(1);
    all.extend(checkpoints.map(|name| format!("checkpoints/{name}")));
    all
}

/// Numbers from a seed.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x
    })
}

/// The log of a random life; in every other one people intervene all the time. At its end people
/// and agents use the memory.
fn life(seed: u64, length: usize) -> Vec<(Timestamp, Event)> {
    let choices = numbers(seed).take(length);
    let choices = choices.map(|number| u16::try_from(number >> 48).unwrap());
    let people = [people::some_command, people::some_intervention];
    let ask_for = people[usize::try_from(seed % 2).unwrap()];
    let mut sim = Sim::with_people(choices.collect(), ask_for);
    sim.live();
    let mut log = std::mem::take(&mut sim.log);
    log.extend(remember(&fold(&log)));
    log
}

/// What is between two texts.
fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let found = text.split_once(from);
    let (_, rest) = found.unwrap_or_else(|| panic!("no {from} in {text}"));
    rest.split_once(to).map_or(rest, |(found, _)| found)
}
