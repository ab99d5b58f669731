//! Finds dependencies by a path that leaves the repository, such as `path = "../other"` in a
//! `Cargo.toml`. Worktrees lie elsewhere, so such a path leads nowhere in them.
//!
//! Invariant: reads only. A dependency that is not on this machine is none. What lies beside the
//! checkout is linked beside the worktrees, by a setup command that is right on every machine; what
//! lies further away is only named.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::setup::FoundSetup;

/// The files that name dependencies, as patterns of git.
pub const MANIFESTS: [&str; 8] = [
    "**/Cargo.toml",
    "**/composer.json",
    "**/go.mod",
    "**/go.work",
    "**/package.json",
    "**/pnpm-workspace.yaml",
    "**/pyproject.toml",
    "**/requirements*.txt",
];

/// What package managers of Node write before a path.
const SCHEMES: [&str; 3] = ["file:", "link:", "portal:"];

/// Something outside the repository that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathDependency {
    /// The file that names it, below the root.
    pub manifest: String,
    /// How many folders it lies above the root.
    up: usize,
    /// The first folder on the way down from there.
    name: String,
}

/// The dependencies that these files name, each once.
pub fn path_dependencies(root: &Path, manifests: &[String]) -> Vec<PathDependency> {
    let mut found: Vec<PathDependency> = Vec::new();
    for manifest in manifests {
        let text = fs::read_to_string(root.join(manifest)).unwrap_or_default();
        let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
        for path in paths_in(manifest, &text) {
            let Some((up, down)) = outside(&folder.join(&path)) else {
                continue;
            };
            let Some(Component::Normal(name)) = down.components().next() else {
                continue;
            };
            let there = above(root, up).is_some_and(|above| above.join(&down).is_dir());
            let one = PathDependency {
                manifest: manifest.clone(),
                up,
                name: name.to_string_lossy().into_owned(),
            };
            let is_own = up == 1 && root.file_name() == Some(name);
            let is_known = |known: &PathDependency| (known.up, &known.name) == (up, &one.name);
            if there && !is_own && is_plain(&one.name) && !found.iter().any(is_known) {
                found.push(one);
            }
        }
    }
    found
}

impl PathDependency {
    /// The path from the root of the repository, or of a worktree.
    fn path(&self) -> String {
        format!("{}{}", "../".repeat(self.up), self.name)
    }

    /// The command that links it beside the worktrees, where a path from a worktree leads.
    pub fn link(&self) -> Option<FoundSetup> {
        let path = self.path();
        (self.up == 1).then(|| FoundSetup {
            command: format!("ln -sfn \"$SWARM_REPO/{path}\" {path}"),
            inputs: vec![self.manifest.clone()],
            because: format!("a path in {}", self.manifest),
            writes: None,
            runnable: true,
        })
    }

    /// What to do about one that swarm does not link, because it would lie outside the folder of
    /// the worktrees.
    pub fn note(&self, root: &Path, folder: &Path) -> Option<String> {
        let (from, to) = (above(root, self.up)?, above(folder, self.up - 1)?);
        let (from, to) = (from.join(&self.name), to.join(&self.name));
        (self.up > 1).then(|| {
            format!(
                "{} depends on {}, which is not there for worktrees. Link it: ln -s '{}' '{}'",
                self.manifest,
                self.path(),
                from.display(),
                to.display()
            )
        })
    }
}

fn above(path: &Path, up: usize) -> Option<&Path> {
    path.ancestors().nth(up)
}

/// How many folders above the root a path leads, and from there down; `None` if it stays inside.
fn outside(path: &Path) -> Option<(usize, PathBuf)> {
    let mut up = 0;
    let mut down = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => down.push(name),
            Component::CurDir => {}
            Component::ParentDir => up += usize::from(!down.pop()),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (up > 0).then_some((up, down))
}

/// Whether a shell takes the name as it is.
fn is_plain(name: &str) -> bool {
    let plain = |it: char| it.is_alphanumeric() || "._+@-".contains(it);
    name.chars().all(plain)
}

