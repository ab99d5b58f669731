//! Runs one turn with an agent and writes its events.
//!
//! Invariant: events start with the prompt, so an agent's replay of an earlier conversation is not
//! passed on. The last line says how the turn ended, unless the agent died during the turn.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::{
    Client, Error, Lines, UntypedMessage, is_connection_terminated, is_incoming_transport_closed,
    on_receive_notification, on_receive_request,
};
use futures_util::{sink, stream};
use serde_json::{Value, json};

use super::child::{Agent, Ends, protocol_line};
use super::event::{End, Event};
use super::failure_cause;
use super::modes::{self, Switch};
use super::options::Options;
use super::updates::Updates;
use crate::agents::stream::json::{Object, is_true, number, object, objects, text};
use crate::agents::stream::verdict::Failure;
use crate::domain::verdict::Cause;

/// Supported version of the protocol.
const VERSION: u64 = 1;
/// How often to check that the agent lives, and how long its last output may take after its end.
const LOOK: Duration = Duration::from_millis(100);
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why the turn is not complete.
#[derive(Debug)]
enum Stop {
    /// The turn failed.
    Failed(Failure),
    /// The agent's process ended.
    Gone,
    /// An event could not be written.
    Unwritten(io::Error),
}

/// State shared by the handlers of requests and notifications.
#[derive(Debug, Default)]
struct TurnProgress {
    updates: Updates,
    /// The prompt was sent, so updates from now on belong to it.
    prompted: bool,
    unwritten: Option<io::Error>,
}

type Shared = Arc<Mutex<TurnProgress>>;

/// Runs the turn and returns the exit code.
#[allow(clippy::needless_pass_by_value)] // they are for this run alone
pub(super) fn run(options: Options) -> ExitCode {
    let mut prompt = String::new();
    if let Err(error) = io::stdin().read_to_string(&mut prompt) {
        return finish(
            Err(other(&format!("cannot read the prompt: {error}"))),
            None,
            false,
        );
    }
    let (agent, ends) = match Agent::start(&options) {
        Ok(started) => started,
        Err(error) => {
            let program = options.program.display();
            let cannot = unusable(&format!("cannot start `{program}`: {error}"));
            return finish(Err(cannot), None, false);
        }
    };
    let talk = Shared::default();
    let turn = match tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    {
        Ok(runtime) => runtime.block_on(async {
            tokio::select! {
                turn = converse(&options, prompt, ends, &talk) => turn,
                () = gone(&agent) => Err(Stop::Gone),
            }
        }),
        Err(error) => Err(other(&format!("cannot create the async runtime: {error}"))),
    };
    let status = agent.leave();
    let prompted = locked(&talk, |talk| {
        talk.pass_on(super::updates::Updates::flush);
        talk.prompted
    });
    finish(turn, status, prompted)
}

fn other(message: &str) -> Stop {
    Stop::Failed(Failure::new(Cause::Other, message))
}

/// No work is to blame: the profile's program cannot do any.
fn unusable(message: &str) -> Stop {
    Stop::Failed(Failure::new(Cause::Profile, message))
}

