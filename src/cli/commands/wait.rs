//! `swarm wait`: waits until one idea, or everything, is finished.
//!
//! Invariant: the views are fetched again only after an event that can change the answer; the
//! answer is a pure function of the views.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::events::event_line;
use crate::cli::access::ids::Typed;
use crate::cli::access::remote::Daemon;
use crate::cli::context::Context;
use crate::cli::error::{CliError, Kind};
use crate::cli::json::{list, number, text, texts};
use crate::domain::ids::IdeaId;
use crate::domain::state::IdeaStatus;
use crate::view;

/// `wait`. Needs the daemon, unless what it waits for is over already.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 finished; 5 ended badly (an idea is failed, timeout or blocked, or \
the one you wait for is cancelled); \
6 something needs you; 1 timed out; 3 no daemon is running, or it stopped, before there was an \
answer.

Examples:
  $ swarm wait
  $ swarm wait idea-003 --timeout 600
  $ swarm wait --until needs-you"
)]
pub struct Wait {
    /// Wait only for this idea. Default: all ideas.
    pub id: Option<Typed<IdeaId>>,
    /// What to wait for. Default: `done` for one idea, `idle` for all.
    #[arg(long, value_name = "WHAT")]
    pub until: Option<Until>,
    /// Give up after this many seconds.
    #[arg(long, value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub timeout: Option<u64>,
}

/// What can be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// The idea, or every idea, is done.
    Done,
    /// Nothing is active, ready or merging.
    Idle,
    /// Something needs you (exit code 6), or everything is finished (exit code 0).
    NeedsYou,
}

/// What to wait for.
struct Wish {
    id: Option<IdeaId>,
    until: Until,
}

/// Waits, and reports the result.
pub fn run(args: &Wait, context: &mut Context) -> Result<(), CliError> {
    let by_itself = if args.id.is_some() {
        Until::Done
    } else {
        Until::Idle
    };
    let meant = |id| context.with_access(|access| access.idea_id(id));
    let wish = Wish {
        id: args.id.as_ref().map(meant).transpose()?,
        until: args.until.unwrap_or(by_itself),
    };
    if wish.id.is_some() && wish.until == Until::Idle {
        return Err(CliError::new(
            Kind::Usage,
            "`--until idle` waits for all ideas, so it takes no idea id",
        )
        .hint("leave out the id: swarm wait --until idle"));
    }
    let words = match Daemon::connect(&context.repo()?)? {
        Some(daemon) => match wait(&wish, args.timeout, &daemon)? {
            Some(words) => words,
            None => after_the_end(&wish, context)?,
        },
        None => over_already(&wish, context)?,
    };
    if context.output.json {
        return context.output.document(&json!({ "result": words }));
    }
    context.output.note(words);
    Ok(())
}

/// `None` if the daemon stopped before there was an answer.
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
    CliError::refused(format!("timed out after {seconds} s"))
        .hint("see what is still running: swarm status")
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

/// Without a daemon nothing that is still open goes on, so only what is over has an answer.
fn over_already(wish: &Wish, context: &Context) -> Result<String, CliError> {
    let mut look = recorded(wish, context)?;
    if look.is_over() {
        // What the next start has to tidy up is nothing to wait for.
        look.status["rest"] = "idle".into();
        return verdict(wish, &look).unwrap_or_else(|| Err(CliError::no_daemon()));
    }
    Err(CliError::no_daemon())
}

fn recorded(wish: &Wish, context: &Context) -> Result<Look, CliError> {
    context.with_access(|access| {
        Ok(Look {
            status: access.status()?,
            idea: wish.id.as_ref().map(|id| access.idea(id)).transpose()?,
        })
    })
}

/// A daemon may stop by itself when all is done, so the files may have the answer.
fn after_the_end(wish: &Wish, context: &Context) -> Result<String, CliError> {
    let look = recorded(wish, context)?;
    let ended = || {
        CliError::new(
            Kind::NoDaemon,
            "the daemon stopped before the wait was over",
        )
        .hint("start it again: swarm start")
    };
    match verdict(wish, &look) {
        // Without a daemon nothing moves anyway; that does not mean that a person is needed.
        Some(Err(error)) if error.stable_code() == STUCK => Err(ended()),
        Some(verdict) => verdict,
        None => Err(ended()),
    }
}

/// The views at one moment.
struct Look {
    status: Value,
    idea: Option<Value>,
}

