//! What a patch means, and that nothing of it is lost.

#![allow(clippy::unwrap_used)] // a test fails by panicking

use proptest::prelude::*;

use super::*;

const PATCH: &str = "diff --git a/pages/home.txt b/pages/home.txt\n\
    index 1..2 100644\n--- a/pages/home.txt\n+++ b/pages/home.txt\n\
    @@ -1,4 +1,4 @@ title\n one\n-two\n-three\n+2\n+3\n+4\n \n\
    \\ No newline at end of file\n\
    diff --git a/x.png b/x.png\nindex 1..2\nBinary files a/x.png and b/x.png differ\n\
    diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n";

#[test]
fn a_patch_has_files_with_numbered_rows() {
    let files = files(PATCH);
    assert_eq!(files.len(), 3);
    let numbers = |row: &Row<'_>| {
        let number = |line: Option<Line<'_>>| line.map(|line| line.number);
        (number(row.old), number(row.new), row.is_same)
    };
    let rows: Vec<_> = files[0].hunks[0].rows.iter().map(numbers).collect();
    let expected = [
        (Some(1), Some(1), true),
        (Some(2), Some(2), false),
        (Some(3), Some(3), false),
        (None, Some(4), false),
        (Some(4), Some(5), true),
    ];
    assert_eq!(rows, expected);
    assert_eq!(files[0].hunks[0].header, "@@ -1,4 +1,4 @@ title");
    assert!(files[1].is_binary && files[1].hunks.is_empty());
    assert!(!files[2].is_binary && files[2].hunks.is_empty());
    let bytes: usize = files.iter().map(|file| file.bytes).sum();
    assert_eq!(bytes, PATCH.len());
}

#[test]
fn lines_that_look_like_headers_stay_lines() {
    let patch =
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n @@ -1 @@\n";
    let files = files(patch);
    assert_eq!(files.len(), 1);
    let rows = &files[0].hunks[0].rows;
    assert_eq!(rows[0].old.unwrap().text, "-- a/y");
    assert_eq!(rows[0].new.unwrap().text, "++ b/y");
    assert_eq!(rows[1].new.unwrap().text, "@@ -1 @@");
}

#[test]
fn the_words_that_changed_are_marked() {
    let (old, new) = marked("ready at six.", "ready at six o'clock.");
    assert!(old.iter().all(|part| !part.is_marked));
    let marks: Vec<&str> = new
        .iter()
        .filter(|part| part.is_marked)
        .map(|part| part.text)
        .collect();
    assert_eq!(marks, [" o'clock"]);
    let (old, new) = marked("let total = 1;", "completely different words");
    assert!(old.iter().chain(&new).all(|part| !part.is_marked));
}

fn joined(parts: &[Part<'_>]) -> String {
    parts.iter().map(|part| part.text).collect()
}

/// A patch of one file: its lines with their signs, and the header that fits them.
fn patch_of(lines: &[(u8, String)]) -> String {
    let count = |sign: u8| lines.iter().filter(|(its, _)| *its != sign).count();
    let mut patch = format!(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,{} +1,{} @@\n",
        count(b'+'),
        count(b'-')
    );
    for (sign, text) in lines {
        patch.push(char::from(*sign));
        patch.push_str(text);
        patch.push('\n');
    }
    patch
}

proptest! {
    #[test]
    fn no_text_of_a_line_is_lost(old in ".{0,60}", new in ".{0,60}") {
        let (before, after) = marked(&old, &new);
        prop_assert_eq!(joined(&before), old.as_str());
        prop_assert_eq!(joined(&after), new.as_str());
    }

    #[test]
    fn no_line_of_a_patch_is_lost(
        lines in prop::collection::vec((prop::sample::select(&b" +-"[..]), "[^\n]{0,20}"), 1..40),
    ) {
        let patch = patch_of(&lines);
        let files = files(&patch);
        prop_assert_eq!(files.len(), 1);
        let rows = || files[0].hunks[0].rows.iter();
        let side = |sign: u8| -> Vec<&str> {
            let its = lines.iter().filter(|(other, _)| *other != sign);
            its.map(|(_, text)| text.as_str()).collect()
        };
        let old: Vec<&str> = rows().filter_map(|row| Some(row.old?.text)).collect();
        let new: Vec<&str> = rows().filter_map(|row| Some(row.new?.text)).collect();
        prop_assert_eq!(old, side(b'+'));
        prop_assert_eq!(new, side(b'-'));
    }

    #[test]
    fn any_text_is_read_without_panic(
        patch in "(diff --git |@@ -1,2 \\+1 @@|[ +\\\\-]|.|\n){0,40}",
    ) {
        let bytes: usize = files(&patch).iter().map(|file| file.bytes).sum();
        prop_assert!(bytes <= patch.len());
    }
}
