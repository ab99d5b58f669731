//! `swarm wait`: until an idea, or everything, is over.
//!
//! Invariant: nothing is asked unless an event came that can change the answer; the answer is a
//! pure function of the views.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::events::event_line;
use crate::cli::access::remote::Daemon;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, number, text, texts};
use crate::domain::ids::IdeaId;
use crate::domain::state::IdeaStatus;

/// `wait`. Needs the daemon.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 it came; 5 it ended badly (an idea is failed, timeout or blocked; or the one waited for is cancelled); \
6 a person is needed; 1 the time is over; 3 there is no daemon, or it has ended.

Examples:
  $ swarm wait
  $ swarm wait idea-003 --timeout 600
  $ swarm wait --until needs-you"
)]
pub struct Wait {
    /// Only this idea; left out: all.
    pub id: Option<IdeaId>,
    /// What to wait for; left out: `done` for one idea, `idle` for all.
    #[arg(long, value_name = "WHAT")]
    pub until: Option<Until>,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub timeout: Option<u64>,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// The idea, or every idea, has landed.
    Done,
    /// Nothing is active, ready or merging.
    Idle,
    /// Something needs a person: exit code 6. It ends with 0 when everything is over and nobody is
    /// needed.
    NeedsYou,
}

/// What is waited for, of what.
struct Wish {
    id: Option<IdeaId>,
    until: Until,
}

/// Waits.
pub fn run(args: &Wait, context: &mut Context) -> Result<(), CliError> {
    let by_itself = if args.id.is_some() {
        Until::Done
    } else {
        Until::Idle
    };
    let wish = Wish {
        id: args.id.clone(),
        until: args.until.unwrap_or(by_itself),
    };
    if wish.id.is_some() && wish.until == Until::Idle {
        return Err(CliError::new(
            Kind::Usage,
            "`--until idle` is about all ideas, not about one",
        )
        .hint("leave the id out: swarm wait --until idle"));
    }
    let seen = wait(&wish, args.timeout, &context.daemon()?)?;
    let words = match seen {
        Some(words) => words,
        None => after_the_end(&wish, context)?,
    };
    if context.output.json {
        return context.output.document(&json!({ "result": words }));
    }
    context.output.note(words);
    Ok(())
}

/// `None`: the daemon has ended before the answer was there.
fn wait(wish: &Wish, seconds: Option<u64>, daemon: &Daemon) -> Result<Option<String>, CliError> {
    let limit = Duration::from_secs(seconds.unwrap_or(u64::MAX));
    let waited = daemon.block_on(async {
        match tokio::time::timeout(limit, follow(wish, daemon)).await {
            Ok(seen) => seen,
            Err(_) => Err(too_late(seconds.unwrap_or_default())),
        }
    });
    match waited {
        Err(error) if error.kind == Kind::NoDaemon => Ok(None),
        waited => waited,
    }
}

fn too_late(seconds: u64) -> CliError {
    CliError::refused(format!(
        "{seconds} s are over, and it has not come to that yet"
    ))
    .hint("see what goes on: swarm status")
    .code("TIMEOUT")
}

async fn follow(wish: &Wish, daemon: &Daemon) -> Result<Option<String>, CliError> {
    let mut look = Look::at(wish, daemon).await?;
    let mut events = daemon
        .stream(&format!("events?since={}&follow=true", look.seq()))
        .await?;
    loop {
        if let Some(verdict) = verdict(wish, &look) {
            return verdict.map(Some);
        }
        loop {
            let Some(line) = daemon.next_line(&mut events).await? else {
                return Ok(None);
            };
            let event = event_line(&line)?;
            if event.is_some_and(|event| matters(&event, look.seq())) {
                break;
            }
        }
        look = Look::at(wish, daemon).await?;
    }
}

/// Whether an event can change the answer that was true at `seen`.
fn matters(event: &Value, seen: u64) -> bool {
    const IDLE_TALK: [&str; 5] = [
        "mark",
        "runStarted",
        "signalSeen",
        "learned",
        "effectRequested",
    ];
    number(event, "seq") > seen && !IDLE_TALK.contains(&text(event, "kind"))
}

/// The daemon ends by itself when all is done, so the files may know the answer.
fn after_the_end(wish: &Wish, context: &Context) -> Result<String, CliError> {
    let look = context.with_access(|access| {
        Ok(Look {
            status: access.status()?,
            idea: wish.id.as_ref().map(|id| access.idea(id)).transpose()?,
        })
    })?;
    let ended = || {
        CliError::new(
            Kind::NoDaemon,
            "the daemon has ended before it came to that",
        )
        .hint("start it again: swarm start")
    };
    match verdict(wish, &look) {
        // Without a daemon nothing moves; that is no reason to call a person.
        Some(Err(error)) if error.stable_code() == STUCK => Err(ended()),
        Some(verdict) => verdict,
        None => Err(ended()),
    }
}

