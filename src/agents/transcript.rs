//! Renders an agent's output for people: its messages verbatim, and in between short notes on what
//! it did. `~` marks thoughts, `$` a shell command, `TOOL:` the input of another tool, and `--`
//! remarks on the run. Results are indented below their call.
//!
//! Invariant: the text depends on the bytes alone, however they are split. Messages pass unchanged,
//! except that a note ends an unfinished line. Everything else is shortened and free of control
//! characters. Memory is bounded: that of the reader, plus some short lines.

use std::collections::VecDeque;
use std::io::Write;

use super::stream::{OutputReader, Said};
use super::text::{head, one_line, plain};
use crate::domain::reads::is_shell;
use crate::domain::session::SessionId;
use crate::domain::usage::{Tokens, Usage};

/// Longest line outside messages, in bytes.
const WIDTH: usize = 240;
/// How many lines of a result or thought are shown from its start and its end.
const FIRST: usize = 4;
const LAST: usize = 4;
/// Limit on the remembered calls without a result.
const CALLS: usize = 64;

/// Renders the output of one run.
pub struct Transcript {
    reader: Box<dyn OutputReader + Send>,
    page: Page,
}

impl Transcript {
    /// Renders what `reader` reads.
    pub fn new(reader: Box<dyn OutputReader + Send>) -> Self {
        let page = Page::default();
        Self { reader, page }
    }

    /// Reads the next raw bytes and appends their text to `out`.
    pub fn push(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let mut said = Vec::new();
        self.reader.push(raw, &mut said);
        self.page.put(out, said);
    }

    /// Ends the output and appends what was held back.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let mut said = Vec::new();
        self.reader.finish(&mut said);
        self.page.put(out, said);
        self.page.finish(out);
    }
}

/// The state of the page that affects what comes next.
#[derive(Debug, Default)]
struct Page {
    /// The last byte was not a line end.
    within_line: bool,
    /// A note ended the line of a message, so the message's own line end, if next, is dropped.
    ended_for_it: bool,
    session: Option<SessionId>,
    /// Usage that was reported but not shown yet.
    usage: Option<Usage>,
    /// The calls without a result: id and text as shown.
    calls: VecDeque<(String, String)>,
    /// The call to which the last line belongs.
    at_call: Option<String>,
}

