//! Number of failed tests in the output of a quality command, from the summaries of the usual test
//! runners.
//!
//! Invariant: pure, and `None` in doubt: an unknown number changes no count. Called by
//! `end_diagnosis`.

use crate::agents::text;

/// How many tests failed: the sum over all summaries of cargo test, nextest, pytest, jest, vitest
/// and mocha, else the number of tests that `go test` reports as failed.
pub(super) fn count(output: &str) -> Option<u32> {
    let plain = text::plain(output);
    let summaries = plain.lines().filter_map(summary);
    let go = plain
        .lines()
        .filter(|line| line.trim_start().starts_with("--- FAIL: "));
    let of_go = u32::try_from(go.count()).ok().filter(|count| *count > 0);
    summaries.reduce(u32::saturating_add).or(of_go)
}

/// The number of failed tests in a line that sums up a run.
fn summary(line: &str) -> Option<u32> {
    let line = line.trim();
    let rest = line
        // cargo test: `test result: FAILED. 3 passed; 2 failed; 0 ignored`
        .strip_prefix("test result: ")
        // nextest: `Summary [   0.5s] 5 tests run: 3 passed, 2 failed, 0 skipped`
        .or_else(|| line.strip_prefix("Summary ["))
        // jest: `Tests:       2 failed, 3 passed, 5 total`
        .or_else(|| line.strip_prefix("Tests:"))
        // vitest: `Tests  2 failed | 3 passed (5)`
        .or_else(|| line.strip_prefix("Tests  "));
    if let Some(rest) = rest {
        return before(rest, "failed");
    }
    // pytest: `==== 2 failed, 3 passed in 0.12s ====`, with -q without the frame
    let bare = line.trim_matches('=').trim();
    let is_pytest = bare.starts_with(|c: char| c.is_ascii_digit()) && bare.contains(" in ");
    if is_pytest && (bare.contains(" failed") || bare.contains(" passed")) {
        return before(bare, "failed");
    }
    // mocha: `2 failing`
    before(line, "failing").filter(|_| line.ends_with(" failing"))
}

/// The number before this word.
fn before(text: &str, word: &str) -> Option<u32> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_word = |it: &str| it.trim_end_matches([',', ';']) == word;
    let at = words.iter().position(|it| is_word(it))?;
    words.get(at.checked_sub(1)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn failed_tests_are_counted_in_the_summaries_of_the_usual_runners() {
        for (output, expected) in [
            (
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; finished in 0.1s",
                2,
            ),
            (
                "     Summary [   0.512s] 5 tests run: 3 passed, 4 failed, 0 skipped",
                4,
            ),
            ("=== 2 failed, 3 passed, 1 warning in 0.12s ===", 2),
            ("2 failed in 0.12s", 2),
            ("Tests:       12 failed, 3 passed, 15 total", 12),
            (
                " Test Files  1 failed (1)\n      Tests  2 failed | 3 passed (5)",
                2,
            ),
            ("  3 passing (12ms)\n  2 failing", 2),
            (
                "--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\tpkg\t0.1s",
                2,
            ),
            ("\u{1b}[31m=== 7 failed in 1s ===\u{1b}[0m", 7),
        ] {
            assert_eq!(count(output), Some(expected), "{output}");
        }
    }

    #[test]
    fn summaries_of_several_suites_add_up() {
        let suites = "test result: FAILED. 3 passed; 2 failed; 0 ignored\n\
            test result: ok. 3 passed; 0 failed; 0 ignored\n\
            test result: FAILED. 0 passed; 1 failed; 0 ignored";
        assert_eq!(count(suites), Some(3));
    }

    #[test]
    fn other_output_has_no_number() {
        for output in [
            "",
            "error: could not compile `a` (lib) due to 2 previous errors",
            "37 mismatches in 2 files",
            "the build failed in 3 s",
            "Tests: none failed",
            "3 passed in 0.1s",
        ] {
            assert_eq!(count(output), None, "{output}");
        }
    }
}
