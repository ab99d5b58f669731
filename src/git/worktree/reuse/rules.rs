//! The rules of several `.gitignore` files as one list for `git ls-files --exclude-from`, so that
//! git need not look at the files in the worktree.
//!
//! Invariant: the list ignores exactly what the files ignore. Format and precedence are those of
//! gitignore(5): a later rule wins, and one of a deeper file wins over one of a shallower file.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// One list of the rules of these files, each with its content.
pub(super) fn joined(mut files: Vec<(PathBuf, Vec<u8>)>) -> Vec<u8> {
    files.sort_by_key(|(path, _)| path.components().count());
    let mut all = Vec::new();
    for (path, content) in files {
        let folder = path.parent().unwrap_or(Path::new(""));
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content);
        for line in content.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(rule) = rule(folder, line) {
                all.extend(rule);
                all.push(b'\n');
            }
        }
    }
    all
}

/// The rule as it would stand in a file at the root; `None` if the line has none.
fn rule(folder: &Path, line: &[u8]) -> Option<Vec<u8>> {
    let line = without_trailing_spaces(line);
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    if folder.as_os_str().is_empty() {
        return Some(line.to_vec());
    }
    let (not, pattern) = match line.strip_prefix(b"!") {
        Some(pattern) => (&b"!"[..], pattern),
        None => (&b""[..], line),
    };
    let inner = pattern.strip_suffix(b"/").unwrap_or(pattern);
    // Without a slash in the pattern, it applies at any depth below the folder.
    let anywhere: &[u8] = if inner.contains(&b'/') { b"" } else { b"**/" };
    let pattern = pattern.strip_prefix(b"/").unwrap_or(pattern);
    Some([not, b"/", &literal(folder), b"/", anywhere, pattern].concat())
}

/// As git reads a line: trailing spaces go, unless a backslash precedes them.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut end = 0;
    let mut at = 0;
    while at < line.len() {
        match line[at] {
            b'\\' => {
                at += 2;
                end = at.min(line.len());
            }
            b' ' => at += 1,
            _ => {
                at += 1;
                end = at;
            }
        }
    }
    &line[..end]
}

/// A path as a pattern that matches nothing else.
fn literal(path: &Path) -> Vec<u8> {
    let mut pattern = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"*?[]\\ !#".contains(byte) {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, content: &str) -> String {
        let files = vec![(PathBuf::from(path), content.into())];
        String::from_utf8_lossy(&joined(files)).into_owned()
    }

    #[test]
    fn rules_of_the_root_stay_as_they_are() {
        let text = "\u{feff}# no rule\n*.log\r\n\n!keep.log\n/target/\nspace\\ \ntrailing  \n";
        let rules = "*.log\n!keep.log\n/target/\nspace\\ \ntrailing\n";
        assert_eq!(of(".gitignore", text), rules);
    }

    #[test]
    fn rules_of_a_folder_apply_below_it() {
        let text = "build\nout/\n/top\na/b\n!x\n\\#y\n";
        let rules = "/web/**/build\n/web/**/out/\n/web/top\n/web/a/b\n!/web/**/x\n/web/**/\\#y\n";
        assert_eq!(of("web/.gitignore", text), rules);
        assert_eq!(of("a[1] b/.gitignore", "x"), "/a\\[1\\]\\ b/**/x\n");
    }

    #[test]
    fn a_deeper_file_comes_later() {
        let files = ["a/b/.gitignore", ".gitignore", "z/.gitignore"];
        let files = files.map(|path| (path.into(), b"!x".to_vec())).to_vec();
        let rules = "!x\n!/z/**/x\n!/a/b/**/x\n";
        assert_eq!(String::from_utf8_lossy(&joined(files)), rules);
    }
}
