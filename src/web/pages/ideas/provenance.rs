//! What is recorded of each iteration: what it was given, what it changed, how it was checked, and
//! whether its record still is what the event log says.
//!
//! Invariant: bounded: the newest records, none with a larger file than [`LARGE`], and of each list
//! and text of a record the beginning.

use std::fs;

use maud::{Markup, html};

use crate::daemon::Paths;
use crate::daemon::provenance::log;
use crate::daemon::provenance::verify::{Loader, Unserved};
use crate::domain::ids::IdeaId;
use crate::view::provenance::outputs::{GateCommand, Metrics, Outputs};
use crate::view::provenance::record::{FileDigest, Text};
use crate::view::provenance::{MatchStatus, Record, RecordView};
use crate::web::document::Drawing;
use crate::web::pages::asked::Asked;
use crate::web::pages::checkpoints::when;
use crate::web::parts::{commands, many, short_count, span, tinted};

/// Records on the page.
const MOST: usize = 20;
/// The largest file of a record that the page reads, in bytes.
const LARGE: u64 = 16 << 20;
/// The beginning of a prompt that is shown, in characters.
const PROMPT: usize = 2_000;
/// Files and commands that are listed of a record, each.
const LISTED: usize = 10;

/// The records of an idea.
pub struct Records {
    /// The newest, newest first.
    shown: Vec<Shown>,
    /// How many there are.
    all: usize,
}

struct Shown {
    line: RecordView,
    /// What it says, or why it is not shown.
    content: Result<Box<Record>, String>,
}

/// Reads them. The state only says up to which event.
pub async fn load(asked: &Asked<'_>, id: &IdeaId) -> Result<Records, String> {
    let paths = Paths::new(&asked.site.api.repo_root);
    let (upto, id) = (asked.read(|state| state.seq), id.clone());
    // Whether a record has expired is known only now.
    let last = asked.site.api.handle.read(|state| state.seq);
    let work = move || read(&paths, &id, upto, last);
    let read = tokio::task::spawn_blocking(work).await;
    read.map_err(|error| error.to_string())?
}

fn read(paths: &Paths, id: &IdeaId, upto: u64, last: u64) -> Result<Records, String> {
    let log = log::records(paths, last).map_err(|error| error.to_string())?;
    let lines = log.lines.iter().rev();
    let lines: Vec<&RecordView> = lines
        .filter(|line| line.idea == *id && line.seq <= upto)
        .collect();
    let mut loader = Loader::new(paths, &log);
    let newest = lines.iter().take(MOST);
    let shown = newest.map(|line| Shown {
        content: content(paths, &mut loader, line),
        line: RecordView::clone(line),
    });
    Ok(Records {
        shown: shown.collect(),
        all: lines.len(),
    })
}

fn content(
    paths: &Paths,
    loader: &mut Loader<'_>,
    line: &RecordView,
) -> Result<Box<Record>, String> {
    let size = fs::symlink_metadata(paths.record(&line.run)).map_or(0, |file| file.len());
    if size > LARGE {
        return Err(format!("its file has {size} bytes: too many for this page"));
    }
    let bytes = loader.load(line).map_err(|error| match error {
        Unserved::Record { .. } => error.to_string(),
        Unserved::Daemon(error) => format!("it cannot be read now: {error}"),
    })?;
    let record: Record = serde_json::from_slice(&bytes)
        .map_err(|error| format!("this version of swarm cannot read it: {error}"))?;
    Ok(Box::new(brief(record)))
}

/// The record without what the page does not show.
fn brief(mut record: Record) -> Record {
    if let Some(text) = record
        .inputs
        .prompt
        .as_mut()
        .and_then(|it| it.text.as_mut())
    {
        // One more than is shown says that there is more.
        let end = text.char_indices().nth(PROMPT + 1).map(|(end, _)| end);
        text.truncate(end.unwrap_or(text.len()));
    }
    record.outputs.response = None;
    record.outputs.tool_calls = Vec::new();
    record.inputs.environment.names = Vec::new();
    record
}

/// Draws them; `changes` is the idea if it has changes to look at.
pub fn draw(
    drawing: &Drawing<'_>,
    records: &Result<Records, String>,
    changes: Option<&IdeaId>,
) -> Markup {
    let records = match records {
        Ok(records) => records,
        Err(why) => {
            return html! {
                p .sub.sec2 { "The records cannot be read: " (why) }
                p .sub { "See what is wrong: " code { "swarm doctor" } }
            };
        }
    };
    let older = records.all - records.shown.len();
    html! {
        @if records.all == 0 {
            p .sub.sec2 { "Nothing is recorded yet: a record is made when an iteration ends." }
        } @else {
            p .sub.sec2 {
                (many(records.all, "record")) ", newest first."
                @if let Some(id) = changes {
                    " " a href=(drawing.link(&format!("ideas/{id}?tab=changes"))) {
                        "What all of them change"
                    }
                }
            }
        }
        @for shown in &records.shown { (one(drawing, shown)) }
        @if let Some(shown) = records.shown.first().filter(|_| older > 0) {
            p .sub.sec2 {
                (many(older, "older record")) ": "
                code { "swarm provenance list --idea " (shown.line.idea) }
            }
        }
    }
}

