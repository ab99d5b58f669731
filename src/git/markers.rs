//! Conflict markers in a file.
//!
//! Invariant: only a whole set in order (`<<<<<<<`, `=======`, `>>>>>>>`, each at the start of its line and followed by a blank or
//! the end of the line) counts, so that a row of equal signs under a headline does not.

use std::path::Path;

/// Whether the file holds a conflict that git wrote.
pub(crate) fn has_markers(path: &Path) -> bool {
    sets_in_file(path) > 0
}

/// How many such conflicts. What is not a regular file, or cannot be read, holds none.
pub(crate) fn sets_in_file(path: &Path) -> usize {
    let regular = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    let bytes = regular.then(|| std::fs::read(path));
    bytes.and_then(Result::ok).map_or(0, |bytes| sets(&bytes))
}

/// How many a text holds; also those that lie within another.
pub(crate) fn sets(bytes: &[u8]) -> usize {
    let marks = [&b"<<<<<<<"[..], b"=======", b">>>>>>>"];
    let mut wanted = marks.iter().peekable();
    let mut counts = [0; 3];
    for line in bytes.split(|byte| *byte == b'\n') {
        wanted.next_if(|mark| is_mark(line, mark));
        for (count, mark) in counts.iter_mut().zip(marks) {
            *count += usize::from(is_mark(line, mark));
        }
    }
    let in_order = wanted.peek().is_none();
    counts.into_iter().min().filter(|_| in_order).unwrap_or(0)
}

fn is_mark(line: &[u8], mark: &[u8]) -> bool {
    line.strip_prefix(mark)
        .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(text: &[u8]) -> bool {
        sets(text) > 0
    }

    #[test]
    fn only_a_whole_set_in_order_counts() {
        assert!(held(
            b"a\n<<<<<<< ours\nb\n||||||| base\n=======\nc\n>>>>>>> theirs\n"
        ));
        assert!(held(b"<<<<<<< ours\r\nb\r\n=======\r\n>>>>>>> theirs\r\n"));
        for text in [
            &b"Title\n=======\n"[..],
            b">>>>>>> x\n=======\n<<<<<<< y\n",
            b"<<<<<<<<\n========\n>>>>>>>>\n",
        ] {
            assert!(!held(text));
        }
    }

    #[test]
    fn sets_within_sets_count() {
        let one = "<<<<<<< a\nb\n=======\nc\n>>>>>>> d\n";
        assert_eq!(sets(one.repeat(2).as_bytes()), 2);
        let within = format!("<<<<<<< a\n{one}=======\nc\n>>>>>>> d\n");
        assert_eq!(sets(within.as_bytes()), 2);
        assert_eq!(sets(b"a\n=======\nb\n"), 0);
    }
}
