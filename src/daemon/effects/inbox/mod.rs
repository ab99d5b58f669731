//! The inbox: a Markdown file dropped into `.swarm/inbox/` becomes an idea, once, and moves to
//! `inbox/accepted/`.
//!
//! `parse` reads such a file, `front_matter` the settings at its top.
//! Invariant: a file is taken by name and content. Its idea and the intention to move it are one
//! batch in the log; while that intention is open the same file is not taken again. A file that
//! cannot become an idea stays where it is, with a warning that says why; the warning goes with the
//! file.

mod front_matter;
pub mod parse;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::context::DriverContext;
use crate::crash;
use crate::daemon::actor::handle::Handle;
use crate::daemon::files::hash::sha256;
use crate::domain::effect::{self, Effect};
use crate::domain::ids::{BadId, IdeaId};
use crate::domain::observation::Observation;
use crate::domain::operation::{Command, InboxFile, NewIdea};
use crate::domain::outcome::{Failure, InboxArchived};
use crate::domain::state::State;
use crate::domain::warning::WarningKind;
use parse::{InboxIdea, parse};

/// Largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// A file of the inbox with its content, or why it cannot be read.
struct Dropped {
    name: String,
    content: Result<(String, String), String>,
}

/// Takes what lies in the inbox. One at a time, kept over the daemon's life.
pub(crate) struct Inbox {
    context: Arc<DriverContext>,
    handle: Handle,
    /// Files taken and not yet seen gone, by name: their digest.
    taken: BTreeMap<String, String>,
}

impl Inbox {
    /// What the log says is still to be moved counts as taken.
    pub(crate) fn new(context: Arc<DriverContext>, handle: Handle) -> Self {
        let taken = handle.read(|state| {
            let open = state.outbox.values().filter_map(|effect| {
                if let Effect::ArchiveInbox(it) = effect {
                    Some((it.name.clone(), it.sha256.clone()))
                } else {
                    None
                }
            });
            open.collect()
        });
        Self {
            context,
            handle,
            taken,
        }
    }

    /// Looks once.
    pub(crate) async fn scan(&mut self) {
        let folder = self.context.paths.inbox.clone();
        let dropped = match spawn_blocking(move || list(&folder)).await {
            Ok(Ok(dropped)) => dropped,
            Ok(Err(error)) => return tracing::warn!(%error, "the inbox cannot be read"),
            Err(error) => return tracing::warn!(%error, "reading the inbox crashed"),
        };
        self.taken
            .retain(|name, _| dropped.iter().any(|file| file.name == *name));
        self.forget_gone(&dropped).await;
        for file in dropped {
            crash::point("inbox.read");
            self.take(file).await;
        }
    }

    /// A warning about a file that is no more has been heeded, maybe while no daemon ran.
    async fn forget_gone(&self, dropped: &[Dropped]) {
        let is_there = |name: &str| dropped.iter().any(|file| file.name == name);
        let is_over = |key: &&String| {
            WarningKind::Inbox
                .thing(key)
                .is_some_and(|name| !is_there(name))
        };
        let over: Vec<String> = self
            .handle
            .read(|state| state.warnings.keys().filter(is_over).cloned().collect());
        for key in over {
            self.handle.observe(Observation::TroubleOver { key }).await;
        }
    }

    async fn take(&mut self, file: Dropped) {
        let key = WarningKind::Inbox.about(&file.name);
        let result = match file.content {
            Ok((sha256, _)) if self.taken.get(&file.name) == Some(&sha256) => return,
            Ok((sha256, text)) => {
                let added = self.add(&file.name, &sha256, &text).await;
                // Taken or refused: the same content is not looked at again.
                self.taken.insert(file.name.clone(), sha256);
                added
            }
            Err(why) => Err(why),
        };
        let observation = match result {
            Ok(()) => Observation::TroubleOver { key },
            Err(why) => Observation::Trouble {
                key,
                message: format!(
                    ".swarm/inbox/{} did not become an idea: {why}; correct the file or remove it",
                    file.name
                ),
            },
        };
        self.handle.observe(observation).await;
    }

