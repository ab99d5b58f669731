//! Events: lines of any shape are read or refused, and folding events is total.

use swarm::domain::event::Event;
use swarm::domain::evolve::evolve;
use swarm::domain::state::State;
use swarm::domain::time::Timestamp;
use swarm::journal::Record;
use swarm::view;

/// See the module. Each line is an event, or an event in its record.
pub fn check(data: &[u8]) {
    let mut state = State::default();
    for line in data.split(|byte| *byte == b'\n') {
        let event = serde_json::from_slice::<Event>(line);
        let record = serde_json::from_slice::<Record<Event>>(line);
        if let Some(event) = event.ok().or(record.ok().map(|record| record.event)) {
            written_and_read(&event);
            let seq = state.seq + 1;
            evolve(&mut state, seq, Timestamp::from_millis(0), &event);
            assert_eq!(state.seq, seq);
        }
    }
    // What a snapshot holds comes back as it was.
    let text = serde_json::to_vec(&state).expect("a state can be written");
    let back: State = serde_json::from_slice(&text).expect("what was written can be read");
    assert_eq!(back, state);
    let _ = view::rest(&state);
    drop(view::status(&state, view::Outside::default()));
    drop(view::ideas(&state, None));
}

fn written_and_read(event: &Event) {
    let text = serde_json::to_vec(event).expect("an event can be written");
    let back: Event = serde_json::from_slice(&text).expect("what was written can be read");
    assert_eq!(&back, event);
    assert!(!text.contains(&b'\n'));
}
