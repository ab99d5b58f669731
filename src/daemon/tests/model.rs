//! What must hold whatever happens: the log only grows, what was answered is in it, and what is
//! published is what it says.
//!
//! The model knows every record that was published or was found after a kill, the folded state,
//! what the drivers must be asked for, and what was promised to whoever asked.

use std::collections::{BTreeMap, BTreeSet};

use super::site::{Alive, Answer, Site, wall};
use crate::daemon::actor::handle::{CommandError, Journaled};
use crate::domain::effect::{self, Effect, Purpose, SetupTree};
use crate::domain::event::{
    CancelUndone, CheckpointMade, EffectRequested, Event, IdeaAdded, IdeaClaimed, IdeaLanded,
    RolledBack,
};
use crate::domain::evolve::evolve;
use crate::domain::ids::{AgentId, CheckpointName, EffectId, IdeaId, RunId};
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::RunEndKind;
use crate::domain::operation::{Command, TargetChoice};
use crate::domain::outcome::{
    BuildMergeOutcome, Failure, LandOutcome, Outcome, SaveWorkOutcome, SealOutcome,
};
use crate::domain::settings::Mode;
use crate::domain::state::{AttemptEnd, IdeaStatus, State};
use crate::domain::testkit::world::World;
use crate::domain::testkit::{invariants, render};
use crate::domain::verdict::Verdict;
use crate::journal::{StartFrom, replay};

/// What people were told of an idea.
#[derive(Debug, Default)]
struct Promise {
    /// It is there.
    added: bool,
    cancelled: bool,
    /// Somebody asked and got no answer: both are possible.
    unsure: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Model {
    pub(super) state: State,
    pub(super) world: World,
    log: Vec<Journaled>,
    /// Effects that this daemon must still send out.
    due: BTreeSet<EffectId>,
    effects: BTreeSet<EffectId>,
    agents: BTreeSet<AgentId>,
    runs: BTreeSet<RunId>,
    /// What has landed and was not taken back by a rollback since.
    landed: BTreeSet<IdeaId>,
    /// The same at each checkpoint.
    landed_at: BTreeMap<CheckpointName, BTreeSet<IdeaId>>,
    /// Ideas that nobody may ever see, for whoever asked was told that nothing was done.
    refused: BTreeSet<String>,
    promises: BTreeMap<IdeaId, Promise>,
    /// Ideas to which something went wrong.
    hurt: BTreeSet<IdeaId>,
    /// Records compared with the disk.
    pub(super) compared: u64,
    pub(super) rollbacks: u64,
}

fn must_be_new<T: Ord + std::fmt::Debug>(seen: &mut BTreeSet<T>, number: T) {
    assert!(!seen.contains(&number), "{number:?} is used twice");
    seen.insert(number);
}

impl Model {
    /// A record that is there to stay.
    fn grow(&mut self, record: Journaled) {
        let used = self.state.slots_used();
        assert_eq!(record.seq, self.state.seq + 1, "a gap in the log");
        evolve(&mut self.state, record.seq, record.ts, &record.event);
        let max = self.state.settings.as_ref();
        let max = max.map_or(0, |settings| settings.max_parallel as usize);
        assert!(self.state.slots_used() <= used.max(max), "too many slots");
        self.world.look(&self.state, &record.event);
        match &record.event {
            Event::EffectRequested(EffectRequested { id, effect }) => {
                must_be_new(&mut self.effects, *id);
                self.due.insert(*id);
                if let Effect::Run(effect::Run { run, .. }) = effect {
                    must_be_new(&mut self.runs, run.clone());
                }
            }
            Event::IdeaClaimed(IdeaClaimed { agent, .. }) => {
                must_be_new(&mut self.agents, agent.clone());
            }
            Event::IdeaLanded(IdeaLanded { id, .. }) => must_be_new(&mut self.landed, id.clone()),
            Event::CheckpointMade(CheckpointMade { name, .. }) => {
                self.landed_at.insert(name.clone(), self.landed.clone());
            }
            Event::RolledBack(RolledBack { to, .. }) => {
                self.rollbacks += 1;
                self.landed = self.landed_at[to].clone();
                // What a person made of an idea since the checkpoint no longer holds.
                for id in self.state.ideas.keys() {
                    self.promises.entry(id.clone()).or_default().unsure = true;
                }
            }
            Event::IdeaAdded(IdeaAdded { idea, .. }) => {
                let refused = self.refused.contains(&idea.text);
                assert!(!refused, "{:?} was refused and is there", idea.text);
            }
            _ => {}
        }
        self.log.push(record);
    }

