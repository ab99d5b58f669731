//! Reads and checks a file that `swarm agent export` wrote, or that somebody made look like one.
//!
//! Invariant: nothing of a file is used before all of it was checked. A refusal says what is wrong,
//! where, and what to do.

use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::parts::Parts;
use crate::daemon::error::DaemonError;
use crate::daemon::files::paths::Paths;
use crate::plain_file;
use crate::view::agent_state::message_log::flaw;
use crate::view::agent_state::{AgentState, FORMAT, VERSION};

/// The longest file, in bytes.
pub const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Most messages, and most repairs.
const MAX_MESSAGES: usize = 1_000_000;

/// The contexts that this version knows.
const CONTEXTS: [&str; 7] = [
    "rules",
    "profile",
    "learnings",
    "reads",
    "notes",
    "recovery",
    "worktree",
];

/// Begins a file that was compressed with Zstandard, as archives are.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The file of an agent, to be imported.
#[derive(Debug)]
pub struct AgentFile {
    /// The bytes of its state.
    pub(super) bytes: Vec<u8>,
    /// What else it has.
    pub(super) parts: Option<Parts>,
}

impl AgentFile {
    /// A state alone.
    pub fn of_state(bytes: Vec<u8>) -> Self {
        Self { bytes, parts: None }
    }

    /// The bytes of its state.
    pub fn state(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it may have more than the state.
    pub fn is_packed(&self) -> bool {
        self.parts.is_some()
    }
}

/// Reads a file; one that is packed is unpacked into a folder that goes with the result.
///
/// # Errors
/// It cannot be read; it is too long; it is packed otherwise than swarm does.
pub fn read(paths: &Paths, path: &Path) -> Result<AgentFile, DaemonError> {
    let reading = || DaemonError::io(format!("read {}", path.display()));
    let file = plain_file::open_through_links(path).map_err(reading())?;
    let mut begin = Vec::new();
    (&file)
        .take(ZSTD.len() as u64)
        .read_to_end(&mut begin)
        .map_err(reading())?;
    if begin == ZSTD {
        let (bytes, parts) = Parts::unpack(paths, begin.as_slice().chain(file))?;
        let parts = Some(parts);
        return Ok(AgentFile { bytes, parts });
    }
    let left = MAX_BYTES as u64 + 1 - begin.len() as u64;
    let mut bytes = begin;
    file.take(left).read_to_end(&mut bytes).map_err(reading())?;
    check_size(&bytes)?;
    Ok(AgentFile::of_state(bytes))
}

fn check_size(bytes: &[u8]) -> Result<(), DaemonError> {
    if bytes.len() <= MAX_BYTES {
        return Ok(());
    }
    let mib = MAX_BYTES / 1024 / 1024;
    Err(refused(
        format!("it is longer than {mib} MiB"),
        "export the agent again; an export is never that long: swarm agent export ID -o FILE",
    ))
}

/// What says whether the rest can be understood.
#[derive(Deserialize)]
struct Head<'a> {
    format: Option<Value>,
    version: Option<Value>,
    #[serde(borrow, default)]
    contexts: Option<&'a RawValue>,
}

