//! Renders the JSON views as pages for people.
//!
//! Invariant: every foreign text is made safe here or in [`Rows`]; a page is a list of lines and
//! writes nothing itself.

pub mod idea;
pub mod idea_list;
#[cfg(test)]
mod test_counts;
pub mod usage;

use serde_json::Value;

use super::clock;
use super::json::{list, number, text, texts, time};
use super::output::Output;
use super::output::table::Rows;
use super::output::terminal::{Tone, safe, title};
use crate::domain::lifecycle::{AttemptPhase, MergePhase, SwarmPhase};
use crate::domain::state::IdeaStatus;
use crate::domain::time::Timestamp;
use crate::view::describe::{
    AWAITING_APPROVAL, attempt_phase, merge_phase, status_tone, swarm_phase,
};

/// The longest title in a table without a terminal's width to cut it.
const MAX_TITLE: usize = 100;

/// An attempt's phase in words; a phase that this version does not know stays as it is.
pub fn phase_words(view: &Value, key: &str) -> String {
    let value = view.get(key).cloned().unwrap_or_default();
    match serde_json::from_value::<AttemptPhase>(value) {
        Ok(phase) => attempt_phase(phase).to_owned(),
        Err(_) => text(view, key).to_owned(),
    }
}

/// An agent's phase in words, with the cause and duration of a wait, or the time of the next setup.
pub fn agent_words(agent: &Value, now: Timestamp) -> String {
    let phase = phase_words(agent, "phase");
    let waits = agent.get("reason").is_some();
    if agent["phase"] == "gating" && waits {
        return "waiting for another check to end".to_owned();
    }
    if let Some(since) = time(agent, "providerWaitSince") {
        let reason = safe(text(agent, "reason"));
        return format!("{reason}, {}", clock::span(now.since(since)));
    }
    let failed = agent["phase"] == "preparing" && waits;
    if !failed {
        return phase;
    }
    match time(agent, "notBefore").filter(|at| *at > now) {
        Some(at) => format!("setup failed, again {}", clock::until(at, now)),
        None => "setup failed, running again".to_owned(),
    }
}

/// A merge's phase in words, and whether it waits.
pub fn merge_words(view: &Value) -> String {
    let value = view.get("state").cloned().unwrap_or_default();
    match serde_json::from_value::<MergePhase>(value) {
        Ok(MergePhase::Queued) if view["held"] == true => AWAITING_APPROVAL.to_owned(),
        Ok(MergePhase::Queued) if view.get("reason").is_some() => "waiting".to_owned(),
        Ok(phase) => merge_phase(phase).to_owned(),
        Err(_) => text(view, "state").to_owned(),
    }
}

/// The tone of an idea's status.
pub fn tone_of_status(word: &str) -> Tone {
    let status = IdeaStatus::ALL
        .iter()
        .find(|status| status.as_str() == word);
    status.map_or(Tone::Plain, |status| status_tone(*status))
}

/// The status of an idea, and whether it is held.
fn status_words(idea: &Value) -> String {
    let held = if idea["held"] == true { ", held" } else { "" };
    format!("{}{held}", text(idea, "status"))
}

/// When a time was, or will be, relative to `now`; empty if the view has none.
pub fn when(view: &Value, key: &str, now: Timestamp) -> String {
    let relative = |at| {
        if at > now {
            clock::until(at, now)
        } else {
            clock::ago(at, now)
        }
    };
    time(view, key).map_or_else(String::new, relative)
}

fn commit(oid: &str) -> &str {
    oid.get(..10).unwrap_or(oid)
}

/// Agents as a table.
pub fn agents(output: &Output, agents: &[Value], now: Timestamp) -> Vec<String> {
    let headings = [
        "AGENT",
        "IDEA",
        "PHASE",
        "ATTEMPT",
        "ITERATION",
        "PROGRESS",
        "WHEN",
    ];
    let mut rows = Rows::new(output, &headings, &[2]).leave_out(&[3, 4, 5]);
    for agent in agents {
        let ended = agent.get("endedAt").is_some();
        let tone = if ended { Tone::Dim } else { Tone::Live };
        let (verb, key) = if ended {
            ("ended", "endedAt")
        } else {
            ("started", "startedAt")
        };
        let last = format!("{verb} {}", when(agent, key, now));
        rows.row(&[
            (Tone::Plain, text(agent, "id")),
            (Tone::Plain, text(agent, "ideaId")),
            (tone, &agent_words(agent, now)),
            (Tone::Plain, &number(agent, "attempt").to_string()),
            (Tone::Plain, &number(agent, "iteration").to_string()),
            (Tone::Plain, &progress(agent)),
            (Tone::Dim, &last),
        ]);
    }
    rows.lines()
}