    /// Takes in what the daemon has published, sent out and answered. Gives the effects that were
    /// sent out.
    pub(super) fn follow(&mut self, site: &Site, alive: &mut Alive) -> Vec<(EffectId, Effect)> {
        // In this order: what was answered or sent out is published already.
        let sent = alive.dispatched();
        let answers = alive.answers();
        let before = self.state.seq;
        let new = alive.handle.recent_after(before, usize::MAX);
        for record in new.expect("the records since are in memory") {
            self.grow(Journaled::clone(&record));
        }
        alive.handle.read(|state| {
            assert!(*state == self.state, "what is published is not the log");
        });
        if self.state.seq > before || !answers.is_empty() || !sent.is_empty() {
            self.compare_with_disk(site, before.saturating_sub(20) + 1);
        }
        for (id, _) in &sent {
            assert!(self.due.remove(id), "{id} is sent out unasked or twice");
        }
        for answer in answers {
            self.answered(answer);
        }
        sent
    }

    /// At rest: everything that must be sent out is, and nothing is stuck.
    pub(super) fn at_rest(&self) {
        assert!(self.due.is_empty(), "never sent out: {:?}", self.due);
        invariants::check(&self.state, wall());
    }

    /// The last event.
    pub(super) fn last(&self) -> Option<&Event> {
        self.log.last().map(|record| &record.event)
    }

    /// The log on disk holds, from `from` on, exactly what is known of it, and perhaps more.
    fn compare_with_disk(&mut self, site: &Site, from: u64) {
        let mut next = from;
        let known = self.log.len() as u64;
        replay::<Event>(&site.paths.state, from, None, |record| {
            assert_eq!(record.seq, next);
            next += 1;
            if record.seq <= known {
                let ours = &self.log[usize::try_from(record.seq - 1).unwrap()];
                let same = (record.ts, &record.event) == (ours.ts, &ours.event);
                assert!(same, "record {} has changed: {ours:?}", record.seq);
            }
        })
        .unwrap();
        assert!(next > known, "records {next} to {known} are lost");
        self.compared += known + 1 - from;
    }

    /// After the end of a daemon: what was known is in the log, what else is there stays, and a
    /// start reads what all of it says.
    pub(super) fn start(&mut self, site: &Site) -> (State, StartFrom) {
        self.compare_with_disk(site, 1);
        let mut new = Vec::new();
        replay(&site.paths.state, self.state.seq + 1, None, |record| {
            new.push(Journaled {
                seq: record.seq,
                ts: record.ts,
                event: record.event,
            });
        })
        .unwrap();
        for record in new {
            self.grow(record);
        }
        let (state, from) = site.load();
        assert!(state == self.state, "{from:?} is not the full replay");
        self.due = state.outbox.keys().copied().collect();
        (state, from)
    }

    fn answered(&mut self, (command, answer): Answer) {
        match answer {
            Ok(accepted) => {
                assert!(
                    accepted.seq <= self.state.seq,
                    "answered before it is on disk"
                );
                let end = usize::try_from(accepted.seq).unwrap();
                let said = &self.log[end - accepted.events.len()..end];
                assert!(said.iter().map(|record| &record.event).eq(&accepted.events));
                self.accepted(&command, &accepted.events);
            }
            Err(CommandError::Unknown | CommandError::Lost(_)) => self.unanswered(&command),
            // Nothing was done, and nothing ever comes of it.
            Err(_) => {
                if let Command::AddIdea(new) = command {
                    assert!(
                        !self
                            .state
                            .ideas
                            .values()
                            .any(|idea| *idea.text == *new.text),
                        "refused, and there: {}",
                        new.text
                    );
                    self.refused.insert(new.text);
                }
            }
        }
    }

