//! Lists checkpoints and previews rollbacks. Called by the API and `offline`.
//!
//! Invariant: only reads, with or without a daemon.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::rollback::{Recorded, told};
use super::{file, file_reference, reference_of, work_refs};
use crate::daemon::effects::failure::{oid, ours};
use crate::daemon::error::DaemonError;
use crate::daemon::files::hash::sha256;
use crate::daemon::files::paths::Paths;
use crate::domain::decide::unknown_checkpoint;
use crate::domain::ids::{AgentId, CheckpointName, IdeaId, Oid};
use crate::domain::settings::Mode;
use crate::domain::state::checkpoint::{Checkpoint, IdeaThen, SavedWork, unfinished};
use crate::domain::state::{Attempt, Ending, Idea, IdeaStatus, State};
use crate::git::{GitError, Repo};

/// `rollback --dry-run --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// Its name.
    pub checkpoint: CheckpointName,
    /// Where the target is; none: that is not known.
    pub from: Option<Oid>,
    /// Where the target goes.
    pub commit: Oid,
    /// Ideas whose status changes.
    pub ideas_reverted: Vec<Reverted>,
    /// Commits that the target loses, newest first.
    pub commits_lost: Vec<Lost>,
    /// Commits that the target gets back, newest first.
    pub commits_regained: Vec<Lost>,
    /// Uncommitted files of a person that are in the way, escaped for people.
    pub dirty_files: Vec<String>,
    /// The shell commands that put these files aside, one for each checkout.
    pub commands: Vec<String>,
    /// Agents that are stopped; their work is kept.
    pub agents_stopped: Vec<Stopped>,
    /// Ideas that autopilot would start, or start again, once it goes on; none in other modes.
    pub ideas_to_start: u64,
    /// Those ideas.
    pub ideas_starting: Vec<IdeaId>,
    /// What a person said to agents since and no prompt has carried yet: nobody will be told.
    pub messages_dropped: Vec<Dropped>,
    /// Why it cannot be done as things are; none: it can.
    pub problem: Option<String>,
}

/// An idea that a rollback changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reverted {
    /// The idea.
    pub id: IdeaId,
    /// How it stands.
    pub from: IdeaStatus,
    /// How it will stand.
    pub to: IdeaStatus,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lost {
    /// Its id.
    pub commit: Oid,
    /// The first line of its message.
    pub subject: String,
    /// No landing of swarm brought it.
    pub own: bool,
}

/// An agent that a rollback stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// The agent.
    pub id: AgentId,
    /// On what it works.
    pub idea_id: IdeaId,
    /// Its iteration.
    pub iteration: u32,
}

/// A message that a rollback drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// Whose agents it was said to.
    pub idea_id: IdeaId,
    /// What was said.
    pub message: String,
}

/// All checkpoints, oldest first: their files without the state in them; of one that cannot be read
/// what the log has, and `problem`.
pub fn list(repo: &Repo, state: &State) -> Vec<Value> {
    let mut all: Vec<_> = state.checkpoints.iter().collect();
    all.sort_by_key(|(_, checkpoint)| checkpoint.seq);
    all.into_iter()
        .map(|(name, checkpoint)| one(repo, name, checkpoint))
        .collect()
}

/// One of them.
///
/// # Errors
/// It is not there.
pub fn show(repo: &Repo, state: &State, name: &CheckpointName) -> Result<Value, DaemonError> {
    let found = state.checkpoints.get(name);
    let checkpoint = found.ok_or_else(|| unknown_checkpoint(state, name))?;
    Ok(one(repo, name, checkpoint))
}

fn one(repo: &Repo, name: &CheckpointName, checkpoint: &Checkpoint) -> Value {
    let mut one = recorded_file(repo, name, checkpoint);
    if let Some(number) = checkpoint.number {
        one["number"] = number.into();
    }
    one
}

fn recorded_file(repo: &Repo, name: &CheckpointName, checkpoint: &Checkpoint) -> Value {
    let read = file::bytes(repo, name).map_err(|fault| fault.to_string());
    let place = file_reference(name);
    let parsed = read.and_then(|bytes| {
        if sha256(&bytes) != checkpoint.sha256 {
            return Err(format!("its file {place} has changed"));
        }
        serde_json::from_slice::<Value>(&bytes)
            .map_err(|error| format!("its file {place} is damaged: {error}"))
    });
    let problem = match parsed {
        Ok(Value::Object(mut file)) => {
            file.remove("stateSnapshot");
            if let Some(why) = work_problem(repo, name, &file) {
                file.insert("problem".to_owned(), why.into());
            }
            for (name, in_file) in [("commit", "gitCommit"), ("branch", "target")] {
                if let Some(value) = file.get(in_file).cloned() {
                    file.insert(name.to_owned(), value);
                }
            }
            return Value::Object(file);
        }
        Ok(_) => format!("its file {place} is not a JSON object"),
        Err(why) => why,
    };
    json!({
        "name": name,
        "createdAt": checkpoint.created_at,
        "reason": checkpoint.reason,
        "commit": checkpoint.commit,
        "gitCommit": checkpoint.commit,
        "gitRef": reference_of(name),
        "seq": checkpoint.seq,
        "problem": problem,
    })
}

