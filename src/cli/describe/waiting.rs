//! What a daemon that was asked to end says at once: what it waits for, for how long, and how to
//! wait no longer.

use super::event_parts::effect_words;
use crate::cli::output::terminal::{safe, title};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::state::State;

/// The most that is named; of the rest, the number.
const NAMED: usize = 6;

/// One line for what is waited for, one for a second Ctrl+C; safe to be shown.
pub fn waiting(state: &State) -> [String; 2] {
    let effects = state.outbox.values();
    let mut under_way: Vec<String> = effects
        .filter_map(|effect| describe_effect(state, effect))
        .collect();
    let more = under_way.len().saturating_sub(NAMED);
    under_way.truncate(NAMED);
    if more > 0 {
        under_way.push(format!("{more} more"));
    }
    let grace = state.settings.as_deref().map_or(0, |it| it.grace_ms);
    let seconds = (grace + 999) / 1_000;
    let first = if under_way.is_empty() {
        "ending: nothing is under way".to_owned()
    } else {
        format!(
            "ending: waiting at most {seconds} s for {}; what is not over by then is stopped \
            without a penalty, and the next start goes on with it",
            under_way.join(", ")
        )
    };
    let second = "Ctrl+C again ends it at once (exit code 130): agents go on under their runners, \
        and the next start adopts them";
    [safe(&first), second.to_owned()]
}

/// What an effect is for those who wait for it; of what is over in a moment, nothing.
fn describe_effect(state: &State, effect: &Effect) -> Option<String> {
    match effect {
        Effect::Run(effect::Run {
            purpose: Purpose::Iteration {
                agent, iteration, ..
            },
            ..
        }) => {
            let attempt = state.agents.get(agent);
            let idea = attempt.map_or_else(String::new, |attempt| format!(" of {}", attempt.idea));
            Some(format!("{agent} (iteration {iteration}{idea})"))
        }
        Effect::StopRun(_) | Effect::ArchiveInbox(_) => None,
        Effect::PrepareWorktree(_)
        | Effect::Run(_)
        | Effect::Seal(_)
        | Effect::SaveWork(_)
        | Effect::BuildMerge(_)
        | Effect::PrepareVerify(_)
        | Effect::Land(_)
        | Effect::StartResolution(_)
        | Effect::FinishResolution(_)
        | Effect::ReleaseWorktree(_)
        | Effect::MakeCheckpoint(_)
        | Effect::DeleteCheckpoint(_)
        | Effect::CheckRollback(_)
        | Effect::MoveTarget(_) => Some(title(&effect_words(effect), 80)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::testkit;
    use crate::domain::event::{EffectRequested, Event};
    use crate::domain::evolve::evolve;
    use crate::domain::ids::{EffectId, RunId};
    use crate::domain::time::Timestamp;

    fn state(effects: impl IntoIterator<Item = Effect>) -> State {
        let mut state = State {
            settings: Some(Box::new(testkit::settings())),
            ..State::default()
        };
        for (number, effect) in (1..).zip(effects) {
            let id = EffectId(number);
            let requested = Event::EffectRequested(EffectRequested { id, effect });
            evolve(&mut state, number, Timestamp::from_millis(0), &requested);
        }
        state
    }

    fn iteration(number: u64) -> Effect {
        Effect::Run(effect::Run {
            run: RunId::numbered(number, "ed-001-i2"),
            purpose: Purpose::Iteration {
                agent: testkit::agent(),
                iteration: 2,
                profile: "ed".parse().unwrap(),
            },
            timeout_ms: 1,
        })
    }

    #[test]
    fn it_names_agents_with_their_iteration_and_the_rest_in_words() {
        let archive = Effect::ArchiveInbox(effect::ArchiveInbox {
            name: "a.md".into(),
            sha256: "00".into(),
        });
        let make = Effect::DeleteCheckpoint(effect::DeleteCheckpoint {
            name: "one".parse().unwrap(),
            in_use: vec![],
            keep: None,
        });
        let [first, second] = waiting(&state([iteration(1), archive, make]));
        let expected = "ending: waiting at most 5 s for ed-001 (iteration 2), delete checkpoint \
            one; what is not";
        assert!(first.starts_with(expected), "{first}");
        assert!(
            second.contains("130") && second.contains("adopts"),
            "{second}"
        );
        let [many, _] = waiting(&state((1..=9).map(iteration)));
        assert!(many.contains(", 3 more; what"), "{many}");
    }

    #[test]
    fn where_nothing_is_under_way_nothing_is_waited_for() {
        assert_eq!(waiting(&state([]))[0], "ending: nothing is under way");
    }
}
