//! What in a command's environment leads to the person's checkout, to explain an alarm.
//!
//! Invariant: reads only, and decides nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Most leads that a message names.
const MOST: usize = 3;

/// Variables, links and editable installs that lead to the checkout.
pub(super) fn leads(
    checkout: &Path,
    worktree: &Path,
    env: &BTreeMap<String, String>,
) -> Vec<String> {
    let place = Place { checkout, worktree };
    let mut found = Vec::new();
    for (name, value) in env {
        // Our own variables name the checkout on purpose.
        if !name.starts_with("SWARM_") && name != "PWD" && name != "OLDPWD" {
            let paths = value.split(':').filter(|path| place.holds(Path::new(path)));
            found.extend(paths.map(|path| format!("{name} has {path}")));
        }
    }
    found.extend(place.links());
    for folder in site_packages(worktree, env) {
        found.extend(place.editable(&folder));
    }
    found.truncate(MOST);
    found
}

/// Files of the checkout, but not of the worktree, that a text names.
pub(super) fn named_paths(text: &str, checkout: &Path, worktree: &Path) -> Vec<String> {
    let Some(root) = checkout.to_str() else {
        return vec![];
    };
    let begin = format!("{root}/");
    let place = Place { checkout, worktree };
    let mut found: Vec<String> = Vec::new();
    for (at, _) in text.match_indices(&begin) {
        let ends = |c: char| c.is_whitespace() || "\"'`:;,()<>[]".contains(c);
        let path = text[at..].split(ends).next().unwrap_or_default();
        let path = path.trim_end_matches('.');
        if place.holds(Path::new(path)) && !found.iter().any(|it| it == path) {
            found.push(path.to_owned());
        }
    }
    found.truncate(MOST);
    found
}

struct Place<'a> {
    checkout: &'a Path,
    worktree: &'a Path,
}

impl Place<'_> {
    /// Whether the path lies in the checkout, and not in what belongs to git or swarm there.
    fn holds(&self, path: &Path) -> bool {
        let own = [".git", ".swarm"].map(|name| self.checkout.join(name));
        path.starts_with(self.checkout)
            && !path.starts_with(self.worktree)
            && !own.iter().any(|own| path.starts_with(own))
    }

    /// Links at the top of the worktree.
    fn links(&self) -> Vec<String> {
        let entries = fs::read_dir(self.worktree).into_iter().flatten().flatten();
        let links = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_symlink()));
        let leads = links.filter_map(|link| {
            let to = fs::canonicalize(link.path()).ok()?;
            let name = link.file_name();
            let name = name.to_string_lossy();
            self.holds(&to)
                .then(|| format!("{name} -> {}", to.display()))
        });
        leads.collect()
    }

    /// Editable installs in a folder of Python packages.
    fn editable(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let files = entries.filter(|it| it.path().extension().is_some_and(|it| it == "pth"));
        let leads = files.filter_map(|file| {
            let text = fs::read_to_string(file.path()).ok()?;
            let line = text.lines().find(|line| self.holds(Path::new(line)))?;
            Some(format!("{} -> {line}", file.file_name().to_string_lossy()))
        });
        leads.collect()
    }
}

/// The folders of Python packages beside the programs that the command finds first.
fn site_packages(worktree: &Path, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let path = env.get("PATH").map(String::as_str).unwrap_or_default();
    let programs = path.split(':').map(PathBuf::from);
    let programs = programs.chain([worktree.join(".venv/bin"), worktree.join("venv/bin")]);
    let mut found = Vec::new();
    for folder in programs {
        let Some(lib) = folder.parent().map(|it| it.join("lib")) else {
            continue;
        };
        let entries = fs::read_dir(lib).into_iter().flatten().flatten();
        let pythons = entries.filter(|it| it.file_name().to_string_lossy().starts_with("python3"));
        found.extend(pythons.map(|it| it.path().join("site-packages")));
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test fails by panicking
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_output_names_files_of_the_checkout_only() {
        let text = "File \"/a/app/src/calc.py\", line 1\n/a/app/.swarm/worktrees/verify/x.py:2 \
            /a/application/y.py /a/app/src/calc.py: no";
        let tree = Path::new("/a/app/.swarm/worktrees/verify");
        let found = named_paths(text, Path::new("/a/app"), tree);
        assert_eq!(found, ["/a/app/src/calc.py"]);
    }

    #[test]
    fn variables_links_and_editable_installs_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let (checkout, tree) = (root.join("app"), root.join("tree"));
        let packages = tree.join(".venv/lib/python3.12/site-packages");
        for folder in [&checkout.join("src"), &packages] {
            fs::create_dir_all(folder).unwrap();
        }
        symlink(checkout.join("src"), tree.join("node_modules")).unwrap();
        let source = checkout.join("src").display().to_string();
        fs::write(packages.join("app.pth"), format!("{source}\n")).unwrap();
        let env = BTreeMap::from([
            ("PYTHONPATH".to_owned(), format!("/x:{source}")),
            ("SWARM_REPO".to_owned(), checkout.display().to_string()),
        ]);
        let found = leads(&checkout, &tree, &env);
        assert_eq!(
            found,
            [
                format!("PYTHONPATH has {source}"),
                format!("node_modules -> {source}"),
                format!("app.pth -> {source}"),
            ]
        );
    }
}