/// Why agents' work in it is in danger.
fn work_problem(repo: &Repo, name: &CheckpointName, file: &Map<String, Value>) -> Option<String> {
    let all = ["agentStates", "keptWork"].map(|key| file.get(key).and_then(Value::as_array));
    let works: Vec<SavedWork> = all
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|one| SavedWork::deserialize(&one["work"]).ok())
        .collect();
    let missing = work_refs::missing(repo, name, works.iter()).ok()?;
    work_refs::problem(name, &missing)
}

/// Checkpoints that can be rolled back to, oldest first; and of the others, why not.
pub type Soundness = (Vec<CheckpointName>, Vec<(CheckpointName, String)>);

/// Looks at each of them.
///
/// # Errors
/// Git cannot be asked.
pub fn soundness(repo: &Repo, paths: &Paths, state: &State) -> Result<Soundness, DaemonError> {
    let mut all: Vec<_> = state.checkpoints.iter().collect();
    all.sort_by_key(|(_, checkpoint)| checkpoint.seq);
    let target = state.settings.as_deref().map(|now| now.target.as_str());
    let now = match target {
        Some(target) => repo.branch_commit(target)?,
        None => None,
    };
    let (mut sound, mut faults) = (Vec::new(), Vec::new());
    for (name, checkpoint) in all {
        let fault = match (recorded(name, checkpoint).ideas(repo, paths, target)?, now) {
            (Err(why), _) => Some(why),
            (Ok(_), Some(now)) => repo
                .missing_object(now, oid(&checkpoint.commit)?)?
                .map(|gone| format!("the repository is damaged: {gone}")),
            (Ok(_), None) => None,
        };
        match fault {
            None => sound.push(name.clone()),
            Some(why) => faults.push((name.clone(), why)),
        }
    }
    Ok((sound, faults))
}

fn recorded<'a>(name: &'a CheckpointName, checkpoint: &'a Checkpoint) -> Recorded<'a> {
    Recorded {
        name,
        commit: &checkpoint.commit,
        tag: &checkpoint.tag,
        sha256: &checkpoint.sha256,
    }
}

/// What a rollback would change. What is shown is what then happens, if nothing changes in between.
///
/// # Errors
/// There is no such checkpoint; git cannot be asked.
pub fn preview(
    repo: &Repo,
    paths: &Paths,
    state: &State,
    name: &CheckpointName,
) -> Result<Preview, DaemonError> {
    let found = state.checkpoints.get(name);
    let checkpoint = found.ok_or_else(|| unknown_checkpoint(state, name))?;
    let recorded = recorded(name, checkpoint);
    let mut preview = Preview {
        checkpoint: name.clone(),
        from: None,
        commit: checkpoint.commit.clone(),
        ideas_reverted: Vec::new(),
        commits_lost: Vec::new(),
        commits_regained: Vec::new(),
        dirty_files: Vec::new(),
        commands: Vec::new(),
        agents_stopped: stopped(state),
        ideas_to_start: 0,
        ideas_starting: Vec::new(),
        messages_dropped: Vec::new(),
        problem: None,
    };
    let target = state.settings.as_deref().map(|now| now.target.as_str());
    match recorded.ideas(repo, paths, target)? {
        Err(why) => preview.problem = Some(why),
        Ok(ideas) => {
            preview.ideas_reverted = reverted(state, &ideas);
            preview.ideas_starting = starting(state, &ideas);
            preview.ideas_to_start = preview.ideas_starting.len() as u64;
            preview.messages_dropped = dropped(state, &ideas);
            commits(repo, state, &mut preview)?;
        }
    }
    Ok(preview)
}

fn stopped(state: &State) -> Vec<Stopped> {
    let each = state.agents.iter().map(|(id, attempt)| Stopped {
        id: id.clone(),
        idea_id: attempt.idea.clone(),
        iteration: attempt.iteration,
    });
    each.collect()
}