/// Checks the whole file.
///
/// # Errors
/// [`DaemonError::AgentFileRefused`]
pub(super) fn check(bytes: &[u8]) -> Result<AgentState, DaemonError> {
    check_size(bytes)?;
    if bytes.starts_with(&ZSTD) {
        return Err(refused(
            "it is compressed, and only its state is wanted here",
            "import it on the command line: swarm agent import FILE",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        refused(format!("it is not UTF-8 text (byte {at})"), AGAIN)
    })?;
    check_head(text)?;
    let state: AgentState = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    check_state(&state)?;
    Ok(state)
}

/// Reads a file that was checked before.
pub(super) fn parse(bytes: &[u8]) -> io::Result<AgentState> {
    Ok(serde_json::from_slice(bytes)?)
}

/// What to do about a file that is packed.
pub(super) const AGAIN_PACKED: &str =
    "export the agent again: swarm agent export ID -o FILE.tar.zst";
const AGAIN: &str = "export the agent again: swarm agent export ID -o FILE";

fn check_head(text: &str) -> Result<(), DaemonError> {
    // serde would accept a list as the values of the fields.
    if !text.trim_start().starts_with('{') {
        return Err(refused("it is not a JSON object", AGAIN));
    }
    let head: Head<'_> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    match head.format.as_ref().and_then(Value::as_str) {
        Some(FORMAT) => {}
        Some("swarm-export") => {
            return Err(refused(
                "it is the manifest of an archive of a whole swarm",
                "import the archive in a clone without a swarm: swarm snapshot import FILE",
            ));
        }
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            let other = other.escape_debug();
            let why = format!("its format is `{other}`, not `{FORMAT}`");
            return Err(refused(why, AGAIN));
        }
        None => return Err(refused(format!("its format is not `{FORMAT}`"), AGAIN)),
    }
    check_version(head.version.as_ref())?;
    let contexts = head.contexts.map_or("{}", serde_json::value::RawValue::get);
    let contexts: Value = serde_json::from_str(contexts).map_err(|error| unreadable(&error))?;
    let Value::Object(contexts) = contexts else {
        return Err(refused("`contexts` is not an object", AGAIN));
    };
    match contexts
        .keys()
        .find(|name| !CONTEXTS.contains(&name.as_str()))
    {
        None => Ok(()),
        Some(name) => {
            let name: String = name.chars().take(40).collect();
            let name = name.escape_debug();
            Err(refused(
                format!("it has the context `{name}`, which this version of swarm does not know"),
                "update swarm, or remove that context from the file",
            ))
        }
    }
}

fn check_version(version: Option<&Value>) -> Result<(), DaemonError> {
    let text = version.and_then(Value::as_str).unwrap_or_default();
    // What is no number makes it no version, whatever the reason.
    let part = |part: &str| part.parse::<u32>().ok();
    let parts: Vec<Option<u32>> = text.split('.').map(part).collect();
    let [Some(major), Some(_), Some(_)] = parts[..] else {
        return Err(refused("its version is not one such as `1.0.0`", AGAIN));
    };
    let own = VERSION.split('.').next().and_then(part).unwrap_or_default();
    if major == own {
        return Ok(());
    }
    Err(refused(
        format!("its version is {text}; this version of swarm reads {own}.x"),
        "update swarm on the older side, then export the agent again",
    ))
}

fn unreadable(error: &serde_json::Error) -> DaemonError {
    use serde_json::error::Category;
    let why = match error.classify() {
        Category::Eof => format!("it ends too early: {error}"),
        Category::Syntax => format!("it is not JSON: {error}"),
        Category::Data | Category::Io => format!("a field is not what it must be: {error}"),
    };
    refused(why, AGAIN)
}

fn check_state(state: &AgentState) -> Result<(), DaemonError> {
    let count = state.message_log.len().max(state.repairs.len());
    if count > MAX_MESSAGES {
        let why = format!("it has more than {MAX_MESSAGES} messages or repairs");
        return Err(refused(why, AGAIN));
    }
    if let Some(flaw) = flaw(&state.message_log) {
        return Err(refused(
            format!("no model accepts its messages: {flaw}"),
            AGAIN,
        ));
    }
    if state.identity.idea_text.trim().is_empty() {
        let why = "`identity.ideaText` is empty, so nothing says what to do";
        return Err(refused(why, AGAIN));
    }
    let worktree = &state.contexts.worktree;
    let swarm = state.source.swarm_id.as_deref();
    let conversation = state.conversation.as_ref().map(|it| it.sha256.as_str());
    let digests = [
        ("source.swarmId", swarm),
        ("conversation.sha256", conversation),
    ];
    let commits = [
        ("contexts.worktree.base", worktree.base.as_deref()),
        ("contexts.worktree.tip", worktree.tip.as_deref()),
        ("contexts.worktree.wip", worktree.wip.as_deref()),
    ];
    for (field, value) in digests {
        if value.is_some_and(|value| !is_hex(value, &[64])) {
            return Err(refused(format!("`{field}` is not a SHA-256"), AGAIN));
        }
    }
    for (field, value) in commits {
        if value.is_some_and(|value| !is_hex(value, &[40, 64])) {
            return Err(refused(
                format!("`{field}` is not the id of a commit"),
                AGAIN,
            ));
        }
    }
    Ok(())
}

fn is_hex(text: &str, lengths: &[usize]) -> bool {
    let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    lengths.contains(&text.len()) && text.bytes().all(digit)
}

pub(super) fn refused(why: impl Into<String>, next: &str) -> DaemonError {
    DaemonError::AgentFileRefused {
        why: why.into(),
        next: next.to_owned(),
    }
}
