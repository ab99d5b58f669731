//! Whether two outputs are the same but for what differs from run to run: times, ids of commits,
//! process ids, sizes.

use strsim::normalized_levenshtein;

/// Words beside which a small number says how much, or where, and may differ.
const COUNTED: &[&str] = &[
    "event",
    "events",
    "record",
    "records",
    "line",
    "byte",
    "bytes",
    "pid",
    "mib",
    "kib",
    "gib",
    "s",
    "ms",
    "min",
    "h",
    "days",
    "iteration",
    "seq",
];

/// The units of a size on the disk.
const SIZES: &[&str] = &["B", "KiB", "MiB", "GiB", "TiB"];

/// A line without what differs from run to run.
pub fn normal(line: &str) -> String {
    let line = without_dates(&line.replace("just now", "0 s ago"));
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let unit = word.trim_end_matches([',', ')', ';', ':', '.']);
        match words.last_mut() {
            // What a folder takes on the disk is up to the file system.
            Some(size) if SIZES.contains(&unit) => "#".clone_into(size),
            _ => {}
        }
        words.push(without_numbers(word));
    }
    for at in 0..words.len() {
        let number = words[at]
            .trim_start_matches('(')
            .trim_end_matches([',', ')', ';', ':', '.']);
        let is_small = !number.is_empty()
            && number
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let counts = |word: Option<&String>| {
            word.is_some_and(|word| {
                let bare = word
                    .trim_matches(|c: char| !c.is_ascii_alphanumeric())
                    .to_lowercase();
                COUNTED.contains(&bare.as_str())
            })
        };
        let before = at
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .cloned();
        // "the events up to 56 were on disk"
        let is_end = at >= 2 && words[at - 1] == "to" && words[at - 2] == "up";
        if is_small && (is_end || counts(words.get(at + 1)) || counts(before.as_ref())) {
            let from = words[at].find(|c: char| c.is_ascii_digit()).unwrap_or(0);
            let (before, number) = words[at].split_at(from);
            let after = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            words[at] = format!("{before}#{after}");
        }
    }
    words.join(" ")
}

/// The same, and agents and ideas without their numbers: which of those that work side by side
/// comes first is nobody's choice.
pub fn unnumbered(line: &str) -> String {
    let mut text = normal(line);
    for prefix in ["ed-", "idea-", "learning-", "ed-#-i", "after-idea-"] {
        let pieces: Vec<&str> = text.split(prefix).collect();
        let rest = pieces.iter().skip(1).map(|piece| {
            let bare = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == '#');
            format!("{prefix}#{bare}")
        });
        text = pieces[0].to_owned() + &rest.collect::<String>();
    }
    text
}

/// Dates, times of the day, UUIDs and random names of folders, whatever stands around them.
fn without_dates(line: &str) -> String {
    let shapes = [
        "dddd-dd-ddTdd:dd:dd.dddZ",
        "dddd-dd-ddTdd-dd-dd.dddZ",
        "dddd-dd-dd dd:dd:dd",
        "dddd-dd-dd",
        "dd:dd:dd",
        "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
        // The folder of the worktrees.
        "-xxxxxxxx/",
    ];
    let bytes = line.as_bytes();
    let mut told = String::new();
    let mut at = 0;
    while at < line.len() {
        let fits = |shape: &&&str| {
            let end = at + shape.len();
            end <= bytes.len()
                && shape
                    .bytes()
                    .zip(&bytes[at..end])
                    .all(|(wanted, found)| match wanted {
                        b'd' => found.is_ascii_digit(),
                        b'x' => found.is_ascii_hexdigit(),
                        wanted => wanted == *found,
                    })
        };
        if let Some(shape) = shapes.iter().find(fits) {
            told.push('@');
            at += shape.len();
        } else {
            let next = line[at..].chars().next().unwrap();
            told.push(next);
            at += next.len_utf8();
        }
    }
    told
}

/// Ids and large numbers; `idea-001` stays.
fn without_numbers(word: &str) -> String {
    let mut told = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric();
        if !is_part(first) {
            told.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        let digits = run.bytes().filter(u8::is_ascii_digit).count();
        let is_hex = run
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let is_id = run.len() == 3 && digits == 3 && run.starts_with('0');
        if is_id
            || digits < 3
                && !(is_hex && run.len() >= 10)
                && !(is_hex && run.len() >= 7 && digits > 0)
        {
            told.push_str(run);
        } else {
            told.push('#');
        }
    }
    told
}

/// How a block's lines are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they are.
    Kept,
    /// Each must occur somewhere; others may, too.
    Any,
}

/// Stands for lines that are left out.
pub const LEFT_OUT: &str = "...";

/// Whether `shown` on the page is what the program said.
pub fn is_same(shown: &[String], said: &[String], order: Order) -> bool {
    match order {
        Order::Any => {
            let mut open: Vec<String> = said.iter().map(|line| unnumbered(line)).collect();
            shown.iter().filter(|line| *line != LEFT_OUT).all(|line| {
                let line = unnumbered(line);
                let found = open.iter().position(|other| *other == line);
                found.map(|found| open.swap_remove(found)).is_some()
            })
        }
        Order::Kept => {
            let shown: Vec<String> = shown.iter().map(|line| normal(line)).collect();
            let said: Vec<String> = said.iter().map(|line| normal(line)).collect();
            is_same_in_order(&shown, &said)
        }
    }
}

fn is_same_in_order(shown: &[String], said: &[String]) -> bool {
    match shown.split_first() {
        None => said.is_empty(),
        Some((line, rest)) if line == LEFT_OUT => {
            (0..=said.len()).any(|skip| is_same_in_order(rest, &said[skip..]))
        }
        Some((line, rest)) => said.first() == Some(line) && is_same_in_order(rest, &said[1..]),
    }
}

