//! The file that leads a browser to the page: other users read a program's arguments in the list of
//! processes, so the link with its code must not be one.
//!
//! Invariant: `<git common directory>/swarm/open.html` (0600, in a folder of 0700) is replaced by
//! each start, and goes when its code has expired or the daemon ends. The caller holds the state
//! lock.

use std::io;
use std::path::{Path, PathBuf};

use super::access::replace;
use crate::remove;

const FILE: &str = "open.html";

/// Writes the file that leads to this link.
///
/// # Errors
/// It cannot be written.
pub fn write(private: &Path, link: &str) -> io::Result<PathBuf> {
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>swarm</title>\
        <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n"
    );
    replace(private, FILE, page.as_bytes())?;
    Ok(private.join(FILE))
}

/// Removes the file, if there is one.
///
/// # Errors
/// It cannot be removed.
pub fn remove(private: &Path) -> io::Result<()> {
    remove::file_if_there(&private.join(FILE))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_links_file_is_for_its_owner_alone_and_each_start_replaces_it() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "http://127.0.0.1:1/s/0/enter?code=old").unwrap();
        let path = write(dir.path(), "http://127.0.0.1:1/s/0/enter?code=new").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("url=http://127.0.0.1:1/s/0/enter?code=new\"") && !text.contains("old"),
            "{text}"
        );
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        remove(dir.path()).unwrap();
        assert!(!path.exists());
        remove(dir.path()).unwrap();
    }
}
