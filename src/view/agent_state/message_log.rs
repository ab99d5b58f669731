//! The messages between an agent and its model, put together from what its runs' outputs say.
//!
//! Invariant: whatever was lost, the log is one that a model accepts ([`flaw`] finds nothing): a
//! user's message first; each call of a tool has exactly one result, right behind the message that
//! made it; then the other side speaks. What had to be added or left out is in the repairs.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::ids::RunId;

/// Most bytes of one text; a longer one loses its middle.
const LONGEST: usize = 256 * 1024;
/// Most bytes of all texts; the oldest runs go first.
const MOST: usize = 64 * 1024 * 1024;
/// Most messages and calls of one run, and most repairs.
const MOST_OF_RUN: usize = 100_000;

/// Result of a call that has none.
pub const NO_RESULT: &str =
    "[no result: the run ended before; whether it took effect is not known]";
/// Answer to a prompt that has none.
pub const NO_ANSWER: &str = "[no answer: the run ended before]";
/// In place of a result for which there is no room.
const LEFT_OUT: &str = "[left out: the run said too much]";
/// In place of a prompt whose file is gone.
pub const NO_PROMPT: &str = "[the prompt of this run is gone]";

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = AgentStateRole)]
pub enum Role {
    /// Swarm, in the name of its user: the prompt of a run.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentStateMessage)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// The run that it is from.
    #[schema(value_type = String)]
    pub run: RunId,
    /// The text; of a tool, its output.
    pub text: String,
    /// Tools that the model calls with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub tool_calls: Vec<ToolCall>,
    /// Of a tool: the call that it answers. Ids are unique within a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub tool_call_id: Option<String>,
    /// Of a tool: whether it went well; `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub ok: Option<bool>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentStateCall)]
pub struct ToolCall {
    /// Its id, unique within the run.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// A shell's command, a file's path, or else the input as JSON.
    pub input: String,
}

/// What was added to the messages or left out, so that a model accepts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AgentStateRepair)]
pub struct Repair {
    /// The run.
    #[schema(value_type = String)]
    pub at: RunId,
    /// What was done, as a sentence without its end.
    pub what: String,
}

/// Puts the messages together, run by run, in the order of the output.
#[derive(Debug, Default)]
pub struct MessageLog {
    turns: Vec<Turn>,
    repairs: Vec<Repair>,
    /// First turn of the current run.
    first: usize,
    /// Calls of the current run, by id: the turn after the first one, and the place in it.
    called: HashMap<String, (usize, usize)>,
    /// Bytes of all texts.
    size: usize,
    /// Bytes of those before the current run.
    size_before: usize,
}

/// A prompt, or what the model says and calls until tools have answered.
#[derive(Debug)]
struct Turn {
    run: RunId,
    is_users: bool,
    text: String,
    calls: Vec<(ToolCall, Option<Answer>)>,
    is_answered: bool,
}

#[derive(Debug)]
struct Answer {
    text: String,
    ok: bool,
}

impl MessageLog {
    /// A run begins with this prompt; `None` if its file is gone.
    pub fn begin_run(&mut self, run: &RunId, prompt: Option<&str>) {
        self.drop_oldest();
        if let Some(last) = self.turns.last().filter(|last| last.is_users) {
            let before = last.run.clone();
            self.repair(&before, "the run has no answer: one that says so was added");
            self.push(&before, false, NO_ANSWER.to_owned());
        }
        if prompt.is_none() {
            self.repair(run, "the prompt is gone: one that says so was added");
        }
        self.first = self.turns.len();
        self.called.clear();
        self.size_before = self.size;
        let text = self.kept(run, "the prompt", prompt.unwrap_or(NO_PROMPT));
        self.push(run, true, text);
    }

    /// The model says this; pieces are joined.
    pub fn text(&mut self, run: &RunId, text: &str) {
        if text.is_empty() || self.is_full() {
            return;
        }
        let turn = self.speaking(run);
        let room = LONGEST.saturating_sub(turn.text.len());
        let kept = head(text, room);
        turn.text.push_str(kept);
        self.size += kept.len();
        if kept.len() < text.len() && room > 0 {
            self.repair(run, "what the model said was cut: its end was left out");
        }
    }