/// What the page is to show of what was said: all of it, or, where lines are left out, those that
/// come nearest to what it shows now.
pub fn renewed(shown: &[String], said: &[String], order: Order) -> Vec<String> {
    if order == Order::Kept && !shown.iter().any(|line| line == LEFT_OUT) {
        return said.to_vec();
    }
    let mut taken: Vec<usize> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for line in shown {
        if line == LEFT_OUT {
            // In order, what is left out shows by itself.
            if order == Order::Any {
                lines.push(LEFT_OUT.to_owned());
            }
            continue;
        }
        let from = match order {
            Order::Kept => taken.last().map_or(0, |last| last + 1),
            Order::Any => 0,
        };
        // Of lines that differ only in their numbers, the one with the same numbers.
        let nearness = |at: &usize| {
            let words = normalized_levenshtein(&unnumbered(line), &unnumbered(&said[*at]));
            (
                words,
                normalized_levenshtein(&normal(line), &normal(&said[*at])),
            )
        };
        let free = (from..said.len()).filter(|at| !taken.contains(at));
        let nearest = free.max_by(|one, other| {
            let (one_words, one_all) = nearness(one);
            let (other_words, other_all) = nearness(other);
            let words = one_words.total_cmp(&other_words);
            words
                .then(one_all.total_cmp(&other_all))
                .then(other.cmp(one))
        });
        if let Some(at) = nearest.filter(|at| nearness(at).0 > 0.3) {
            let gap = order == Order::Kept && at > from;
            if gap {
                lines.push(LEFT_OUT.to_owned());
            }
            lines.push(said[at].clone());
            taken.push(at);
        }
    }
    if order == Order::Any {
        // As they came in this run.
        taken.sort_unstable();
        let mut came = taken.iter().map(|at| &said[*at]);
        for line in lines.iter_mut().filter(|line| *line != LEFT_OUT) {
            came.next().unwrap().clone_into(line);
        }
    }
    let ends = taken.last().is_some_and(|last| last + 1 == said.len());
    if order == Order::Kept && !ends {
        lines.push(LEFT_OUT.to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_differs_from_run_to_run_is_the_same() {
        for (one, other) in [
            (
                "03:45:34 ed-001 takes idea-001, attempt 1",
                "13:00:01 ed-001 takes idea-001, attempt 1",
            ),
            (
                "idea-001 landed as 87acfd2cf4",
                "idea-001 landed as 0123456789",
            ),
            ("daemon running (pid 7907)", "daemon running (pid 41)"),
            (
                "checkpoint after-idea-002-20261123t034201104z of 48c133185a",
                "checkpoint after-idea-002-20270101t000000000z of abcdefabcd",
            ),
            (
                "ed-001  idea-001  working  1   12 s",
                "ed-001  idea-001  working  1  0 s",
            ),
            ("landed idea-001 just now", "landed idea-001 3 s ago"),
            ("event 5 (just now)", "event 5 (1 s ago)"),
            (
                "verify  76.0 KiB  no agent uses it",
                "verify  104.0 KiB  no agent uses it",
            ),
            (
                "would remove 2 items, 1.5 MiB",
                "would remove 2 items, 208.0 MiB",
            ),
            (
                "at byte 10003, where event 51 should be",
                "at byte 9, where event 7 should be",
            ),
            (
                "conversation 0a653c67-b022-4acb-8e77-cc99c6549c28",
                "conversation 54a8e08e-5dfd-4d7c-bd62-b3849f2cdef0",
            ),
            (
                "doctor-2026-11-23T03-58-12.519Z",
                "doctor-2027-01-01T00-00-00.000Z",
            ),
        ] {
            assert_eq!(normal(one), normal(other));
        }
    }

    #[test]
    fn what_a_reader_counts_on_is_not() {
        for (one, other) in [
            ("landed 2 ideas", "landed 1 idea"),
            ("ed-001 takes idea-001", "ed-001 takes idea-002"),
            ("slots 0/3", "slots 1/3"),
        ] {
            assert_ne!(normal(one), normal(other));
        }
        assert_eq!(
            unnumbered("ed-004 takes idea-001"),
            unnumbered("ed-001 takes idea-008")
        );
    }

    #[test]
    fn lines_may_be_left_out() {
        let said = lines("a\nb\nc\nd");
        assert!(is_same(&lines("a\n...\nd"), &said, Order::Kept));
        assert!(is_same(&lines("...\nb\nc\n..."), &said, Order::Kept));
        assert!(!is_same(&lines("a\nc\n..."), &said, Order::Kept));
        assert!(is_same(&lines("d\na"), &said, Order::Any));
        assert!(!is_same(&lines("e"), &said, Order::Any));
    }

    #[test]
    fn a_page_gets_the_lines_that_come_nearest() {
        let said = lines("the swarm is ready\nidea-001 landed as 87acfd2cf4\nthe swarm has ended");
        let shown = lines("...\nidea-001 has landed as 0000000000\n...");
        assert_eq!(
            renewed(&shown, &said, Order::Kept),
            lines("...\nidea-001 landed as 87acfd2cf4\n...")
        );
        assert_eq!(renewed(&lines("old"), &said, Order::Kept), said);
        let shown = lines("...\nthe swarm has ended\n...\nidea-001 landed as 0000000000\n...");
        assert_eq!(
            renewed(&shown, &said, Order::Any),
            lines("...\nidea-001 landed as 87acfd2cf4\n...\nthe swarm has ended\n...")
        );
    }
}