fn one(drawing: &Drawing<'_>, shown: &Shown) -> Markup {
    let line = &shown.line;
    let agent = &line.agent;
    html! {
        section .sec #{ "record-" (line.run) } {
            header {
                h2 { "Iteration " (line.iteration) }
                span .id { (line.run) }
            }
            dl .facts {
                dt { "Agent" }
                dd {
                    a href=(drawing.link(&format!("agents/{agent}?run={}", line.run))) { (agent) }
                    @if let Ok(record) = &shown.content {
                        ", attempt " (record.attempt) ", profile " (record.config.agent.name)
                    }
                }
                @match &shown.content {
                    Ok(record) => (facts(drawing, line, record)),
                    Err(_) => {
                        dt { "Recorded" } dd { (when(line.recorded_at, drawing.moment.time())) }
                        @if let Some(model) = &line.model { dt { "Model" } dd { (model) } }
                    },
                }
                dt { "Record" } dd { (condition(line, shown.content.as_ref().err())) }
            }
        }
    }
}

/// Whether the record is what the event log says, and how to look further.
fn condition(line: &RecordView, fault: Option<&String>) -> Markup {
    let verify = format!("swarm provenance verify {}", line.run);
    html! {
        @match fault {
            None => {
                span .st { (tinted("okc", "ok")) " intact" } ": it has the SHA-256 of the event log"
                details {
                    summary { "Commands" }
                    (commands(&[verify, format!("swarm provenance show {} --patch", line.run)]))
                }
            },
            Some(why) => {
                span .st { (tinted("warn", "wait")) span .any { " " (why) } }
                (commands(&[verify]))
            },
        }
    }
}

fn facts(drawing: &Drawing<'_>, line: &RecordView, record: &Record) -> Markup {
    let inputs = &record.inputs;
    html! {
        dt { "When" }
        dd { (when(record.started_at, drawing.moment.time())) ", took "
            (span(record.metrics.duration_ms)) }
        dt { "Model" } dd { (record.config.model.id.as_deref().unwrap_or("not known")) }
        dt { "Used" } dd { (used(&record.metrics)) }
        @if !inputs.context_files.is_empty() {
            dt { "Was given" } dd { (files(&inputs.context_files)) }
        }
        @if !inputs.files_read.is_empty() { dt { "Read" } dd { (files(&inputs.files_read)) } }
        dt { "Prompt" } dd { (prompt(line, inputs.prompt.as_ref())) }
        dt { "Changed" } dd { (artifacts(&record.outputs)) }
        dt { "Checks" } dd { (checks(&record.outputs.gate)) }
        @if let Some(signal) = &record.outputs.signal {
            dt { "Signal" }
            dd { (signal.word) @if let Some(text) = &signal.text { ": " (text) } }
        }
        dt { "Replay" } dd { (verdict(line.match_status)) }
    }
}

fn used(metrics: &Metrics) -> String {
    let tokens = metrics.tokens.map(|tokens| {
        let given = tokens.input + tokens.cached + tokens.cache_written;
        let (given, made) = (short_count(given), short_count(tokens.output));
        format!("{given} tokens in, {made} out")
    });
    let usd = metrics.usd.map(|usd| {
        let how = if metrics.estimated {
            " (estimated)"
        } else {
            ""
        };
        format!("${usd:.4}{how}")
    });
    let parts: Vec<String> = tokens.into_iter().chain(usd).collect();
    match (parts.is_empty(), metrics.partial) {
        (true, _) => "not known".to_owned(),
        (false, true) => format!("at least {}", parts.join(", ")),
        (false, false) => parts.join(", "),
    }
}

/// A list of which the page shows the beginning.
fn listed<T>(all: &[T], row: impl Fn(&T) -> Markup) -> Markup {
    let more = all.len().saturating_sub(LISTED);
    html! {
        ul { @for one in all.iter().take(LISTED) { li { (row(one)) } } }
        @if more > 0 { p .dim { "and " (more) " more" } }
    }
}

