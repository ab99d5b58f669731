//! Everything that lies in a folder, to prove that a refused command changed nothing.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Kind, mode and content of each path below a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<PathBuf, String>);

impl Fingerprint {
    /// Of what lies in `folder` now. Holding the lock is no change.
    pub fn of(folder: &Path) -> Self {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let about = fs::symlink_metadata(&path).unwrap();
                if about.is_dir() {
                    open.push(path.clone());
                }
                // Swarm's own helpers of its git calls say nothing of state; its runs do.
                let below = |name: &str| path.ancestors().any(|dir| dir.ends_with(name));
                if !below(".git/swarm") || below(".git/swarm/runs") {
                    found.insert(path.clone(), print(&path, &about));
                }
            }
        }
        Self(found)
    }

    /// Fails with what differs.
    #[track_caller]
    pub fn assert_same(&self, later: &Self, what: &str) {
        let gone = self
            .0
            .iter()
            .filter(|(path, print)| later.0.get(*path) != Some(print));
        let come = later
            .0
            .iter()
            .filter(|(path, print)| self.0.get(*path) != Some(print));
        let gone: Vec<_> = gone.map(|entry| format!("- {entry:?}")).collect();
        let come: Vec<_> = come.map(|entry| format!("+ {entry:?}")).collect();
        assert!(
            self == later,
            "{what} changed:\n{}\n{}",
            gone.join("\n"),
            come.join("\n")
        );
    }
}

fn print(path: &Path, about: &fs::Metadata) -> String {
    let mode = about.permissions().mode();
    let content = if about.is_symlink() {
        fs::read_link(path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else if about.is_file() {
        Sha256::digest(fs::read(path).unwrap()).to_vec()
    } else {
        vec![]
    };
    format!("{mode:o} {} {content:02x?}", about.uid())
}
