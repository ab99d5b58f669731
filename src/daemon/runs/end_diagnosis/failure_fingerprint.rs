//! Fingerprint of a failed quality command's output: equal for two runs that failed in the same
//! way.
//!
//! Invariant: pure. What differs between two runs of the same failure is folded: times, durations,
//! temporary paths, process ids, hex ids and addresses, seeds, lines and columns, the order of
//! lines. Everything else counts, above all numbers of tests: where in doubt, two failures are
//! different, and the agent goes on. Called by `end_diagnosis`.

use super::failure_positions::fold_positions;
use crate::agents::text;
use crate::daemon::files::hash::sha256;

/// Lines at the end of an output that count.
const LINES: usize = 200;
/// Digits of the fingerprint.
const DIGITS: usize = 16;
/// Shortest hex id: an abbreviated commit.
const HEX: usize = 7;
/// Length from which a decimal number is an id or a time stamp.
const LONG_NUMBER: usize = 8;

/// Folders whose content has random names.
const TEMPORARY: &[&str] = &["/tmp/", "/var/tmp/", "/var/folders/", "/dev/shm/"];
/// Folder of swarm with a folder for each run.
const RUNS: &str = "/swarm/runs/";
const UNITS: &[&str] = &[
    "ns", "us", "µs", "μs", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins",
    "minute", "minutes", "h", "hour", "hours",
];
/// Words before a number that differs from run to run.
const NUMBERED: &[&str] = &[
    "pid", "ppid", "tid", "process", "seed", "took", "elapsed", "time",
];
/// Parts of such words, as in `duration_ms`.
const MEASURES: &[&str] = &["duration", "elapsed", "_ms", "_seconds"];

/// The fingerprint of a command's outputs, each of which may be cut at its start.
pub(crate) fn fingerprint(outputs: &[&str]) -> String {
    let mut all = String::new();
    for output in outputs {
        let folded = fold(output);
        let mut lines: Vec<&str> = folded.lines().rev().take(LINES).collect();
        // Tests that run in parallel report in any order.
        lines.sort_unstable();
        for line in lines {
            all.push_str(line);
            all.push('\n');
        }
        all.push('\0');
    }
    sha256(all.as_bytes())[..DIGITS].to_owned()
}

/// The output without what differs from run to run.
fn fold(output: &str) -> String {
    let plain = text::plain(output);
    let lines = plain.lines().map(|line| fold_line(&fold_positions(line)));
    lines.collect::<Vec<String>>().join("\n")
}

fn fold_line(line: &str) -> String {
    let mut folded = String::with_capacity(line.len());
    let mut before = Before::default();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_word = !separates(first);
        let end = rest.find(|c| separates(c) == is_word).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        if is_word {
            folded.push_str(&fold_word(piece, &before, after));
            before.word(piece);
        } else if piece.trim().is_empty() {
            // Columns are aligned by the width of what was folded.
            folded.push(' ');
            piece.clone_into(&mut before.gap);
        } else {
            folded.push_str(piece);
            piece.clone_into(&mut before.gap);
        }
        rest = after;
    }
    folded
}

/// Whether a character ends a word of an output.
pub(super) fn separates(c: char) -> bool {
    c.is_whitespace() || "()[]{}<>\"'`,;=|".contains(c)
}

/// What stands before a word.
#[derive(Default)]
struct Before {
    last: String,
    /// The word before the last.
    earlier: String,
    gap: String,
}

impl Before {
    fn word(&mut self, word: &str) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        self.earlier = std::mem::replace(&mut self.last, word.to_lowercase());
        self.gap.clear();
    }

    /// Whether a number here, with this text after it, identifies a process or a measurement.
    fn announces_number(&self, after: &str) -> bool {
        let measured = MEASURES.iter().any(|part| self.last.contains(part));
        let thread = self.earlier == "thread" && self.gap.contains('(');
        // As in system logs; an index like `a[3]` is no process.
        let logged = self.gap == "[" && after.starts_with("]: ");
        let traced = self.gap == "==" && after.starts_with("==");
        measured || thread || logged || traced || NUMBERED.contains(&self.last.as_str())
    }
}

fn fold_word(word: &str, before: &Before, after: &str) -> String {
    if let Some(path) = fold_path(word) {
        return path;
    }
    let core = word.trim_end_matches(['.', ':', '!', '?', '%']);
    let end = &word[core.len()..];
    if is_time(core) {
        return format!("<time>{end}");
    }
    if is_duration(core) {
        return format!("<duration>{end}");
    }
    if is_decimal(core) && (before.announces_number(after) || is_unit_next(after)) {
        return format!("<number>{end}");
    }
    fold_ids(word)
}