/// Writes the last event.
fn finish(turn: Result<End, Stop>, status: Option<ExitStatus>, prompted: bool) -> ExitCode {
    let status = status.map_or_else(
        || "exit status unknown".to_owned(),
        |status| status.to_string(),
    );
    let last = match turn {
        Ok(end) => Event::End(end),
        Err(Stop::Failed(Failure { cause, message })) => Event::End(End {
            ok: false,
            message,
            cause: Some(cause),
        }),
        // The agent died during its turn, so there is no last word.
        Err(Stop::Gone) if prompted => Event::Note(format!(
            "the agent ended in the middle of its turn ({status})"
        )),
        Err(Stop::Gone) => Event::End(End {
            ok: false,
            message: format!("the agent ended before its turn began ({status})"),
            // No work is to blame: the program had not seen the prompt.
            cause: Some(Cause::Profile),
        }),
        Err(Stop::Unwritten(error)) => {
            eprintln!("{}: cannot write the output: {error}", super::SUBCOMMAND);
            return ExitCode::FAILURE;
        }
    };
    let complete = matches!(&last, Event::End(End { ok: true, .. }));
    match write(&[last]) {
        Ok(()) if complete => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Completes shortly after the agent's end. Its leftover processes may hold the output open, but
/// have nothing to say.
async fn gone(agent: &Agent) {
    while !agent.is_gone() {
        tokio::time::sleep(LOOK).await;
    }
    tokio::time::sleep(LAST_WORDS).await;
}

fn locked<T>(talk: &Shared, work: impl FnOnce(&mut TurnProgress) -> T) -> T {
    work(&mut talk.lock().unwrap_or_else(PoisonError::into_inner))
}

impl TurnProgress {
    fn pass_on(&mut self, tell: impl FnOnce(&mut Updates, &mut Vec<Event>)) {
        let mut events = Vec::new();
        tell(&mut self.updates, &mut events);
        if let Err(error) = write(&events) {
            self.unwritten.get_or_insert(error);
        }
    }

    fn notified(&mut self, message: &UntypedMessage) {
        if self.prompted
            && message.method == "session/update"
            && let Some(Value::Object(update)) = message.params.get("update")
        {
            self.pass_on(|updates, events| updates.update(update, events));
        }
    }

    /// The answer to a request of the agent; `None` if the request is not supported.
    fn asked(&mut self, message: &UntypedMessage) -> Option<Value> {
        let Value::Object(params) = &message.params else {
            return None;
        };
        if message.method != "session/request_permission" {
            return None;
        }
        if let Some(call) = object(params, "toolCall") {
            self.pass_on(|updates, events| updates.permission(call, events));
        }
        let outcome = match allowing(params) {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        Some(json!({ "outcome": outcome }))
    }
}

/// The option that allows the request, preferably once.
fn allowing(params: &Object) -> Option<&str> {
    let kinds = ["allow_once", "allow_always"].into_iter();
    let mut found = kinds.filter_map(|kind| {
        objects(params, "options").find(|option| text(option, "kind") == Some(kind))
    });
    text(found.next()?, "optionId")
}

/// Writes and flushes events, so that readers of the file see them at once.
fn write(events: &[Event]) -> io::Result<()> {
    let mut lines = Vec::new();
    for event in events {
        serde_json::to_writer(&mut lines, event)?;
        lines.push(b'\n');
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(&lines)?;
    stdout.flush()
}

async fn converse(
    options: &Options,
    prompt: String,
    ends: Ends,
    talk: &Shared,
) -> Result<End, Stop> {
    let Ends { to, from } = ends;
    let to = sink::unfold(to, async |to, line: String| {
        let sent = to.send(line).await;
        sent.map(|()| to)
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    });
    let noting = Arc::clone(talk);
    let from = stream::unfold((from, noting), async |(mut from, noting)| {
        loop {
            match protocol_line(from.recv().await?) {
                Ok(line) => return Some((Ok(line), (from, noting))),
                Err(foreign) => locked(&noting, |talk| {
                    talk.pass_on(|_, events| events.push(Event::Note(foreign)));
                }),
            }
        }
    });
    let (notified, asked) = (Arc::clone(talk), Arc::clone(talk));
    let connected = Client
        .v1()
        .name("swarm")
        .on_receive_request(
            async move |message: UntypedMessage, responder, _| match locked(&asked, |talk| {
                talk.asked(&message)
            }) {
                Some(answer) => responder.respond(answer),
                None => responder.respond_with_error(Error::method_not_found()),
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |message: UntypedMessage, _| {
                locked(&notified, |talk| talk.notified(&message));
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_with(Lines::new(to, from), async |agent| {
            Ok(turn(options, prompt, &agent, talk).await)
        });
    let end = connected.await.unwrap_or_else(|error| Err(stopped(&error)));
    match locked(talk, |talk| talk.unwritten.take()) {
        Some(error) => Err(Stop::Unwritten(error)),
        None => end,
    }
}

fn stopped(error: &Error) -> Stop {
    if is_incoming_transport_closed(error) || is_connection_terminated(error) {
        return Stop::Gone;
    }
    Stop::Failed(failure_cause::failure(error))
}

/// A failure without a known cause, met before the work began: the program is unusable.
fn before_work(stop: Stop) -> Stop {
    match stop {
        Stop::Failed(failure) if failure.cause == Cause::Other => unusable(&failure.message),
        Stop::Failed(_) | Stop::Gone | Stop::Unwritten(_) => stop,
    }
}

type Connection = ConnectionTo<agent_client_protocol::Agent>;

async fn request(agent: &Connection, method: &str, params: Value) -> Result<Object, Error> {
    let message = UntypedMessage::new(method, params)?;
    let answer = agent.send_request(message).block_task().await?;
    if answer.is_null() {
        return Ok(Object::new());
    }
    if let Value::Object(answer) = answer {
        return Ok(answer);
    }
    Err(Error::internal_error().data(format!("the agent's answer to {method} is not an object")))
}

async fn turn(
    options: &Options,
    prompt: String,
    agent: &Connection,
    talk: &Shared,
) -> Result<End, Stop> {
    let can = initialize(agent).await?;
    let here = std::env::current_dir()
        .map_err(|error| other(&format!("cannot read the current directory: {error}")))?;
    let (session, answer) = session(options, agent, &can, here).await?;
    if let Some(switch) = modes::switch(&session, &answer) {
        work_freely(switch, agent, talk).await?;
    }
    if let Some(model) = &options.model {
        choose(model, &session, &answer, agent).await?;
    }
    locked(talk, |talk| {
        talk.prompted = true;
        if can.resumes()
            && let Ok(name) = session.parse()
        {
            talk.pass_on(|_, events| events.push(Event::Session(name)));
        }
    });
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt}]});
    let answer = request(agent, "session/prompt", params)
        .await
        .map_err(|error| stopped(&error))?;
    locked(talk, |talk| {
        talk.pass_on(|updates, events| updates.over(&answer, events));
    });
    end(text(&answer, "stopReason").unwrap_or_default())
}

/// Capabilities of the agent.
struct Can {
    load: bool,
    resume: bool,
}

impl Can {
    fn resumes(&self) -> bool {
        self.load || self.resume
    }
}

async fn initialize(agent: &Connection) -> Result<Can, Stop> {
    // The agent works in the worktree itself, so it needs no files or terminals from swarm.
    let params = json!({
        "protocolVersion": VERSION,
        "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false},
            "terminal": false},
        "clientInfo": {"name": "swarm", "title": "swarm", "version": env!("CARGO_PKG_VERSION")},
    });
    let answer = request(agent, "initialize", params)
        .await
        .map_err(|error| before_work(stopped(&error)))?;
    let version = number(&answer, "protocolVersion");
    if version != Some(VERSION) {
        let version = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
        return Err(unusable(&format!(
            "the agent speaks protocol version {version}, but swarm speaks version {VERSION}"
        )));
    }
    let able = object(&answer, "agentCapabilities");
    let sessions = able.and_then(|able| object(able, "sessionCapabilities"));
    Ok(Can {
        load: able.is_some_and(|able| is_true(able, "loadSession")),
        resume: sessions.is_some_and(|sessions| object(sessions, "resume").is_some()),
    })
}

/// Starts or resumes the conversation; returns its id and the agent's answer.
async fn session(
    options: &Options,
    agent: &Connection,
    can: &Can,
    here: PathBuf,
) -> Result<(String, Object), Stop> {
    let servers: Vec<&Value> = options.mcp_server.iter().collect();
    let mut params = json!({"cwd": here, "mcpServers": servers});
    let Some(session) = &options.resume else {
        let answer = request(agent, "session/new", params)
            .await
            .map_err(|error| stopped(&error))?;
        let Some(session) = text(&answer, "sessionId") else {
            return Err(other("the agent did not name its new session"));
        };
        return Ok((session.to_owned(), answer));
    };
    let gone = |message: &str| Stop::Failed(Failure::new(Cause::Session, message));
    // Prefer a resume without a replay of the conversation.
    let method = match (can.resume, can.load) {
        (true, _) => "session/resume",
        (_, true) => "session/load",
        _ => return Err(gone("the agent cannot resume a session")),
    };
    params["sessionId"] = session.clone().into();
    match request(agent, method, params).await {
        Ok(answer) => Ok((session.clone(), answer)),
        Err(error) => Err(match stopped(&error) {
            Stop::Failed(failure) if failure.cause == Cause::Other => gone(&failure.message),
            stop @ (Stop::Failed(_) | Stop::Gone | Stop::Unwritten(_)) => stop,
        }),
    }
}

/// Switches the session to a mode in which the agent works without asking. An agent that refuses
/// works in the mode that it has: its requests for permission are granted.
async fn work_freely(switch: Switch, agent: &Connection, talk: &Shared) -> Result<(), Stop> {
    match request(agent, switch.method, switch.params).await {
        Ok(_) => Ok(()),
        Err(error) => match stopped(&error) {
            Stop::Failed(failure) => {
                let note = format!("it refuses the mode {}: {}", switch.mode, failure.message);
                locked(talk, |talk| {
                    talk.pass_on(|_, events| events.push(Event::Note(note)));
                });
                Ok(())
            }
            stop @ (Stop::Gone | Stop::Unwritten(_)) => Err(stop),
        },
    }
}

/// Selects a model in the way that the agent offers: as a session option, or in its list of models.
async fn choose(
    model: &str,
    session: &str,
    offered: &Object,
    agent: &Connection,
) -> Result<(), Stop> {
    let option =
        objects(offered, "configOptions").find(|option| text(option, "category") == Some("model"));
    let (method, params) = if let Some(id) = option.and_then(|option| text(option, "id")) {
        (
            "session/set_config_option",
            json!({"sessionId": session, "configId": id, "value": model}),
        )
    } else if object(offered, "models").is_some() {
        (
            "session/set_model",
            json!({"sessionId": session, "modelId": model}),
        )
    } else {
        let message = format!(
            "the agent offers no choice of a model; remove `model` (`{model}`) from the profile \
            and pass it in `command`"
        );
        return Err(unusable(&message));
    };
    match request(agent, method, params).await {
        Ok(_) => Ok(()),
        Err(error) => Err(match stopped(&error) {
            Stop::Failed(failure) => {
                let message = format!("the agent rejects the model `{model}`: {}", failure.message);
                let unknown = failure.cause == Cause::Other;
                let cause = if unknown {
                    Cause::Profile
                } else {
                    failure.cause
                };
                Stop::Failed(Failure::new(cause, &message))
            }
            stop @ (Stop::Gone | Stop::Unwritten(_)) => stop,
        }),
    }
}

/// Maps the agent's stop reason to the end of the turn. If the agent's own limit ended it, the next
/// turn continues.
fn end(reason: &str) -> Result<End, Stop> {
    match reason {
        "end_turn" | "max_tokens" | "max_turn_requests" => Ok(End {
            ok: true,
            message: reason.to_owned(),
            cause: None,
        }),
        "refusal" => Err(other("the agent refused to continue")),
        _ => Err(other(&format!("the agent stopped: {reason}"))),
    }
}
