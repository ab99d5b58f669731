//! Conflict markers in a file.
//!
//! Invariant: only a whole set in order (`<<<<<<<`, `=======`, `>>>>>>>`, each at the start of its line and followed by a blank or
//! the end of the line) counts, so that a row of equal signs under a headline does not.

use std::path::Path;

/// Whether the file holds a conflict that git wrote. What is not a regular file, or cannot be read, holds none.
pub(crate) fn has_markers(path: &Path) -> bool {
    let regular = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    regular && std::fs::read(path).is_ok_and(|bytes| text_has_markers(&bytes))
}

/// The same of what a file holds.
pub(crate) fn text_has_markers(bytes: &[u8]) -> bool {
    let mut wanted = [b"<<<<<<<", b"=======", b">>>>>>>"].into_iter().peekable();
    for line in bytes.split(|byte| *byte == b'\n') {
        wanted.next_if(|mark| is_mark(line, *mark));
        if wanted.peek().is_none() {
            return true;
        }
    }
    false
}

fn is_mark(line: &[u8], mark: &[u8]) -> bool {
    line.strip_prefix(mark)
        .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_set_in_order_counts() {
        assert!(text_has_markers(
            b"a\n<<<<<<< ours\nb\n||||||| base\n=======\nc\n>>>>>>> theirs\n"
        ));
        assert!(text_has_markers(
            b"<<<<<<< ours\r\nb\r\n=======\r\n>>>>>>> theirs\r\n"
        ));
        for text in [
            &b"Title\n=======\n"[..],
            b">>>>>>> x\n=======\n<<<<<<< y\n",
            b"<<<<<<<<\n========\n>>>>>>>>\n",
        ] {
            assert!(!text_has_markers(text));
        }
    }
}