    fn accepted(&mut self, command: &Command, events: &[Event]) {
        match command {
            Command::AddIdea(_) => {
                let added = events.iter().find_map(|event| match event {
                    Event::IdeaAdded(IdeaAdded { id, .. }) => Some(id.clone()),
                    _ => None,
                });
                if let Some(id) = added {
                    self.promise(&id).added = true;
                }
            }
            Command::CancelIdea { id } => self.promise(id).cancelled = true,
            Command::RetryIdea { id } => self.promise(id).cancelled = false,
            Command::Undo { .. } => {
                for event in events {
                    if let Event::CancelUndone(CancelUndone { id, .. }) = event {
                        self.promise(id).cancelled = false;
                    }
                }
            }
            Command::SettleTarget { .. } => self.unanswered(command),
            Command::StopAgent { id } => {
                let idea = self.state.agents.get(id).map(|agent| agent.idea.clone());
                self.hurt.extend(idea);
            }
            Command::RedirectAgent { id, idea, .. } => {
                let own = self.state.agents.get(id).map(|agent| agent.idea.clone());
                self.hurt.extend(own);
                self.hurt.insert(idea.clone());
            }
            _ => {}
        }
    }

    fn promise(&mut self, id: &IdeaId) -> &mut Promise {
        self.promises.entry(id.clone()).or_default()
    }

    /// It may have been done, or not.
    pub(super) fn unanswered(&mut self, command: &Command) {
        match command {
            Command::CancelIdea { id } | Command::RetryIdea { id } => {
                self.promise(id).unsure = true;
            }
            Command::Undo { .. }
            | Command::SettleTarget {
                choice: TargetChoice::Cancel,
            } => {
                for id in self.state.ideas.keys() {
                    self.promises.entry(id.clone()).or_default().unsure = true;
                }
            }
            _ => {}
        }
    }

    /// Whose work an effect is.
    pub(super) fn idea_of(&self, effect: &Effect) -> Option<IdeaId> {
        let of = |agent: &AgentId| Some(self.state.agents.get(agent)?.idea.clone());
        match effect {
            Effect::Run(effect::Run { purpose, .. }) => match purpose {
                Purpose::Iteration { agent, .. }
                | Purpose::Gate { agent, .. }
                | Purpose::CommitHooks { agent } => of(agent),
                Purpose::Verify { idea, .. } => Some(idea.clone()),
                Purpose::Baseline { .. }
                | Purpose::Canary { .. }
                | Purpose::Synthesis { .. }
                | Purpose::Replay { .. } => None,
                Purpose::Setup { tree, .. } => match tree {
                    SetupTree::Worktree { agent } => of(agent),
                    SetupTree::Merged { idea } => Some(idea.clone()),
                    SetupTree::Target | SetupTree::Control => None,
                },
                Purpose::Hook { idea, .. } => idea.clone(),
            },
            Effect::PrepareWorktree(effect::PrepareWorktree { idea, .. })
            | Effect::Seal(effect::Seal { idea, .. })
            | Effect::SaveWork(effect::SaveWork { idea, .. })
            | Effect::BuildMerge(effect::BuildMerge { idea, .. })
            | Effect::PrepareVerify(effect::PrepareVerify { idea, .. })
            | Effect::Land(effect::Land { idea, .. })
            | Effect::StartResolution(effect::StartResolution { idea, .. })
            | Effect::FinishResolution(effect::FinishResolution { idea, .. }) => Some(idea.clone()),
            _ => None,
        }
    }