fn reverted(state: &State, then: &BTreeMap<IdeaId, IdeaThen>) -> Vec<Reverted> {
    let each = state.ideas.iter().filter_map(|(id, idea)| {
        let to = status_then(state, id, idea, then);
        (to != idea.status).then(|| Reverted {
            id: id.clone(),
            from: idea.status,
            to,
        })
    });
    each.collect()
}

fn status_then(
    state: &State,
    id: &IdeaId,
    idea: &Idea,
    then: &BTreeMap<IdeaId, IdeaThen>,
) -> IdeaStatus {
    match then.get(id) {
        Some(then) => then.status,
        // It came later.
        None if is_being_cancelled(state, id) => IdeaStatus::Cancelled,
        None if idea.status == IdeaStatus::Done => IdeaStatus::Pending,
        None => idea.status.without_attempt(),
    }
}

fn is_being_cancelled(state: &State, id: &IdeaId) -> bool {
    let is_ending = |(_, attempt): (_, &Attempt)| attempt.ending == Some(Ending::Cancelled);
    state.attempt_at(id).is_some_and(is_ending)
}

fn starting(state: &State, then: &BTreeMap<IdeaId, IdeaThen>) -> Vec<IdeaId> {
    if state.mode() != Mode::Autopilot {
        return Vec::new();
    }
    let pending = |(id, idea): &(&IdeaId, &Idea)| {
        !idea.held && status_then(state, id, idea, then) == IdeaStatus::Pending
    };
    let pending = state.ideas.iter().filter(pending);
    pending.map(|(id, _)| id.clone()).collect()
}

/// Of the messages that the ideas' next prompts would carry now those that they will not carry
/// then.
fn dropped(state: &State, then: &BTreeMap<IdeaId, IdeaThen>) -> Vec<Dropped> {
    let mut dropped = Vec::new();
    for work in unfinished(state) {
        // An idea that came later keeps what it has, unless it is being cancelled.
        if !then.contains_key(&work.idea) && !is_being_cancelled(state, &work.idea) {
            continue;
        }
        let saved = then.get(&work.idea).and_then(|then| then.saved.as_deref());
        let mut carried = saved.map_or_else(Vec::new, |saved| saved.messages.clone());
        for message in work.messages {
            match carried.iter().position(|carried| *carried == message) {
                Some(at) => drop(carried.swap_remove(at)),
                None => dropped.push(Dropped {
                    idea_id: work.idea.clone(),
                    message,
                }),
            }
        }
    }
    dropped
}

