//! What a daemon says as soon as it is asked to stop: what it waits for, how long, and how to stop
//! it at once.

use super::event_parts::effect_words;
use super::text::{safe, title};
use crate::domain::effect::{self, Effect, Purpose};
use crate::domain::state::State;

/// At most this many things are named; the rest are counted.
const NAMED: usize = 6;

/// One line for what the daemon waits for, one for a second Ctrl+C; safe to print.
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
        "stopping: nothing is running".to_owned()
    } else {
        format!(
            "stopping: waiting up to {seconds} s for {}; whatever is still running then is \
            stopped without a penalty, and the next start continues it",
            under_way.join(", ")
        )
    };
    let second = "press Ctrl+C again to stop at once (exit code 130): agents keep running, and \
        the next start adopts them";
    [safe(&first), second.to_owned()]
}

/// Describes an effect that the end waits for; `None` for effects that take only a moment.
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
        Effect::StopRun(_) | Effect::ArchiveInbox(_) | Effect::Notify(_) => None,
        Effect::PrepareWorktree(_)
        | Effect::Run(_)
        | Effect::Seal(_)
        | Effect::SaveWork(_)
        | Effect::BuildMerge(_)
        | Effect::PrepareVerify(_)
        | Effect::PrepareBaseline(_)
        | Effect::Land(_)
        | Effect::StartResolution(_)
        | Effect::FinishResolution(_)
        | Effect::ReleaseWorktree(_)
        | Effect::LendWorktree(_)
        | Effect::MakeCheckpoint(_)
        | Effect::DeleteCheckpoint(_)
        | Effect::CheckRollback(_)
        | Effect::MoveTarget(_)
        | Effect::JudgeReplay(_) => Some(title(&effect_words(effect), 80)),
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
        let expected = "stopping: waiting up to 5 s for ed-001 (iteration 2), delete checkpoint \
            one; whatever is still";
        assert!(first.starts_with(expected), "{first}");
        assert!(
            second.contains("130") && second.contains("adopts"),
            "{second}"
        );
        let [many, _] = waiting(&state((1..=9).map(iteration)));
        assert!(many.contains(", 3 more; whatever"), "{many}");
    }

    #[test]
    fn an_idle_daemon_waits_for_nothing() {
        assert_eq!(waiting(&state([]))[0], "stopping: nothing is running");
    }
}
