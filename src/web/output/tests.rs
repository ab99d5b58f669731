//! The output of runs: lines, chunks and searches against plain ways to do the same.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use std::fs;
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;

const NO_LIMIT: Limits = Limits {
    hits: usize::MAX,
    time: Duration::MAX,
};

struct Kept {
    dir: tempfile::TempDir,
    run: RunId,
    outputs: Outputs,
}

impl Kept {
    fn new(text: &[u8]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let run: RunId = "r0001-ed-001-i1".parse().unwrap();
        fs::create_dir(dir.path().join(run.as_str())).unwrap();
        fs::write(Self::path(dir.path()), text).unwrap();
        Self {
            dir,
            run,
            outputs: Outputs::default(),
        }
    }

    fn path(dir: &Path) -> std::path::PathBuf {
        dir.join("r0001-ed-001-i1/stdout.log")
    }

    fn append(&self, text: &[u8]) {
        let path = Self::path(self.dir.path());
        let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text).unwrap();
    }

    fn open(&self) -> Output {
        let opened = self
            .outputs
            .open(self.dir.path(), &self.run, Stream::Stdout, false);
        opened.unwrap().unwrap()
    }
}

fn all(output: &Output, by: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    loop {
        let chunk = output.lines(lines.len() as u64 + 1, by).unwrap();
        if chunk.lines.is_empty() {
            return lines;
        }
        lines.extend(chunk.lines);
    }
}

fn naive(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .collect()
}

/// Lines of any bytes, some longer than a block, with colours that go on.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-c ]{0,12}\n".prop_map(String::into_bytes),
        2 => Just(b"\x1b[31m".to_vec()),
        1 => Just(b"\x1b[0m".to_vec()),
        2 => any::<Vec<u8>>(),
        2 => (1_usize..70_000, prop_oneof![Just(b'a'), Just(b'\n'), Just(b'x')])
            .prop_map(|(len, byte)| vec![byte; len]),
        1 => (20_000_usize..40_000).prop_map(|count| b"ab\n".repeat(count)),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

#[test]
fn an_output_that_is_gone_is_not_kept() {
    let kept = Kept::new(b"text");
    let open = |stream| {
        kept.outputs
            .open(kept.dir.path(), &kept.run, stream, true)
            .unwrap()
    };
    assert!(open(Stream::Stdout).is_some());
    assert!(open(Stream::Stderr).is_none());
    fs::remove_file(Kept::path(kept.dir.path())).unwrap();
    assert!(open(Stream::Stdout).is_none());
}

#[test]
fn a_line_of_ten_megabytes_is_cut_and_the_next_one_is_found() {
    let long = 10 << 20;
    let kept = Kept::new(&[&vec![b'x'; long][..], b"needle\nnext\n"].concat());
    let output = kept.open();
    assert_eq!(output.count().unwrap(), 2);
    let lines = all(&output, 500);
    assert!(lines[0].is_cut && lines[0].text().len() <= 4 * 1024);
    assert_eq!(lines[0].len, long as u64 + 7);
    assert_eq!((lines[1].text(), lines[1].number), ("next".into(), Some(2)));
    let pattern = Pattern::new("needle", false).unwrap();
    let found = output.search(&pattern, Place::START, NO_LIMIT).unwrap();
    assert_eq!(found.hits, [Hit { line: 1, byte: 0 }]);
    let anchored = Pattern::new("^needle", true).unwrap();
    assert_eq!(
        output
            .search(&anchored, Place::START, NO_LIMIT)
            .unwrap()
            .hits,
        []
    );
}

#[test]
fn many_long_lines_do_not_make_a_huge_chunk() {
    let line = [vec![b'x'; 9_000], vec![b'\n']].concat();
    let output = Kept::new(&line.repeat(500));
    let output = output.open();
    let size = |lines: &[Line]| lines.iter().map(|line| line.text().len()).sum::<usize>();
    for lines in [
        output.lines(1, 500).unwrap().lines,
        output.tail(500, true).unwrap().lines,
    ] {
        assert!(size(&lines) < 300 * 1024);
    }
    assert_eq!(
        output.tail(500, true).unwrap().lines.last().unwrap().number,
        Some(500)
    );
}

#[test]
fn a_structured_output_is_shown_as_the_command_line_shows_it_while_it_grows() {
    let kept = Kept::new(b"");
    let dir = kept.dir.path().join(kept.run.as_str());
    fs::write(dir.join("agent.json"), r#"{"adapter":"claude"}"#).unwrap();
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1",
        "name":"Bash","input":{"command":"./check.sh"}}]}}"#;
    let call = call.replace('\n', "");
    let (first, rest) = call.split_at(40);
    kept.append(first.as_bytes());
    assert_eq!(kept.open().count().unwrap(), 0);
    kept.append(format!("{rest}\n").as_bytes());
    let output = kept.open();
    assert!(output.is_rendered());
    let lines: Vec<String> = all(&output, 10).iter().map(Line::text).collect();
    assert_eq!(lines, ["$ ./check.sh"]);
}

