//! A repository in a temporary directory, and git without anybody's configuration.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use swarm::domain::time::Timestamp;
use swarm::git::{Earlier, Identity, KeepIgnored, Oid, Places, Prepare, Prepared, Repo, Settings};

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub repo: Repo,
}

pub fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    let pairs: [(&str, OsString); 7] = [
        ("HOME", home.into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_AUTHOR_NAME", "Person".into()),
        ("GIT_AUTHOR_EMAIL", "person@localhost".into()),
        ("GIT_COMMITTER_NAME", "Person".into()),
        ("GIT_COMMITTER_EMAIL", "person@localhost".into()),
    ];
    let formats = crate::git_format::variables().into_iter();
    let formats = formats.map(|(name, value)| (name, OsString::from(value)));
    pairs
        .into_iter()
        .chain(formats)
        .map(|(name, value)| (name.into(), value))
        .collect()
}

pub fn settings(home: &Path) -> Settings {
    Settings {
        environment: environment(home),
        lock_wait: Duration::from_millis(1_500),
        trusted: None,
    }
}

/// Runs git in a directory as a person or an agent would; panics if it fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = try_git(dir, args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "git {args:?}: {error}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

pub fn try_git(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .args(["-c", "protocol.file.allow=always"])
        .args(args);
    command.envs(environment(dir)).output().unwrap()
}

pub fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn read(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn identity() -> Identity {
    Identity {
        name: "Swarm".into(),
        email: "swarm@localhost".into(),
        configured: false,
    }
}

/// Worktrees lie in this folder.
pub fn places(folder: &Path) -> Places {
    Places {
        root: Some(folder.join("worktrees")),
        ..Places::default()
    }
}

pub const TIME: Timestamp = Timestamp::from_millis(1_790_000_000_123);

impl Fixture {
    pub fn new() -> Self {
        Self::in_directory(tempfile::tempdir().unwrap())
    }

    pub fn in_directory(dir: tempfile::TempDir) -> Self {
        let root = dir.path().join("repo");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        write(&root, ".gitignore", "ignored/\n*.log\n");
        write(&root, "README", "hello\n");
        write(&root, "src/a.txt", &changed_line(0, ""));
        write(&root, "src/b.txt", "b\n");
        git(&root, &["add", "."]);
        git(&root, &["commit", "-q", "-m", "first"]);
        let repo = Repo::open_with(&root, settings(dir.path())).unwrap();
        repo.settle_folder(&places(dir.path())).unwrap();
        Self { dir, repo }
    }

    pub fn root(&self) -> PathBuf {
        self.repo.root().to_owned()
    }

    pub fn git(&self, args: &[&str]) -> String {
        git(&self.root(), args)
    }

    pub fn oid(&self, name: &str) -> Oid {
        Oid::from_str(&self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")])).unwrap()
    }

    pub fn want(&self, number: u32) -> Prepare {
        Prepare {
            name: name(number),
            branch: branch(number),
            base: self.oid("main"),
            from: None,
            saved: None,
            keep: KeepIgnored::All,
        }
    }

    pub fn prepare(&self, number: u32) -> Prepared {
        self.repo.prepare_worktree(&self.want(number)).unwrap()
    }

    /// A commit on main with these files, made in the person's checkout.
    pub fn commit(&self, files: &[(&str, &str)]) -> Oid {
        commit_in(&self.root(), files)
    }

    /// A commit with these files on a branch of its own, made in a worktree that stays.
    pub fn attempt(&self, number: u32, files: &[(&str, &str)]) -> (PathBuf, Oid) {
        let path = self.prepare(number).path;
        let oid = commit_in(&path, files);
        (path, oid)
    }

    /// The repository is sound, and the worktrees that git knows all exist.
    pub fn check(&self) {
        let output = try_git(&self.root(), &["fsck", "--strict", "--no-dangling"]);
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success(), "{said}");
        for line in self.git(&["worktree", "list", "--porcelain"]).lines() {
            assert!(
                !line.starts_with("prunable") && !line.starts_with("locked"),
                "{line}"
            );
        }
    }

    pub fn worktrees(&self) -> Vec<String> {
        let list = self.git(&["worktree", "list", "--porcelain"]);
        let paths = list
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "));
        paths
            .map(|path| {
                Path::new(path)
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }
}

pub fn name(number: u32) -> String {
    format!("ed-{number:03}-idea-{number:03}")
}

pub fn earlier(number: u32) -> Earlier {
    Earlier {
        worktree: name(number),
        branch: branch(number),
    }
}

pub fn branch(number: u32) -> String {
    format!("agent/ed-{number:03}/idea-{number:03}")
}

pub fn commit_in(dir: &Path, files: &[(&str, &str)]) -> Oid {
    for (name, text) in files {
        write(dir, name, text);
    }
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", "work"]);
    Oid::from_str(&git(dir, &["rev-parse", "HEAD"])).unwrap()
}

/// `src/a.txt` of the first commit with one line changed.
pub fn changed_line(number: usize, text: &str) -> String {
    (1..=20)
        .map(|line| {
            if line == number {
                format!("{text}\n")
            } else {
                format!("line {line}\n")
            }
        })
        .collect()
}
