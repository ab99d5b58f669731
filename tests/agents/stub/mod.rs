//! A scripted model on loopback, for real agent programs: it makes them call their own shell tool,
//! answer, fail, wait.
//!
//! A prompt carries its script, a JSON list of steps ([`script::Step`]) after `STUB:`.
//!
//! Invariant: every request for an answer is remembered, with what the agent had seen by then and
//! how it ended; what an answer says that it used is remembered with it, different for each, so
//! that sums can be compared.

mod anthropic;
mod asked;
mod chat;
mod dialect;
mod gemini;
mod http;
mod responses;
mod script;

use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use swarm::domain::usage::Tokens;

pub use asked::{Asked, End};
pub use dialect::Dialect;
use dialect::{Answer, Frame, Written, named_call, shell_call};
use script::{Failure, Item, Place, Step};

/// The running stub. It is ended when this is dropped.
pub struct Stub {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    asked: Vec<Asked>,
    /// How often a step failed already, by script and number.
    failed: HashMap<(String, usize), u32>,
    /// What was said whole.
    said: HashSet<String>,
    released: HashSet<String>,
    mended: bool,
    over: bool,
}

impl Stub {
    /// Listens on a free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &for_thread));
        Self {
            shared,
            address,
            thread: Some(thread),
        }
    }

    /// Where it listens, without a `/` at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, the oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.lock().asked.clone()
    }

    /// What was asked within the work whose script holds these words.
    pub fn asked_for(&self, words: &str) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| !asked.aside && asked.script.contains(words));
        asked
    }

    /// What all answers in this language together used that were sent whole.
    pub fn served(&self, dialect: Dialect) -> Tokens {
        let asked = self.asked().into_iter();
        let served = asked.filter(|asked| asked.dialect == dialect && asked.end == End::Served);
        served.fold(Tokens::default(), |sum, asked| sum.plus(asked.tokens))
    }

    /// From now on nothing fails, is cut off or hangs.
    pub fn mend(&self) {
        self.shared.lock().mended = true;
        self.shared.changed.notify_all();
    }

    /// Lets the answers with `"wait": NAME` go, now and later.
    pub fn release(&self, name: &str) {
        self.shared.lock().released.insert(name.to_owned());
        self.shared.changed.notify_all();
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        // It wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.lock().over {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            // The error is that the agent went away, which the request says.
            let _ = shared.attend(stream);
        });
    }
}

/// How an answer leaves the stub.
enum Way {
    Whole,
    Cut,
    Hang,
    Fail(Failure),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Waits until the condition holds; false where the stub ends before.
    fn wait(&self, holds: impl Fn(&State) -> bool) -> bool {
        let waits = |state: &mut State| !state.over && !holds(state);
        let state = self.changed.wait_while(self.lock(), waits);
        state.is_ok_and(|state| !state.over)
    }

    fn attend(&self, mut stream: TcpStream) -> io::Result<()> {
        let Some(request) = http::read(&stream)? else {
            return Ok(());
        };
        let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
        let dialect = Dialect::of(&request.path).filter(|_| request.method == "POST");
        let Some(dialect) = dialect else {
            let text = match request.method.as_str() {
                "HEAD" => String::new(),
                "GET" => models().to_string(),
                _ => json!({"input_tokens": 1000, "totalTokens": 1000}).to_string(),
            };
            return http::document(&mut stream, 200, &[], &text);
        };
        let number = self.remember(dialect, &request, &body);
        let end = self.answer(&mut stream, number, &request, &body);
        let end = end.unwrap_or(End::Gone);
        self.lock().asked[number].end = end;
        self.changed.notify_all();
        Ok(())
    }

    fn remember(&self, dialect: Dialect, request: &http::Request, body: &Value) -> usize {
        let items = dialect.items(body);
        let prompts = items.iter().filter_map(|item| match item {
            // What claude tells the model about its surroundings.
            Item::User(text) if text.starts_with("<system-reminder>") => None,
            Item::User(text) => Some(text.clone()),
            _ => None,
        });
        let results = items.iter().filter_map(|item| match item {
            Item::Result(text) => Some(text.clone()),
            _ => None,
        });
        let of_path = || request.path.rsplit('/').next()?.split(':').next();
        let model = body["model"].as_str().or_else(of_path);
        let mut state = self.lock();
        let place = Place::of(&items, &state.said);
        let number = state.asked.len();
        let aside = dialect.tools(body).is_empty() && place.steps.iter().any(Step::calls);
        state.asked.push(Asked {
            id: format!("stub{number:06}"),
            dialect,
            model: model.unwrap_or_default().to_owned(),
            session: session(request, body),
            script: place.script,
            step: place.step,
            results: place.results,
            remembered: results.collect(),
            prompts: prompts.collect(),
            aside,
            end: End::Open,
            tokens: Tokens::default(),
        });
        number
    }