fn files(files: &[FileDigest]) -> Markup {
    listed(files, |file| {
        html! { (file.path) " " code .dim title=(file.sha256) { (digest(&file.sha256)) } }
    })
}

fn digest(sha256: &str) -> &str {
    sha256.get(..8).unwrap_or(sha256)
}

fn prompt(line: &RecordView, prompt: Option<&Text>) -> Markup {
    let Some(prompt) = prompt else {
        return html! { "not known" };
    };
    let head = html! {
        (prompt.size) " bytes, sha256 " code title=(prompt.sha256) { (digest(&prompt.sha256)) }
        @if prompt.redacted > 0 {
            ", " (prompt.redacted)
            @if prompt.redacted == 1 { " secret" } @else { " secrets" } " replaced"
        }
    };
    let Some(text) = &prompt.text else {
        return html! { (head) "; too long to be in the record" };
    };
    let shown: String = text.chars().take(PROMPT).collect();
    let is_cut = shown.len() < text.len();
    html! {
        details {
            summary { (head) }
            pre .card.prompt tabindex="0" aria-label={ "Prompt of " (line.run) } { (shown) }
            @if is_cut {
                p .dim { "All of it: " code { "swarm provenance show " (line.run) " --prompt" } }
            }
        }
    }
}

fn artifacts(outputs: &Outputs) -> Markup {
    let omitted = outputs.artifacts_omitted;
    html! {
        @if outputs.artifacts.is_empty() { "nothing" } @else {
            (listed(&outputs.artifacts, |file| html! {
                span .tag { (file.operation.as_str()) } " " (file.path)
                @if let Some(sha256) = &file.sha256 {
                    " " code .dim title=(sha256) { (digest(sha256)) }
                }
            }))
        }
        @if omitted > 0 { p .dim { "and " (omitted) " that the record leaves out" } }
    }
}

fn checks(gate: &[GateCommand]) -> Markup {
    html! {
        @if gate.is_empty() { "none" } @else {
            (listed(gate, |check| html! {
                code { (check.command) } " " (passed(check))
                @if let Some(count) = check.passed { ", " (count) " tests passed" }
                @if let Some(count) = check.failed { ", " (count) " failed" }
            }))
        }
    }
}

fn passed(check: &GateCommand) -> Markup {
    let how = check.how.as_deref();
    match check.ok {
        Some(true) => html! { span .st { (tinted("ok", "ok")) " passed" } },
        Some(false) => html! {
            span .st { (tinted("x", "bad")) span .any { " failed" @if let Some(how) = how {
                ": " (how)
            } } }
        },
        None => html! { span .st { (tinted("stopped", "idle")) " cut off" } },
    }
}

