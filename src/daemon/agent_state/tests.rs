//! Torn outputs: whatever is lost of a stream, the messages are those that a model accepts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::messages::Heard;
use crate::agents::AdapterKind;
use crate::agents::adapter::StartedAs;
use crate::domain::ids::RunId;
use crate::view::agent_state::message_log::{NO_RESULT, Role, flaw};

/// What happens in a run.
#[derive(Debug, Clone)]
enum Step {
    Says(String),
    /// Calls so many tools at once.
    Calls(u8),
    /// The oldest call without a result gets one.
    Answers,
}

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Stays,
    Goes,
    ComesTwice,
    /// Only so many percent of it are left, without an end of line.
    Torn(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        "[a-zé {}\"]{1,12}".prop_map(Step::Says),
        (1..4_u8).prop_map(Step::Calls),
        Just(Step::Answers),
        Just(Step::Answers),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        6 => Just(Fate::Stays),
        1 => Just(Fate::Goes),
        1 => Just(Fate::ComesTwice),
        1 => (0..100_usize).prop_map(Fate::Torn),
    ]
}

/// The lines of a run as the program writes them.
fn lines(kind: AdapterKind, steps: &[Step]) -> Vec<Value> {
    let mut lines = Vec::new();
    let (mut called, mut answered) = (0, 0);
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Says(text) => lines.push(says(kind, at, text)),
            Step::Calls(count) => {
                for _ in 0..*count {
                    called += 1;
                    lines.push(calls(kind, called));
                }
            }
            Step::Answers if answered < called => {
                answered += 1;
                lines.push(answers(kind, answered));
            }
            Step::Answers => {}
        }
    }
    lines
}

fn says(kind: AdapterKind, at: usize, text: &str) -> Value {
    match kind {
        AdapterKind::Claude => json!({"type": "assistant", "message": {"id": format!("m{at}"),
            "content": [{"type": "text", "text": text}]}}),
        _ => json!({"type": "item.completed",
            "item": {"id": format!("m{at}"), "type": "agent_message", "text": text}}),
    }
}

fn calls(kind: AdapterKind, call: usize) -> Value {
    match kind {
        AdapterKind::Claude => json!({"type": "assistant", "message": {"id": "m", "content": [
            {"type": "tool_use", "id": format!("t{call}"), "name": "Bash",
                "input": {"command": "ls"}}]}}),
        _ => json!({"type": "item.started", "item": {"id": format!("t{call}"),
            "type": "command_execution", "command": "ls"}}),
    }
}

fn answers(kind: AdapterKind, call: usize) -> Value {
    match kind {
        AdapterKind::Claude => json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": format!("t{call}"), "content": "x"}]}}),
        _ => json!({"type": "item.completed", "item": {"id": format!("t{call}"),
            "type": "command_execution", "command": "ls", "aggregated_output": "x",
            "status": "completed"}}),
    }
}

fn torn(lines: &[Value], fates: &[Fate]) -> Vec<u8> {
    let mut output = Vec::new();
    for (line, fate) in lines.iter().zip(fates.iter().cycle()) {
        let mut line = line.to_string();
        line.push('\n');
        match fate {
            Fate::Stays => output.extend(line.as_bytes()),
            Fate::Goes => {}
            Fate::ComesTwice => output.extend(line.repeat(2).as_bytes()),
            Fate::Torn(percent) => output.extend(&line.as_bytes()[..line.len() * percent / 100]),
        }
    }
    output
}

fn run(number: usize) -> RunId {
    format!("r{number:04}-ed-001-i{number}").parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn torn_outputs_end_in_valid_alternation(
        runs in prop::collection::vec(prop::collection::vec(step(), 0..12), 1..4),
        fates in prop::collection::vec(fate(), 1..9),
        claude in any::<bool>(),
    ) {
        let kind = if claude { AdapterKind::Claude } else { AdapterKind::Codex };
        let mut heard = Heard::default();
        for (number, steps) in (1..).zip(&runs) {
            let run = run(number);
            let output = torn(&lines(kind, steps), &fates);
            heard.log.begin_run(&run, (number % 3 != 0).then_some("Go on."));
            heard.read_output(&run, &StartedAs::new(kind), output.as_slice(), false).unwrap();
        }
        let (messages, repairs) = heard.log.finish();
        prop_assert_eq!(flaw(&messages), None, "{:#?}", messages);
        let added = messages.iter().filter(|it| it.role == Role::Tool && it.ok.is_none());
        let told = repairs.iter().filter(|it| it.what.contains("has no result"));
        prop_assert_eq!(added.count(), told.count());
        if fates.iter().all(|fate| *fate == Fate::Stays) {
            let others = repairs.iter().filter(|it| it.what.contains("left out"));
            prop_assert_eq!(others.count(), 0, "{:?}", repairs);
        }
    }
}

#[test]
fn an_output_is_told_whole() {
    let mut heard = Heard::default();
    let run = run(1);
    let steps = [Step::Says("I look.".into()), Step::Calls(2), Step::Answers];
    let output = lines(AdapterKind::Claude, &steps);
    let output = torn(&output, &[Fate::Stays]);
    heard.log.begin_run(&run, Some("Do it."));
    let started = StartedAs::new(AdapterKind::Claude);
    heard
        .read_output(&run, &started, output.as_slice(), false)
        .unwrap();
    let (messages, repairs) = heard.log.finish();
    let texts: Vec<&str> = messages.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["Do it.", "I look.", "x", NO_RESULT]);
    assert_eq!(messages[1].tool_calls.len(), 2);
    assert_eq!(repairs.len(), 1, "{repairs:?}");
}