    /// The model calls a tool. An empty id stands for none.
    pub fn call(&mut self, run: &RunId, id: &str, tool: &str, input: &str) {
        if self.is_full() {
            return;
        }
        if self.called.contains_key(id) {
            return self.repair(run, &format!("the call `{id}` came twice and was left out"));
        }
        let input = self.kept(run, "the input of a call", input);
        let own = match id {
            "" => self.free_id(),
            id => id.to_owned(),
        };
        let call = ToolCall {
            id: own,
            tool: tool.to_owned(),
            input,
        };
        let id = call.id.clone();
        self.size += call.input.len();
        let turn = self.speaking(run);
        turn.calls.push((call, None));
        let place = turn.calls.len() - 1;
        self.called
            .insert(id, (self.turns.len() - 1 - self.first, place));
    }

    /// A tool has answered a call; further answers are joined. An empty id stands for the oldest
    /// call without an answer.
    pub fn result(&mut self, run: &RunId, id: &str, output: &str, ok: bool) {
        let place = match id {
            "" => self.oldest_open(),
            id => self.called.get(id).copied(),
        };
        let Some((turn, call)) = place else {
            return self.repair(
                run,
                &format!("a result without a call was left out: `{id}`"),
            );
        };
        let output = if self.is_full() {
            LEFT_OUT.to_owned()
        } else {
            self.kept(run, "the result of a call", output)
        };
        self.size += output.len();
        let turn = &mut self.turns[self.first + turn];
        turn.is_answered = true;
        match &mut turn.calls[call].1 {
            Some(answer) => {
                let room = LONGEST.saturating_sub(answer.text.len() + 1);
                answer.text.push('\n');
                answer.text.push_str(head(&output, room));
                answer.ok = ok;
            }
            answer @ None => *answer = Some(Answer { text: output, ok }),
        }
    }

    /// A line of the output was no message: a kill may have torn it.
    pub fn torn_line(&mut self, run: &RunId) {
        self.repair(run, "a torn line was left out");
    }

    /// The messages, and what was done to make them whole.
    pub fn finish(mut self) -> (Vec<Message>, Vec<Repair>) {
        self.drop_oldest();
        let Self {
            turns, mut repairs, ..
        } = self;
        let mut messages = Vec::new();
        for turn in turns {
            messages.extend(turn.into_messages(&mut repairs));
        }
        (messages, repairs)
    }

    fn push(&mut self, run: &RunId, is_users: bool, text: String) {
        self.size += text.len();
        self.turns.push(Turn {
            run: run.clone(),
            is_users,
            text,
            calls: vec![],
            is_answered: false,
        });
    }

    /// The model's present turn; another begins once a tool has answered.
    fn speaking(&mut self, run: &RunId) -> &mut Turn {
        let last = self.turns.last();
        let goes_on = last.is_some_and(|last| !last.is_users && !last.is_answered);
        if !goes_on {
            self.push(run, false, String::new());
        }
        let last = self.turns.len() - 1;
        &mut self.turns[last]
    }

    /// An id for a call that came without one.
    fn free_id(&self) -> String {
        let mut ids = (self.called.len() + 1..).map(|count| format!("call-{count}"));
        let free = ids.find(|id| !self.called.contains_key(id));
        free.unwrap_or_default()
    }

    /// The first call of the current run without a result.
    fn oldest_open(&self) -> Option<(usize, usize)> {
        let turns = self.turns.iter().skip(self.first).enumerate();
        turns.into_iter().find_map(|(at, turn)| {
            let call = turn.calls.iter().position(|(_, answer)| answer.is_none())?;
            Some((at, call))
        })
    }

    /// Whether there is no room for more of the current run.
    fn is_full(&self) -> bool {
        self.size - self.size_before > MOST
            || self.called.len() + self.turns.len() - self.first > MOST_OF_RUN
    }

    /// The text, without its middle if it is too long.
    fn kept(&mut self, run: &RunId, what: &str, text: &str) -> String {
        if text.len() <= LONGEST {
            return text.to_owned();
        }
        let (first, last) = (head(text, LONGEST / 2), tail(text, LONGEST / 2));
        let left_out = text.len() - first.len() - last.len();
        self.repair(
            run,
            &format!("{what} was cut: {left_out} bytes were left out"),
        );
        format!("{first}\n[{left_out} bytes left out]\n{last}")
    }