/// What the last replay found. The event log has it; a record never changes.
fn verdict(status: MatchStatus) -> Markup {
    let (shape, tone) = match status {
        MatchStatus::ExactMatch => ("okc", "ok"),
        MatchStatus::SemanticMatch => ("ok", "ok"),
        MatchStatus::PartialMatch => ("half", "wait"),
        MatchStatus::NoMatch => ("x", "bad"),
        MatchStatus::NotReplayed => ("ring", "idle"),
    };
    html! { span .st { (tinted(shape, tone)) " " (status.words()) } }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use serde_json::json;

    use super::*;
    use crate::daemon::provenance::store;
    use crate::domain::event::{Event, IterationRecorded};
    use crate::domain::state::IdeaStatus;
    use crate::domain::time::Timestamp;
    use crate::journal::Journal;
    use crate::view::testkit;
    use crate::web::pages::ideas::testkit::{World, between};

    const PAGE: &str = "ideas/idea-003?tab=provenance";

    /// Iterations of idea-003, each with a record.
    fn recorded(count: u32, change: impl Fn(u32, &mut Record)) -> (World, Paths) {
        let ideas = ["one", "two", "three"].map(|it| testkit::idea(it, IdeaStatus::Pending));
        let mut state = testkit::state(ideas);
        state.seq = 1_000;
        let world = World::of(&state);
        let paths = Paths::new(world.root());
        fs::create_dir_all(&paths.state).unwrap();
        let (mut journal, _) = Journal::open(&paths.state).unwrap();
        for iteration in 1..=count {
            let text = include_str!("../../../../tests/fixtures/provenance/record.json");
            let mut record: Record = serde_json::from_str(text).unwrap();
            record.iteration = iteration;
            record.run = format!("r{iteration:04}-ed-001-i{iteration}");
            change(iteration, &mut record);
            let sha256 = store::write(&paths, &record).unwrap();
            let event: IterationRecorded = serde_json::from_value(json!({
                "agent": "ed-001", "idea": "idea-003", "iteration": iteration,
                "run": record.run, "sha256": sha256, "model": "claude-sonnet-4-5",
            }))
            .unwrap();
            let (seq, at) = (
                u64::from(iteration) - 1,
                Timestamp::from_millis(1_767_225_700_000),
            );
            let event = Event::IterationRecorded(event);
            journal.append(seq, at, &[event]).unwrap();
        }
        (world, paths)
    }

    fn record_of<'p>(page: &'p str, run: &str) -> &'p str {
        between(page, &format!("id=\"record-{run}\""), "</section>")
    }

    #[tokio::test]
    async fn a_record_says_what_was_given_changed_and_checked() {
        let (world, _) = recorded(1, |_, _| {});
        let page = world.page(PAGE).await;
        let shown = record_of(&page, "r0001-ed-001-i1");
        for text in [
            "Iteration 1",
            "claude-sonnet-4-5-20250929",
            "took 1 min",
            ".swarm/rules/style.md",
            "Add a flag. The key is [redacted:aws-access-key].",
            "f8b77b0c",
            "not replayed",
            "intact",
            "swarm provenance verify r0001-ed-001-i1",
        ] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
        let other = world.page("ideas/idea-001?tab=provenance").await;
        assert!(other.contains("Nothing is recorded yet"));
    }

    #[tokio::test]
    async fn the_newest_records_are_shown_and_the_others_counted() {
        let (world, _) = recorded(23, |_, _| {});
        let page = world.page(PAGE).await;
        assert_eq!(page.matches("id=\"record-").count(), MOST);
        let newest = page.find("record-r0023-ed-001-i23").unwrap();
        assert!(newest < page.find("record-r0004-ed-001-i4").unwrap());
        assert!(!page.contains("record-r0003-ed-001-i3"));
        assert!(page.contains("3 older records"));
    }

    #[tokio::test]
    async fn a_record_that_is_damaged_missing_or_too_large_is_not_shown() {
        let (world, paths) = recorded(3, |_, _| {});
        let file = |number: u32| {
            let run = format!("r{number:04}-ed-001-i{number}");
            (paths.record(&run.parse().unwrap()), run)
        };
        let (damaged, damaged_run) = file(1);
        let text = fs::read_to_string(&damaged).unwrap();
        fs::write(&damaged, text.replace("Add a flag", "Say a lie!")).unwrap();
        let (missing, missing_run) = file(2);
        fs::rename(&missing, paths.swarm.join("elsewhere")).unwrap();
        let (large, large_run) = file(3);
        fs::File::options()
            .write(true)
            .open(&large)
            .unwrap()
            .set_len(LARGE + 1)
            .unwrap();
        let page = world.page(PAGE).await;
        assert!(!page.contains("Say a lie!") && !page.contains("intact"));
        for (run, why) in [
            (damaged_run, "differs from the digest in the event log"),
            (missing_run, "its file is gone"),
            (large_run, "too many for this page"),
        ] {
            let shown = record_of(&page, &run);
            assert!(shown.contains(why), "{why}: {shown}");
            let command = format!("swarm provenance verify {run}");
            assert!(shown.contains(&command), "{shown}");
        }
    }

    #[tokio::test]
    async fn what_an_agent_wrote_is_text_and_bounded() {
        const HOSTILE: &str = "<script>alert(1)</script>\"'\u{202e}";
        let (world, _) = recorded(1, |_, record| {
            let prompt = record.inputs.prompt.as_mut().unwrap();
            prompt.text = Some(HOSTILE.repeat(1_000));
            let file = record.outputs.artifacts[0].clone();
            record.outputs.artifacts = vec![file; 40];
            record.outputs.artifacts[0].path = HOSTILE.into();
            record.outputs.gate[0].command = HOSTILE.into();
        });
        let page = world.page(PAGE).await;
        assert!(!page.contains("<script>alert"));
        let shown = record_of(&page, "r0001-ed-001-i1");
        assert!(shown.contains("and 30 more"), "{shown}");
        assert!(shown.contains("swarm provenance show r0001-ed-001-i1 --prompt"));
        assert!(shown.len() < 40_000, "{}", shown.len());
    }

    #[test]
    fn a_verdict_has_its_own_words() {
        for (status, words) in [
            (MatchStatus::ExactMatch, "exact match"),
            (MatchStatus::SemanticMatch, "semantic match"),
            (MatchStatus::PartialMatch, "partial match"),
            (MatchStatus::NoMatch, "no match"),
            (MatchStatus::NotReplayed, "not replayed"),
        ] {
            assert!(verdict(status).0.ends_with(&format!(" {words}</span>")));
        }
    }
}