/// What one look sees.
struct Look {
    status: Value,
    idea: Option<Value>,
}

impl Look {
    async fn at(wish: &Wish, daemon: &Daemon) -> Result<Self, CliError> {
        // The idea after the status: it is then not older than the number of the last event.
        let status = daemon.ask("status").await?;
        let idea = match &wish.id {
            Some(id) => Some(daemon.ask(&format!("ideas/{id}")).await?),
            None => None,
        };
        Ok(Self { status, idea })
    }

    fn seq(&self) -> u64 {
        number(&self.status, "lastSeq")
    }

    fn rest(&self) -> &str {
        text(&self.status, "rest")
    }

    fn count(&self, wanted: impl Fn(IdeaStatus) -> bool) -> u64 {
        let counted = IdeaStatus::ALL.into_iter().filter(|status| wanted(*status));
        counted
            .map(|status| number(&self.status["ideas"], status.as_str()))
            .sum()
    }

    /// The first thing that needs a person, of one idea or of all.
    fn need(&self, id: Option<&IdeaId>) -> Option<CliError> {
        let concerns = |need: &&Value| id.is_none_or(|id| text(need, "ideaId") == id.as_str());
        let need = list(&self.status, "needsYou").iter().find(concerns)?;
        let mut error = CliError::new(Kind::NeedsPerson, text(need, "message"));
        error.hints = texts(need, "commands")
            .into_iter()
            .map(str::to_owned)
            .collect();
        Some(error)
    }
}

/// The code of "nothing moves it by itself".
const STUCK: &str = "STUCK";

/// The answer, once there is one.
fn verdict(wish: &Wish, look: &Look) -> Option<Result<String, CliError>> {
    match (&wish.id, &look.idea) {
        (Some(id), Some(idea)) => one(id, idea, wish.until, look),
        _ => all(wish.until, look),
    }
}

fn one(id: &IdeaId, idea: &Value, until: Until, look: &Look) -> Option<Result<String, CliError>> {
    let status = text(idea, "status");
    let bad = IdeaStatus::ALL
        .into_iter()
        .any(|bad| bad.as_str() == status && bad.is_bad());
    match status {
        "done" => return Some(Ok(format!("{id} is done"))),
        "cancelled" if until == Until::NeedsYou => return Some(Ok(format!("{id} is cancelled"))),
        "cancelled" => {
            let error = CliError::new(Kind::EndedBadly, format!("{id} is cancelled"));
            return Some(Err(
                error.hint(format!("if it is wanted after all: swarm idea retry {id}"))
            ));
        }
        _ if bad && until == Until::Done => return Some(Err(ended_badly(id, idea))),
        _ => {}
    }
    if let Some(need) = look.need(Some(id)) {
        return Some(Err(need));
    }
    stands_still(look).then(|| Err(stuck(&format!("{id} is {status}"), look)))
}

fn ended_badly(id: &IdeaId, idea: &Value) -> CliError {
    let message = format!(
        "{id} is {}: {}",
        text(idea, "status"),
        text(idea, "lastError")
    );
    CliError::new(Kind::EndedBadly, message.trim_end_matches(": "))
        .hint(format!("see its history: swarm idea show {id}"))
        .hint(format!("give it a fresh start: swarm idea retry {id}"))
}

fn all(until: Until, look: &Look) -> Option<Result<String, CliError>> {
    if until == Until::NeedsYou
        && let Some(need) = look.need(None)
    {
        return Some(Err(need));
    }
    if !stands_still(look) {
        return None;
    }
    let bad = look.count(IdeaStatus::is_bad);
    if bad > 0 && until != Until::NeedsYou {
        let ideas = if bad == 1 { "idea is" } else { "ideas are" };
        let message = format!("{bad} {ideas} failed, timeout or blocked");
        let error = CliError::new(Kind::EndedBadly, message);
        return Some(Err(error.hint("see which and why: swarm status")));
    }
    let over = |status| matches!(status, IdeaStatus::Done | IdeaStatus::Cancelled);
    let left = look.count(|status| !over(status));
    if look.rest() == "needsPerson" || (left > 0 && until == Until::Done) {
        let stuck = stuck(&format!("{left} ideas are left"), look);
        return Some(Err(look.need(None).unwrap_or(stuck)));
    }
    Some(Ok("nothing is active, ready or merging".into()))
}

/// Whether nothing happens by itself any more. A daemon that does not say so is taken to be busy.
fn stands_still(look: &Look) -> bool {
    matches!(look.rest(), "idle" | "needsPerson")
}