    /// Something does not go as its idea would have it.
    pub(super) fn hurt(&mut self, effect: &Effect) {
        let idea = self.idea_of(effect);
        self.hurt.extend(idea);
    }

    pub(super) fn hurt_by(&mut self, effect: &Effect, outcome: &Result<Outcome, Failure>) {
        let well = match (effect, outcome) {
            (_, Ok(Outcome::Run(end))) => {
                // By its program's own word, too, where it has one.
                let through = matches!(end.verdict, None | Some(Verdict::Complete));
                end.how == (RunEndKind::Exited { code: 0 }) && end.stdout_bytes > 0 && through
            }
            // Work that changed nothing is sent back.
            (Effect::Seal(asked), Ok(Outcome::Seal(SealOutcome::Sealed { head, .. }))) => {
                asked.base != *head
            }
            (Effect::PrepareWorktree(_), Ok(Outcome::PrepareWorktree(_)))
            | (Effect::SaveWork(_), Ok(Outcome::SaveWork(SaveWorkOutcome::Saved { .. })))
            | (Effect::BuildMerge(_), Ok(Outcome::BuildMerge(BuildMergeOutcome::Built { .. })))
            | (Effect::PrepareVerify(_), Ok(Outcome::PrepareVerify(_)))
            | (Effect::Land(_), Ok(Outcome::Land(LandOutcome::Landed))) => true,
            _ => false,
        };
        if !well {
            self.hurt(effect);
        }
    }

    /// All is over, and nobody has anything left to do: every idea is where it may be.
    pub(super) fn final_states(&self) {
        let in_world: BTreeSet<_> = self.world.landed().cloned().collect();
        assert_eq!(self.landed, in_world, "the log and the target differ");
        self.world.agrees(&self.state);
        for (id, promise) in &self.promises {
            let Some(idea) = self.state.ideas.get(id) else {
                assert!(!promise.added, "{id} is gone");
                continue;
            };
            let fine = match idea.status {
                IdeaStatus::Done => self.landed.contains(id) || self.had_nothing(id),
                IdeaStatus::Cancelled => promise.cancelled || promise.unsure,
                IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Blocked => {
                    self.hurt.contains(id) || is_spent(idea)
                }
                IdeaStatus::Pending => self.may_wait(id),
                IdeaStatus::Active | IdeaStatus::Merging => false,
            };
            let why = &idea.last_error;
            assert!(fine, "{id} is {:?} ({why:?}): {promise:?}", idea.status);
            let taken_back = promise.cancelled && !promise.unsure;
            let done = self.landed.contains(id) || idea.status == IdeaStatus::Cancelled;
            assert!(!taken_back || done, "{id} was cancelled: {:?}", idea.status);
        }
    }

    fn had_nothing(&self, id: &IdeaId) -> bool {
        let mut ended = self.state.ended.values();
        ended.any(|ended| ended.idea == *id && ended.end == AttemptEnd::NothingToMerge)
    }

    fn may_wait(&self, id: &IdeaId) -> bool {
        let idea = &self.state.ideas[id];
        let done = |id: &IdeaId| self.state.ideas[id].status == IdeaStatus::Done;
        let asked_for = idea.assigned || self.state.mode() == Mode::Autopilot;
        let ready = idea.after.iter().all(done) && !idea.held;
        !asked_for || !ready || self.state.swarm.phase != SwarmPhase::Running
    }
}

impl Drop for Model {
    /// A life that fails tells its end, where that is wanted (`SIM_TAIL=1`).
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("SIM_TAIL").is_some() {
            let tail = self.log.len().saturating_sub(300);
            let events = self.log[tail..].iter().map(|record| &record.event);
            eprintln!("---- life\n{}\n---- end", render::lines(events));
        }
    }
}

/// Whether it ended because nothing more may be spent on it.
fn is_spent(idea: &crate::domain::state::Idea) -> bool {
    let why = idea.last_error.as_deref().unwrap_or_default();
    idea.status == IdeaStatus::Blocked && why.starts_with("its budget is used up")
}
