//! Where the agents' programs are: in `SWARM_AGENTS_DIR`, else installed now. So is a client of the
//! Model Context Protocol.
//!
//! Invariant: a test never goes without them: where they cannot be installed it fails and names the
//! command. Only where `npm` is missing it is skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The folder with `claude` and `codex`.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| match std::env::var_os("SWARM_AGENTS_DIR") {
        Some(folder) => holding(folder.into(), &["claude", "codex"]),
        None => installed(&[], &["claude", "codex"]),
    })
}

/// The folder that has those of the long run too.
pub fn folder_of_all() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed(&["more"], &["claude", "codex", "gemini", "opencode"]))
}

/// The folder with the inspector of the Model Context Protocol.
pub fn folder_of_mcp() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| installed(&["mcp"], &["mcp-inspector", "mcp-server-memory"]))
}

fn installed(args: &[&str], programs: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents-cli");
    let mut install = Command::new(root.join("tests/agents/install.sh"));
    install.arg(&place).args(args).stdin(Stdio::null());
    let what = format!("{install:?}");
    let done = install.stderr(Stdio::inherit()).output();
    let done = done.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(done.status.success(), "{what}: {}", done.status);
    let folder = String::from_utf8(done.stdout).unwrap();
    holding(folder.trim_end().into(), programs)
}

fn holding(folder: PathBuf, programs: &[&str]) -> PathBuf {
    for program in programs {
        assert!(
            folder.join(program).exists(),
            "there is no `{program}` in {}; `tests/agents/install.sh DIR` installs it and prints \
            what SWARM_AGENTS_DIR must be",
            folder.display()
        );
    }
    folder
}