#[test]
fn only_what_was_before_a_cut_is_shown() {
    let kept = Kept::new(b"one\ntwo\nthree\n");
    let mut output = kept.open();
    output.cut(6);
    let lines: Vec<String> = all(&output, 10).iter().map(Line::text).collect();
    assert_eq!(lines, ["one", "tw"]);
    assert_eq!(output.count().unwrap(), 2);
    assert!(output.tail(5, true).unwrap().lines[1].is_open);
}

#[test]
fn a_search_goes_on_where_it_stopped() {
    let text = b"no\nhit\n".repeat(1_500_000);
    let kept = Kept::new(&text);
    let output = kept.open();
    let pattern = Pattern::new("HIT", false).unwrap();
    assert_eq!(
        output
            .search(&pattern, Place::START, NO_LIMIT)
            .unwrap()
            .hits,
        []
    );
    let pattern = Pattern::new("hit", false).unwrap();
    let limits = Limits {
        hits: 1,
        ..NO_LIMIT
    };
    let (mut from, mut lines, mut pages) = (Some(Place::START), Vec::new(), 0);
    while let Some(place) = from {
        let found = output.search(&pattern, place, limits).unwrap();
        lines.extend(found.hits.iter().map(|hit| hit.line));
        from = found.next;
        pages += 1;
    }
    assert!(pages > 1, "{pages}");
    assert_eq!(lines.len(), 1_500_000);
    assert!(lines.iter().zip(1..).all(|(line, nth)| *line == 2 * nth));
}

#[test]
fn what_is_no_pattern_is_refused_with_the_reason() {
    assert!(Pattern::new("a(", true).unwrap_err().contains("unclosed"));
    assert!(
        Pattern::new(r"(\w{500}){50}", true)
            .unwrap_err()
            .contains("large")
    );
    assert!(
        Pattern::new(&"x".repeat(2_000), false)
            .unwrap_err()
            .contains("longer")
    );
    assert!(Pattern::new("a(", false).is_ok());
}

proptest! {
    #[test]
    fn lines_are_those_of_the_split_text(
        text in texts(),
        by in 1_usize..400,
        grows_at in any::<prop::sample::Index>(),
    ) {
        let at = grows_at.index(text.len() + 1);
        let kept = Kept::new(&text[..at]);
        let expected = naive(&text[..at]).len() as u64;
        prop_assert_eq!(kept.open().count().unwrap(), expected);
        kept.append(&text[at..]);
        let output = kept.open();
        let expected = naive(&text);
        prop_assert_eq!(output.count().unwrap(), expected.len() as u64);
        let by = by.max(expected.len() / 20);
        let lines = all(&output, by);
        prop_assert_eq!(lines.len(), expected.len());
        let mut start = 0;
        for (line, (number, bytes)) in lines.iter().zip((1..).zip(&expected)) {
            prop_assert_eq!((line.number, line.start), (Some(number), start));
            start += line.len;
            let is_open = start == text.len() as u64 && text.last() != Some(&b'\n');
            prop_assert_eq!(line.is_open, is_open);
            prop_assert_eq!(line.len, bytes.len() as u64 + u64::from(!is_open));
        }
        prop_assert_eq!(start, text.len() as u64);
    }

    #[test]
    fn chunks_of_any_size_joined_are_the_whole(
        text in texts(),
        by in 1_usize..400,
        from in any::<prop::sample::Index>(),
    ) {
        let kept = Kept::new(&text);
        let output = kept.open();
        let count = naive(&text).len();
        let whole = all(&output, usize::MAX);
        prop_assert_eq!(&all(&output, by.max(count / 20)), &whole);
        let last = output.tail(by, true).unwrap().lines;
        prop_assert!(!last.is_empty() || whole.is_empty());
        prop_assert_eq!(&whole[whole.len() - last.len()..], &last[..]);
        let first = from.index(count + 1);
        let some = output.lines(first as u64 + 1, by).unwrap().lines;
        prop_assert_eq!(&whole[first..first + some.len()], &some[..]);
    }

    #[test]
    fn a_search_finds_the_lines_that_match_alone(
        text in texts(),
        pattern in prop_oneof![
            "[abcx]{1,4}", Just(r"^a.*b$".to_owned()), Just(r"\s".to_owned()),
            Just("[^q]b".to_owned()), Just("x*$".to_owned()), Just(r"\bb\b".to_owned()),
            Just("(?:a|\n)c?".to_owned()), Just("^$".to_owned()),
        ],
    ) {
        let kept = Kept::new(&text);
        let found = kept.open().search(
            &Pattern::new(&pattern, true).unwrap(), Place::START, NO_LIMIT,
        ).unwrap();
        prop_assert_eq!(found.next, None);
        let alone = regex::bytes::RegexBuilder::new(&pattern)
            .case_insensitive(true).multi_line(true).build().unwrap();
        let expected: Vec<u64> = (1..).zip(naive(&text))
            .filter(|(_, line)| alone.is_match(line)).map(|(number, _)| number).collect();
        let lines: Vec<u64> = found.hits.iter().map(|hit| hit.line).collect();
        prop_assert_eq!(lines, expected);
    }
}
