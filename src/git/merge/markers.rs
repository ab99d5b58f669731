//! Conflict markers in a file.
//!
//! Invariant: a row of equal signs under a headline is none; and which markers a text brought on
//! purpose is known by the whole line, since git writes its own with what it merges.

use std::collections::BTreeMap;
use std::path::Path;

/// The shortest that git writes unless it is told otherwise; `conflict-marker-size` in
/// `.gitattributes` makes them longer.
const SHORTEST: usize = 7;

/// Whether the file holds a whole conflict, as git writes it: the three markers, in order.
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

/// The lines that begin or end a conflict or its middle part, and how often each is there. What
/// parts the sides is not among them: a headline may look like that.
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

/// The same of a file. What is not a regular file, or cannot be read, has none.
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

    fn held(text: &[u8]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, text).unwrap();
        has_markers(&path)
    }

    #[test]
    fn only_a_whole_set_in_order_counts() {
        assert!(held(
            b"a\n<<<<<<< ours\nb\n||||||| base\n=======\nc\n>>>>>>> theirs\n"
        ));
        assert!(held(b"<<<<<<< ours\r\nb\r\n=======\r\n>>>>>>> theirs\r\n"));
        assert!(held(
            b"<<<<<<<<<< ours\nb\n==========\nc\n>>>>>>>>>> theirs\n"
        ));
        for text in [
            &b"Title\n=======\n"[..],
            b">>>>>>> x\n=======\n<<<<<<< y\n",
            b"<<<<<<\n======\n>>>>>>\n",
            b"<<<<<<<<a\n========\n>>>>>>>>b\n",
        ] {
            assert!(!held(text));
        }
    }

    #[test]
    fn each_marker_is_a_line_of_its_own_whatever_is_left_of_its_conflict() {
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
