//! The output on an agent's page: its runs as tabs, a search, the lines, and what they are.

use maud::{Markup, html};

use super::agent::View;
use super::chunks::{ListedAs, list};
use super::known::{Then, label};
use super::rows::{Look, grouped, size};
use super::shown::{HITS, LINES, Lines, Search, Shown};
use crate::domain::ids::RunId;
use crate::domain::lifecycle::AttemptPhase;
use crate::web::document::{Drawing, encoded};
use crate::web::output::{Line, Stream};
use crate::web::parts::{icon, tinted};
use crate::web::touches::Touched;

/// All of it, within a card.
pub fn panel(drawing: &Drawing<'_>, view: &View) -> Markup {
    let Some(shown) = &view.shown else {
        return html! {
            (drawing.fragment("f-agent-runs", Touched::AGENTS, &tabs(drawing, view)))
        };
    };
    html! {
        div .logbar {
            (drawing.fragment("f-agent-runs", Touched::AGENTS, &tabs(drawing, view)))
            @if shown.stderr > 0 { (streams(drawing, view, shown)) }
            @if let Some(lines) = &shown.lines { (tools(drawing, view, shown, lines)) }
        }
        @match &shown.lines {
            None => p .empty-log { "The output of " (shown.wanted.run) " is no longer kept." },
            Some(lines) => {
                (notes(drawing, view, lines))
                (output(drawing, view, shown, lines))
                (foot(drawing, view, shown, lines))
            }
        }
    }
}

fn at(drawing: &Drawing<'_>) -> String {
    let at = drawing.moment.at.as_deref();
    at.map(|at| format!("&at={}", encoded(at)))
        .unwrap_or_default()
}

/// The address of this page with another part of the output.
fn address(drawing: &Drawing<'_>, shown: &Shown, rest: &str) -> String {
    let stream = match shown.wanted.stream {
        Stream::Stdout => "",
        Stream::Stderr => "&stream=stderr",
    };
    format!("?run={}{stream}{rest}{}", shown.wanted.run, at(drawing))
}

/// With what is searched for.
fn searched(shown: &Shown) -> String {
    let Some(text) = &shown.wanted.text else {
        return String::new();
    };
    let regex = if shown.wanted.is_regex {
        "&regex=1"
    } else {
        ""
    };
    format!("&q={}{regex}", encoded(text))
}

fn tabs(drawing: &Drawing<'_>, view: &View) -> Markup {
    let known = &view.known;
    let current = view.run.as_ref();
    let newest = known.agent.runs.last();
    html! {
        @if known.agent.runs.is_empty() {
            p .empty-log { "It has not run yet." }
        } @else {
            nav .seg aria-label="Runs" { @for run in &known.agent.runs {
                a href={ "?run=" (run) (at(drawing)) }
                    aria-current=[(current == Some(run)).then_some("true")] {
                    (run_icon(known.live.as_ref() == Some(run), view, run)) (label(run))
                }
            } }
        }
        @if let (Some(newest), Some(current)) = (newest, current) && newest != current
            && known.live.as_ref() == Some(newest) {
            a .b.later-run href={ "?run=" (newest) (at(drawing)) } {
                (label(newest)) " runs now" (icon("next"))
            }
        }
    }
}

fn run_icon(is_live: bool, view: &View, run: &RunId) -> Markup {
    let is_last = view.known.agent.runs.last() == Some(run);
    match (is_live, view.known.agent.phase) {
        (true, _) => tinted("run", "run"),
        (false, AttemptPhase::Failed) if is_last => tinted("x", "bad"),
        (false, _) => tinted("ring", "idle"),
    }
}

fn streams(drawing: &Drawing<'_>, view: &View, shown: &Shown) -> Markup {
    let Some(run) = &view.run else {
        return html! {};
    };
    let is_current = |stream| (shown.wanted.stream == stream).then_some("true");
    html! {
        nav .seg aria-label="Streams" {
            a href={ "?run=" (run) (at(drawing)) } aria-current=[is_current(Stream::Stdout)] {
                "Output"
            }
            a href={ "?run=" (run) "&stream=stderr" (at(drawing)) }
                aria-current=[is_current(Stream::Stderr)] {
                (icon("warn")) "stderr, " (size(shown.stderr))
            }
        }
    }
}

