//! Finds conflict markers in a file.
//!
//! Invariant: a row of equal signs alone is no marker, since it may underline a heading. Lines are
//! compared whole, so markers that a text contains on purpose can be told from git's, which name
//! what is merged.

use std::collections::BTreeMap;
use std::path::Path;

/// Git's default and shortest marker; `conflict-marker-size` in `.gitattributes` makes it longer.
const SHORTEST: usize = 7;

/// Whether the file has all three markers of a conflict, in order.
pub(crate) fn has_markers(path: &Path) -> bool {
    let mut wanted = b"<=>".iter().peekable();
    for line in regular(path)
        .unwrap_or_default()
        .split(|byte| *byte == b'\n')
    {
        wanted.next_if(|mark| is_mark(line, **mark));
    }
    wanted.peek().is_none()
}

/// Marker lines that begin or end a conflict or its base part, with counts. The `=======` separator
/// is left out: a heading may look like it.
pub(crate) fn marker_lines(text: &[u8]) -> BTreeMap<Vec<u8>, usize> {
    let mut found = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        if b"<|>".iter().any(|mark| is_mark(line, *mark)) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            *found.entry(line.to_vec()).or_default() += 1;
        }
    }
    found
}

/// Marker lines of a file. A file that is not regular or cannot be read has none.
pub(crate) fn marker_lines_in(path: &Path) -> BTreeMap<Vec<u8>, usize> {
    regular(path).map_or_else(BTreeMap::new, |text| marker_lines(&text))
}

fn regular(path: &Path) -> Option<Vec<u8>> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    meta.is_file().then(|| std::fs::read(path).ok())?
}

fn is_mark(line: &[u8], mark: u8) -> bool {
    let length = line.iter().take_while(|byte| **byte == mark).count();
    length >= SHORTEST && matches!(line.get(length), None | Some(b' ' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, text).unwrap();
        has_markers(&path)
    }

    #[test]
    fn only_all_three_markers_in_order_are_a_conflict() {
        assert!(has(
            b"a\n<<<<<<< ours\nb\n||||||| base\n=======\nc\n>>>>>>> theirs\n"
        ));
        assert!(has(b"<<<<<<< ours\r\nb\r\n=======\r\n>>>>>>> theirs\r\n"));
        assert!(has(
            b"<<<<<<<<<< ours\nb\n==========\nc\n>>>>>>>>>> theirs\n"
        ));
        for text in [
            &b"Title\n=======\n"[..],
            b">>>>>>> x\n=======\n<<<<<<< y\n",
            b"<<<<<<\n======\n>>>>>>\n",
            b"<<<<<<<<a\n========\n>>>>>>>>b\n",
        ] {
            assert!(!has(text));
        }
    }

    #[test]
    fn single_markers_of_a_partly_resolved_conflict_are_counted() {
        let text = b"<<<<<<< a\r\nb\n||||||| c\n=======\nd\n<<<<<<< a\ne\n>>>>>>>>> f\n>>> g\n";
        let found = marker_lines(text);
        let found: Vec<(&str, usize)> = found
            .iter()
            .map(|(line, count)| (std::str::from_utf8(line).unwrap(), *count))
            .collect();
        assert_eq!(
            found,
            [("<<<<<<< a", 2), (">>>>>>>>> f", 1), ("||||||| c", 1)]
        );
    }
}