    async fn add(&self, name: &str, sha256: &str, text: &str) -> Result<(), String> {
        let idea = parse(text).map_err(|error| error.to_string())?;
        let inbox = InboxFile {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
        };
        let mut idea = new_idea(idea, Some(inbox)).map_err(|error| error.to_string())?;
        self.handle.read(|state| {
            let each = idea.after.iter_mut();
            each.for_each(|id| *id = meant(state, id));
        });
        let added = self.handle.command(Command::AddIdea(idea)).await;
        added.map(drop).map_err(|error| error.to_string())
    }
}

/// The idea that a file describes; `inbox` if the file lies in the inbox.
///
/// # Errors
/// An id or a profile's name is malformed.
pub fn new_idea(idea: InboxIdea, inbox: Option<InboxFile>) -> Result<NewIdea, BadId> {
    let after: Result<Vec<_>, BadId> = idea.after.iter().map(|id| id.parse()).collect();
    let profile = idea.profile.as_deref().map(str::parse).transpose()?;
    Ok(NewIdea {
        text: idea.text,
        after: after?,
        tags: idea.tags,
        priority: idea.priority.unwrap_or_default(),
        profile,
        inbox,
        review: idea.review.unwrap_or_default(),
        imported: None,
    })
}

/// The idea whose number this is: `13`, `idea-13`. What is an id itself, or nobody's number, stays
/// as it is.
fn meant(state: &State, typed: &IdeaId) -> IdeaId {
    let text = typed.as_str();
    let number = text.strip_prefix("idea-").unwrap_or(text).parse().ok();
    let numbered = number.map(IdeaId::numbered);
    let is_there = |id: &IdeaId| state.ideas.get(id).is_some();
    match numbered.filter(|_| !is_there(typed)).filter(is_there) {
        Some(id) => id,
        None => typed.clone(),
    }
}

/// The Markdown files of the inbox, by name. Links and folders are none.
fn list(folder: &Path) -> io::Result<Vec<Dropped>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut dropped = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // The ending as the contract spells it; `.MD` is none.
        let is_idea = name.strip_suffix(".md").is_some() && !name.starts_with('.');
        if is_idea && entry.file_type()?.is_file() {
            let content = read(&entry.path());
            dropped.push(Dropped { name, content });
        }
    }
    dropped.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(dropped)
}

fn read(path: &Path) -> Result<(String, String), String> {
    let read = || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let bytes = read().map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("it is larger than 1 MiB".to_owned());
    }
    let digest = sha256(&bytes);
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok((digest, text))
}

/// Moves a file that became an idea out of the inbox; one that is gone, or was written anew, is
/// left alone.
pub(super) fn archive(
    folder: &Path,
    effect: &effect::ArchiveInbox,
) -> Result<InboxArchived, Failure> {
    let name = &effect.name;
    let path = folder.join(name);
    match read(&path) {
        Ok((digest, _)) if digest == effect.sha256 => {}
        Ok(_) | Err(_) => return Ok(InboxArchived),
    }
    free_name(&folder.join("accepted"), name)
        .and_then(|to| std::fs::rename(&path, to))
        .map_err(|error| {
            Failure::other(format!(
                ".swarm/inbox/{name} became an idea, but could not be moved to accepted/: {error}; \
            move it by hand"
            ))
        })?;
    crash::point("inbox.moved");
    Ok(InboxArchived)
}

/// A name in `folder` that is free: the file's own, or with a number.
fn free_name(folder: &Path, name: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let stem = name.trim_end_matches(".md");
    let names = std::iter::once(name.to_owned()).chain((2..).map(|n| format!("{stem}.{n}.md")));
    let free = names
        .map(|name| folder.join(name))
        .find(|path| !path.exists());
    Ok(free.unwrap_or_else(|| folder.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_md(sha256: &str) -> effect::ArchiveInbox {
        effect::ArchiveInbox {
            name: "a.md".into(),
            sha256: sha256.into(),
        }
    }

    #[test]
    fn a_file_is_moved_once_and_never_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        for round in ["a.md", "a.2.md"] {
            std::fs::write(&path, round).unwrap();
            let digest = sha256(round.as_bytes());
            archive(folder.path(), &a_md(&digest)).unwrap();
            archive(folder.path(), &a_md(&digest)).unwrap();
            let kept = folder.path().join("accepted").join(round);
            assert_eq!(std::fs::read_to_string(kept).unwrap(), round);
        }
        std::fs::write(&path, "written anew").unwrap();
        archive(folder.path(), &a_md("another")).unwrap();
        assert!(path.exists());
    }
}
