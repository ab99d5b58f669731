//! Syncs objects that git wrote without syncing.
//!
//! Invariant: after [`Repo::make_durable`], every object that `new` needs and `known` lacks is on
//! disk with its directories, whoever wrote it (an agent's `git commit` syncs nothing). Only then
//! may an event name the commit. One pass over the loose objects syncs each file once, on several
//! threads, so that the file system can merge syncs. `core.fsync=all` would miss what agents wrote;
//! `rev-list --objects` takes 16 ms for 5,000 files, this less than 1 ms.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Repository, Tree};

use crate::git::error::{At, GitError};
use crate::git::repo::Repo;

const THREADS: usize = 8;

impl Repo {
    /// Syncs the objects reachable from `new` but not from `known`. If `known` is empty, `HEAD` is
    /// used: walking the whole history would take long.
    pub fn make_durable(&self, new: Oid, known: &[Oid]) -> Result<(), GitError> {
        let found = new_objects(&self.library()?, new, known)
            .map_err(GitError::library(format!("list the objects of {new}")))?;
        self.sync_objects(found)
    }

    /// Syncs these objects. Those in packs git syncs itself.
    pub(crate) fn sync_objects(&self, ids: impl IntoIterator<Item = Oid>) -> Result<(), GitError> {
        let objects = self.common_dir().join("objects");
        let file = |id: Oid| {
            let id = id.to_string();
            objects.join(&id[..2]).join(&id[2..])
        };
        let files: Vec<PathBuf> = ids.into_iter().map(file).filter(|it| it.exists()).collect();
        sync_all(&files)?;
        let directories: BTreeSet<PathBuf> = files
            .iter()
            .flat_map(|file| file.ancestors().skip(1).take(2))
            .map(Path::to_owned)
            .collect();
        sync_all(&directories.into_iter().collect::<Vec<_>>())
    }
}

/// New commits, and the objects of each commit's tree that no parent has at the same place.
fn new_objects(
    library: &Repository,
    new: Oid,
    known: &[Oid],
) -> Result<BTreeSet<Oid>, git2::Error> {
    let mut walk = library.revwalk()?;
    walk.push(new)?;
    match known {
        [] => walk.hide_head()?,
        known => known.iter().try_for_each(|known| walk.hide(*known))?,
    }
    let mut found = BTreeSet::new();
    for commit in walk {
        let commit = library.find_commit(commit?)?;
        let parents: Vec<Oid> = commit.parents().map(|parent| parent.tree_id()).collect();
        found.insert(commit.id());
        gather(library, commit.tree_id(), &parents, &mut found)?;
    }
    Ok(found)
}

/// Adds a tree and its content, except for what a parent has at the same place.
fn gather(
    library: &Repository,
    tree: Oid,
    parents: &[Oid],
    found: &mut BTreeSet<Oid>,
) -> Result<(), git2::Error> {
    if parents.contains(&tree) || !found.insert(tree) {
        return Ok(());
    }
    let tree = library.find_tree(tree)?;
    let parents: Vec<Tree> = parents
        .iter()
        .map(|parent| library.find_tree(*parent))
        .collect::<Result<_, _>>()?;
    for entry in &tree {
        let before = parents
            .iter()
            .filter_map(|parent| parent.get_name_bytes(entry.name_bytes()))
            .filter(|before| before.kind() == entry.kind())
            .map(|before| before.id());
        let before: Vec<Oid> = before.collect();
        match entry.kind() {
            Some(ObjectType::Tree) => gather(library, entry.id(), &before, found)?,
            Some(ObjectType::Blob) if !before.contains(&entry.id()) => {
                found.insert(entry.id());
            }
            _ => {}
        }
    }
    Ok(())
}

fn sync_all(files: &[PathBuf]) -> Result<(), GitError> {
    let share = files.len().div_ceil(THREADS).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files
            .chunks(share)
            .map(|some| scope.spawn(|| some.iter().try_for_each(|file| sync(file))))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Syncs a file or directory.
pub(crate) fn sync(path: &Path) -> Result<(), GitError> {
    match File::open(path) {
        Ok(file) => file.sync_all().at("sync", path),
        // A repack may have moved the object into a pack, which git syncs.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).at("open", path),
    }
}