/// A path to a temporary folder or one of swarm's. Other paths are the same each time.
fn fold_path(word: &str) -> Option<String> {
    let run = word.find(RUNS).map(|at| at + RUNS.len());
    if let Some(name) = run.or_else(|| worktree_name(word)) {
        let start = word.find('/').unwrap_or(name);
        let below = &word[name..];
        let rest = below.find('/').map_or("", |slash| &below[slash..]);
        return Some(format!("{}<swarm>{}", &word[..start], fold_ids(rest)));
    }
    let found = TEMPORARY.iter().filter_map(|place| word.find(place));
    let at = found.min()?;
    let start = word[..at].find('/').unwrap_or(at);
    // `file:///tmp/...`, and the real folder behind `/tmp` on macOS; not a project's own `tmp`.
    if !matches!(&word[start..at], "" | "//" | "/private" | "///private") {
        return None;
    }
    let below = &word[at + 1..];
    // The name of the file in it says more than the folders.
    let name = below.rsplit_once('/').map_or("", |(_, name)| name);
    let folders = below.matches('/').count();
    let name = if folders > 1 { name } else { "" };
    Some(format!("{}<tmp>/{}", &word[..start], fold_ids(name)))
}

/// Where the name of a worktree begins in a path: after a folder whose name ends with eight hex
/// digits.
fn worktree_name(word: &str) -> Option<usize> {
    let is_folder = |name: &str| {
        let id = name.rsplit_once('-').map(|(_, id)| id);
        id.is_some_and(|id| id.len() == 8 && id.bytes().all(|it| it.is_ascii_hexdigit()))
    };
    let is_worktree = |name: &str| {
        let name = name.trim_end_matches([':', ',', '.', ')', '"', '\'']);
        let number = name.strip_prefix('w').unwrap_or_default();
        let numbered = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        numbered || ["verify", "control", "replay"].contains(&name)
    };
    let slashes = word.match_indices('/').map(|(at, _)| at + 1);
    let mut before = 0;
    for at in slashes {
        let (folder, below) = (&word[before..at - 1], &word[at..]);
        let name = below.split('/').next().unwrap_or_default();
        if is_folder(folder) && is_worktree(name) {
            return Some(at);
        }
        before = at;
    }
    None
}

/// `12:03:38`, `12:03:38.123Z`, `2026-11-23`, `2026-11-23T12:03:38+01:00`
fn is_time(word: &str) -> bool {
    let shape: String = word
        .chars()
        .map(|c| if c.is_ascii_digit() { '9' } else { c })
        .collect();
    let clock = |text: &str| {
        let clock = text
            .strip_prefix("99:99:99")
            .or(text.strip_prefix("9:99:99"));
        clock.is_some_and(|rest| rest.chars().all(|c| "9.,Zz+-:".contains(c)))
    };
    match shape.strip_prefix("9999-99-99") {
        Some("") => true,
        Some(rest) => rest.strip_prefix(['T', 't', '_']).is_some_and(clock),
        None => clock(&shape),
    }
}

/// `0.42s`, `12ms`, `1m2.5s`
fn is_duration(word: &str) -> bool {
    let mut rest = word;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit_end = number
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(number.len());
        if !UNITS.contains(&&number[..unit_end]) {
            return false;
        }
        rest = &number[unit_end..];
    }
    rest.is_empty() && !word.is_empty()
}