    /// Drops the oldest runs while there is too much, but never the last one.
    fn drop_oldest(&mut self) {
        while self.size > MOST && self.first > 0 {
            let later = self.turns.iter().skip(1).position(|turn| turn.is_users);
            let end = later.map_or(self.turns.len(), |at| at + 1);
            let run = self.turns[0].run.clone();
            self.size -= self
                .turns
                .drain(..end)
                .map(|turn| turn.size())
                .sum::<usize>();
            self.first = self.first.saturating_sub(end);
            self.size_before = self.size_before.min(self.size);
            self.repair(&run, "the run was left out: the messages are too long");
        }
    }

    fn repair(&mut self, run: &RunId, what: &str) {
        if self.repairs.len() >= MOST_OF_RUN {
            return;
        }
        self.repairs.push(Repair {
            at: run.clone(),
            what: what.to_owned(),
        });
    }
}

impl Turn {
    fn size(&self) -> usize {
        let answers = self.calls.iter().filter_map(|(_, answer)| answer.as_ref());
        let inputs = self.calls.iter().map(|(call, _)| call.input.len());
        let answers = answers.map(|answer| answer.text.len());
        self.text.len() + inputs.chain(answers).sum::<usize>()
    }

    /// The turn's message, and the results of its calls.
    fn into_messages(self, repairs: &mut Vec<Repair>) -> Vec<Message> {
        let message = |role, text| Message {
            role,
            run: self.run.clone(),
            text,
            tool_calls: vec![],
            tool_call_id: None,
            ok: None,
        };
        if self.is_users {
            return vec![message(Role::User, self.text)];
        }
        let mut results = Vec::with_capacity(self.calls.len());
        let mut own = message(Role::Assistant, self.text);
        for (call, answer) in self.calls {
            if answer.is_none() {
                let what = format!("the call `{}` has no result: one was added", call.id);
                let at = self.run.clone();
                repairs.push(Repair { at, what });
            }
            let ok = answer.as_ref().map(|answer| answer.ok);
            let text = answer.map_or_else(|| NO_RESULT.to_owned(), |answer| answer.text);
            results.push(Message {
                tool_call_id: Some(call.id.clone()),
                ok,
                ..message(Role::Tool, text)
            });
            own.tool_calls.push(call);
        }
        results.insert(0, own);
        results
    }
}

/// What a model would refuse of these messages; `None` if nothing.
pub fn flaw(messages: &[Message]) -> Option<String> {
    // How often each id is open: a model may use one twice.
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut before: Option<Role> = None;
    for (at, message) in messages.iter().enumerate() {
        let fits = match (message.role, before) {
            (Role::User, None | Some(Role::Assistant | Role::Tool))
            | (Role::Assistant, Some(Role::User | Role::Tool)) => open.is_empty(),
            (Role::Tool, Some(Role::Assistant | Role::Tool)) => {
                let id = message.tool_call_id.as_deref();
                id.is_some_and(|id| close(&mut open, id))
            }
            (Role::User, Some(Role::User))
            | (Role::Assistant, None | Some(Role::Assistant))
            | (Role::Tool, None | Some(Role::User)) => false,
        };
        if !fits {
            return Some(format!("message {at} is out of order"));
        }
        if message.role != Role::Assistant && !message.tool_calls.is_empty() {
            return Some(format!("message {at} calls tools, but is not the model's"));
        }
        for call in &message.tool_calls {
            *open.entry(&call.id).or_default() += 1;
        }
        before = Some(message.role);
    }
    let first = open.keys().min()?;
    Some(format!("the call `{first}` has no result"))
}

/// Closes a call with this id; returns whether one was open.
fn close(open: &mut HashMap<&str, usize>, id: &str) -> bool {
    match open.get_mut(id) {
        None => false,
        Some(1) => open.remove(id).is_some(),
        Some(times) => {
            *times -= 1;
            true
        }
    }
}

/// The first bytes, at most `max`, cut between characters.
fn head(text: &str, max: usize) -> &str {
    let cut = (0..=max.min(text.len())).rev();
    let end = cut.into_iter().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// The last bytes, at most `max`, cut between characters.
fn tail(text: &str, max: usize) -> &str {
    let cut = text.len().saturating_sub(max)..=text.len();
    let start = cut.into_iter().find(|at| text.is_char_boundary(*at));
    &text[start.unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    fn run(name: &str) -> RunId {
        name.parse().unwrap()
    }

    fn page(messages: &[Message]) -> String {
        let line = |message: &Message| {
            let calls: Vec<&str> = message.tool_calls.iter().map(|it| it.id.as_str()).collect();
            let answers = message.tool_call_id.as_deref().unwrap_or_default();
            format!("{:?} {:?} {calls:?} {answers}", message.role, message.text)
        };
        messages.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn results_stand_behind_their_calls_whenever_they_come() {
        let mut log = MessageLog::default();
        let one = run("r-1");
        log.begin_run(&one, Some("Do it."));
        log.text(&one, "I ");
        log.text(&one, "look.");
        log.call(&one, "a", "Bash", "ls");
        log.call(&one, "b", "Bash", "cat x");
        log.result(&one, "b", "x", false);
        log.text(&one, "Hm.");
        log.result(&one, "a", "y", true);
        log.result(&one, "a", "z", true);
        let (messages, repairs) = log.finish();
        assert_eq!(
            page(&messages),
            "User \"Do it.\" [] \nAssistant \"I look.\" [\"a\", \"b\"] \nTool \"y\\nz\" [] a\n\
            Tool \"x\" [] b\nAssistant \"Hm.\" [] "
        );
        assert_eq!((repairs, flaw(&messages)), (vec![], None));
        assert_eq!((messages[2].ok, messages[3].ok), (Some(true), Some(false)));
    }

    #[test]
    fn what_a_kill_tore_is_made_whole_and_told() {
        let mut log = MessageLog::default();
        let (one, two, three) = (run("r-1"), run("r-2"), run("r-3"));
        log.begin_run(&one, Some("Do it."));
        log.result(&one, "gone", "x", true);
        log.begin_run(&two, None);
        log.call(&two, "", "Bash", "rm x");
        log.torn_line(&two);
        // Ids are unique within a run only.
        log.begin_run(&three, Some("Go on."));
        log.call(&three, "call-1", "Bash", "ls");
        log.call(&three, "call-1", "Bash", "ls");
        log.result(&three, "", "y", true);
        let (messages, repairs) = log.finish();
        assert_eq!(flaw(&messages), None, "{messages:#?}");
        let texts: Vec<&str> = messages.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Do it.", NO_ANSWER, NO_PROMPT, "", NO_RESULT, "Go on.", "", "y"
            ]
        );
        assert_eq!(messages[4].ok, None);
        let told: Vec<(&str, &str)> = repairs
            .iter()
            .map(|repair| (repair.at.as_str(), repair.what.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("r-1", "a result without a call was left out: `gone`"),
                ("r-1", "the run has no answer: one that says so was added"),
                ("r-2", "the prompt is gone: one that says so was added"),
                ("r-2", "a torn line was left out"),
                ("r-3", "the call `call-1` came twice and was left out"),
                ("r-2", "the call `call-1` has no result: one was added"),
            ]
        );
    }

    #[test]
    fn long_texts_lose_their_middle_and_long_logs_their_oldest_runs() {
        let mut log = MessageLog::default();
        let runs: Vec<RunId> = (0..400).map(|n| run(&format!("r-{n}"))).collect();
        for one in &runs {
            log.begin_run(one, Some(&"é".repeat(LONGEST)));
            log.text(one, "Done.");
        }
        let (messages, repairs) = log.finish();
        assert!(messages[0].text.len() < LONGEST + 100);
        assert!(messages[0].text.contains("bytes left out]"));
        let size: usize = messages.iter().map(|message| message.text.len()).sum();
        assert!(size <= MOST, "{size}");
        assert_eq!(messages.last().unwrap().run, runs[399]);
        assert_eq!(flaw(&messages), None);
        let dropped = repairs.iter().filter(|it| it.what.contains("too long"));
        assert_eq!(dropped.count(), 400 - messages.len() / 2);
    }

    #[test]
    fn a_log_that_no_model_accepts_is_told() {
        let mut log = MessageLog::default();
        let one = run("r-1");
        log.begin_run(&one, Some("Do it."));
        log.call(&one, "a", "Bash", "ls");
        log.result(&one, "a", "y", true);
        log.text(&one, "Done.");
        let (messages, _) = log.finish();
        assert_eq!(flaw(&messages), None);
        for at in 0..3 {
            let mut broken = messages.clone();
            broken.remove(at);
            assert!(flaw(&broken).is_some(), "without {at}");
        }
        let mut broken = messages.clone();
        broken.truncate(2);
        assert!(flaw(&broken).is_some());
        let mut broken = messages;
        broken.swap(0, 3);
        assert!(flaw(&broken).is_some());
    }
}
