//! Everything that a person can do, wherever an attempt, its merge and the swarm stand: carried
//! out, without effect, or refused with a reason and what would be possible.
//!
//! For each cell: a refusal changes nothing; asked again nothing more happens; a daemon that is
//! killed right after it was accepted changes nothing about it; and in the end, with a person's
//! help where one is asked for, every idea is done or cancelled, and nothing is left over: no
//! agent, no slot, no entry of the queue, no reservation, no effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use insta::assert_snapshot;

use super::table::{SITUATIONS, Way, about_an_idea, table};
use crate::domain::decide;
use crate::domain::event::{AttemptEnded, Event};
use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::observation::Observation;
use crate::domain::operation::Command;
use crate::domain::settings::Mode;
use crate::domain::state::{IdeaStatus, State};
use crate::domain::testkit::{Scenario, agent, checkpoint_name, people};

/// What a person can do in this state; the other idea waits.
fn interventions(state: &State, other: &IdeaId) -> Vec<(&'static str, Command)> {
    let redirect = |new_worktree| Command::RedirectAgent {
        id: agent(1),
        idea: other.clone(),
        new_worktree,
    };
    let swarm = [
        ("pause", Command::Pause { reason: None }),
        ("resume", Command::Resume),
        ("redirect", redirect(false)),
        ("anew", redirect(true)),
        (
            "undo",
            Command::Undo {
                seq: state.last_undoable().map_or(0, |last| last.seq),
                from: None,
            },
        ),
    ];
    swarm.into_iter().chain(about_an_idea()).collect()
}

/// What the swarm does meanwhile.
const TURNS: &[(&str, Way)] = &[
    ("running", |_| {}),
    ("pausing or paused", |s| {
        s.command(Command::Pause { reason: None });
    }),
    ("ending", |s| {
        s.command(Command::Shutdown { keep_agents: false });
    }),
    ("ended, agents go on", |s| {
        s.command(Command::Shutdown { keep_agents: true });
    }),
    ("recovering", |s| {
        let version = "1.0.0".into();
        s.when(Observation::DaemonStarted {
            version,
            counters: None,
            host: None,
        });
    }),
    ("rolling back: look", |s| {
        s.command(roll_back());
    }),
    ("rolling back: agents end", |s| {
        s.command(roll_back()).looked();
    }),
];

fn roll_back() -> Command {
    Command::RollBack {
        name: checkpoint_name("first"),
        pause: false,
        from: None,
    }
}

/// The first idea stands where it stands, and another one waits. Nobody else begins anything: ideas
/// are assigned.
fn stand(way: Way, turn: Way) -> (Scenario, IdeaId) {
    let mut s = Scenario::running();
    s.checkpoint("first");
    way(&mut s);
    s.command(Command::SetMode {
        mode: Mode::SemiAuto,
    });
    s.add("another");
    let other = s.state.ideas.keys().next_back().unwrap().clone();
    turn(&mut s);
    s.quietly();
    (s, other)
}

/// `yes`: something follows; `-`: accepted, nothing changes; otherwise the refusal.
fn ask(s: &mut Scenario, command: &Command) -> (String, Option<String>) {
    s.quietly();
    match s.ask(command) {
        Ok(()) if s.then().is_empty() => ("-".into(), None),
        Ok(()) => ("yes".into(), None),
        Err(rejection) => {
            assert!(s.then().is_empty(), "a refusal changes something");
            let ways = rejection.suggestions();
            assert!(!ways.is_empty(), "no way out: {rejection}");
            let word = match rejection.code() {
                "NOT_NOW" => "no",
                "AGENT_UNKNOWN" | "IDEA_UNKNOWN" => "unknown",
                "AGENT_ENDED" => "ended",
                code => panic!("{code}: {rejection}"),
            };
            let why = format!("{rejection}\n    -> {}", ways.join(" | "));
            (word.to_owned(), Some(why))
        }
    }
}