/// What an agent reported; empty if nothing.
pub fn progress(agent: &Value) -> String {
    match agent.get("progress").and_then(Value::as_u64) {
        Some(percent) => format!("{percent} %"),
        None => String::new(),
    }
}

/// The merge queue as a table.
pub fn merges(output: &Output, merges: &[Value], now: Timestamp) -> Vec<String> {
    let headings = ["IDEA", "STATE", "AGENT", "COMMIT", "QUEUED", "REASON"];
    let mut rows = Rows::new(output, &headings, &[5]).leave_out(&[3, 2, 4]);
    for merge in merges {
        let mut why = text(merge, "reason").to_owned();
        let files = texts(merge, "files").join(", ");
        if !why.contains(&files) {
            why = if why.is_empty() {
                files
            } else {
                format!("{why} ({files})")
            };
        }
        rows.row(&[
            (Tone::Plain, text(merge, "ideaId")),
            (Tone::Live, &merge_words(merge)),
            (Tone::Plain, text(merge, "agentId")),
            (Tone::Dim, commit(text(merge, "source"))),
            (Tone::Dim, &when(merge, "queuedAt", now)),
            (Tone::Plain, &why),
        ]);
    }
    rows.lines()
}

/// The page of `status`. `busy` are the active and merging ideas, for their titles.
pub fn status(output: &Output, status: &Value, busy: &[Value], now: Timestamp) -> Vec<String> {
    let mut page = vec![head(output, status), counts(output, status)];
    page.extend(target_check(status, now));
    page.extend(synthesis(status));
    let agents = list(status, "agents");
    section(
        output,
        &mut page,
        "Agents",
        working(output, agents, busy, now),
    );
    let queue = list(status, "mergeQueue");
    if !queue.is_empty() {
        section(output, &mut page, "Merge queue", merges(output, queue, now));
    }
    section(
        output,
        &mut page,
        "Needs you",
        needs_you(output, list(status, "needsYou")),
    );
    let held = usage::accounts(status, now);
    let held = held
        .iter()
        .map(|line| format!("  {}", output.paint(Tone::Warn, line)));
    section(output, &mut page, "Accounts on hold", held.collect());
    let spent = status.get("usedToday").unwrap_or(&Value::Null);
    let words = usage::describe_usage(spent);
    if !words.is_empty() {
        let day = safe(text(spent, "day"));
        section(
            output,
            &mut page,
            "Spent",
            vec![format!("  {words} on {day} (UTC)")],
        );
    }
    let warnings = warnings(output, list(status, "warnings"));
    section(output, &mut page, "Warnings", warnings);
    page
}

/// Adds a section with its heading to a page, unless it has no lines.
pub fn section(output: &Output, page: &mut Vec<String>, heading: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        page.push(String::new());
        page.push(output.paint(Tone::Strong, heading).into_owned());
        page.extend(lines);
    }
}

/// Phase, mode, target, slots and process of the swarm on one line.
pub fn head(output: &Output, status: &Value) -> String {
    let phase = text(status, "phase");
    let tone = match phase {
        "running" => Tone::Good,
        "stopped" => Tone::Dim,
        _ => Tone::Warn,
    };
    // The reason of a pause is listed under "Needs you".
    let known = serde_json::from_value::<SwarmPhase>(phase.into());
    let words = known.map_or_else(|_| safe(phase), |phase| swarm_phase(phase).to_owned());
    let mut parts = vec![output.paint(tone, &words).into_owned()];
    parts.push(safe(text(status, "mode")));
    let target = status.get("target").unwrap_or(&Value::Null);
    match (text(target, "branch"), commit(text(target, "commit"))) {
        ("", _) => {}
        (branch, "") => parts.push(format!("target {}", safe(branch))),
        (branch, commit) => parts.push(format!("{} at {}", safe(branch), safe(commit))),
    }
    if let Some(slots) = status.get("slots").filter(|slots| number(slots, "max") > 0) {
        parts.push(format!(
            "{} of {} slots used",
            number(slots, "used"),
            number(slots, "max")
        ));
    }
    if let Some(pid) = status.get("pid").and_then(Value::as_u64) {
        parts.push(format!("pid {pid}"));
    }
    let page = text(status, "webUrl");
    if !page.is_empty() {
        parts.push(safe(page));
    }
    parts.join(" · ")
}

