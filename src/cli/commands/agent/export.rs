//! `swarm agent export`: an agent's state on its own, to standard output or to a new file.
//!
//! Invariant: the state is read from files, with and without a daemon, and only read. A file is
//! written whole and private, and never over another one.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::archive::{ArchiveError, PartFile};
use crate::cli::access::ids::Typed;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::safe;
use crate::daemon::agent_state::{self, Packed};
use crate::domain::ids::AgentId;
use crate::domain::rejection::Rejection;
use crate::remove;
use crate::view::agent_state::AgentState;

/// `agent export`. Works with and without a daemon, for agents that have ended too.
#[derive(Debug, Args)]
#[command(
    after_help = "The state is one JSON document: who the agent is, its model, its budget and \
usage, all messages between it and its model, and what it was told: rules, memory, notes, the \
attempt before it. Values of its environment are not in it; what it read and wrote is, so it may \
contain secrets.

A FILE that ends in .tar.zst also gets the conversation as Claude Code or Codex keeps it, and the \
agent's commits that are not on the target.

Examples:
  $ swarm agent export ed-002
  $ swarm agent export ed-002 -o ed-002.json
  $ swarm agent export ed-002 -o ed-002.tar.zst"
)]
pub struct Export {
    /// The agent.
    pub id: Typed<AgentId>,
    /// Write to this new file instead of standard output; one that ends in .tar.zst also gets the
    /// conversation and the commits.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Writes the state.
pub(super) fn run(args: &Export, context: &mut Context) -> Result<(), CliError> {
    let paths = context.repo()?.paths();
    let id = context.with_access(|access| access.agent_id(&args.id))?;
    let unknown = || Rejection::AgentUnknown(id.clone());
    if let Some(file) = args.output.as_deref().filter(|file| is_packed(file)) {
        let packed = agent_state::pack(&paths, &id)?.ok_or_else(unknown)?;
        let bytes = write_packed(file, &packed)?;
        let inside = Inside {
            conversation: packed.has_conversation,
            commits: packed.has_commits,
        };
        return tell(context, file, (&packed.state, bytes), Some(inside));
    }
    let state = agent_state::read(&paths, &id)?.ok_or_else(unknown)?;
    let Some(file) = &args.output else {
        return context.output.document(&state);
    };
    let bytes = write(file, &state).map_err(|error| refused(file, &error))?;
    tell(context, file, (&state, bytes), None)
}

/// What a packed file has besides the state.
#[derive(Clone, Copy)]
struct Inside {
    conversation: bool,
    commits: bool,
}

/// Says what was written: the state, and the size of the file in bytes.
fn tell(
    context: &mut Context,
    file: &Path,
    (state, bytes): (&AgentState, u64),
    inside: Option<Inside>,
) -> Result<(), CliError> {
    let id = &state.identity.id;
    if context.output.json {
        let mut answer = json!({
            "file": file,
            "bytes": bytes,
            "agentId": id,
            "messages": state.message_log.len(),
            "repairs": state.repairs.len(),
        });
        if let Some(inside) = inside {
            answer["conversation"] = inside.conversation.into();
            answer["commits"] = inside.commits.into();
        }
        return context.output.document(&answer);
    }
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let messages = count(state.message_log.len(), "message");
    let repairs = match state.repairs.len() {
        0 => String::new(),
        repairs => format!(", {} made to them", count(repairs, "repair")),
    };
    let name = safe(&file.to_string_lossy());
    let extra = inside.map_or("", |inside| match (inside.conversation, inside.commits) {
        (true, true) => ", its conversation and its commits",
        (true, false) => ", its conversation, no commits of its own",
        (false, true) => ", its commits, no conversation",
        (false, false) => ", no conversation and no commits of its own",
    });
    context.output.line(format!(
        "wrote the state of {id} to {name} ({messages}{repairs}{extra})"
    ))?;
    context
        .output
        .note("it contains what the agent read and wrote: look for secrets before you share it");
    Ok(())
}

/// Whether the file's name asks for the conversation and the commits, too.
fn is_packed(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    name.as_encoded_bytes().ends_with(b".tar.zst")
}

/// Writes a new file; its size in bytes.
fn write_packed(file: &Path, packed: &Packed) -> Result<u64, CliError> {
    let part = PartFile::create(file);
    if let Err(ArchiveError::Exists { path }) = &part {
        return Err(refused(path, &io::ErrorKind::AlreadyExists.into()));
    }
    let mut part = part?;
    let written = packed.write(&mut part).map_err(CliError::from);
    match written.and_then(|()| Ok(part.sync()?)) {
        Ok(()) => part.publish()?,
        Err(error) => {
            part.discard();
            return Err(error);
        }
    }
    Ok(fs::metadata(file).map_or(0, |there| there.len()))
}

/// The same for the state alone. What a failure or a kill leaves is not under its name.
fn write(file: &Path, state: &AgentState) -> io::Result<u64> {
    let bytes = state.document()?;
    let mut name = file
        .file_name()
        .ok_or(io::ErrorKind::InvalidInput)?
        .to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    if fs::symlink_metadata(file).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    remove::file_if_there(&part)?;
    let mut options = OpenOptions::new();
    let mut out = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&part)?;
    out.write_all(&bytes)?;
    out.sync_all()?;
    // A link never replaces a name, unlike a rename.
    let linked = fs::hard_link(&part, file);
    remove::file_if_there(&part)?;
    linked.map(|()| bytes.len() as u64)
}

fn refused(file: &Path, error: &io::Error) -> CliError {
    let name = safe(&file.to_string_lossy());
    if error.kind() == io::ErrorKind::AlreadyExists {
        let message = format!("{name} is there already; nothing was written");
        return CliError::refused(message)
            .code("FILE_EXISTS")
            .hint("name another file with -o");
    }
    CliError::io(format_args!("write {name}"), error)
}