/// Asked again, because the answer was lost, say: nothing more happens.
fn again(s: &mut Scenario, command: &Command) {
    let delivered = |s: &Scenario| {
        let attempts = s.state.agents.values();
        attempts.flat_map(|attempt| &attempt.told).count()
    };
    // To an agent that has it in its prompt already it is something new.
    if matches!(command, Command::SayToAgent { .. }) && delivered(s) > 0 {
        return;
    }
    let (answer, _) = ask(s, command);
    assert_ne!(answer, "yes", "{command:?} again");
}

/// All goes well, people help where they are asked: everything comes to an end.
fn to_rest(s: &mut Scenario) -> BTreeMap<IdeaId, IdeaStatus> {
    for _ in 0..60 {
        match s.state.swarm.phase {
            SwarmPhase::Stopped | SwarmPhase::Recovering => {
                s.restart();
            }
            _ => {}
        }
        s.all_goes_well();
        if is_at_rest(s) {
            let ideas = s.state.ideas.iter();
            return ideas.map(|(id, idea)| (id.clone(), idea.status)).collect();
        }
        let autopilot = Command::SetMode {
            mode: Mode::Autopilot,
        };
        let bad = |(_, idea): &(&IdeaId, &crate::domain::state::Idea)| idea.status.is_bad();
        let bad = s.state.ideas.iter().filter(bad);
        let retries = bad.map(|(id, _)| Command::RetryIdea { id: id.clone() });
        let help: Vec<Command> = retries
            .chain(people::help(&s.state))
            .chain([autopilot])
            .collect();
        for command in help {
            // Some of it may not fit any more.
            let _ = s.ask(&command);
        }
        if decide::next_deadline(&s.state, s.now).is_some() {
            s.wait_for_deadline();
        }
    }
    panic!("it never comes to rest: {:#?}", s.state);
}

fn is_at_rest(s: &Scenario) -> bool {
    let over = |idea: &crate::domain::state::Idea| {
        matches!(idea.status, IdeaStatus::Done | IdeaStatus::Cancelled)
    };
    let state = &s.state;
    let at_rest = state.ideas.values().all(over) && state.swarm.phase == SwarmPhase::Running;
    if at_rest {
        assert!(state.agents.is_empty() && state.queue.is_empty());
        assert!(state.outbox.is_empty() && state.owed.is_empty());
        assert_eq!(state.slots_used(), 0);
        assert!(state.stops.is_empty());
        assert!(state.ideas.values().all(|idea| idea.reserved.is_none()));
        assert!(state.ideas.values().all(|idea| idea.kept.is_none()));
    }
    at_rest
}

/// How often what was asked for is in the log; what those who help do is left out.
fn carried_out(s: &Scenario) -> BTreeMap<&'static str, usize> {
    let mut times = BTreeMap::new();
    for (_, event) in &s.log {
        let kind = match event {
            Event::AttemptEnded(AttemptEnded { end, .. }) => match end {
                crate::domain::state::AttemptEnd::Stopped => "stopped",
                crate::domain::state::AttemptEnd::Redirected => "redirected",
                crate::domain::state::AttemptEnd::Cancelled => "cancelled",
                _ => continue,
            },
            Event::IdeaCancelled(_)
            | Event::IdeaRetried(_)
            | Event::IdeaEdited(_)
            | Event::MessageQueued(_)
            | Event::AgentRedirected(_)
            | Event::MergeReleased(_)
            | Event::MergeApproved(_)
            | Event::MergeRejected(_)
            | Event::ApprovalWithdrawn(_)
            | Event::CancelUndone(_)
            | Event::IdeaLanded(_) => event.kind(),
            _ => continue,
        };
        *times.entry(kind).or_default() += 1;
    }
    times
}

/// The daemon is killed when no more than the decision itself is on disk.
fn killed_after(s: &Scenario, command: &Command) -> Option<Scenario> {
    let events = decide::command(&s.state, command, s.now).ok()?;
    let mut other = Scenario::empty();
    let log = s.log.iter().map(|(_, event)| event.clone());
    other.now = s.now;
    other.given(log.chain(events));
    other.restart();
    Some(other)
}

