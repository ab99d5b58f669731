//! Says where the web page is, once the daemon answers, and opens it in a browser.
//!
//! Invariant: a browser that cannot be opened is no failure: the link is printed. The link is never
//! an argument, which other users could read: the browser is given a private file that leads to it.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use crate::cli::host::OnPage;
use crate::web::entry::access::CODE_LIFE;
use crate::web::entry::opener;

/// Prints the link as a message, and opens it if `opens`.
pub fn announce(opens: bool, private: PathBuf) -> OnPage {
    Box::new(move |link| {
        let opens = opens && has_display(|name| std::env::var_os(name));
        let how = if opens {
            "it opens in your browser"
        } else {
            "it works once, within a minute"
        };
        let line = format!("page: {link}\n  {how}; another link: swarm open\n");
        // The daemon continues even if nobody reads.
        drop(std::io::stderr().write_all(line.as_bytes()));
        if opens {
            open(private, &link);
        }
    })
}

/// Whether there is a desktop that can show a browser.
fn has_display(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    // A browser would run as root, and refuse.
    let is_root = nix::unistd::geteuid().is_root();
    !is_root && (cfg!(target_os = "macos") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

fn open(private: PathBuf, link: &str) {
    match opener::write(&private, link) {
        Ok(file) => {
            if let Ok(mut child) = browser(&file).spawn() {
                // It may live as long as the browser; a thread that cannot start leaves a zombie
                // until the daemon ends.
                drop(thread::Builder::new().spawn(move || child.wait()));
            }
        }
        Err(error) => tracing::warn!(%error, "the page could not be opened in a browser"),
    }
    // The end of the daemon removes the file too.
    drop(thread::Builder::new().spawn(move || {
        thread::sleep(CODE_LIFE);
        opener::remove(&private)
    }));
}

/// The command that opens a file in the person's browser.
fn browser(file: &Path) -> Command {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl+C ends the daemon, and not the browser that this may have started.
        .process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_browser_is_opened_without_a_desktop() {
        assert!(cfg!(target_os = "macos") || !has_display(|_| None));
        assert!(cfg!(target_os = "macos") || !has_display(|_| Some(OsString::new())));
        let x11 = |name: &str| (name == "DISPLAY").then(|| OsString::from(":0"));
        assert_eq!(has_display(x11), !nix::unistd::geteuid().is_root());
    }

    #[test]
    fn a_browsers_argument_is_a_path_and_never_the_code() {
        let dir = tempfile::tempdir().unwrap();
        let file = opener::write(dir.path(), "http://127.0.0.1:1/s/0/enter?code=secret").unwrap();
        let command = browser(&file);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, [file.as_os_str()]);
        assert!(!format!("{command:?}").contains("secret"));
    }
}
