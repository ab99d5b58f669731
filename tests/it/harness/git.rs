//! Git as a person would use it beside swarm: the one place of the tests that starts it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{PATIENCE, Ran, Sandbox};

/// The files of a worktree, by their path in it.
pub fn files_in(worktree: &Path) -> Vec<String> {
    let (mut names, mut open) = (vec![], vec![worktree.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if !path.ends_with(".git") {
                let name = path.strip_prefix(worktree).unwrap();
                names.push(name.display().to_string());
            }
        }
    }
    names
}

impl Sandbox {
    /// Runs git in the repository; it must succeed. Its output without the last line end.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.repo(), args)
    }

    /// Runs git in a folder; it must succeed.
    #[track_caller]
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let ran = self.git_fed(folder, args, b"");
        ran.ok().trim_end_matches('\n').to_owned()
    }

    /// Runs git in a folder with this on standard input.
    pub fn git_fed(&self, folder: &Path, args: &[&str], input: &[u8]) -> Ran {
        let mut git = self.command("git");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "A Person");
            git.env(format!("GIT_{who}_EMAIL"), "person@example.org");
        }
        self.run(git.current_dir(folder).args(args), input, PATIENCE)
    }

    /// Commits everything in the repository as a person would.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.head("HEAD")
    }

    /// The commit that a name stands for.
    #[track_caller]
    pub fn head(&self, name: &str) -> String {
        self.git(&["rev-parse", &format!("{name}^{{commit}}")])
    }

    /// A file of a commit.
    pub fn file_at(&self, commit: &str, name: &str) -> String {
        self.git(&["show", &format!("{commit}:{name}")])
    }

    /// The landings on a branch since a commit, oldest first: commit and idea.
    pub fn landings(&self, since: &str, branch: &str) -> Vec<(String, String)> {
        let format = concat!(
            "--format=%H %P|%(trailers:key=Swarm-Idea,valueonly,separator=%x2C)",
            "|%(trailers:key=Swarm-Op,valueonly,separator=%x2C)"
        );
        let range = format!("{since}..{branch}");
        let log = self.git(&["log", "--first-parent", "--reverse", format, &range]);
        log.lines().map(landing).collect()
    }

    /// The repository is sound, no agent's worktree is there but for those that wait for the next
    /// idea, and no branch of an agent.
    pub fn assert_repository_clean(&self) {
        self.assert_sound();
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        let places = worktrees
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "));
        let in_use: Vec<&str> = places.filter(|place| !is_spare(Path::new(place))).collect();
        assert_eq!(in_use.len(), 1, "{worktrees}");
        assert_eq!(self.git(&["branch", "--list", "agent/*"]), "");
        assert_eq!(
            self.git(&["status", "--porcelain", "--", ".", ":!.swarm"]),
            ""
        );
    }

    /// `git fsck` finds nothing wrong.
    pub fn assert_sound(&self) {
        self.git(&["fsck", "--strict", "--no-dangling"]);
    }

    /// A new worktree of a person at this commit, outside of the repository.
    pub fn person_worktree(&self, name: &str, at: &str) -> PathBuf {
        let path = self.path(name);
        let folder = path.to_str().unwrap();
        self.git(&["worktree", "add", "-q", "--detach", folder, at]);
        path
    }
}

/// Whether a worktree waits for the next idea, the next merge or the next control.
pub fn is_spare(place: &Path) -> bool {
    let name = place.file_name().and_then(|name| name.to_str());
    let ours = place
        .parent()
        .and_then(Path::parent)
        .is_some_and(|parent| parent.ends_with(".local/state/swarm"));
    let of_checks = |name: &str| name == "verify" || name == "control";
    ours && name.is_some_and(|name| of_checks(name) || name.starts_with(".pool-w"))
}

/// `commit parent parent|idea|operation`
fn landing(line: &str) -> (String, String) {
    let parts: Vec<&str> = line.split('|').collect();
    let [commits, idea, operation] = parts[..] else {
        panic!("{line}");
    };
    let commits: Vec<&str> = commits.split(' ').collect();
    assert_eq!(commits.len(), 3, "not a merge commit: {line}");
    assert!(
        !idea.is_empty() && !idea.contains(','),
        "Swarm-Idea: {line}"
    );
    assert!(
        !operation.is_empty() && !operation.contains(','),
        "Swarm-Op: {line}"
    );
    (commits[0].to_owned(), idea.to_owned())
}