/// The check of the target that is running now; ideas and merges may be waiting for it.
pub fn target_check(status: &Value, now: Timestamp) -> Option<String> {
    let check = status.get("baseline").filter(|check| check.is_object())?;
    let branch = text(status.get("target").unwrap_or(&Value::Null), "branch");
    let command = match text(check, "command") {
        "" => String::new(),
        command => format!(": `{command}`"),
    };
    let since = time(check, "since").map_or_else(String::new, |since| {
        format!(" (started {})", clock::ago(since, now))
    });
    let line = format!(
        "checking {branch} at {}{command}{since}",
        commit(text(check, "commit"))
    );
    Some(safe(&line))
}

/// The synthesis that is under way.
pub fn synthesis(status: &Value) -> Option<String> {
    let run = safe(text(status, "synthesis"));
    (!run.is_empty()).then(|| format!("making facts of new learnings: run {run}"))
}

/// The number of ideas in each status; without ideas, the next command.
pub fn counts(output: &Output, status: &Value) -> String {
    let ideas = status.get("ideas").unwrap_or(&Value::Null);
    let part = |status: &IdeaStatus| {
        let count = number(ideas, status.as_str());
        let words = format!("{count} {}", status.as_str());
        (count > 0).then(|| output.paint(status_tone(*status), &words).into_owned())
    };
    let parts: Vec<String> = IdeaStatus::ALL.iter().filter_map(part).collect();
    if parts.is_empty() {
        return "no ideas yet\n  -> add one: swarm idea add \"...\"".into();
    }
    let held = match number(status, "ideasHeld") {
        0 => String::new(),
        held => format!("; {held} held"),
    };
    format!("ideas: {}{held}", parts.join(", "))
}

fn working(output: &Output, agents: &[Value], busy: &[Value], now: Timestamp) -> Vec<String> {
    if agents.is_empty() {
        return vec![];
    }
    let headings = [
        "AGENT",
        "IDEA",
        "TITLE",
        "PHASE",
        "ITERATION",
        "PROGRESS",
        "STARTED",
    ];
    let mut rows = Rows::new(output, &headings, &[2, 3]).leave_out(&[4, 5, 6]);
    for agent in agents {
        let idea = busy.iter().find(|idea| idea["id"] == agent["ideaId"]);
        let content = idea.map_or("", |idea| text(idea, "content"));
        rows.row(&[
            (Tone::Plain, text(agent, "id")),
            (Tone::Plain, text(agent, "ideaId")),
            (Tone::Plain, &title(content, MAX_TITLE)),
            (Tone::Live, &agent_words(agent, now)),
            (Tone::Plain, &number(agent, "iteration").to_string()),
            (Tone::Plain, &progress(agent)),
            (Tone::Dim, &when(agent, "startedAt", now)),
        ]);
    }
    rows.lines()
}

/// What needs the person, each with the commands to type.
pub fn needs_you(output: &Output, needs: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for need in needs {
        let message = safe(text(need, "message"));
        lines.push(format!("  {} {message}", output.paint(Tone::Warn, "!")));
        for command in texts(need, "commands") {
            lines.push(self::command(output, command));
        }
    }
    lines
}

/// Each warning, with the commands to type.
pub fn warnings(output: &Output, warnings: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    for warning in warnings {
        let message = safe(text(warning, "message"));
        lines.push(format!("  {}", output.paint(Tone::Warn, &message)));
        let commands = texts(warning, "commands").into_iter();
        lines.extend(commands.map(|command| self::command(output, command)));
    }
    lines
}

/// A command to type, on a line of its own.
pub fn command(output: &Output, command: &str) -> String {
    format!("      {}", output.paint(Tone::Live, &safe(command)))
}

/// Lines of `name  value`; empty values are left out.
pub fn fields(output: &Output, fields: &[(&str, String)]) -> Vec<String> {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let shown = fields.iter().filter(|(_, value)| !value.is_empty());
    shown
        .map(|(name, value)| {
            let name = format!("{name:<width$}");
            format!("{}  {value}", output.paint(Tone::Dim, &name))
        })
        .collect()
}

/// Most runs that are listed by id.
const RUNS_LISTED: usize = 5;

/// The ids of the runs; of many, how many they are and the last ones.
fn last_runs(runs: &[&str]) -> String {
    match runs.len() {
        0..=RUNS_LISTED => runs.join(", "),
        many => format!(
            "{many}; the last: {}",
            runs[many - RUNS_LISTED..].join(", ")
        ),
    }
}

