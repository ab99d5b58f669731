//! The report as Markdown, to paste somewhere else.
//!
//! Invariant: text of agents and people is escaped, so that none of it is markup where it lands.

use super::View;
use crate::view::ReportedIdea;
use crate::web::parts::{dollars, local, title, tokens};

/// Lines of a section.
const LINES: usize = 50;

/// The whole report.
pub fn of(view: &View) -> String {
    let report = &view.report;
    let period = match report.since {
        Some(since) => format!("Since {}", local(since, "%Y-%m-%d %H:%M")),
        None => "So far".to_owned(),
    };
    let mut page = format!(
        "# {period}: {} landed, {} did not land, {} unfinished\n",
        report.landed.len(),
        report.failed.len(),
        report.waiting.len()
    );
    let ideas = |all: &[ReportedIdea]| all.iter().map(|one| idea(view, one)).collect();
    let needs = report.needs_you.iter().map(|need| {
        let commands: Vec<String> = need.commands.iter().map(|one| code(one)).collect();
        let message = escaped(&need.message);
        if commands.is_empty() {
            message
        } else {
            format!("{message}: {}", commands.join(" or "))
        }
    });
    section(&mut page, "Needs you", needs.collect());
    section(&mut page, "Did not land", ideas(&report.failed));
    section(&mut page, "Landed", ideas(&report.landed));
    section(
        &mut page,
        "Had nothing to land",
        ideas(&report.nothing_to_land),
    );
    section(&mut page, "Unfinished", ideas(&report.waiting));
    let bumps = view.bumps.iter().map(|bump| {
        let at = local(bump.at, "%Y-%m-%d %H:%M");
        format!("{at} {}", escaped(&bump.text))
    });
    section(&mut page, "On the way", bumps.collect());
    let found = view.found.iter().map(|one| escaped(&one.content));
    section(&mut page, "Found out", found.collect());
    let cost = dollars(&report.used).unwrap_or_else(|| "cost not known".to_owned());
    let spent = match tokens(&report.used) {
        Some(tokens) => format!("{cost}, {tokens}"),
        None => cost,
    };
    section(&mut page, "Spent", vec![spent]);
    page
}

fn section(page: &mut String, heading: &str, lines: Vec<String>) {
    if lines.is_empty() {
        return;
    }
    page.push_str("\n## ");
    page.push_str(heading);
    page.push_str("\n\n");
    let more = lines.len().saturating_sub(LINES);
    for line in lines.into_iter().take(LINES) {
        page.extend(["- ", &line, "\n"]);
    }
    if more > 0 {
        page.extend(["- ", &more.to_string(), " more\n"]);
    }
}

fn idea(view: &View, idea: &ReportedIdea) -> String {
    let mut line = format!(
        "{} {} {}: {}",
        local(idea.at, "%Y-%m-%d %H:%M"),
        idea.id,
        idea.status.as_str(),
        escaped(title(&idea.content))
    );
    let way = [idea.reason.as_ref(), view.way.get(&idea.id)];
    for text in way.into_iter().flatten() {
        line.push_str("; ");
        line.push_str(&escaped(text));
    }
    if let Some(commit) = &idea.commit {
        line.push_str(" (");
        line.push_str(commit.as_str().get(..10).unwrap_or_default());
        line.push(')');
    }
    if let Some(cost) = idea.used.as_ref().and_then(dollars) {
        line.push_str(", ");
        line.push_str(&cost);
    }
    line
}

/// A command; a backtick inside would end the code.
fn code(command: &str) -> String {
    if command.contains('`') {
        escaped(command)
    } else {
        format!("`{}`", one_line(command))
    }
}

/// Text of agents and people, on one line, without Markdown.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if "\\`*_[]<>#|!&~@".contains(character) {
            safe.push('\\');
        }
        safe.push(character);
    }
    safe
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