fn stuck(what: &str, look: &Look) -> CliError {
    let why = match (text(&look.status, "phase"), text(&look.status, "mode")) {
        ("paused" | "pausing", _) => "the swarm is paused",
        (_, "semi-auto") => "in semi-auto mode a person assigns ideas",
        _ => "what it waits for does not come by itself",
    };
    CliError::new(
        Kind::NeedsPerson,
        format!("{what}, and nothing moves by itself: {why}"),
    )
    .hint("see what is needed: swarm status")
    .code(STUCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(status: Value, idea: Option<Value>) -> Look {
        Look { status, idea }
    }

    fn code(until: Until, look: &Look) -> Option<u8> {
        let id = look.idea.as_ref().map(|_| IdeaId::numbered(1));
        let verdict = verdict(&Wish { id, until }, look)?;
        Some(verdict.map_or_else(|error| error.kind.exit_code(), |_| 0))
    }

    #[test]
    fn one_idea_is_waited_for_until_it_is_over() {
        let busy = json!({"rest": "busy", "ideas": {}, "needsYou": []});
        let cases = [
            ("pending", None),
            ("active", None),
            ("merging", None),
            ("done", Some(0)),
            ("failed", Some(5)),
            ("timeout", Some(5)),
            ("blocked", Some(5)),
            ("cancelled", Some(5)),
        ];
        for (status, expected) in cases {
            let idea = json!({"status": status, "lastError": "why"});
            assert_eq!(
                code(Until::Done, &look(busy.clone(), Some(idea))),
                expected,
                "{status}"
            );
        }
    }

    #[test]
    fn an_idea_that_needs_a_person_says_so_with_the_commands() {
        let needs = json!([
            {"kind": "conflict", "ideaId": "idea-002", "message": "another", "commands": []},
            {"kind": "question", "ideaId": "idea-001", "message": "which port?", "commands": ["swarm agent say"]},
        ]);
        let status = json!({"rest": "busy", "ideas": {}, "needsYou": needs});
        let look = look(status, Some(json!({"status": "active"})));
        let wish = Wish {
            id: Some(IdeaId::numbered(1)),
            until: Until::Done,
        };
        let error = verdict(&wish, &look).unwrap().unwrap_err();
        assert_eq!(error.kind.exit_code(), 6);
        assert_eq!(
            (error.message.as_str(), error.hints[0].as_str()),
            ("which port?", "swarm agent say")
        );
    }

    #[test]
    fn an_idea_that_nothing_moves_does_not_wait_for_ever() {
        for (rest, mode) in [("idle", "semi-auto"), ("needsPerson", "autopilot")] {
            let status =
                json!({"rest": rest, "mode": mode, "ideas": {"pending": 1}, "needsYou": []});
            let look = look(status, Some(json!({"status": "pending"})));
            assert_eq!(code(Until::Done, &look), Some(6));
        }
    }

    #[test]
    fn all_ideas_are_waited_for_until_nothing_moves() {
        let at = |rest: &str, ideas: Value, needs: Value| {
            look(
                json!({"rest": rest, "ideas": ideas, "needsYou": needs}),
                None,
            )
        };
        let need = json!([{"kind": "held", "message": "ready", "commands": []}]);
        let none = json!([]);
        let cases = [
            (
                Until::Idle,
                at("busy", json!({"failed": 1}), none.clone()),
                None,
            ),
            (
                Until::Idle,
                at("idle", json!({"done": 2, "pending": 1}), none.clone()),
                Some(0),
            ),
            (
                Until::Idle,
                at("idle", json!({"done": 2, "timeout": 1}), none.clone()),
                Some(5),
            ),
            (
                Until::Idle,
                at("needsPerson", json!({"merging": 1}), need.clone()),
                Some(6),
            ),
            (
                Until::Done,
                at("idle", json!({"done": 2, "cancelled": 1}), none.clone()),
                Some(0),
            ),
            (
                Until::Done,
                at("idle", json!({"done": 2, "pending": 1}), none.clone()),
                Some(6),
            ),
            (Until::NeedsYou, at("busy", json!({}), none.clone()), None),
            (Until::NeedsYou, at("busy", json!({}), need), Some(6)),
            (
                Until::NeedsYou,
                at("idle", json!({"done": 1}), none.clone()),
                Some(0),
            ),
            (Until::Idle, at("", json!({}), none), None),
        ];
        for (until, look, expected) in cases {
            assert_eq!(code(until, &look), expected, "{until:?} {}", look.status);
        }
    }

    #[test]
    fn only_news_that_can_matter_is_looked_into() {
        let event = |seq: u64, kind: &str| json!({"seq": seq, "kind": kind});
        assert!(matters(&event(8, "ideaLanded"), 7));
        assert!(!matters(&event(7, "ideaLanded"), 7));
        assert!(!matters(&event(8, "mark"), 7));
    }
}