impl Look {
    async fn at(wish: &Wish, daemon: &Daemon) -> Result<Self, CliError> {
        // Fetch the idea after the status, so that it is not older than the status's last event.
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

    /// Whether the idea, or every idea, has ended, however it ended.
    fn is_over(&self) -> bool {
        let open = |status: IdeaStatus| !status.is_bad() && !is_settled(status);
        match &self.idea {
            Some(idea) => IdeaStatus::ALL
                .into_iter()
                .any(|status| status.as_str() == text(idea, "status") && !open(status)),
            None => self.count(open) == 0,
        }
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

/// The code of [`stuck`].
const STUCK: &str = "STUCK";

/// The answer, if there is one yet.
fn verdict(wish: &Wish, look: &Look) -> Option<Result<String, CliError>> {
    match (&wish.id, &look.idea) {
        (Some(id), Some(idea)) => one(id, idea, wish.until, look),
        _ => all(wish.until, look),
    }
}

fn one(id: &IdeaId, idea: &Value, until: Until, look: &Look) -> Option<Result<String, CliError>> {
    let status = text(idea, "status");
    let bad = bad_status(status).is_some();
    match status {
        "done" => return Some(Ok(format!("{id} is done"))),
        "cancelled" if until == Until::NeedsYou => return Some(Ok(format!("{id} is cancelled"))),
        "cancelled" => {
            let error = CliError::new(Kind::EndedBadly, format!("{id} is cancelled"));
            return Some(Err(
                error.hint(format!("to do it after all: swarm idea retry {id}"))
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

/// The status with this name, if it is failed, timeout or blocked.
fn bad_status(name: &str) -> Option<IdeaStatus> {
    let mut bad = IdeaStatus::ALL.into_iter().filter(|status| status.is_bad());
    bad.find(|status| status.as_str() == name)
}

fn ended_badly(id: &IdeaId, idea: &Value) -> CliError {
    let outcome = bad_status(text(idea, "status")).map_or("ended badly", view::status_verb);
    let message = format!("{id} {outcome}: {}", text(idea, "lastError"));
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
        let counts = IdeaStatus::ALL.into_iter().filter(|status| status.is_bad());
        let counts = counts.map(|status| (status.as_str(), look.count(|it| it == status)));
        let counts = counts.filter(|(_, count)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let message = format!("not every idea landed: {}", counts.join(", "));
        let error = CliError::new(Kind::EndedBadly, message);
        return Some(Err(error.hint("see which and why: swarm status")));
    }
    let left = look.count(|status| !is_settled(status));
    if look.rest() == "needsPerson" || (left > 0 && until == Until::Done) {
        let ideas = if left == 1 { "idea is" } else { "ideas are" };
        let stuck = stuck(&format!("{left} {ideas} left"), look);
        return Some(Err(look.need(None).unwrap_or(stuck)));
    }
    Some(Ok("nothing is active, ready or merging".into()))
}

fn is_settled(status: IdeaStatus) -> bool {
    matches!(status, IdeaStatus::Done | IdeaStatus::Cancelled)
}

/// Whether nothing moves any more without a person. A daemon that does not say counts as busy.
fn stands_still(look: &Look) -> bool {
    matches!(look.rest(), "idle" | "needsPerson")
}

fn stuck(what: &str, look: &Look) -> CliError {
    let why = match (text(&look.status, "phase"), text(&look.status, "mode")) {
        ("paused" | "pausing", _) => "the swarm is paused",
        (_, "semi-auto") => "in semi-auto mode you start each idea",
        _ => "nothing that it waits for is running",
    };
    CliError::new(
        Kind::NeedsPerson,
        format!("{what}, and nothing more will happen without you: {why}"),
    )
    .hint("see what to do: swarm status")
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
    fn waiting_for_one_idea_ends_when_it_is_finished() {
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
    fn a_wait_for_an_idea_that_needs_a_person_shows_the_commands() {
        let needs = json!([
            {"kind": "conflict", "ideaId": "idea-002", "message": "another", "commands": []},
            {"kind": "question", "ideaId": "idea-001", "message": "which port?",
                "commands": ["swarm agent say"]},
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
    fn waiting_for_an_idea_that_cannot_move_ends() {
        for (rest, mode) in [("idle", "semi-auto"), ("needsPerson", "autopilot")] {
            let status =
                json!({"rest": rest, "mode": mode, "ideas": {"pending": 1}, "needsYou": []});
            let look = look(status, Some(json!({"status": "pending"})));
            assert_eq!(code(Until::Done, &look), Some(6));
        }
    }

    #[test]
    fn waiting_for_all_ideas_ends_when_nothing_moves() {
        let at = |rest: &str, ideas: Value, needs: Value| {
            look(
                json!({"rest": rest, "ideas": ideas, "needsYou": needs}),
                None,
            )
        };
        let need = json!([{"kind": "review", "message": "ready", "commands": []}]);
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
    fn only_events_that_can_change_the_answer_matter() {
        let event = |seq: u64, kind: &str| json!({"seq": seq, "kind": kind});
        assert!(matters(&event(8, "ideaLanded"), 7));
        assert!(!matters(&event(7, "ideaLanded"), 7));
        assert!(!matters(&event(8, "mark"), 7));
    }
}
