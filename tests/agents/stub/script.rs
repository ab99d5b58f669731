//! What the model does, step by step, and which step a request is at.
//!
//! Invariant: the place in a script is read off the conversation that the request carries, never
//! off the connection or the time. A run that is killed and taken up again finds its place by what
//! its program remembered, and a fresh conversation begins at the first step.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

/// What stands before a script in a prompt.
pub const MARK: &str = "STUB:";

/// One answer of the model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Step {
    /// Shell code that the agent's own tool is to run.
    pub sh: Option<String>,
    /// The end of the name of another tool that is called; programs put the server's name in front.
    pub tool: Option<String>,
    /// Its arguments.
    pub args: Value,
    /// What is said, before the tool is called or as the whole answer.
    pub text: String,
    /// A signal, on a line of its own after the text. In a prompt it must not stand in its own
    /// form.
    pub say: Option<String>,
    /// An HTTP failure instead.
    pub fail: Option<Failure>,
    /// So many times the connection is cut in the middle of the answer.
    pub cut: u32,
    /// So many times nothing comes after the answer's beginning, while the connection stays.
    pub hang: u32,
    /// The answer waits until the test lets it go ([`super::Stub::release`]).
    pub wait: Option<String>,
    /// The text comes in at least so many pieces.
    pub pieces: usize,
    /// So long after each piece.
    pub piece_millis: u64,
}

/// An HTTP failure.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Failure {
    /// The status.
    pub status: u16,
    /// So often; where it is left out, until the reset or for ever.
    #[serde(default)]
    pub times: Option<u32>,
    /// `retry-after`, in seconds.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// The account's limit is used up and reset at this time (seconds since 1970); from then on
    /// nothing fails.
    #[serde(default)]
    pub reset: Option<u64>,
    /// The message; one that fits the status where it is left out.
    #[serde(default)]
    pub message: Option<String>,
}

impl Step {
    /// Whether it calls a tool.
    pub fn calls(&self) -> bool {
        self.sh.is_some() || self.tool.is_some()
    }

    /// Everything that it says.
    pub fn words(&self) -> String {
        match &self.say {
            Some(signal) => format!("{}\n<swarm>{signal}</swarm>", self.text),
            None => self.text.clone(),
        }
    }
}

/// What a conversation consists of, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Somebody spoke to the model.
    User(String),
    /// The model called a tool.
    Call,
    /// What the tool gave.
    Result(String),
    /// The model said this.
    Said(String),
}

/// Where a request is.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The script's text, which tells it from others.
    pub script: String,
    /// Its steps.
    pub steps: Vec<Step>,
    /// The number of the step that answers.
    pub step: usize,
    /// What tools gave since the script began.
    pub results: Vec<String>,
}

impl Place {
    /// Each tool result and each finished answer since the script is one step; at its end the last
    /// step is repeated. What the model is said to have said counts only if it was really `served`:
    /// programs write their own messages into a conversation.
    pub fn of(items: &[Item], served: &HashSet<String>) -> Self {
        let mut place = Self::default();
        let mut ended = false;
        for item in items {
            match item {
                Item::User(text) => {
                    if let Some((script, steps)) = script_in(text) {
                        place = Self {
                            script,
                            steps,
                            ..Self::default()
                        };
                    } else if ended {
                        place.step += 1;
                    }
                    ended = false;
                }
                Item::Call => ended = false,
                Item::Result(text) => {
                    place.step += 1;
                    place.results.push(text.clone());
                    ended = false;
                }
                Item::Said(text) => ended = served.contains(text.trim()),
            }
        }
        place.step = place.step.min(place.steps.len().saturating_sub(1));
        place
    }

    /// The step that answers.
    pub fn answer(&self) -> Step {
        self.steps.get(self.step).cloned().unwrap_or_else(|| Step {
            text: "There is no script in this conversation.".to_owned(),
            ..Step::default()
        })
    }
}

/// The last script in a text: it ends where its JSON ends.
fn script_in(text: &str) -> Option<(String, Vec<Step>)> {
    let (_, rest) = text.rsplit_once(MARK)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let script = value.to_string();
    let steps = serde_json::from_value(value).unwrap_or_else(|error| {
        vec![Step {
            text: format!("The script cannot be read: {error}"),
            ..Step::default()
        }]
    });
    Some((script, steps))
}

#[test]
fn the_place_is_read_off_the_conversation() {
    let user = |text: &str| Item::User(text.to_owned());
    let said = |text: &str| Item::Said(text.to_owned());
    let prompt =
        user(r#"Do it. STUB:[{"sh":"a"},{"text":"b"},{"sh":"c"},{"say":"COMPLETE"}] and more"#);
    let served = HashSet::from(["b".to_owned()]);
    let mut items = vec![prompt];
    assert_eq!(Place::of(&items, &served).step, 0);
    items.extend([said("b"), Item::Call, Item::Result("r".into())]);
    assert_eq!(Place::of(&items, &served).step, 1);
    items.extend([said("b"), user("go on"), user("with this")]);
    let place = Place::of(&items, &served);
    assert_eq!((place.step, &place.results[..]), (2, &["r".to_owned()][..]));
    // A message of the program's own is no step.
    items.extend([said("API Error"), user("go on")]);
    assert_eq!(Place::of(&items, &served).step, 2);
    items.extend([
        Item::Call,
        Item::Result("s".into()),
        Item::Result("t".into()),
    ]);
    let place = Place::of(&items, &served);
    assert_eq!(
        (place.step, place.answer().words()),
        (3, "\n<swarm>COMPLETE</swarm>".to_owned())
    );
}
