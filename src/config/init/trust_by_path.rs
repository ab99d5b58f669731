//! Programs that load a repository's file only where a person trusts its path. Agents work in
//! other folders, where such a program refuses the file or asks.

use std::path::Path;

/// What direnv loads.
const ENVRC: &str = ".envrc";
/// Files at the root that are trusted by path: of direnv, and of mise.
pub const TRUSTED_BY_PATH: [&str; 6] = [
    ENVRC,
    "mise.toml",
    ".mise.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".config/mise/config.toml",
];

/// How to trust the folder of the worktrees, a line for each program. `has` says whether worktrees
/// have a file.
pub fn trust_notes(folder: &Path, has: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = folder.display();
    let mut notes = Vec::new();
    let mut of_mise = TRUSTED_BY_PATH.into_iter().filter(|file| *file != ENVRC);
    if let Some(file) = of_mise.find(|file| has(file)) {
        notes.push(format!(
            "mise trusts {file} by its path, and agents work in another folder. Trust it: mise \
            settings add trusted_config_paths '{folder}'"
        ));
    }
    if has(ENVRC) {
        notes.push(format!(
            "direnv allows {ENVRC} by its path, and agents work in another folder. Allow it in \
            ~/.config/direnv/direnv.toml: [whitelist] prefix = [\"{folder}\"]"
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_worktrees_is_named_for_what_trusts_by_path_and_only_for_that() {
        let notes = |files: &[&str]| trust_notes(Path::new("/s/app-1"), |it| files.contains(&it));
        assert_eq!(notes(&[".tool-versions", "Cargo.toml"]), [""; 0]);
        let both = notes(&[ENVRC, ".config/mise/config.toml"]);
        let [mise, direnv] = both.as_slice() else {
            panic!("{both:?}");
        };
        let command = "mise settings add trusted_config_paths '/s/app-1'";
        assert!(mise.ends_with(command), "{mise}");
        assert!(direnv.ends_with("prefix = [\"/s/app-1\"]"), "{direnv}");
    }
}
