//! The page of one idea: what it is, what happened to it, and what to do next.

use serde_json::Value;

use super::{
    commit, fields, idea_list, merge_words, needs_you, phase_words, section, status_words,
    tone_of_status, usage, when,
};
use crate::cli::clock;
use crate::cli::event_log;
use crate::cli::event_log::idea_story::{Attempt, Story};
use crate::cli::json::{list, number, text, texts};
use crate::cli::output::Output;
use crate::cli::output::terminal::{Tone, safe, safe_block, title};
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;

/// Columns in front of what happened.
const INDENT: usize = 2;
/// The longest quality command beside its output.
const MAX_COMMAND: usize = 30;

/// The page of `idea show`.
pub fn page(output: &Output, idea: &Value, story: &Story, now: Timestamp) -> Vec<String> {
    let status = text(idea, "status");
    let mut page = vec![format!(
        "{}  {}",
        output.paint(Tone::Strong, &safe(text(idea, "id"))),
        output.paint(tone_of_status(status), &safe(&status_words(idea)))
    )];
    page.extend(fields(output, &idea_fields(idea, now)));
    page.push(String::new());
    let content = safe_block(text(idea, "content").trim_end());
    page.extend(
        content
            .lines()
            .map(|line| format!("  {line}").trim_end().to_owned()),
    );
    let needs = needs_you(output, list(idea, "needsYou"));
    section(output, &mut page, "Needs you", needs);
    if story.before.is_empty() && story.attempts.is_empty() {
        // The log begins later, as after a repair.
        let history = list(idea, "history").iter();
        let history = history.map(|entry| history_line(output, entry, now));
        section(output, &mut page, "History", history.collect());
    }
    let before = event_log::lines_within(output, &story.before, now, INDENT);
    section(
        output,
        &mut page,
        "Before the first attempt",
        indented(before),
    );
    for attempt in &story.attempts {
        let heading = heading(attempt);
        let happened = event_log::lines_within(output, &attempt.happened, now, INDENT);
        section(output, &mut page, &heading, indented(happened));
        if attempt.happened.is_empty() {
            page.extend([
                String::new(),
                output.paint(Tone::Strong, &heading).into_owned(),
            ]);
        }
        page.extend(outputs(output, attempt));
    }
    section(output, &mut page, "Next", indented(next_commands(idea)));
    page
}

