//! A disk that is full when a daemon starts or ends: what a start says is said as soon as there is
//! room, before anything else; an end whose time is over comes.

use super::site::{Alive, Site, Still, pass, wall};
use crate::daemon::actor::Ended;
use crate::domain::lifecycle::SwarmPhase;
use crate::domain::operation::Command;
use crate::domain::state::State;
use crate::domain::testkit::{new_idea, settings};
use crate::journal::testing::faulty::{ENOSPC, Fault, Faults};

fn first() -> Vec<Command> {
    let load = Command::LoadSettings {
        hash: "hash".into(),
        settings: Box::new(settings()),
    };
    vec![load]
}

fn begin(site: &mut Site) -> Alive {
    let journal = site.open().unwrap();
    let (state, _) = site.load();
    Alive::new(site, journal, state, first())
}

/// A daemon that has tried to write its start, and could not.
async fn without_room(site: &mut Site) -> Alive {
    let mut alive = begin(site);
    let before = alive.handle.read(|state| state.seq);
    site.faults.stand("write", Fault::Error(ENOSPC, 0));
    alive.ask(Command::AddIdea(new_idea("refused")));
    alive.rest().await;
    let (_, answer) = alive.answers().swap_remove(0);
    answer.unwrap_err();
    assert_eq!(alive.handle.read(|state| state.seq), before);
    site.faults.mend();
    alive
}

async fn configured_as_soon_as_there_is_room() {
    let mut site = Site::new(1 << 20);
    let mut alive = without_room(&mut site).await;
    pass(1_001).await;
    alive.rest().await;
    let state = alive.handle.read(State::clone);
    assert_eq!(state.swarm.phase, SwarmPhase::Running);
    assert!(state.settings.is_some(), "the configuration is lost");
    alive.kill();
}

async fn ended_before_it_was_tried_again() {
    let mut site = Site::new(1 << 20);
    let mut alive = without_room(&mut site).await;
    alive.ask(Command::Shutdown { keep_agents: false });
    alive.finish().await;
    assert!(matches!(alive.ended, Some(Ended::Cleanly { .. })));
    let state = alive.handle.read(State::clone);
    assert_eq!(state.swarm.phase, SwarmPhase::Stopped);
    assert!(state.settings.is_some(), "the configuration is lost");
    alive.kill();
}

/// An agent is waited for.
async fn draining(site: &mut Site) -> (Alive, State) {
    let mut alive = begin(site);
    alive.ask(Command::AddIdea(new_idea("do it")));
    alive.rest().await;
    alive.ask(Command::Shutdown { keep_agents: false });
    alive.rest().await;
    let state = alive.handle.read(State::clone);
    assert_eq!(state.swarm.phase, SwarmPhase::Draining);
    (alive, state)
}

/// What the log knows of an end is that of the daemon before.
async fn started_after_one_that_was_killed_while_it_ended() {
    let mut site = Site::new(1 << 20);
    let (alive, _) = draining(&mut site).await;
    alive.kill();
    pass(60_000).await;
    site.faults = Faults::default();
    let mut alive = without_room(&mut site).await;
    assert_eq!(alive.ended, None, "the end of another daemon");
    pass(1_001).await;
    alive.rest().await;
    assert_eq!(alive.ended, None);
    let phase = alive.handle.read(|state| state.swarm.phase);
    assert_eq!(phase, SwarmPhase::Running);
    alive.kill();
}

#[test]
fn a_start_without_room_is_not_an_end_that_is_overdue() {
    Still::new().block_on(started_after_one_that_was_killed_while_it_ended());
}

/// An agent is waited for, and nothing can be written any more.
async fn ended_without_room() {
    let mut site = Site::new(1 << 20);
    let (mut alive, state) = draining(&mut site).await;
    site.faults.stand("write", Fault::Error(ENOSPC, 0));
    let left = state.swarm.drain_deadline.unwrap().since(wall());
    pass(left + 100).await;
    alive.rest().await;
    assert_eq!(alive.ended, None, "there may be room again");
    pass(900).await;
    alive.rest().await;
    assert!(matches!(alive.ended, Some(Ended::DiskFailed(_))));
    alive.kill();
}

#[test]
fn an_end_that_cannot_be_written_down_comes_in_time_all_the_same() {
    Still::new().block_on(ended_without_room());
}

#[test]
fn a_start_that_could_not_be_written_is_written_whole_later() {
    Still::new().block_on(configured_as_soon_as_there_is_room());
}

#[test]
fn an_end_that_is_asked_for_meanwhile_comes_after_it() {
    Still::new().block_on(ended_before_it_was_tried_again());
}
