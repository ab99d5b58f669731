//! How a Node project is installed and tested: by its lock file, else by `packageManager` of its
//! `package.json`, else by npm.

use serde_json::Value;

use super::detect::Look;

/// Lock files, and the package managers that write them.
const LOCKS: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("yarn.lock", Manager::Yarn),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// A project with a `package.json` that can be read.
#[derive(Debug)]
pub(super) struct Node {
    package: Value,
    manager: Manager,
    lock: Option<&'static str>,
}

impl Node {
    pub(super) fn of(repo: &Look<'_>) -> Option<Self> {
        let package: Value = serde_json::from_str(&repo.text("package.json")?).ok()?;
        let locked = LOCKS.into_iter().find(|(lock, _)| repo.has(lock));
        let stated = package["packageManager"].as_str().map(|text| {
            match text.split_once('@').map_or(text, |(name, _)| name) {
                "pnpm" => Manager::Pnpm,
                "yarn" => Manager::Yarn,
                "bun" => Manager::Bun,
                _ => Manager::Npm,
            }
        });
        let manager = locked.map(|(_, manager)| manager).or(stated);
        Some(Self {
            package,
            manager: manager.unwrap_or(Manager::Npm),
            lock: locked.map(|(lock, _)| lock),
        })
    }

    /// The command of the script `test`, and the evidence for it.
    pub(super) fn test(&self) -> Option<(&'static str, String)> {
        let test = self.package["scripts"]["test"].as_str()?;
        if test.trim().is_empty() || test.contains("no test specified") {
            return None;
        }
        let script = "script `test` in package.json";
        Some(match (self.manager, self.lock) {
            (Manager::Npm, _) => ("npm test", script.to_owned()),
            (Manager::Pnpm, lock) => ("pnpm test", with_lock(script, lock)),
            (Manager::Yarn, lock) => ("yarn test", with_lock(script, lock)),
            (Manager::Bun, lock) => ("bun run test", with_lock(script, lock)),
        })
    }

    /// The command of the script `build` of a workspace that has tests.
    pub(super) fn build(&self, repo: &Look<'_>) -> Option<&'static str> {
        let is_workspace = !self.package["workspaces"].is_null() || repo.has("pnpm-workspace.yaml");
        self.test().filter(|_| is_workspace)?;
        self.package["scripts"]["build"].as_str()?;
        Some(match self.manager {
            Manager::Npm => "npm run build",
            Manager::Pnpm => "pnpm build",
            Manager::Yarn => "yarn build",
            Manager::Bun => "bun run build",
        })
    }

    /// What fills `node_modules`; `None` where nothing is to be installed. Without a lock file the
    /// command writes none either, because an agent would commit it.
    pub(super) fn install(&self, repo: &Look<'_>) -> Option<&'static str> {
        if self.lock.is_none() && !self.has_packages() {
            return None;
        }
        Some(match (self.manager, self.lock.is_some()) {
            (Manager::Npm, true) => "npm ci",
            (Manager::Npm, false) => "npm install --no-package-lock",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile",
            (Manager::Pnpm, false) => "pnpm install --no-lockfile",
            (Manager::Yarn, true) if is_berry(repo) => "yarn install --immutable",
            (Manager::Yarn, true) => "yarn install --frozen-lockfile",
            (Manager::Yarn, false) => "yarn install --no-lockfile",
            (Manager::Bun, true) => "bun install --frozen-lockfile",
            (Manager::Bun, false) => "bun install --no-save",
        })
    }

    /// The files that the installation depends on, the evidence first.
    pub(super) fn inputs(&self) -> Vec<&'static str> {
        let manifest = if self.package["workspaces"].is_null() {
            "package.json"
        } else {
            "**/package.json"
        };
        // A lock file names what the packages of a workspace need.
        match self.lock {
            Some(lock) => vec![lock, "package.json"],
            None => vec![manifest],
        }
    }

    /// Evidence for the installation.
    pub(super) fn evidence(&self) -> &'static str {
        self.lock.unwrap_or("package.json, without a lock file")
    }

    fn has_packages(&self) -> bool {
        let filled = |key: &str| {
            let list = &self.package[key];
            let packages = list
                .as_object()
                .is_some_and(|packages| !packages.is_empty());
            packages || list.as_array().is_some_and(|folders| !folders.is_empty())
        };
        ["dependencies", "devDependencies", "workspaces"]
            .into_iter()
            .any(filled)
    }
}

fn with_lock(script: &str, lock: Option<&str>) -> String {
    format!("{script}, and {}", lock.unwrap_or("its packageManager"))
}

/// Yarn 1 and later versions write different lock files, and name the option differently.
fn is_berry(repo: &Look<'_>) -> bool {
    let text = repo.text("yarn.lock");
    text.is_some_and(|text| text.contains("__metadata:"))
}

/// The files by which the others of a workspace use this package, as its `package.json` names them.
pub(super) fn entries(package: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for key in ["main", "module", "exports"] {
        add_paths(&package[key], &mut found);
    }
    found
}

fn add_paths(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(path) if !path.contains('*') => found.push(path.clone()),
        Value::Object(members) => {
            // Tests can do without types.
            let members = members.iter().filter(|(key, _)| *key != "types");
            members.for_each(|(_, value)| add_paths(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| add_paths(value, found)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