/// One cell, with all that must hold for it.
fn cell(way: Way, turn: Way, at: usize) -> (String, Option<String>) {
    let (mut s, other) = stand(way, turn);
    let (_, command) = interventions(&s.state, &other).swap_remove(at);
    let killed = killed_after(&s, &command);
    let found = ask(&mut s, &command);
    again(&mut s, &command);
    let end = to_rest(&mut s);
    if let Some(mut killed) = killed {
        assert_eq!(to_rest(&mut killed), end, "killed after {command:?}");
        assert_eq!(carried_out(&killed), carried_out(&s), "after {command:?}");
    }
    found
}

type Row = (&'static str, Vec<(String, Option<String>)>);

fn rows(turn: Way) -> Vec<Row> {
    let count = interventions(&State::default(), &IdeaId::numbered(2)).len();
    let row = |(name, way): &(&'static str, Way)| {
        let cells = (0..count).map(|at| cell(*way, turn, at)).collect();
        (*name, cells)
    };
    SITUATIONS.iter().map(row).collect()
}

fn names() -> Vec<&'static str> {
    let all = interventions(&State::default(), &IdeaId::numbered(2));
    all.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_intervention_in_every_situation() {
    let rows = rows(TURNS[0].1);
    let words = |cells: &Vec<(String, Option<String>)>| {
        cells.iter().map(|(word, _)| word.clone()).collect()
    };
    let shown: Vec<(&str, Vec<String>)> = rows
        .iter()
        .map(|(name, cells)| (*name, words(cells)))
        .collect();
    assert_snapshot!(table(&shown, &names()), @r"
                              pause     resume    redirect  anew      undo      edit      retry     cancel    assign    hold      unhold    stop      say       m-retry   approve   reject    retext    m-resolve
    pending                   yes       -         unknown   unknown   no        yes       -         yes       yes       yes       -         unknown   unknown   no        no        no        yes       no
    pending, after a crash    yes       -         ended     ended     no        yes       yes       yes       yes       yes       -         ended     ended     no        no        no        yes       no
    preparing                 yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    working                   yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    gating, sealed now        yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    gating                    yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    stopping                  yes       -         yes       yes       no        yes       no        yes       no        yes       -         -         yes       no        no        no        yes       no
    waits for a person        yes       -         yes       yes       no        yes       yes       yes       no        yes       -         yes       yes       no        no        no        yes       no
    backoff                   yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    catches up                yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    queued, held              yes       -         no        no        no        yes       yes       yes       no        yes       -         yes       no        no        yes       yes       yes       no
    queued, approved          yes       -         no        no        yes       no        no        no        no        yes       -         no        yes       -         -         yes       no        no
    returned by review        yes       -         yes       yes       no        yes       no        yes       no        yes       -         yes       yes       no        no        no        yes       no
    queued, waits             yes       -         no        no        no        no        no        yes       no        yes       -         no        yes       yes       no        no        no        no
    building                  yes       -         no        no        no        no        no        no        no        yes       -         no        yes       -         no        no        no        no
    conflict, laid out now    yes       -         no        no        no        no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    resolver works            yes       -         no        no        no        no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    resolved, concluded now   yes       -         no        no        no        no        no        yes       no        yes       -         no        yes       -         no        no        no        no
    conflict for a person     yes       -         no        no        no        no        no        yes       no        yes       -         no        yes       yes       no        no        no        yes
    target rewritten          yes       -         ended     ended     no        no        no        no        no        no        -         ended     ended     no        no        no        no        no
    verifying                 yes       -         no        no        no        no        no        no        no        yes       -         no        yes       -         no        no        no        no
    landing                   yes       -         no        no        no        no        no        no        no        yes       -         no        yes       -         no        no        no        no
    done                      yes       -         ended     ended     no        no        no        no        no        no        -         ended     ended     no        no        no        no        no
    blocked                   yes       -         ended     ended     no        yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    failed                    yes       -         ended     ended     no        yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    timeout                   yes       -         ended     ended     no        yes       yes       yes       no        no        -         ended     ended     no        no        no        yes       no
    cancelled                 yes       -         unknown   unknown   yes       yes       yes       -         no        no        -         unknown   unknown   no        no        no        yes       no
    ");
}

#[test]
fn every_refusal_says_why_and_what_to_do() {
    let rows = rows(TURNS[0].1);
    let whys: BTreeSet<&String> = rows
        .iter()
        .flat_map(|(_, cells)| cells.iter().filter_map(|(_, why)| why.as_ref()))
        .collect();
    let whys: Vec<&str> = whys.into_iter().map(String::as_str).collect();
    assert_snapshot!(whys.join("\n"), @r#"
    agent `ed-001` has ended: it crashed
        -> see its idea: swarm idea show idea-001
    agent `ed-001` has ended: it failed
        -> see its idea: swarm idea show idea-001
    agent `ed-001` has ended: it hit its limit
        -> see its idea: swarm idea show idea-001
    agent `ed-001` has ended: it landed its work
        -> see its idea: swarm idea show idea-001
    agent `ed-001` has ended: it was blocked
        -> see its idea: swarm idea show idea-001
    cannot approve the merge of idea-001: the idea failed, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot approve the merge of idea-001: the idea hit its limit, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot approve the merge of idea-001: the idea is active, so it is not in the merge queue
        -> its agent is still working on it: swarm agent list
    cannot approve the merge of idea-001: the idea is blocked, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot approve the merge of idea-001: the idea is cancelled, so it is not in the merge queue
        -> take the cancellation back, with the work: swarm undo; or start again from nothing: swarm idea retry idea-001
    cannot approve the merge of idea-001: the idea is done, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot approve the merge of idea-001: the idea is pending, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot approve the work of idea-001: an agent is resolving its conflict
        -> see when that is done: swarm merge list
    cannot approve the work of idea-001: it does not wait for review
        -> swarm merge list
    cannot approve the work of idea-001: it waits for you to resolve its conflict
        -> resolve and commit it in "$(swarm path idea-001)", then: swarm merge resolve idea-001
    cannot approve the work of idea-001: its landing has begun
        -> see whether it has landed: swarm log; if no daemon runs: swarm start
    cannot approve the work of idea-001: its merge waits for something else: no branch
        -> try the merge again: swarm merge retry idea-001
    cannot assign idea-001: it failed
        -> swarm idea retry idea-001
    cannot assign idea-001: it hit its limit
        -> swarm idea retry idea-001
    cannot assign idea-001: it is active
        -> see who works on it: swarm agent list
    cannot assign idea-001: it is blocked
        -> swarm idea retry idea-001
    cannot assign idea-001: it is cancelled
        -> swarm idea retry idea-001
    cannot assign idea-001: it is done
        -> swarm idea add "..."
    cannot assign idea-001: it is merging
        -> swarm merge list
    cannot cancel idea-001: it is done
        -> to undo it, revert its merge commit: swarm idea show idea-001
    cannot cancel idea-001: it is merging
        -> wait for the merge: swarm merge list
    cannot edit idea-001: it is done
        -> swarm idea add "..."
    cannot edit idea-001: it is merging
        -> swarm idea add "..."
    cannot hold idea-001: it failed
        -> it does not start by itself; to start it: swarm idea retry idea-001
    cannot hold idea-001: it hit its limit
        -> it does not start by itself; to start it: swarm idea retry idea-001
    cannot hold idea-001: it is blocked
        -> it does not start by itself; to start it: swarm idea retry idea-001
    cannot hold idea-001: it is cancelled
        -> it does not start by itself; to start it: swarm idea retry idea-001
    cannot hold idea-001: it is done
        -> swarm idea add "..."
    cannot redirect ed-001 to idea-002: its work is complete and in the merge queue
        -> swarm idea assign idea-002
    cannot reject the merge of idea-001: the idea failed, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot reject the merge of idea-001: the idea hit its limit, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot reject the merge of idea-001: the idea is active, so it is not in the merge queue
        -> its agent is still working on it: swarm agent list
    cannot reject the merge of idea-001: the idea is blocked, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot reject the merge of idea-001: the idea is cancelled, so it is not in the merge queue
        -> take the cancellation back, with the work: swarm undo; or start again from nothing: swarm idea retry idea-001
    cannot reject the merge of idea-001: the idea is done, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot reject the merge of idea-001: the idea is pending, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot reject the work of idea-001: an agent is resolving its conflict
        -> see when that is done: swarm merge list
    cannot reject the work of idea-001: it does not wait for review
        -> swarm merge list
    cannot reject the work of idea-001: it waits for you to resolve its conflict
        -> resolve and commit it in "$(swarm path idea-001)", then: swarm merge resolve idea-001
    cannot reject the work of idea-001: its landing has begun
        -> see whether it has landed: swarm log; if no daemon runs: swarm start
    cannot reject the work of idea-001: its merge waits for something else: no branch
        -> try the merge again: swarm merge retry idea-001
    cannot resolve the merge of idea-001: it does not wait for a person
        -> swarm merge list
    cannot resolve the merge of idea-001: the idea failed, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot resolve the merge of idea-001: the idea hit its limit, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot resolve the merge of idea-001: the idea is active, so it is not in the merge queue
        -> its agent is still working on it: swarm agent list
    cannot resolve the merge of idea-001: the idea is blocked, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot resolve the merge of idea-001: the idea is cancelled, so it is not in the merge queue
        -> take the cancellation back, with the work: swarm undo; or start again from nothing: swarm idea retry idea-001
    cannot resolve the merge of idea-001: the idea is done, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot resolve the merge of idea-001: the idea is pending, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot retry idea-001: it is active
        -> to restart it: swarm agent stop ed-001; to send it a message: swarm agent say ed-001 "..."
    cannot retry idea-001: it is done
        -> swarm idea add "..."
    cannot retry idea-001: it is merging
        -> swarm merge retry idea-001
    cannot retry the merge of idea-001: its work waits for your review
        -> look at it: swarm merge diff idea-001
    cannot retry the merge of idea-001: the idea failed, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot retry the merge of idea-001: the idea hit its limit, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot retry the merge of idea-001: the idea is active, so it is not in the merge queue
        -> its agent is still working on it: swarm agent list
    cannot retry the merge of idea-001: the idea is blocked, so it is not in the merge queue
        -> swarm idea retry idea-001
    cannot retry the merge of idea-001: the idea is cancelled, so it is not in the merge queue
        -> take the cancellation back, with the work: swarm undo; or start again from nothing: swarm idea retry idea-001
    cannot retry the merge of idea-001: the idea is done, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot retry the merge of idea-001: the idea is pending, so it is not in the merge queue
        -> list the queue: swarm merge list
    cannot send a message to ed-001: its work is finished and waits for your review
        -> return the work with your message: swarm merge reject idea-001 "..."
    cannot stop ed-001: its work is complete and in the merge queue
        -> swarm idea cancel idea-001
    cannot undo: there is nothing left to take back
        -> swarm log
    there is no agent `ed-001`
        -> see the agents: swarm agent list
    "#);
}

/// What each turn of the swarm changes in the answers, and the reasons that only then are given.
fn differences() -> (String, BTreeSet<String>) {
    let usual = rows(TURNS[0].1);
    let mut text = String::new();
    let mut whys = BTreeSet::new();
    for (turn, way) in &TURNS[1..] {
        let now = rows(*way);
        let everywhere = |at: usize| {
            let word = |row: &Row| row.1[at].0.clone();
            let first = word(&now[0]);
            let same = now.iter().all(|row| word(row) == first);
            let new = usual.iter().any(|row| word(row) != first);
            (same && new).then_some(first)
        };
        let columns: Vec<_> = names().into_iter().enumerate().collect();
        let always: Vec<String> = columns
            .iter()
            .filter_map(|(at, name)| Some(format!("{name} {}", everywhere(*at)?)))
            .collect();
        writeln!(text, "{turn}: {}", always.join(", ")).unwrap();
        for ((name, cells), (_, before)) in now.iter().zip(&usual) {
            let other: Vec<String> = columns
                .iter()
                .filter(|(at, _)| everywhere(*at).is_none() && cells[*at].0 != before[*at].0)
                .map(|(at, name)| format!("{name} {}", cells[*at].0))
                .collect();
            if !other.is_empty() {
                writeln!(text, "  {name:26}{}", other.join(", ")).unwrap();
            }
        }
        whys.extend(
            now.iter()
                .flat_map(|(_, cells)| cells.iter().filter_map(|(_, why)| why.clone())),
        );
    }
    for (_, cells) in &usual {
        for why in cells.iter().filter_map(|(_, why)| why.as_ref()) {
            whys.remove(why);
        }
    }
    (text, whys)
}

#[test]
fn every_intervention_whatever_the_swarm_does_meanwhile() {
    let (text, whys) = differences();
    let whys: Vec<String> = whys.into_iter().collect();
    assert_snapshot!(whys.join("\n"), @r"
    agent `ed-001` has ended: it was interrupted
        -> see its idea: swarm idea show idea-001
    cannot pause: a rollback is in progress
        -> wait until it is finished; if no daemon runs, start one to finish it: swarm start
    cannot pause: the daemon has just started and is checking what was left
        -> try again in a moment: swarm pause
    cannot pause: the daemon is shutting down
        -> start it again (swarm start), then: swarm pause
    cannot redirect the agent: a rollback is in progress
        -> wait until it is finished; if no daemon runs, start one to finish it: swarm start
    cannot resume: a rollback is in progress
        -> wait until it is finished; if no daemon runs, start one to finish it: swarm start
    cannot resume: the daemon has just started and is checking what was left
        -> try again in a moment: swarm resume
    cannot resume: the daemon is shutting down
        -> start it again (swarm start), then: swarm resume
    ");
    assert_snapshot!(text, @r"
    pausing or paused: pause -, resume yes
    ending: pause no, resume no
      backoff                   redirect ended, anew ended, retry -, assign yes, stop ended, say ended
    ended, agents go on: pause no, resume no
    recovering: pause no, resume no
    rolling back: look: pause no, resume no
      preparing                 redirect no, anew no
      working                   redirect no, anew no
      gating, sealed now        redirect no, anew no
      gating                    redirect no, anew no
      stopping                  redirect no, anew no
      waits for a person        redirect no, anew no
      backoff                   redirect no, anew no
      catches up                redirect no, anew no
      returned by review        redirect no, anew no
    rolling back: agents end: pause no, resume no, m-resolve no
      preparing                 redirect no, anew no
      working                   redirect no, anew no
      gating, sealed now        redirect no, anew no
      gating                    redirect no, anew no
      stopping                  redirect no, anew no
      waits for a person        redirect ended, anew ended, retry -, assign yes, stop ended, say ended
      backoff                   redirect ended, anew ended, retry -, assign yes, stop ended, say ended
      catches up                redirect no, anew no
      queued, held              redirect ended, anew ended, retry -, assign yes, stop ended, say ended, approve no, reject no
      returned by review        redirect no, anew no
      queued, waits             redirect ended, anew ended, edit yes, retry -, assign yes, stop ended, say ended, m-retry no, retext yes
      conflict for a person     redirect ended, anew ended, edit yes, retry -, assign yes, stop ended, say ended, m-retry no, retext yes
      landing                   redirect ended, anew ended, hold no, stop ended, say ended, m-retry no
    ");
}

/// One is under way, and the person changes their mind: an attempt that is to end already, in one
/// way or the other.
#[test]
fn every_intervention_after_every_other() {
    let count = names().len();
    for (name, way) in SITUATIONS {
        for first in 0..count {
            for second in 0..count {
                let (mut s, other) = stand(*way, |_| {});
                let (_, command) = interventions(&s.state, &other).swap_remove(first);
                ask(&mut s, &command);
                let mut all = interventions(&s.state, &other);
                let (what, command) = all.swap_remove(second);
                ask(&mut s, &command);
                again(&mut s, &command);
                let end = to_rest(&mut s);
                let cancelled = |status: &IdeaStatus| *status == IdeaStatus::Cancelled;
                let given_up = end.values().filter(|status| cancelled(status)).count();
                let asked = [first, second].iter().any(|at| names()[*at] == "cancel");
                let was = *name == "cancelled";
                assert!(given_up == 0 || asked || was, "{name}, {what}: {end:?}");
            }
        }
    }
}
