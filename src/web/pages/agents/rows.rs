//! Lines of output as markup: one list item a line, a tool's call with its result folded.
//!
//! Invariant: at most one element a line without colours, so that 2,000 lines stay a light page.

use maud::{Markup, html};

use crate::domain::signal::{Item, Scanner, Signal};
use crate::web::output::{Line, Pattern, Span, Stream, Style, marked};

/// How lines are shown.
pub struct Look<'a> {
    /// Whether indented lines below a call are its result.
    pub is_rendered: bool,
    /// Which output it is.
    pub stream: Stream,
    /// What is searched for.
    pub pattern: Option<&'a Pattern>,
}

/// All of these lines.
pub fn rows(lines: &[Line], look: &Look<'_>) -> Markup {
    let mut groups = Vec::new();
    let mut rest = lines;
    while let Some(first) = rest.first() {
        let results = if look.is_rendered && is_call(&first.text()) {
            let below = rest.iter().skip(1);
            below
                .take_while(|line| line.text().starts_with("    "))
                .count()
        } else {
            0
        };
        let (group, later) = rest.split_at(1 + results);
        groups.push(group);
        rest = later;
    }
    html! { @for group in groups { @match group {
        [line] => (row(line, look)),
        [call, results @ ..] => (folded(call, results, look)),
        [] => {},
    } } }
}

/// Whether a line of a transcript is a call of a tool: `$ COMMAND` or `TOOL: INPUT`.
fn is_call(text: &str) -> bool {
    let is_name = |name: &str| {
        let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        !name.is_empty() && name.chars().all(of_name)
    };
    text.starts_with("$ ") || text.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// Digits in groups of three: `1,206`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size: `840 B`, `141 kB`, `10.0 MB`.
#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

fn row(line: &Line, look: &Look<'_>) -> Markup {
    let class = (look.stream == Stream::Stderr).then_some("err");
    html! {
        li id=[id(line)] data-n=[line.number.map(grouped)] class=[class] { (content(line, look)) }
    }
}

fn id(line: &Line) -> Option<String> {
    line.number.map(|number| format!("L{number}"))
}

fn folded(call: &Line, results: &[Line], look: &Look<'_>) -> Markup {
    let is_wanted = |line: &Line| {
        let found = look.pattern.map(|pattern| pattern.matches(&line.text()));
        found.is_some_and(|found| !found.is_empty())
    };
    html! {
        li id=[id(call)] data-n=[call.number.map(grouped)] {
            details open[results.iter().any(is_wanted)] {
                summary { (content(call, look)) }
                @for line in results { div id=[id(line)] { (content(line, look)) } }
            }
        }
    }
}

fn content(line: &Line, look: &Look<'_>) -> Markup {
    let text = line.text();
    let signals = if look.stream == Stream::Stdout && text.contains("<swarm>") {
        signals(&text)
    } else {
        vec![]
    };
    html! {
        @if signals.is_empty() { (spans(&line.spans, &text, look.pattern)) }
        @else { (with_chips(&text, &signals, look.pattern)) }
        @if line.is_cut {
            " " span .cut { "… the start of " (size(line.len)) " is shown" }
        }
    }
}

/// The text in its colours, with what was found marked.
fn spans(spans: &[Span], text: &str, pattern: Option<&Pattern>) -> Markup {
    let found = pattern
        .map(|pattern| pattern.matches(text))
        .unwrap_or_default();
    let placed = spans.iter().scan(0, |at, span| {
        let start = *at;
        *at += span.text.len();
        Some((start, span))
    });
    html! { @for (start, span) in placed {
        @let class = class(span);
        @let body = highlighted(&span.text, start, &found);
        @if class.is_empty() { (body) } @else { span class=(class) { (body) } }
    } }
}

fn class(span: &Span) -> String {
    let Style {
        text,
        behind,
        bold,
        dim,
        italic,
        underlined,
        inverse,
    } = span.style;
    let (text, behind) = if inverse {
        (behind, text)
    } else {
        (text, behind)
    };
    let mut classes = Vec::new();
    classes.extend(text.map(|colour| format!("f{}", colour.0)));
    classes.extend(behind.map(|colour| format!("k{}", colour.0)));
    let marks = [
        (bold, "ab"),
        (dim, "a-d"),
        (italic, "ai"),
        (underlined, "au"),
        (inverse && behind.is_none(), "av"),
        (span.is_mark, "ctl"),
    ];
    classes.extend(
        marks
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, class)| class.to_owned()),
    );
    classes.join(" ")
}

/// A part of a line's text that begins at `start`.
fn highlighted(text: &str, start: usize, found: &[(usize, usize)]) -> Markup {
    let end = start + text.len();
    let mut parts = Vec::new();
    let mut at = start;
    for &(from, to) in found {
        let (from, to) = (from.clamp(at, end), to.clamp(at, end));
        if from < to {
            parts.push((false, at, from));
            parts.push((true, from, to));
            at = to;
        }
    }
    parts.push((false, at, end));
    html! { @for (is_found, from, to) in parts {
        @let piece = text.get(from - start..to - start).unwrap_or_default();
        @if piece.is_empty() {} @else if is_found { mark { (piece) } } @else { (piece) }
    } }
}

/// A signal in a text: where it stands, and how it is shown.
struct Chip {
    start: usize,
    end: usize,
    label: String,
    words: String,
}