fn is_decimal(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Whether a unit of time follows, as in `3 seconds`.
fn is_unit_next(after: &str) -> bool {
    let Some(next) = after.strip_prefix(' ') else {
        return false;
    };
    let end = next
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(next.len());
    UNITS.contains(&&next[..end])
}

/// Folds the hex ids, addresses and long numbers in a word: `foo-1a2b3c4d`, `0x7ffe12`.
fn fold_ids(word: &str) -> String {
    let uuid = (0..word.len()).find(|at| word.get(*at..at + 36).is_some_and(is_uuid));
    if let Some(at) = uuid {
        return format!(
            "{}<id>{}",
            fold_ids(&word[..at]),
            fold_ids(&word[at + 36..])
        );
    }
    let mut folded = String::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let is_id = first.is_ascii_alphanumeric();
        let end = rest.find(|c: char| c.is_ascii_alphanumeric() != is_id);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        folded.push_str(if is_id && is_random(piece) {
            "<id>"
        } else {
            piece
        });
        rest = after;
    }
    folded
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn is_random(piece: &str) -> bool {
    if let Some(address) = piece.strip_prefix("0x") {
        return address.len() >= 4 && address.chars().all(|c| c.is_ascii_hexdigit());
    }
    let digits = piece.chars().filter(char::is_ascii_digit).count();
    let is_hex = piece.chars().all(|c| c.is_ascii_hexdigit());
    let mixed = is_hex && piece.len() >= HEX && digits > 0 && digits < piece.len();
    mixed || (digits == piece.len() && digits >= LONG_NUMBER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(one: &str, other: &str) {
        assert_eq!(fold(one), fold(other));
        assert_eq!(fingerprint(&[one, ""]), fingerprint(&[other, ""]));
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(fingerprint(&[one, ""]), fingerprint(&[other, ""]));
    }

    #[test]
    fn times_and_durations_are_folded() {
        same("12:03:38 FAIL a", "13:59:01.250 FAIL a");
        same(
            "[2026-11-23T12:03:38Z] failed",
            "[2027-01-02T01:02:03.5+01:00] failed",
        );
        same("2026-11-23 build", "2026-11-24 build");
        same("== 1 failed in 0.42s ==", "== 1 failed in 12.05s ==");
        same("Ran 3 tests in 0.001s", "Ran 3 tests in 1m2.5s");
        same("FAIL\tpkg\t0.003s", "FAIL\tpkg\t10.1s");
        same(
            "Finished in 0.00203 seconds (files took 2 seconds)",
            "Finished in 3.1 seconds (files took 2 seconds)",
        );
        same("# duration_ms 45.12", "# duration_ms 9.5");
        same(
            "<testcase name=\"a\" time=\"0.004\"/>",
            "<testcase name=\"a\" time=\"1.2\"/>",
        );
        same(
            "Time:        1.234 s, estimated 2 s",
            "Time:   0.9 s, estimated 1 s",
        );
        same("waited 3 seconds", "waited 14 seconds");
    }

    #[test]
    fn temporary_paths_and_worktrees_are_folded() {
        same(
            "open /tmp/pytest-12/a0/x.txt: missing",
            "open /tmp/pytest-13/a1/x.txt: missing",
        );
        same("cd /tmp/tmpab12_x", "cd /tmp/tmpq9z");
        same(
            "at file:///var/folders/xy/T/one/a.js:3",
            "at file:///var/folders/zz/T/two/a.js:3",
        );
        same(
            "/home/me/.local/state/swarm/app-1f2e3d4c/w01/src/a.rs:3",
            "/home/me/.local/state/swarm/app-1f2e3d4c/verify/src/a.rs:3",
        );
        same(
            "cd /home/me/.app-swarm-1f2e3d4c/w01: no",
            "cd /home/me/.app-swarm-1f2e3d4c/w12: no",
        );
        different(
            "/home/me/app-1f2e3d4c/what/a.rs:3",
            "/home/me/app-1f2e3d4c/where/a.rs:3",
        );
        different("/tmp/a/b/one.txt is missing", "/tmp/a/b/two.txt is missing");
        different(
            "/home/me/tmp/one.txt is wrong",
            "/home/me/tmp/two.txt is wrong",
        );
        different("/home/me/app/one.py fails", "/home/me/app/two.py fails");
        different(
            "/x/app-1f2e3d4c/w01/one.py fails",
            "/x/app-1f2e3d4c/w01/two.py fails",
        );
    }

    #[test]
    fn process_ids_hex_ids_and_seeds_are_folded() {
        same("pid 4242 died", "pid 97 died");
        same("worker (pid=12) died", "worker (pid=31337) died");
        same("server[4242]: no", "server[17]: no");
        same(
            "thread 'main' (4242) panicked at a.rs:3",
            "thread 'main' (17) panicked at a.rs:3",
        );
        same("==4242== Invalid read", "==17== Invalid read");
        same("at 0x7ffe12ab", "at 0x55d0c0de00");
        same(
            "target/debug/deps/app-1a2b3c4d5e6f7a8b",
            "target/debug/deps/app-ffeeddccbbaa9988",
        );
        same(
            "id 0b9c1e52-3f54-4c0e-9d1a-2f3b4c5d6e7f",
            "id 1b9c1e53-aaaa-4111-8bcd-0000000000ff",
        );
        same("commit 1a2b3c4", "commit 9f8e7d6");
        same("at 1700000000123", "at 1800000000456");
        same("Randomized with seed 54321", "Randomized with seed 7");
    }

    #[test]
    fn lines_and_columns_after_a_file_are_folded() {
        same(" --> src/a.rs:12:5", " --> src/a.rs:9:17");
        same("a.rs:12: error", "a.rs:14: error");
        same("t.py:12: AssertionError", "t.py:140: AssertionError");
        same("    a_test.go:12: got 3", "    a_test.go:13: got 3");
        same("\t/x/a.go:12 +0x1d", "\t/x/a.go:13 +0x2f");
        same("at add (Foo.java:12)", "at add (Foo.java:99)");
        same(
            "[ERROR]   AddTest.adds:12 wrong",
            "[ERROR]   AddTest.adds:31 wrong",
        );
        same(
            "at run (http://localhost/a.js:1:2)",
            "at run (http://localhost/a.js:3:4)",
        );
        same(
            "at node:internal/modules/run:12:5",
            "at node:internal/modules/run:13:5",
        );
        same("src/a.ts(12,5): error TS1", "src/a.ts(13,7): error TS1");
        same("a.cpp(12): error C1", "a.cpp(13): error C1");
        same("A.java:[12,5] cannot find", "A.java:[13,8] cannot find");
        same("./t.sh: 3: foo: not found", "./t.sh: 4: foo: not found");
        same(
            "make: *** [Makefile:2: test] Error 1",
            "make: *** [Makefile:3: test] Error 1",
        );
        same("<stdin>:3:1: bad", "<stdin>:4:1: bad");
    }

    #[test]
    fn lines_and_columns_with_a_word_are_folded() {
        same(
            "  File \"x.py\", line 12, in add",
            "  File \"x.py\", line 13, in add",
        );
        same("in a.php on line 12", "in a.php on line 8");
        same("in /x/A.cs:line 12", "in /x/A.cs:line 13");
        same("line 1 column 5 (char 4)", "line 2 column 6 (char 44)");
        same("\"line\": 12, \"column\":5", "\"line\": 13, \"column\":6");
        same("see lines 3-5", "see lines 4-6");
        same("line 12:5 mismatched input", "line 13:6 mismatched input");
    }

    #[test]
    fn margins_hunks_and_tables_are_folded() {
        same("12 | let a = 1;", "9 | let a = 1;");
        same("  9 | let a = 1;", "10 | let a = 1;");
        same("> 12 | expect(a)", "> 7 | expect(a)");
        same("12 │ a", "13 │ a");
        same("@@ -12,7 +12,8 @@ fn add", "@@ -40,7 +41,8 @@ fn add");
        same("12,13c14", "22,23c24");
        same("  12:5  error  no-undef", "  9:17  error  no-undef");
        same("[12:5] wrong", "[13:5] wrong");
    }

    #[test]
    fn counts_and_names_are_no_positions() {
        for (one, other) in [
            ("37 mismatches", "12 mismatches"),
            ("failed:3", "failed:2"),
            ("summary.failed:3", "summary.failed:2"),
            ("results.txt: 3 failed", "results.txt: 2 failed"),
            ("Lines : 80%", "Lines : 81%"),
            ("line 80.5%", "line 81.5%"),
            ("expected [12,5]", "expected [12,6]"),
            ("f(12,5) is wrong", "f(12,6) is wrong"),
            ("rspec './a_spec.rb[1:2]'", "rspec './a_spec.rb[1:3]'"),
            ("| 12 | ok |", "| 13 | ok |"),
            ("@@ -1,7 +1,8 @@", "@@ -1,7 +1,9 @@"),
            ("a[3:5] is wrong", "a[3:6] is wrong"),
            ("3 lines differ", "2 lines differ"),
        ] {
            different(one, other);
        }
    }

    #[test]
    fn colours_and_the_order_of_lines_do_not_count() {
        same("\u{1b}[31mFAIL\u{1b}[0m a", "FAIL a");
        let (one, other) = (
            "test a ... FAILED\ntest b ... ok",
            "test b ... ok\ntest a ... FAILED",
        );
        assert_eq!(fingerprint(&[one]), fingerprint(&[other]));
    }

    #[test]
    fn another_failure_is_another() {
        different("3 failed, 7 passed", "2 failed, 8 passed");
        different("a.rs:12: error", "b.rs:12: error");
        different("a.rs:12: expected 5", "a.rs:12: expected 6");
        different("FAILED test_a[3] - wrong", "FAILED test_a[4] - wrong");
        different("expected 5, found 4", "expected 5, found 3");
        different("test add ... FAILED", "test sub ... FAILED");
        different("missing defaced", "missing effaced");
        assert_ne!(fingerprint(&["a", ""]), fingerprint(&["", "a"]));
    }

    #[test]
    fn only_the_end_of_a_long_output_counts() {
        let lines = |first: usize| -> String {
            let numbers = (first..first + 300).map(|number| format!("item {}\n", number.max(150)));
            numbers.collect()
        };
        assert_eq!(
            fingerprint(&[&lines(0)]),
            fingerprint(&[&format!("start\n{}", lines(0))])
        );
        different(&lines(0), &lines(1));
    }
}