/// What is known of an idea; an empty value is not shown.
fn idea_fields(idea: &Value, now: Timestamp) -> [(&'static str, String); 16] {
    let at = |key| when(idea, key, now);
    let one = |key| safe(text(idea, key));
    let many = |key| safe(&texts(idea, key).join(", "));
    let some = |key| match idea.get(key).and_then(Value::as_i64) {
        None | Some(0) => String::new(),
        Some(number) => number.to_string(),
    };
    let merge = idea.get("merge").map(merge_words).unwrap_or_default();
    let used = usage::describe_usage(idea.get("used").unwrap_or(&Value::Null));
    [
        ("agent", one("agentId")),
        ("profile", one("profile")),
        ("after", many("after")),
        ("needed by", many("dependents")),
        ("tags", many("tags")),
        ("priority", some("priority")),
        ("review", idea_list::review(idea).to_owned()),
        ("attempts", some("attempts")),
        ("crashes", some("retryCount")),
        ("landed as", one("commit")),
        ("kept worktree", one("keptWorktree")),
        ("merge", safe(&merge)),
        ("used", used),
        ("last error", one("lastError")),
        ("added", at("createdAt")),
        ("changed", at("updatedAt")),
    ]
}

/// One line of an idea's history: when it happened and what.
fn history_line(output: &Output, entry: &Value, now: Timestamp) -> String {
    let what = match text(entry, "what") {
        "claimed" => "claimed by".to_owned(),
        "redirected" => "stopped; its place goes to".to_owned(),
        "redirected_to" => "next, in place of".to_owned(),
        "crash_recovery" => "crashed:".to_owned(),
        "nothing_to_merge" => "nothing to land:".to_owned(),
        "rolled_back" => "rolled back to".to_owned(),
        "approved" => "approved to land:".to_owned(),
        "rejected" => "returned by a reviewer:".to_owned(),
        "returned" => "sent back to its agent by".to_owned(),
        "landed" => "landed as".to_owned(),
        "dropped_by_rewrite" => "missing on the target, rewritten to".to_owned(),
        "found_as" => "on the rewritten target as".to_owned(),
        what => format!("{}:", safe(what)),
    };
    let line = format!("{what} {}", safe(text(entry, "detail")));
    let at = format!("{:<14}", when(entry, "at", now));
    let line = line.trim_end().trim_end_matches(':');
    format!("  {}  {line}", output.paint(Tone::Dim, &at))
}

fn indented(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

/// An attempt in a line: who, how far, how long, for how much, and how it ended.
fn heading(attempt: &Attempt) -> String {
    let agent = &attempt.agent;
    let mut parts = vec![safe(text(agent, "id"))];
    let iterations = match number(agent, "iteration") {
        1 => "1 iteration".to_owned(),
        many => format!("{many} iterations"),
    };
    parts.push(iterations);
    parts.extend(attempt.duration_ms.map(clock::span));
    let cost = agent.get("used").map_or_else(String::new, usage::cost);
    let end = match text(agent, "end") {
        "" => phase_words(agent, "phase"),
        end => safe(end),
    };
    parts.extend([cost, end].into_iter().filter(|part| !part.is_empty()));
    format!("Attempt {}: {}", attempt.number(), parts.join(", "))
}

/// The files of an attempt's output. A file's name stands on a line of its own, so that nothing of
/// it is ever cut.
fn outputs(output: &Output, attempt: &Attempt) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &attempt.runs {
        let what = match (run.iteration, &run.command) {
            (Some(iteration), _) => format!("{} {iteration}", run.purpose),
            (None, Some(command)) => format!("{}: {}", run.purpose, title(command, MAX_COMMAND)),
            (None, None) => run.purpose.to_owned(),
        };
        let failed = run
            .how
            .as_ref()
            .is_some_and(|how| how.exit_code() != Some(0));
        let end = if failed { " (failed)" } else { "" };
        if !run.output.is_empty() {
            let line = format!("  output of {}{end}", safe(&what));
            lines.push(output.paint(Tone::Dim, &line).into_owned());
        }
        lines.extend(run.output.iter().map(|file| format!("    {file}")));
    }
    lines
}

/// What a person may want to type next.
fn next_commands(idea: &Value) -> Vec<String> {
    let id = safe(text(idea, "id"));
    let agent = safe(text(idea, "agentId"));
    let known = IdeaStatus::ALL.into_iter();
    let status = known
        .into_iter()
        .find(|status| status.as_str() == text(idea, "status"));
    let Some(status) = status else {
        return Vec::new();
    };
    match status {
        IdeaStatus::Pending if idea["held"] == true => vec![format!("swarm idea unhold {id}")],
        IdeaStatus::Pending => vec![
            format!("swarm idea assign {id}"),
            format!("swarm idea hold {id}"),
        ],
        IdeaStatus::Active if !agent.is_empty() => vec![
            format!("swarm agent logs {agent} --follow"),
            format!("swarm agent say {agent} \"...\""),
        ],
        IdeaStatus::Merging if idea["merge"]["held"] == true => {
            vec![format!("swarm merge diff {id}")]
        }
        IdeaStatus::Active | IdeaStatus::Merging => vec!["swarm merge list".to_owned()],
        IdeaStatus::Blocked | IdeaStatus::Failed | IdeaStatus::Timeout | IdeaStatus::Cancelled => {
            vec![format!("swarm idea retry {id}")]
        }
        IdeaStatus::Done => match commit(text(idea, "commit")) {
            "" => Vec::new(),
            commit => vec![format!("git show {commit}")],
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::event_log::idea_story::Run;
    use crate::cli::event_log::{Selected, Storyteller, Subject};
    use crate::cli::output::tests::Shared;
    use crate::domain::event::{Event, RolledBack};
    use crate::domain::observation::RunEndKind;

    fn story() -> Story {
        let event = Event::RolledBack(RolledBack {
            to: "before-the-big-change".parse().unwrap(),
            commit: "0123456789012345678901234567890123456789".parse().unwrap(),
            safety: "before-rollback-20260101t000000000z".parse().unwrap(),
        });
        let selected = Selected {
            event: Some(event),
            subject: Subject::default(),
        };
        let document = json!({"seq": 7, "ts": "2026-01-01T00:00:00.000Z"});
        let entry = Storyteller::default().tell(&document, &selected).unwrap();
        Story {
            before: vec![],
            attempts: vec![Attempt {
                agent: json!({"id": "ed-001", "attempt": 1, "iteration": 2, "end": "failed"}),
                duration_ms: Some(61_000),
                happened: vec![entry],
                runs: vec![Run {
                    run: "r0002-ed-001-q1".parse().unwrap(),
                    purpose: "check",
                    iteration: None,
                    command: Some("cargo test --workspace --all-features --locked -- -q".into()),
                    how: Some(RunEndKind::Exited { code: 1 }),
                    duration_ms: Some(9),
                    output: vec![".git/swarm/runs/r0002-ed-001-q1/stdout.log".into()],
                }],
            }],
        }
    }

    #[test]
    fn at_60_columns_nothing_that_must_be_typed_is_cut() {
        let (data, messages) = (Box::new(Shared::default()), Box::new(Shared::default()));
        let mut output = Output::plain(data, messages, false);
        output.width = Some(60);
        let idea = json!({"id": "idea-001", "status": "failed", "content": "Fix it"});
        let now = "2026-01-01T00:12:00.000Z".parse().unwrap();
        let lines = page(&output, &idea, &story(), now);
        let long = lines.iter().filter(|line| line.chars().count() > 60);
        assert_eq!(long.collect::<Vec<_>>(), Vec::<&String>::new());
        let text = lines.join("\n");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [
            "Attempt 1: ed-001, 2 iterations, 1 min, failed",
            "swarm rollback before-rollback-20260101t000000000z",
            "output of check: cargo test",
            "(failed)",
            ".git/swarm/runs/r0002-ed-001-q1/stdout.log",
            "swarm idea retry idea-001",
        ] {
            assert!(words.contains(said), "{said}: {text}");
        }
    }
}