fn signals(text: &str) -> Vec<Chip> {
    const CLOSE: &str = "</swarm>";
    let mut scanner = Scanner::new("");
    let mut found = scanner.push(text.as_bytes());
    found.extend(scanner.finish());
    let chips = found.into_iter().filter_map(|one| {
        let Item::Signal(signal) = one.item else {
            return None;
        };
        let start = usize::try_from(one.offset).ok()?;
        let end = start + text.get(start..)?.find(CLOSE)? + CLOSE.len();
        Some(Chip {
            start,
            end,
            label: label(&signal),
            words: marked(signal.words().unwrap_or_default()),
        })
    });
    chips.collect()
}

fn label(signal: &Signal) -> String {
    match signal {
        Signal::Complete(_) => "complete".into(),
        Signal::Blocked(_) => "blocked".into(),
        Signal::NeedsHuman(_) => "needs you".into(),
        Signal::Progress(percent) => format!("progress {percent} %"),
        Signal::Resolved(_) => "resolved".into(),
        Signal::LearningLocal(_) => "learning for itself".into(),
        Signal::LearningGlobal(_) => "learning for all".into(),
    }
}

fn with_chips(text: &str, chips: &[Chip], pattern: Option<&Pattern>) -> Markup {
    let plain = |text: &str| {
        let found = pattern
            .map(|pattern| pattern.matches(text))
            .unwrap_or_default();
        highlighted(text, 0, &found)
    };
    let starts = std::iter::once(0).chain(chips.iter().map(|chip| chip.end));
    let rest = chips.last().map_or(0, |chip| chip.end);
    html! {
        @for (start, chip) in starts.zip(chips) {
            (plain(text.get(start..chip.start).unwrap_or_default()))
            span .sig { (chip.label) }
            @if !chip.words.is_empty() { " " (plain(&chip.words)) }
        }
        (plain(text.get(rest..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64, text: &str) -> Line {
        Line {
            number: Some(number),
            start: 0,
            len: text.len() as u64 + 1,
            spans: vec![Span {
                text: text.into(),
                style: Style::default(),
                is_mark: false,
            }],
            dropped: 0,
            is_cut: false,
            is_open: false,
        }
    }

    fn drawn(lines: &[Line], is_rendered: bool, pattern: Option<&str>) -> String {
        let pattern = pattern.and_then(|text| Pattern::new(text, false).ok());
        let look = Look {
            is_rendered,
            stream: Stream::Stdout,
            pattern: pattern.as_ref(),
        };
        rows(lines, &look).into_string()
    }

    #[test]
    fn markup_in_output_is_text() {
        let shown = drawn(
            &[line(7, "<script>alert(1)</script>&\"")],
            false,
            Some("alert"),
        );
        assert_eq!(
            shown,
            "<li id=\"L7\" data-n=\"7\">&lt;script&gt;<mark>alert</mark>(1)\
             &lt;/script&gt;&amp;&quot;</li>"
        );
    }

    #[test]
    fn a_result_is_folded_below_its_call_in_a_transcript_only() {
        let lines = [
            line(1, "$ ./check.sh"),
            line(2, "    not ok"),
            line(3, "So I fix it."),
        ];
        let shown = drawn(&lines, true, None);
        assert!(
            shown.contains("<details><summary>$ ./check.sh</summary><div id=\"L2\">"),
            "{shown}"
        );
        assert!(
            shown.ends_with("<li id=\"L3\" data-n=\"3\">So I fix it.</li>"),
            "{shown}"
        );
        assert!(drawn(&lines, true, Some("not")).contains("<details open>"));
        assert!(!drawn(&lines, false, None).contains("details"));
    }

    #[test]
    fn signals_are_chips_and_what_only_looks_like_one_is_text() {
        let shown = drawn(
            &[
                line(1, "a: <swarm>PROGRESS:40</swarm>"),
                line(2, "<swarm>LEARNING_GLOBAL:x <b></swarm>"),
                line(3, "not <swarm>COMPLETE</swarm> yet"),
            ],
            false,
            None,
        );
        assert!(
            shown.contains("a: <span class=\"sig\">progress 40 %</span>"),
            "{shown}"
        );
        assert!(
            shown.contains("learning for all</span> x &lt;b&gt;</li>"),
            "{shown}"
        );
        assert!(shown.contains("not &lt;swarm&gt;COMPLETE"), "{shown}");
        let shown = drawn(&[line(1, "<swarm>NONSENSE</swarm>")], false, None);
        assert!(shown.contains("&lt;swarm&gt;NONSENSE"), "{shown}");
    }

    #[test]
    fn a_match_across_colours_is_marked_in_each() {
        let mut two = line(1, "ho");
        let red = Style {
            text: Some(crate::web::output::Colour(1)),
            ..Style::default()
        };
        two.spans.push(Span {
            text: "urs".into(),
            style: red,
            is_mark: false,
        });
        let shown = drawn(&[two], false, Some("hours"));
        assert!(
            shown.contains("<mark>ho</mark><span class=\"f1\"><mark>urs</mark></span>"),
            "{shown}"
        );
    }

    #[test]
    fn numbers_and_sizes_are_grouped() {
        assert_eq!(
            [grouped(7), grouped(1_206), grouped(1_000_000)],
            ["7", "1,206", "1,000,000"]
        );
        assert_eq!(
            [size(840), size(141_200), size(10_000_000)],
            ["840 B", "141 kB", "10.0 MB"]
        );
    }
}