/// The worktree of an agent, or what became of it.
fn worktree(agent: &Value) -> String {
    match agent.get("worktree") {
        Some(Value::Null) => "lent to another idea; all work is on the branch".to_owned(),
        Some(_) | None => safe(text(agent, "worktree")),
    }
}

/// The page of `agent show`.
pub fn agent(output: &Output, agent: &Value, now: Timestamp) -> Vec<String> {
    let at = |key| when(agent, key, now);
    let one = |key| safe(text(agent, key));
    let count = |key| number(agent, key).to_string();
    let pid = agent.get("pid").and_then(Value::as_u64);
    let mut page = vec![format!(
        "{}  {}",
        output.paint(Tone::Strong, &one("id")),
        output.paint(Tone::Live, &safe(&agent_words(agent, now)))
    )];
    page.extend(fields(
        output,
        &[
            ("idea", one("ideaId")),
            ("outcome", one("end")),
            ("reason", one("reason")),
            ("attempt", count("attempt")),
            ("iteration", count("iteration")),
            ("progress", progress(agent)),
            ("profile", one("profile")),
            ("pid", pid.map_or_else(String::new, |pid| pid.to_string())),
            ("worktree", worktree(agent)),
            ("branch", one("branch")),
            ("redirected to", one("redirectedTo")),
            ("continues", at("notBefore")),
            ("conversation", conversation(agent)),
            (
                "used",
                usage::describe_usage(agent.get("used").unwrap_or(&Value::Null)),
            ),
            ("started", at("startedAt")),
            ("ended", at("endedAt")),
            ("runs", safe(&last_runs(&texts(agent, "runs")))),
        ],
    ));
    let said = list(agent, "said").iter();
    let said = said.map(|one| message_line(one, in_merge_queue(agent), now));
    section(output, &mut page, "Messages", said.collect());
    page
}

/// Whether the agent's work waits in the merge queue, where no prompt follows.
pub fn in_merge_queue(agent: &Value) -> bool {
    let phase = agent.get("phase").cloned().unwrap_or_default();
    serde_json::from_value(phase)
        .is_ok_and(|phase: AttemptPhase| phase == AttemptPhase::ReadyToMerge)
}

/// The name of the conversation, and whether the agent resumed it.
fn conversation(agent: &Value) -> String {
    let session = safe(text(agent, "session"));
    match agent.get("resumed") {
        Some(Value::Bool(true)) => format!("{session} (resumed)"),
        _ => session,
    }
}

/// A message to an agent, and how far it has come.
fn message_line(message: &Value, in_queue: bool, now: Timestamp) -> String {
    let at = |key| when(message, key, now);
    let (accepted, run) = (at("acceptedAt"), safe(text(message, "run")));
    let stage = match text(message, "stage") {
        "seen" => format!("seen {} in {run}, accepted {accepted}", at("seenAt")),
        "delivered" => format!(
            "delivered {} to {run}, accepted {accepted}",
            at("deliveredAt")
        ),
        "notDelivered" => format!("accepted {accepted}, left for the next attempt"),
        "neverRead" => format!("accepted {accepted}, never read: the idea was done first"),
        _ if in_queue => format!("accepted {accepted}, read only if the merge comes back"),
        _ => format!("accepted {accepted}, goes out with the next prompt"),
    };
    format!("  {}  ({stage})", safe(text(message, "text")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setup_that_failed_says_when_it_runs_again() {
        let now = clock::now();
        let mut agent = json!({"phase": "preparing"});
        assert_eq!(agent_words(&agent, now), "preparing its worktree");
        agent["reason"] = "its setup failed".into();
        assert_eq!(agent_words(&agent, now), "setup failed, running again");
        agent["notBefore"] = json!(now.plus_millis(60_000));
        assert_eq!(agent_words(&agent, now), "setup failed, again in 1 min");
    }

    #[test]
    fn an_agent_that_waits_for_its_provider_says_why_and_how_long() {
        let now = clock::now();
        let agent = json!({
            "phase": "working",
            "reason": "waiting for the provider: rate_limit (429)",
            "providerWaitSince": now.plus_millis(-180_000),
        });
        let words = "waiting for the provider: rate_limit (429), 3 min";
        assert_eq!(agent_words(&agent, now), words);
    }

    #[test]
    fn of_many_runs_the_last_ones_are_listed() {
        let runs: Vec<String> = (1..=101).map(|number| format!("r{number}")).collect();
        let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
        assert_eq!(last_runs(&runs[..2]), "r1, r2");
        assert_eq!(last_runs(&runs), "101; the last: r97, r98, r99, r100, r101");
    }
}
