//! Which hooks there are: the configuration's, and the files `.swarm/hooks/NAME.sh` of the moments that it does not name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::domain::hook::HookName;

/// The folder of the hooks that the configuration does not name.
pub const FOLDER: &str = ".swarm/hooks";

/// Who names a hook's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The configuration.
    Configuration,
    /// The folder `.swarm/hooks/`.
    Folder,
}

impl From {
    /// The word for it.
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
    /// Who names it.
    pub from: From,
    /// The program, as it is named: relative to the repository.
    pub program: String,
}

impl Entry {
    /// Where the program lies.
    pub fn path(&self, root: &Path) -> PathBuf {
        root.join(&self.program)
    }
}

/// The hooks of the repository at `root`. A file that is there counts, also one that may not be run: somebody meant it to be called.
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

/// The program of a hook that the configuration does not name.
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
    fn the_configuration_comes_before_the_folder() {
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
