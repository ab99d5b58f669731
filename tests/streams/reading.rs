//! Reading a kept stream, and writing down what was read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use swarm::agents;
use swarm::agents::AdapterKind;
use swarm::agents::adapter::StartedAs;
use swarm::agents::stream::{Conclusion, Said};
use swarm::domain::observation::RunEndKind;
use swarm::domain::session::SessionId;
use swarm::domain::usage::{Scope, Usage};
use swarm::domain::verdict::{Cause, Verdict};

/// A stream that a real program wrote.
pub struct Kept {
    pub name: String,
    pub folder: PathBuf,
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub run: Run,
}

/// How it was started, and how it ended.
#[derive(Deserialize)]
pub struct Run {
    pub adapter: AdapterKind,
    pub resumed: bool,
    /// The conversation that it was given, where what it wrote down about that was kept too.
    pub session: Option<SessionId>,
    pub end: RunEndKind,
}

/// What was read.
#[derive(Debug, PartialEq)]
pub struct Reading {
    pub said: Vec<Said>,
    pub conclusion: Conclusion,
}

/// All streams that are kept, by name.
pub fn kept() -> Vec<Kept> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/streams");
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let read = |folder: PathBuf| Kept {
        name: folder.file_name().unwrap().to_string_lossy().into_owned(),
        stdout: fs::read(folder.join("stdout.log")).unwrap(),
        stderr: fs::read_to_string(folder.join("stderr.log")).unwrap_or_default(),
        run: serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap(),
        folder,
    };
    folders.into_iter().map(read).collect()
}

impl Kept {
    /// Reads these pieces as this run's output.
    pub fn read<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>) -> Reading {
        let adapter = agents::adapter(self.run.adapter);
        let mut started = StartedAs::new(self.run.adapter);
        started.resumed = self.run.resumed;
        started.session.clone_from(&self.run.session);
        let mut reader = adapter.reader(&started);
        let mut said = Vec::new();
        for piece in pieces {
            reader.push(piece, &mut said);
        }
        reader.finish(&mut said);
        let mut conclusion = reader.conclude(&self.run.end, &self.stderr);
        // Where the program's own records were kept with it.
        started.records = Some(self.folder.join("records")).filter(|folder| folder.is_dir());
        adapter.amend(&started, &mut conclusion).unwrap();
        Reading { said, conclusion }
    }

    /// Reads it in one piece.
    pub fn read_whole(&self) -> Reading {
        self.read(std::iter::once(self.stdout.as_slice()))
    }
}

/// As lines for people.
pub fn written(reading: &Reading) -> String {
    let mut text = String::new();
    for said in &reading.said {
        let line = match said {
            Said::Text(words) => format!("text {:?}", String::from_utf8_lossy(words)),
            Said::Thought(words) => format!("thought {words:?}"),
            Said::ToolCall { id, tool, input } => format!("call {id} {tool} {input:?}"),
            Said::ToolResult { id, output, ok } => format!("result {id} {ok} {output:?}"),
            Said::Session(id) => format!("session {id}"),
            Said::Answered => "answered".to_owned(),
            Said::Usage(usage) => format!("usage {}", usage_line(usage)),
            Said::Retry { why } => format!("retry {why}"),
            Said::Note(note) => format!("note {note:?}"),
            Said::End { ok, message } => format!("end {ok} {message:?}"),
        };
        writeln!(text, "{line}").unwrap();
    }
    let Conclusion {
        verdict,
        usage,
        session,
    } = &reading.conclusion;
    let usage = usage.as_ref().map_or("none".to_owned(), usage_line);
    let session = session.as_ref().map_or("none", |id| id.as_str());
    writeln!(text, "= {}", verdict_line(verdict.as_ref())).unwrap();
    writeln!(text, "= usage {usage}").unwrap();
    writeln!(text, "= session {session}").unwrap();
    text
}

fn usage_line(usage: &Usage) -> String {
    let of = |scope| match scope {
        Scope::Run => "run",
        Scope::Session => "session",
    };
    let tokens = usage.tokens.map_or("no tokens".to_owned(), |tokens| {
        let (input, cached) = (tokens.input, tokens.cached);
        let (written, output) = (tokens.cache_written, tokens.output);
        let scope = of(usage.tokens_of);
        format!("{input}+{cached}+{written}/{output} of the {scope}")
    });
    let cost = usage.cost.map_or("no cost".to_owned(), |cost| {
        format!("{} millionths of the {}", cost.0, of(usage.cost_of))
    });
    let model = usage.model.as_deref().unwrap_or("an unknown model");
    let partial = if usage.partial { ", at least" } else { "" };
    format!("{tokens}, {cost}, {model}{partial}")
}

fn verdict_line(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => "no verdict".to_owned(),
        Some(Verdict::Complete) => "complete".to_owned(),
        Some(Verdict::Cut) => "cut".to_owned(),
        Some(Verdict::Failed { cause, message }) => format!("failed: {}: {message}", blamed(cause)),
    }
}

fn blamed(cause: &Cause) -> String {
    match cause {
        Cause::Limit { until: Some(until) } => format!("limit until {until}"),
        Cause::Limit { until: None } => "limit".to_owned(),
        Cause::Overloaded => "overloaded".to_owned(),
        Cause::Login => "login".to_owned(),
        Cause::Credit => "credit".to_owned(),
        Cause::Profile => "profile".to_owned(),
        Cause::Session => "session".to_owned(),
        Cause::Exhausted => "exhausted".to_owned(),
        Cause::Other => "other".to_owned(),
    }
}
