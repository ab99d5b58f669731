//! Which hooks are called is decided once: the log says so, and a changed rule changes no log.

use std::collections::BTreeMap;

use crate::domain::event::{DaemonStarted, Event, HookOwed, PauseSet, SettingsLoaded};
use crate::domain::hook::{HookName, HookSettings};
use crate::domain::operation::Command;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::domain::testkit::scenario::fold;
use crate::domain::testkit::{START, Scenario, settings};

const HOOK: HookSettings = HookSettings {
    timeout_ms: 30_000,
    veto_on_timeout: false,
    again: true,
};

fn with_hooks() -> Settings {
    Settings {
        hooks: HookName::ALL.map(|name| (name, HOOK)).into(),
        ..settings()
    }
}

/// What a log comes to that a daemon began.
fn after(events: Vec<Event>) -> State {
    let began = [
        Event::DaemonStarted(DaemonStarted {
            version: "1.0.0".into(),
            counters: None,
            host: None,
        }),
        Event::SettingsLoaded(SettingsLoaded {
            hash: "00".into(),
            settings: Box::new(with_hooks()),
        }),
    ];
    let log: Vec<_> = began
        .into_iter()
        .chain(events)
        .map(|e| (START, e))
        .collect();
    fold(&log)
}

fn pause() -> Event {
    Event::PauseSet(PauseSet {
        reason: "by hand".into(),
        command: None,
    })
}

fn owed(hook: HookName, of: &Event) -> Event {
    Event::HookOwed(HookOwed {
        hook,
        of: of.kind().to_owned(),
        idea: None,
        agent: None,
        facts: BTreeMap::new(),
    })
}

fn calls(state: &State) -> Vec<(HookName, u64)> {
    let calls = state.hooks.iter();
    calls.map(|call| (call.hook, call.seq)).collect()
}

#[test]
fn a_log_owes_what_it_says_whatever_the_rules() {
    assert_eq!(calls(&after(vec![pause()])), []);
    // A trigger that no rule knows.
    let lifted = Event::PauseLifted(crate::domain::event::PauseLifted {});
    let owed = owed(HookName::OnError, &lifted);
    let state = after(vec![pause(), owed, lifted]);
    assert_eq!(calls(&state), [(HookName::OnError, 5)]);
}

#[test]
fn a_call_goes_with_its_event_when_the_log_is_torn_between_them() {
    let torn = vec![owed(HookName::OnPause, &pause())];
    let again = Event::DaemonStarted(DaemonStarted {
        version: "1.0.0".into(),
        counters: None,
        host: None,
    });
    let state = after(torn.iter().cloned().chain([again]).collect());
    assert_eq!(calls(&state), []);
    assert!(state.hooks_announced.is_empty());
    // A snapshot of that moment has it.
    let state = after(torn);
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
}

#[test]
fn what_is_owed_is_in_the_decision_before_its_event() {
    let mut s = Scenario::with(|settings| settings.hooks = with_hooks().hooks);
    s.command(Command::Pause { reason: None });
    let kinds: Vec<&str> = s.log.iter().map(|(_, event)| event.kind()).collect();
    let place = kinds.iter().position(|kind| *kind == "pauseSet").unwrap();
    assert_eq!(kinds[place - 1], "hookOwed");
    let seq = place as u64 + 1;
    let about = s.log.iter().find_map(|(_, event)| match event {
        Event::HookStarted(started) => Some(started.about),
        _ => None,
    });
    assert_eq!(about, Some(seq));
}