    fn answer(
        &self,
        stream: &mut TcpStream,
        number: usize,
        request: &http::Request,
        body: &Value,
    ) -> io::Result<End> {
        let asked = self.lock().asked[number].clone();
        let dialect = asked.dialect;
        let step = if asked.aside {
            Step {
                text: "An answer beside the work.".to_owned(),
                ..Step::default()
            }
        } else {
            Place::of(&dialect.items(body), &self.lock().said).answer()
        };
        if let Some(name) = &step.wait
            && !self.wait(|state| state.released.contains(name))
        {
            return Ok(End::Cut);
        }
        let way = self.way(&asked, &step);
        if let Way::Fail(failure) = way {
            let text = dialect.failure(&failure).to_string();
            http::document(stream, failure.status, &headers(&failure), &text)?;
            return Ok(End::Failed(failure.status));
        }
        let tools = dialect.tools(body);
        let shell = step.sh.as_ref().and_then(|code| shell_call(&tools, code));
        let other = || named_call(&tools, step.tool.as_ref()?, &step.args);
        let call = shell.or_else(other);
        // The pieces that only make it long stand in front.
        let mut words = ".".repeat(step.pieces) + &step.words();
        if step.calls() && call.is_none() {
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            let wanted = step.tool.as_deref().unwrap_or("shell");
            words = format!("There is no {wanted} among the tools: {}", names.join(", "));
        }
        let tokens = tokens_of(dialect, number);
        let id = asked.id.clone();
        let written = dialect.write(&Answer {
            id: &id,
            model: &asked.model,
            text: &words,
            call: call.as_ref(),
            tokens,
        });
        self.lock().asked[number].tokens = tokens;
        let streams = body["stream"] == true || request.path.contains("streamGenerate");
        if streams {
            let pieces = pieces(&words, step.pieces);
            let frames = pieces.iter().map(|piece| dialect.piece(&id, piece));
            let pause = Duration::from_millis(step.piece_millis);
            let end = self.send(stream, written, frames, &way, pause)?;
            if end != End::Served {
                return Ok(end);
            }
        } else {
            let text = written.whole.to_string();
            match way {
                Way::Cut => return http::half(stream, &text).map(|()| End::Cut),
                Way::Hang => {
                    http::half(stream, &text)?;
                    self.wait(|_| false);
                    return Ok(End::Cut);
                }
                Way::Whole | Way::Fail(_) => http::document(stream, 200, &[], &text)?,
            }
        }
        self.lock().said.insert(words.trim().to_owned());
        Ok(End::Served)
    }

    /// Whether the step fails this time.
    fn way(&self, asked: &Asked, step: &Step) -> Way {
        let mut state = self.lock();
        let mended = state.mended;
        let key = (asked.script.clone(), asked.step);
        let count = state.failed.entry(key).or_default();
        let times = match &step.fail {
            Some(failure) if failure.reset.is_some_and(|reset| reset <= now()) => 0,
            Some(failure) => failure.times.unwrap_or(u32::MAX),
            None => step.cut.max(step.hang),
        };
        if asked.aside || mended || *count >= times {
            return Way::Whole;
        }
        *count += 1;
        match &step.fail {
            Some(failure) => Way::Fail(failure.clone()),
            None if step.cut > 0 => Way::Cut,
            None => Way::Hang,
        }
    }

    fn send(
        &self,
        stream: &mut TcpStream,
        written: Written,
        pieces: impl ExactSizeIterator<Item = Frame>,
        way: &Way,
        pause: Duration,
    ) -> io::Result<End> {
        http::begin_events(stream)?;
        let mut writer = BufWriter::new(stream);
        let in_head = written.head.len();
        let half = in_head + pieces.len() / 2;
        let frames = written.head.into_iter().chain(pieces).chain(written.tail);
        for (number, (name, mut data)) in frames.enumerate() {
            if number == half {
                match way {
                    Way::Cut => return writer.flush().map(|()| End::Cut),
                    Way::Hang => {
                        writer.flush()?;
                        self.wait(|_| false);
                        return Ok(End::Cut);
                    }
                    Way::Whole | Way::Fail(_) => {}
                }
            }
            if data["type"]
                .as_str()
                .is_some_and(|kind| kind.starts_with("response."))
            {
                data["sequence_number"] = number.into();
            }
            if let Some(name) = name {
                writeln!(writer, "event: {name}")?;
            }
            write!(writer, "data: {data}\n\n")?;
            if number >= in_head && !pause.is_zero() {
                // A slow model is what is tested here; nothing waits for it.
                writer.flush()?;
                std::thread::sleep(pause);
            }
        }
        writer.write_all(written.end.as_bytes())?;
        writer.flush()?;
        Ok(End::Served)
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What the service says of the account beside a failure.
fn headers(failure: &Failure) -> Vec<(&'static str, String)> {
    let mut headers = vec![];
    if let Some(seconds) = failure.retry_after {
        headers.push(("retry-after", seconds.to_string()));
    }
    if let Some(reset) = failure.reset {
        headers.push(("anthropic-ratelimit-unified-status", "rejected".to_owned()));
        headers.push(("anthropic-ratelimit-unified-reset", reset.to_string()));
        headers.push((
            "anthropic-ratelimit-unified-representative-claim",
            "five_hour".to_owned(),
        ));
    }
    headers
}

/// What an answer says that it used: no two the same, and the kinds of tokens never equal.
fn tokens_of(dialect: Dialect, number: usize) -> Tokens {
    let number = number as u64;
    // The others do not tell what was written to the cache.
    let written = if dialect == Dialect::Anthropic { 30 } else { 0 };
    Tokens {
        input: 600 + 7 * number,
        cached: 400,
        cache_written: written,
        output: 50 + 3 * number,
    }
}

/// The pieces of a text: so many of one letter, then larger ones.
fn pieces(text: &str, tiny: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let (ones, rest) = letters.split_at(tiny.min(letters.len()));
    let pieces = ones.chunks(1).chain(rest.chunks(24));
    pieces.map(|piece| piece.iter().collect()).collect()
}

fn session(request: &http::Request, body: &Value) -> Option<String> {
    let of_header = ["x-claude-code-session-id", "session_id", "conversation_id"]
        .into_iter()
        .find_map(|name| request.headers.get(name).cloned());
    of_header.or_else(|| body["prompt_cache_key"].as_str().map(str::to_owned))
}

fn models() -> Value {
    let model = json!({
        "id": "stub", "object": "model", "type": "model", "display_name": "stub", "created": 0,
            "owned_by": "stub",
    });
    json!({"object": "list", "data": [model], "has_more": false})
}