impl Page {
    fn put(&mut self, out: &mut Vec<u8>, said: Vec<Said>) {
        for said in said {
            match said {
                Said::Text(text) => self.message(out, &text),
                Said::Thought(thought) => self.block(out, "~ ", &thought),
                Said::ToolCall { id, tool, input } => self.call(out, id, &tool, &input),
                Said::ToolResult { id, output, ok } => self.result(out, id, &output, ok),
                Said::Session(session) => self.session(out, session),
                Said::Answered => {}
                Said::Usage(usage) => self.usage = Some(usage),
                Said::Retry { why } => self.line(out, "-- waiting for its provider: ", &why),
                Said::Note(note) => self.line(out, "-- ", &note),
                Said::End { ok, message } => self.end(out, ok, &message),
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Some(usage) = self.usage.take() {
            self.line(out, "-- used ", &used(&usage));
        }
    }

    fn message(&mut self, out: &mut Vec<u8>, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let text = match text {
            [b'\n', rest @ ..] if self.ended_for_it => rest,
            all => all,
        };
        self.ended_for_it = false;
        self.at_call = None;
        self.within_line = text.last().is_some_and(|last| *last != b'\n');
        out.extend_from_slice(text);
    }

    /// Writes one line of at most [`WIDTH`] bytes.
    fn line(&mut self, out: &mut Vec<u8>, mark: &str, text: &str) {
        self.begin_line(out);
        self.at_call = None;
        write_line(out, mark, &short(text));
    }

    fn begin_line(&mut self, out: &mut Vec<u8>) {
        if self.within_line {
            out.push(b'\n');
            self.within_line = false;
            self.ended_for_it = true;
        }
    }

    /// Writes the first and the last lines of a text.
    fn block(&mut self, out: &mut Vec<u8>, mark: &str, text: &str) {
        let text = plain(text);
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        if lines.is_empty() {
            return;
        }
        self.begin_line(out);
        self.at_call = None;
        let left_out = lines.len().saturating_sub(FIRST + LAST);
        for (at, line) in lines.iter().enumerate() {
            // Never omit a single line: the line that says so would take its place.
            match at.checked_sub(FIRST) {
                Some(after) if left_out > 1 && after < left_out => {
                    if after == 0 {
                        write_line(out, mark, &format!("... {left_out} lines"));
                    }
                }
                _ => write_line(out, mark, cut(line.trim_end()).as_str()),
            }
        }
    }

    fn call(&mut self, out: &mut Vec<u8>, id: String, tool: &str, input: &str) {
        let shown = if is_shell(tool) {
            format!("$ {}", short(input))
        } else {
            format!("{}: {}", short(tool), short(input))
        };
        self.begin_line(out);
        write_line(out, "", &shown);
        self.at_call = Some(id.clone());
        if !id.is_empty() {
            self.calls.push_back((id, shown));
            if self.calls.len() > CALLS {
                self.calls.pop_front();
            }
        }
    }

    /// Writes a result below its call. If something came in between, repeats the call first.
    fn result(&mut self, out: &mut Vec<u8>, id: String, output: &str, ok: bool) {
        let place = self.calls.iter().position(|(call, _)| *call == id);
        let call = place.and_then(|place| self.calls.remove(place));
        if self.at_call.as_deref() != Some(&id)
            && let Some((_, call)) = call
        {
            self.begin_line(out);
            write_line(out, "  of ", &call);
        }
        self.block(out, "    ", output);
        if !ok {
            self.line(out, "    ", "(failed)");
        }
        self.at_call = Some(id);
    }

    fn session(&mut self, out: &mut Vec<u8>, session: SessionId) {
        if self.session.as_ref() != Some(&session) {
            self.line(out, "-- session ", session.as_str());
            self.session = Some(session);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, ok: bool, message: &str) {
        let used = match self.usage.take() {
            Some(usage) => format!("; used {}", used(&usage)),
            None => String::new(),
        };
        if ok {
            // The message of a success repeats the agent's last message.
            self.line(out, "-- complete", &used);
        } else {
            let why = short(message);
            let why = if why.is_empty() {
                why
            } else {
                format!(": {why}")
            };
            self.begin_line(out);
            self.at_call = None;
            write_line(out, "-- failed", &format!("{why}{used}"));
        }
    }
}

fn write_line(out: &mut Vec<u8>, mark: &str, text: &str) {
    // Writing to memory does not fail.
    drop(writeln!(out, "{mark}{text}"));
}

/// `text` as one line of at most [`WIDTH`] bytes.
fn short(text: &str) -> String {
    // A bound on the work: what follows does not change the result.
    let line = one_line(head(text, 16 * WIDTH));
    if line.len() <= WIDTH && head(text, 16 * WIDTH).len() < text.len() {
        return format!("{line} ...");
    }
    cut(&line)
}

fn cut(line: &str) -> String {
    match head(line, WIDTH) {
        whole if whole.len() == line.len() => line.to_owned(),
        first => format!("{first} ..."),
    }
}

fn used(usage: &Usage) -> String {
    let mut parts = Vec::new();
    if let Some(tokens) = &usage.tokens {
        parts.push(counted(tokens));
    }
    if let Some(cost) = usage.cost {
        parts.push(cost.to_string());
    }
    if parts.is_empty() {
        parts.push("an unknown amount".to_owned());
    }
    if usage.partial {
        parts.push("or more".to_owned());
    }
    parts.join(", ")
}

fn counted(tokens: &Tokens) -> String {
    let read = tokens.input.saturating_add(tokens.cache_written);
    let cached = match tokens.cached {
        0 => String::new(),
        cached => format!(" and {cached} cached"),
    };
    format!("{read}{cached} tokens in, {} out", tokens.output)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use crate::domain::usage::MicroUsd;

    fn page(said: Vec<Said>) -> String {
        let mut page = Page::default();
        let mut out = Vec::new();
        page.put(&mut out, said);
        page.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn text(text: &str) -> Said {
        Said::Text(text.as_bytes().to_vec())
    }

    fn call(id: &str, tool: &str, input: &str) -> Said {
        Said::ToolCall {
            id: id.into(),
            tool: tool.into(),
            input: input.into(),
        }
    }

    fn result(id: &str, output: &str, ok: bool) -> Said {
        Said::ToolResult {
            id: id.into(),
            output: output.into(),
            ok,
        }
    }

    #[test]
    fn a_run_shows_messages_and_actions_in_order() {
        let usage = Usage {
            tokens: Some(Tokens {
                input: 1_000,
                cached: 800,
                cache_written: 200,
                output: 100,
            }),
            cost: Some(MicroUsd(5_340)),
            ..Usage::default()
        };
        let said = vec![
            Said::Session("s-1".parse().unwrap()),
            Said::Session("s-1".parse().unwrap()),
            Said::Answered,
            Said::Thought("First\n\nI look.".into()),
            text("I will write"),
            text(" the file."),
            call("1", "Bash", "echo hello > hello.txt\n  git add ."),
            result("1", "one\n\u{1b}[31mtwo\u{1b}[0m\n", true),
            Said::Usage(Usage::default()),
            call("2", "Read", "src/lib.rs"),
            result("2", "no such file", false),
            Said::Retry {
                why: "529 overloaded".into(),
            },
            text("\nDone.\n<swarm>COMPLETE</swarm>"),
            Said::Note("foreign".into()),
            Said::Usage(usage),
            Said::End {
                ok: true,
                message: "Done.".into(),
            },
        ];
        assert_eq!(
            page(said),
            "-- session s-1\n~ First\n~ I look.\nI will write the file.\n$ echo hello > hello.txt \
            git add .\n    one\n    two\nRead: src/lib.rs\n    no such file\n    (failed)\n-- \
            waiting for its provider: 529 overloaded\nDone.\n<swarm>COMPLETE</swarm>\n-- \
            foreign\n-- complete; used 1200 and 800 cached tokens in, 100 out, $0.0054\n"
        );
    }

    #[test]
    fn a_message_keeps_its_bytes() {
        let said = vec![
            text("a\n"),
            Said::Text(b"b\xff\x1b[31m".to_vec()),
            text("\n\n"),
            text("c"),
        ];
        let mut out = Vec::new();
        Page::default().put(&mut out, said);
        assert_eq!(out, b"a\nb\xff\x1b[31m\n\nc");
        // A line end that a note has added already is not repeated.
        let said = vec![
            text("a"),
            Said::Note("n".into()),
            text(""),
            text("\n\nb"),
            Said::Note("m".into()),
            text("c\n"),
            Said::Note("o".into()),
            text("\nd"),
        ];
        assert_eq!(page(said), "a\n-- n\n\nb\n-- m\nc\n-- o\n\nd");
    }

    #[test]
    fn long_results_and_lines_are_shortened() {
        let lines = |n: usize| (1..=n).fold(String::new(), |all, n| all + &n.to_string() + "\n");
        let shown = |n: usize| page(vec![result("", &lines(n), true)]).replace("    ", "");
        assert_eq!(shown(8), lines(8));
        assert_eq!(shown(9), lines(9));
        assert_eq!(shown(100), "1\n2\n3\n4\n... 92 lines\n97\n98\n99\n100\n");
        let long = page(vec![
            call("1", "Bash", &"x".repeat(100_000)),
            call("2", "bash", &format!("x{}", " ".repeat(100_000))),
            result("2", &"y".repeat(100_000), false),
            Said::Note("é".repeat(1_000)),
        ]);
        assert!(long.lines().all(|line| line.len() < WIDTH + 16), "{long}");
        assert!(long.contains("$ x ...\n"), "{long}");
    }

    #[test]
    fn a_late_result_repeats_its_call() {
        let said = vec![
            call("1", "Bash", "a"),
            call("2", "Bash", "b"),
            result("1", "of a", true),
            result("2", "of b", true),
            result("9", "of nothing", true),
        ];
        assert_eq!(
            page(said),
            "$ a\n$ b\n  of $ a\n    of a\n  of $ b\n    of b\n    of nothing\n"
        );
        let mut page = Page::default();
        let mut out = Vec::new();
        let many = (0..1_000).map(|n| call(&n.to_string(), "Bash", "a"));
        page.put(&mut out, many.collect());
        assert_eq!(page.calls.len(), CALLS);
    }

    #[test]
    fn the_end_shows_the_failure_and_the_known_usage() {
        let failed = |message: &str| Said::End {
            ok: false,
            message: message.into(),
        };
        let usage = Usage {
            partial: true,
            ..Usage::default()
        };
        assert_eq!(page(vec![failed("a\nb")]), "-- failed: a b\n");
        assert_eq!(
            page(vec![Said::Usage(usage.clone()), failed("")]),
            "-- failed; used an unknown amount, or more\n"
        );
        assert_eq!(
            page(vec![text("x"), Said::Usage(usage)]),
            "x\n-- used an unknown amount, or more\n"
        );
    }
}
