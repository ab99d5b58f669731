//! Keeps from agents and checks what points into the person's checkout: with its virtual
//! environment or its tools, a check in a worktree loads the code of the checkout, and broken work
//! passes.
//!
//! `agents.passEnv` overrides this. Called for each run in a worktree and by `preflight`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use super::environment::Environment;

/// Variables that name a folder with code.
const FOLDERS: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
const SEARCH_PATH: &str = "PATH";

/// An environment for worktrees, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForWorktrees {
    /// The environment.
    pub environment: Environment,
    /// What was kept back, in the order of the variables' names.
    pub kept_back: Vec<KeptBack>,
}

/// A path in the checkout that agents and checks do not get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBack {
    /// The variable that has it.
    pub variable: &'static str,
    /// The path.
    pub path: PathBuf,
}

impl fmt::Display for KeptBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.path.display(), self.variable)
    }
}

/// The daemon's environment without what points into `checkout`. Variables in `pass` stay as they
/// are.
pub fn for_worktrees(inherited: &Environment, pass: &[String], checkout: &Path) -> ForWorktrees {
    let mut environment = inherited.clone();
    let mut kept_back = Vec::new();
    let real = checkout.canonicalize();
    let real = real.as_deref().unwrap_or(checkout);
    let may_change = |variable: &str| !pass.iter().any(|name| name == variable);
    let is_inside = |path: &Path| {
        path.starts_with(checkout)
            || path.is_absolute() && path.canonicalize().is_ok_and(|path| path.starts_with(real))
    };
    let mut keep_back = |variable, path: &Path| {
        let path = path.to_owned();
        kept_back.push(KeptBack { variable, path });
    };
    if let Some(path) = environment.get_mut(OsStr::new(SEARCH_PATH))
        && may_change(SEARCH_PATH)
        && let Some(rest) = without_inside(path, &is_inside, |path| keep_back(SEARCH_PATH, path))
    {
        *path = rest;
    }
    for variable in FOLDERS.into_iter().filter(|name| may_change(name)) {
        let value = inherited.get(OsStr::new(variable)).map(Path::new);
        if let Some(path) = value.filter(|path| is_inside(path)) {
            environment.remove(OsStr::new(variable));
            keep_back(variable, path);
        }
    }
    ForWorktrees {
        environment,
        kept_back,
    }
}

/// A search path without its folders inside; `None` if there are none, or if the rest cannot be
/// written.
fn without_inside(
    path: &OsStr,
    is_inside: &impl Fn(&Path) -> bool,
    mut keep_back: impl FnMut(&Path),
) -> Option<OsString> {
    let (inside, rest): (Vec<PathBuf>, Vec<PathBuf>) =
        std::env::split_paths(path).partition(|folder| is_inside(folder));
    if inside.is_empty() {
        return None;
    }
    let rest = std::env::join_paths(rest).ok()?;
    for folder in &inside {
        keep_back(folder);
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let all = variables.iter();
        all.map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn kept_back(variables: &[(&str, &str)], pass: &[&str]) -> (Environment, Vec<String>) {
        let pass: Vec<String> = pass.iter().map(ToString::to_string).collect();
        let it = for_worktrees(&environment(variables), &pass, Path::new("/home/ann/app"));
        let words = it.kept_back.iter().map(ToString::to_string);
        (it.environment, words.collect())
    }

    const ACTIVE: [(&str, &str); 4] = [
        (
            "PATH",
            "/home/ann/app/.venv/bin:/usr/bin:/home/ann/app/node_modules/.bin:/home/ann/apple/bin",
        ),
        ("VIRTUAL_ENV", "/home/ann/app/.venv"),
        ("CARGO_HOME", "/home/ann/app/.cargo"),
        ("HOME", "/home/ann"),
    ];

    #[test]
    fn an_active_environment_of_the_checkout_is_kept_back() {
        let (left, words) = kept_back(&ACTIVE, &[]);
        let expected = [
            ("PATH", "/usr/bin:/home/ann/apple/bin"),
            // A cache has no code of the project.
            ("CARGO_HOME", "/home/ann/app/.cargo"),
            ("HOME", "/home/ann"),
        ];
        assert_eq!(left, environment(&expected));
        assert_eq!(
            words,
            [
                "/home/ann/app/.venv/bin of PATH",
                "/home/ann/app/node_modules/.bin of PATH",
                "/home/ann/app/.venv of VIRTUAL_ENV",
            ]
        );
    }

    #[test]
    fn what_a_person_passes_stays() {
        let (left, words) = kept_back(&ACTIVE, &["PATH", "VIRTUAL_ENV"]);
        assert_eq!(left, environment(&ACTIVE));
        assert!(words.is_empty());
    }

    #[test]
    fn an_environment_elsewhere_stays() {
        let elsewhere = [
            ("PATH", "/opt/venv/bin:/usr/bin::"),
            ("VIRTUAL_ENV", "/opt/venv"),
        ];
        let (left, words) = kept_back(&elsewhere, &[]);
        assert_eq!(left, environment(&elsewhere));
        assert!(words.is_empty());
    }

    #[test]
    fn a_link_into_the_checkout_points_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let (app, link) = (folder.path().join("app"), folder.path().join("link"));
        std::fs::create_dir_all(app.join("venv")).unwrap();
        std::os::unix::fs::symlink(app.join("venv"), &link).unwrap();
        let inherited = environment(&[("VIRTUAL_ENV", link.to_str().unwrap())]);
        let found = for_worktrees(&inherited, &[], &app);
        assert!(found.environment.is_empty());
    }
}