fn commits(repo: &Repo, state: &State, preview: &mut Preview) -> Result<(), GitError> {
    let Some(target) = state.settings.as_deref().map(|settings| &settings.target) else {
        preview.problem = Some("no daemon has started here yet; start one: swarm start".into());
        return Ok(());
    };
    let Some(now) = repo.branch_commit(target)? else {
        preview.problem = Some(format!("the target branch `{target}` is gone"));
        return Ok(());
    };
    preview.from = Some(ours(now));
    let then = oid(&preview.commit)?;
    let between = |base, tip| -> Result<Vec<Lost>, GitError> {
        let found = repo.commits_between(base, tip)?;
        let all = found.iter().map(|(commit, _)| *commit).collect();
        let own = repo.not_landed(tip, &all)?;
        let each = found.into_iter().map(|(commit, subject)| Lost {
            commit: ours(commit),
            subject,
            own: own.contains(&commit),
        });
        Ok(each.collect())
    };
    preview.commits_lost = between(then, now)?;
    preview.commits_regained = between(now, then)?;
    if let Some(gone) = repo.missing_object(now, then)? {
        preview.problem = Some(format!("the repository is damaged: {gone}"));
        return Ok(());
    }
    for blocked in repo.checkouts_blocking(target, now, then)? {
        if blocked.command.is_empty() {
            preview.problem = Some(told(&blocked));
        } else {
            preview.commands.push(blocked.command);
        }
        preview.dirty_files.extend(blocked.files);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::event::Event;
    use crate::domain::state::checkpoint::Unfinished;
    use crate::domain::testkit::people;
    use crate::domain::testkit::sim::Sim;
    use crate::domain::time::Timestamp;

    fn life(seed: u64) -> Sim {
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let numbers = std::iter::repeat_with(move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            u16::try_from(x >> 48).unwrap()
        });
        let length = 100 + usize::try_from(seed % 5).unwrap() * 100;
        // People who intervene also say more to agents.
        let people = match seed % 2 {
            0 => people::some_command,
            _ => people::some_intervention,
        };
        let mut sim = Sim::with_people(numbers.take(length).collect(), people);
        sim.live();
        sim
    }

    /// Messages that the ideas' next prompts carry.
    fn messages(state: &State) -> Vec<Dropped> {
        let of = |work: Unfinished| {
            let idea_id = work.idea;
            let each = work.messages.into_iter();
            each.map(move |message| Dropped {
                idea_id: idea_id.clone(),
                message,
            })
            .collect::<Vec<_>>()
        };
        unfinished(state).into_iter().flat_map(of).collect()
    }

    /// What is in the first list and not in the second.
    fn without(mut all: Vec<Dropped>, mut others: Vec<Dropped>) -> Vec<Dropped> {
        all.retain(|one| match others.iter().position(|other| other == one) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        });
        all
    }

    /// Agents whose attempts these events end.
    fn ended(events: &[(Timestamp, Event)]) -> BTreeSet<AgentId> {
        let ended = |event: &Event| match event {
            Event::AttemptEnded(ended) => Some(ended.agent.clone()),
            _ => None,
        };
        events
            .iter()
            .filter_map(|(_, event)| ended(event))
            .collect()
    }

    /// Whether the agent has read the message: its iteration ended by itself before it was stopped.
    fn is_read(before: &State, events: &[(Timestamp, Event)], message: &Dropped) -> bool {
        let Some((_, attempt)) = before.attempt_at(&message.idea_id) else {
            return false;
        };
        let by_itself = |event: &Event| match event {
            Event::RunEnded(ended) => {
                Some(&ended.run) == attempt.run.as_ref() && ended.end.how.exit_code().is_some()
            }
            _ => false,
        };
        attempt.told.contains(&message.message) && events.iter().any(|(_, event)| by_itself(event))
    }

    /// Rolls back at a random moment; how many ideas, agents and messages that was about. `None` if
    /// it was not possible.
    fn preview_comes_true(seed: u64) -> Option<[usize; 3]> {
        let mut sim = life(seed);
        let names: Vec<_> = sim.state.checkpoints.keys().cloned().collect();
        let name = names.get(usize::try_from(seed).unwrap() % names.len().max(1))?;
        let (before, since) = (sim.state.clone(), sim.log.len());
        let then = sim.roll_back(name)?;
        let after = &sim.state;
        let events = &sim.log[since..];
        let is_over = |(_, event): &(_, Event)| matches!(event, Event::RolledBack(_));
        assert!(events.iter().any(is_over), "seed {seed}: {events:#?}");

        let was = |id: &IdeaId| before.ideas.get(id).unwrap().status;
        let moved = after
            .ideas
            .iter()
            .filter(|(id, idea)| was(id) != idea.status);
        let moved: Vec<_> = moved
            .map(|(id, idea)| Reverted {
                id: id.clone(),
                from: was(id),
                to: idea.status,
            })
            .collect();
        assert_eq!(reverted(&before, &then), moved, "seed {seed}: ideas");

        let ended = ended(events);
        let agents: BTreeSet<_> = stopped(&before).into_iter().map(|one| one.id).collect();
        assert_eq!(agents, ended, "seed {seed}: agents");
        assert!(
            after.agents.is_empty() && after.queue.is_empty(),
            "seed {seed}"
        );

        let mut lost = without(messages(&before), messages(after));
        lost.retain(|one| then.contains_key(&one.idea_id) || !is_read(&before, events, one));
        assert_eq!(dropped(&before, &then), lost, "seed {seed}: messages");

        let waits = |(_, idea): &(&IdeaId, &Idea)| {
            let is_autopilot = after.mode() == Mode::Autopilot;
            is_autopilot && !idea.held && idea.status == IdeaStatus::Pending
        };
        let waiting = after.ideas.iter().filter(waits);
        let waiting: Vec<IdeaId> = waiting.map(|(id, _)| id.clone()).collect();
        assert_eq!(starting(&before, &then), waiting, "seed {seed}: to start");
        assert!(after.swarm.paused, "seed {seed}: it goes on by itself");
        Some([moved.len(), ended.len(), lost.len()])
    }

    #[test]
    fn a_rollback_changes_what_its_preview_says() {
        let possible = (1..).filter_map(preview_comes_true).take(500);
        let all = possible.fold([0; 3], |[ideas, agents, messages], [i, a, m]| {
            [ideas + i, agents + a, messages + m]
        });
        eprintln!("500 rollbacks: {all:?} ideas, agents and messages");
        let [ideas, agents, messages] = all;
        assert!(ideas > 500 && agents > 100 && messages > 5, "{all:?}");
    }
}