fn tools(drawing: &Drawing<'_>, view: &View, shown: &Shown, lines: &Lines) -> Markup {
    let wanted = &shown.wanted;
    let is_live = is_live(drawing, view, shown);
    html! {
        form .logfind method="get" role="search" {
            input type="hidden" name="run" value=(wanted.run);
            @if wanted.stream == Stream::Stderr {
                input type="hidden" name="stream" value="stderr";
            }
            @if let Some(at) = &drawing.moment.at { input type="hidden" name="at" value=(at); }
            div .find-in {
                input type="search" name="q" value=[wanted.text.as_deref()] maxlength="1000"
                    aria-label={ "Search all output of this run" } placeholder="Search all lines";
                span #log-hits role="status" { (hits(lines.search.as_ref())) }
            }
            label .row title="Search for a regular expression" {
                input type="checkbox" name="regex" value="1" checked[wanted.is_regex]; "Regex"
            }
            button .b.quiet.sq aria-label="Search" { (icon("find")) }
        }
        (steps(drawing, shown, lines.search.as_ref()))
        span .grow {}
        @if is_live { label .row.scripted hidden { input #log-follow type="checkbox"; "Follow" } }
        label .row.scripted hidden { input #log-wrap type="checkbox" checked; "Wrap" }
        button .b.quiet.sq.scripted #log-copy type="button" hidden
            aria-label="Copy the lines on this page" { (icon("copy")) }
    }
}

/// Links to the match before and after.
fn steps(drawing: &Drawing<'_>, shown: &Shown, search: Option<&Search>) -> Markup {
    let link = |line: u64| {
        let rest = format!("{}&line={line}", searched(shown));
        format!("{}#L{line}", address(drawing, shown, &rest))
    };
    let before = search.and_then(|search| {
        let hits = search.found.hits.iter().map(|hit| hit.line);
        hits.take_while(|line| Some(*line) < search.at).last()
    });
    let after = search.and_then(|search| search.next);
    html! {
        @for (line, id, name, shape) in [
            (before, "log-before", "Match before", "prev"),
            (after, "log-after", "Next match", "next"),
        ] {
            a .b.quiet.sq #(id) aria-label=(name) href=[line.map(link)] hidden[line.is_none()] {
                (icon(shape))
            }
        }
    }
}

fn hits(search: Option<&Search>) -> String {
    let Some(search) = search else {
        return String::new();
    };
    let hits = &search.found.hits;
    let nth = hits.iter().position(|hit| Some(hit.line) == search.at);
    let more = if search.found.next.is_some() || hits.len() > HITS {
        "+"
    } else {
        ""
    };
    match (nth, hits.len()) {
        (_, 0) if more.is_empty() => "none".to_owned(),
        (Some(nth), count) => format!("{} of {count}{more}", nth + 1),
        (None, count) => format!("{count}{more}"),
    }
}

fn notes(drawing: &Drawing<'_>, view: &View, lines: &Lines) -> Markup {
    let refused = lines
        .pattern
        .as_ref()
        .and_then(|pattern| pattern.as_ref().err());
    let now = drawing.live_link(&format!("agents/{}", view.known.agent.id));
    html! {
        @if let Some(why) = refused {
            p .lognote role="alert" { "This cannot be searched for: " (why) }
        }
        @match lines.then {
            None => {},
            Some(Then::UpTo(_)) => p .lognote {
                "Shown up to the last signal before this moment; it may have written more. "
                a href=(now) { "All of it" }
            },
            Some(Then::Unknown) => p .lognote {
                "How much of this output existed at this moment is not known. "
                a href=(now) { "The output as it is now" }
            },
        }
        @if lines.count.is_none() {
            p .lognote #log-uncounted {
                "The lines of this output are still being counted. Load the page again for their \
                numbers."
            }
        }
    }
}

fn is_live(drawing: &Drawing<'_>, view: &View, shown: &Shown) -> bool {
    !drawing.moment.is_past() && view.known.live.as_ref() == Some(&shown.wanted.run)
}

fn output(drawing: &Drawing<'_>, view: &View, shown: &Shown, lines: &Lines) -> Markup {
    let id = &view.known.agent.id;
    let part = |name: &str| {
        let rest = address(drawing, shown, "");
        drawing.live_link(&format!("agents/{id}/{name}{rest}"))
    };
    let look = Look {
        is_rendered: lines.is_rendered,
        stream: shown.wanted.stream,
        pattern: lines
            .pattern
            .as_ref()
            .and_then(|pattern| pattern.as_ref().ok()),
    };
    let about = ListedAs {
        count: lines.count,
        bytes: lines.bytes,
        is_live: is_live(drawing, view, shown),
    };
    html! {
        div .logwrap { div .logbox #logbox data-output=(part("output")) data-search=(part("search"))
            data-page=(address(drawing, shown, ""))
            data-line=[shown.wanted.line.or_else(|| {
                lines.search.as_ref().and_then(|search| search.at)
            })] {
            @if lines.chunk.lines.is_empty() && !about.is_live {
                p .empty-log { "It wrote nothing." }
            }
            (list(&lines.chunk, &look, &about))
        }
        button .b.log-new.scripted #log-new type="button" hidden {} }
    }
}

fn foot(drawing: &Drawing<'_>, view: &View, shown: &Shown, lines: &Lines) -> Markup {
    let numbered = |line: Option<&Line>| line.and_then(|line| line.number);
    let first = numbered(lines.chunk.lines.first());
    let last = numbered(lines.chunk.lines.last());
    let dropped: u32 = lines.chunk.lines.iter().map(|line| line.dropped).sum();
    let link = |from: u64| address(drawing, shown, &format!("{}&from={from}", searched(shown)));
    let raw = |rest: &str| {
        let part = address(drawing, shown, rest);
        drawing.live_link(&format!("agents/{}/raw{part}", view.known.agent.id))
    };
    html! {
        div .logfoot {
            span #log-range {
                @if let (Some(first), Some(last)) = (first, last) {
                    "Lines " (grouped(first)) " to " (grouped(last))
                    @if let Some(count) = lines.count { " of " (grouped(count)) }
                    ", "
                }
                (size(lines.bytes))
            }
            @if let Some(first) = first.filter(|first| *first > 1) {
                a .unscripted href=(link(first.saturating_sub(LINES as u64).max(1))) {
                    "Earlier lines"
                }
            }
            @if let Some(last) = last.filter(|last| lines.count.is_some_and(|all| *last < all)) {
                a .unscripted href=(link(last + 1)) { "Later lines" }
                a .unscripted href=(address(drawing, shown, &searched(shown))) { "Last lines" }
            }
            @if dropped > 0 {
                span { (dropped) " terminal sequences are not shown" }
            }
            @if !drawing.moment.is_past() {
                a href=(raw("")) { "Raw" }
                a href=(raw("&download=1")) { "Download" }
            }
            span .grow {}
            @if view.known.agent.runs.len() > 1 || shown.stderr > 0 {
                span { "The search looks through all lines of this run" }
            } @else {
                span { "The search looks through all lines" }
            }
        }
    }
}
