//! Reads how many tests passed from the output of a quality command.
//!
//! Invariant: counts come only from the summary of a known test program; nothing is guessed.

use serde::{Deserialize, Serialize};

use super::text::plain;

/// Counts of tests that ran. Skipped tests are in neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestStatus {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed, including errors and timeouts.
    pub failed: u64,
}

impl TestStatus {
    /// Reads the summaries of `cargo test`, nextest, pytest, jest, vitest and `go test -v`, and
    /// adds up those of several test binaries. `None` if there is no known summary.
    pub fn from_output(output: &str) -> Option<Self> {
        let output = plain(output);
        let by_line: [fn(&str) -> Option<TestStatus>; 4] = [cargo, nextest, pytest, jest];
        by_line
            .iter()
            .find_map(|read| sum(output.lines().filter_map(read)))
            .or_else(|| go(&output))
    }

    /// Passed and failed together.
    pub const fn total(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

fn sum(counts: impl Iterator<Item = TestStatus>) -> Option<TestStatus> {
    counts.reduce(|sum, one| TestStatus {
        passed: sum.passed.saturating_add(one.passed),
        failed: sum.failed.saturating_add(one.failed),
    })
}

/// `test result: ok. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s`
fn cargo(line: &str) -> Option<TestStatus> {
    let rest = line.trim().strip_prefix("test result: ")?;
    counts(rest.split_once(". ")?.1)
}

/// `Summary [   0.012s] 10 tests run: 9 passed (1 slow), 1 failed, 2 skipped`
fn nextest(line: &str) -> Option<TestStatus> {
    let rest = line.trim().strip_prefix("Summary [")?;
    counts(rest.split_once(" run: ")?.1)
}

/// `==== 3 failed, 10 passed, 1 error in 0.12s ====`; with `-q`, without the `=`.
fn pytest(line: &str) -> Option<TestStatus> {
    let (summary, time) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    let timed = time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('s');
    let all_known = summary.split(", ").all(is_part_of_pytest_summary);
    (timed && all_known).then(|| counts(summary)).flatten()
}

/// `3 failed`
fn is_part_of_pytest_summary(part: &str) -> bool {
    const WORDS: [&str; 11] = [
        "passed",
        "failed",
        "error",
        "errors",
        "skipped",
        "xfailed",
        "xpassed",
        "deselected",
        "rerun",
        "warning",
        "warnings",
    ];
    part.split_once(' ')
        .is_some_and(|(number, what)| number.parse::<u64>().is_ok() && WORDS.contains(&what))
}

/// `Tests:       1 failed, 4 passed, 5 total` (jest), `Tests  1 failed | 4 passed (5)` (vitest).
fn jest(line: &str) -> Option<TestStatus> {
    let rest = line.trim().strip_prefix("Tests")?;
    if let Some(rest) = rest.strip_prefix(':') {
        return rest.ends_with(" total").then(|| counts(rest)).flatten();
    }
    let of_vitest = rest.starts_with("  ") && rest.ends_with(')');
    of_vitest.then(|| counts(rest)).flatten()
}

/// `--- PASS: TestA (0.00s)` at the start of a line; subtests are indented. Without `-v`, go does
/// not list the tests that passed.
fn go(output: &str) -> Option<TestStatus> {
    let count = |mark: &str| output.lines().filter(|line| line.starts_with(mark)).count() as u64;
    (count("=== RUN ") > 0).then(|| TestStatus {
        passed: count("--- PASS: "),
        failed: count("--- FAIL: "),
    })
}

/// `4 passed, 1 failed; 2 errors, 1 timed out`: each number with the word after it. `None` if there
/// is neither a passed nor a failed count.
fn counts(text: &str) -> Option<TestStatus> {
    let mut status = None;
    let mut words = text
        .split([' ', ',', ';', '|', '(', ')'])
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        let (Ok(number), Some(what)) = (word.parse::<u64>(), words.peek()) else {
            continue;
        };
        let status: &mut TestStatus = match *what {
            "passed" | "failed" | "timed" | "error" | "errors" => status.get_or_insert_default(),
            _ => continue,
        };
        let sum = if *what == "passed" {
            &mut status.passed
        } else {
            &mut status.failed
        };
        *sum = sum.saturating_add(number);
    }
    status
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(output: &str) -> Option<(u64, u64)> {
        TestStatus::from_output(output).map(|status| (status.passed, status.failed))
    }

    #[test]
    fn summaries_of_known_test_programs_are_read() {
        for (output, expected) in [
            (
                "running 2 tests\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 \
                filtered out; finished in 0.00s\n\ntest result: FAILED. 3 passed; 1 failed; 0 \
                ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
                (5, 1),
            ),
            (
                "------------\n     Summary [   0.012s] 10 tests run: 9 passed (1 slow), 1 failed, \
                1 timed out, 2 skipped\n",
                (9, 2),
            ),
            (
                "\u{1b}[31m===== \u{1b}[1m3 failed\u{1b}[0m, 10 passed, 1 skipped, 2 errors in \
                0.12s =====\u{1b}[0m\n",
                (10, 5),
            ),
            ("....\n4 passed in 0.01s\n", (4, 0)),
            ("2 passed, 1 warning in 61.20s (0:01:01)\n", (2, 0)),
            (
                "Test Suites: 1 failed, 1 total\nTests:       1 failed, 4 passed, 5 \
                total\nSnapshots:   0 total\n",
                (4, 1),
            ),
            (
                " Test Files  1 passed (1)\n      Tests  1 failed | 4 passed (5)\n",
                (4, 1),
            ),
            (
                "=== RUN   TestA\n=== RUN   TestA/sub\n    --- PASS: TestA/sub (0.00s)\n--- PASS: \
                TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\n",
                (1, 1),
            ),
        ] {
            assert_eq!(read(output), Some(expected), "{output}");
        }
    }

    #[test]
    fn other_output_yields_no_counts() {
        for output in [
            "",
            "all 5 passed",
            "3 ships passed in 2 hours",
            "Tests: 5 total",
            "Tests are passed (5)",
            "--- FAIL: TestB (0.00s)\nFAIL\n",
            "ok  \texample.org/x\t0.01s",
            "test result: what",
        ] {
            assert_eq!(read(output), None, "{output}");
        }
    }

    proptest! {
        #[test]
        fn any_output_is_handled(output in any::<String>()) {
            let _ = TestStatus::from_output(&output);
        }
    }
}
