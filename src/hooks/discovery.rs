//! Lists the hooks of a repository: those in the configuration, and `.swarm/hooks/NAME.sh` for each
//! hook that the configuration does not name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::hook::HookName;

/// Directory of the hooks that the configuration does not name.
pub const FOLDER: &str = ".swarm/hooks";

/// Where a hook's program is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// In `config.json`, key `hooks`.
    Configuration,
    /// By its file name in `.swarm/hooks/`.
    Folder,
}

impl From {
    /// The word used in output and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Folder => "folder",
        }
    }
}

/// A hook and its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where the program is named.
    pub from: From,
    /// Path of the program, relative to the repository.
    pub program: String,
}

impl Entry {
    /// Path of the program below `root`.
    pub fn path(&self, root: &Path) -> PathBuf {
        root.join(&self.program)
    }
}

/// The hooks of the repository at `root`. A file that may not run is listed too: its author meant
/// it to run, so a person must hear why it does not.
pub fn catalogue<'a>(
    root: &Path,
    configured: impl IntoIterator<Item = (HookName, &'a str)>,
) -> BTreeMap<HookName, Entry> {
    let mut hooks: BTreeMap<HookName, Entry> = HookName::ALL
        .into_iter()
        .map(|hook| (hook, in_folder(hook)))
        .filter(|(_, entry)| entry.path(root).symlink_metadata().is_ok())
        .collect();
    for (hook, program) in configured {
        let entry = Entry {
            from: From::Configuration,
            program: program.to_owned(),
        };
        hooks.insert(hook, entry);
    }
    hooks
}

/// The entry of a hook that the configuration does not name.
pub fn in_folder(hook: HookName) -> Entry {
    Entry {
        from: From::Folder,
        program: format!("{FOLDER}/{hook}.sh"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_overrides_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".swarm/hooks");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["on-pause.sh", "pre-merge.sh", "other.sh"] {
            std::fs::write(folder.join(name), "#!/bin/sh\n").unwrap();
        }
        let hooks = catalogue(root.path(), [(HookName::PreMerge, "scripts/e2e.sh")]);
        let found: Vec<_> = hooks
            .iter()
            .map(|(hook, entry)| (hook.as_str(), entry.from, entry.program.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("pre-merge", From::Configuration, "scripts/e2e.sh"),
                ("on-pause", From::Folder, ".swarm/hooks/on-pause.sh"),
            ]
        );
    }
}