/// The relative paths in a file that begin with `../`.
fn paths_in(manifest: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if Path::new(manifest).extension() == Some("json".as_ref()) {
        let json: Value = serde_json::from_str(text).unwrap_or_default();
        strings(&json, &mut |text| found.extend(path_of(text)));
        return found;
    }
    let is_comment = |line: &&str| line.trim_start().starts_with(['#', '/']);
    for line in text.lines().filter(|line| !is_comment(line)) {
        let words = line.split(|it: char| it.is_whitespace() || "'\"=,()[]{}".contains(it));
        found.extend(words.filter_map(path_of));
    }
    found
}

fn path_of(word: &str) -> Option<String> {
    let stripped = SCHEMES.iter().find_map(|scheme| word.strip_prefix(scheme));
    let path = stripped.unwrap_or(word);
    path.starts_with("../").then(|| path.to_owned())
}

/// Calls `each` with every text of a document but the commands of its scripts.
fn strings(json: &Value, each: &mut impl FnMut(&str)) {
    match json {
        Value::String(text) => each(text),
        Value::Array(list) => list.iter().for_each(|one| strings(one, each)),
        Value::Object(members) => {
            let members = members.iter().filter(|(key, _)| *key != "scripts");
            members.for_each(|(_, one)| strings(one, each));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;

    /// What one file in the repository `/work/app` depends on; `/work/other` and `/far` are there.
    fn found(manifest: &str, text: &str) -> Vec<(String, Option<String>)> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work/app");
        for folder in ["work/app/crates/a", "work/other/lib", "far"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(root.join(manifest), text).unwrap();
        let found = path_dependencies(&root, &[manifest.to_owned()]);
        let each = found.iter().map(|it| (it.path(), it.link()));
        each.map(|(path, link)| (path, link.map(|it| it.command)))
            .collect()
    }

    #[test]
    fn a_folder_beside_the_checkout_is_linked_beside_the_worktrees() {
        let link = "ln -sfn \"$SWARM_REPO/../other\" ../other";
        let beside = [("../other".to_owned(), Some(link.to_owned()))];
        for (manifest, text) in [
            (
                "Cargo.toml",
                "[dependencies]\no = { path = \"../other\" }\n",
            ),
            ("crates/a/Cargo.toml", "o = {path=\"../../../other/lib\"}\n"),
            ("go.mod", "module a\nreplace x => ../other\n"),
            ("go.work", "use (\n\t.\n\t../other/lib\n)\n"),
            ("package.json", r#"{"dependencies":{"o":"file:../other"}}"#),
            (
                "package.json",
                r#"{"devDependencies":{"o":"link:../other"}}"#,
            ),
            ("package.json", r#"{"resolutions":{"o":"portal:../other"}}"#),
            ("pnpm-workspace.yaml", "overrides:\n  o: link:../other\n"),
            (
                "pyproject.toml",
                "[tool.uv.sources]\no = { path = '../other', editable = true }\n",
            ),
            ("requirements-dev.txt", "-e ../other\n"),
        ] {
            assert_eq!(found(manifest, text), beside, "{manifest}: {text}");
        }
    }

    #[test]
    fn a_path_that_stays_inside_or_leads_nowhere_or_is_a_command_is_no_dependency() {
        for (manifest, text) in [
            ("crates/a/Cargo.toml", "b = { path = \"../b\" }\n"),
            (
                "Cargo.toml",
                "a = { path = \"../gone\" }\n# b = { path = \"../other\" }\n",
            ),
            ("Cargo.toml", "a = { path = \"../app/crates/a\" }\n"),
            ("go.mod", "module a // see ..\n// replace x => ../other\n"),
            ("package.json", r#"{"scripts":{"build":"../other"}}"#),
        ] {
            assert_eq!(found(manifest, text), [], "{manifest}: {text}");
        }
    }

    #[test]
    fn what_lies_further_away_is_named_with_the_link_that_it_needs() {
        let text = "far = { path = \"../../far\" }\n";
        assert_eq!(found("Cargo.toml", text), [("../../far".to_owned(), None)]);
        let far = PathDependency {
            manifest: "Cargo.toml".to_owned(),
            up: 2,
            name: "far".to_owned(),
        };
        let note = far.note(Path::new("/work/app"), Path::new("/state/swarm/app-1"));
        let link = "Link it: ln -s '/far' '/state/swarm/far'";
        assert!(note.as_ref().unwrap().ends_with(link), "{note:?}");
    }
}
