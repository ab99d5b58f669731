//! Throw-away git repositories with the same content each time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Result, command, run};

const FOLDERS: usize = 50;

/// A folder with a repository `repo`, a home, and an agent's script. Each round gets a copy, so
/// that all begin alike.
pub struct Template {
    folder: PathBuf,
}

/// A copy of the template.
pub struct Copy {
    folder: PathBuf,
}

/// The agent of all sides: one small file, one commit, and it is done.
const AGENT: &str = r#"cat > /dev/null
mkdir -p work
echo "the work of $SWARM_IDEA_ID" > "work/$SWARM_IDEA_ID.txt"
git add "work/$SWARM_IDEA_ID.txt"
git commit -q -m "Work of $SWARM_IDEA_ID"
echo '<swarm>COMPLETE</swarm>'
"#;

impl Template {
    /// Makes one with so many files on `main`, in git's usual formats.
    pub fn new(folder: &Path, files: usize) -> Result<Self> {
        Self::in_format(folder, files, &[])
    }

    /// The same with options of `git init` that choose other formats.
    pub fn in_format(folder: &Path, files: usize, format: &[&str]) -> Result<Self> {
        let repo = folder.join("repo");
        fs::create_dir_all(folder.join("home"))?;
        fs::create_dir_all(&repo)?;
        fs::write(folder.join("agent.sh"), AGENT)?;
        for index in 0..files {
            let within = repo.join(format!("src/part{:02}", index % FOLDERS));
            fs::create_dir_all(&within)?;
            fs::write(within.join(format!("file{index:05}.txt")), content(index))?;
        }
        let this = Self {
            folder: folder.to_owned(),
        };
        let git = |args: &[&str]| {
            run(command("git", &folder.join("home"))
                .current_dir(&repo)
                .args(args))
        };
        git(&[&["init", "-q", "-b", "main"], format].concat())?;
        git(&["config", "user.name", "Bench"])?;
        git(&["config", "user.email", "bench@example.invalid"])?;
        fs::write(repo.join(".git/info/exclude"), "/.swarm/\n")?;
        git(&["add", "-A"])?;
        git(&["commit", "-q", "-m", "All files"])?;
        git(&["repack", "-a", "-d", "-q"])?;
        Ok(this)
    }

    /// A fresh copy with an up-to-date index, synced, so that no measurement pays for the copying.
    pub fn copy(&self, to: &Path) -> Result<Copy> {
        run(Command::new("cp").arg("-a").arg(&self.folder).arg(to))?;
        let copy = Copy {
            folder: to.to_owned(),
        };
        copy.git(&["update-index", "-q", "--refresh"])?;
        run(&mut Command::new("sync"))?;
        Ok(copy)
    }
}

/// About 600 bytes that differ from file to file.
fn content(index: usize) -> String {
    let line = |n: usize| {
        format!(
            "file {index}, line {n}: {}\n",
            (index * 7_919 + n * 104_729) % 1_000_003
        )
    };
    (0..20).map(line).collect()
}

impl Copy {
    /// The user's checkout, on `main`.
    pub fn root(&self) -> PathBuf {
        self.folder.join("repo")
    }

    /// The throw-away home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// A folder for whatever a side needs.
    pub fn place(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The agent's script.
    pub fn agent(&self) -> PathBuf {
        self.folder.join("agent.sh")
    }

    /// Runs a git command in the user's checkout; what it wrote.
    pub fn git(&self, args: &[&str]) -> Result<String> {
        run(&mut self.git_in(&self.root(), args))
    }

    /// A git command in a work tree.
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> Command {
        let mut git = command("git", &self.home());
        git.current_dir(folder).args(args);
        git
    }

    /// A shell in a work tree, with the variables that the agent's script reads.
    pub fn shell(&self, folder: &Path, args: &[&str], idea: &str) -> Command {
        let mut shell = command("/bin/sh", &self.home());
        shell
            .current_dir(folder)
            .args(args)
            .env("SWARM_IDEA_ID", idea);
        shell
    }

    /// Checks that each idea landed with a merge of its own, that the user's checkout followed, and
    /// that nothing was left over.
    pub fn check_landed(&self, ideas: usize) -> Result {
        let merges = self.git(&["rev-list", "--count", "--merges", "main"])?;
        let files = self.git(&["ls-tree", "--name-only", "main:work"])?;
        let dirty = self.git(&["status", "--porcelain"])?;
        let trees = self.git(&["worktree", "list", "--porcelain"])?;
        let branches = self.git(&["branch", "--list", "agent/*"])?;
        let landed = merges.trim() == ideas.to_string() && files.lines().count() == ideas;
        // Worktrees that wait for the next idea stay; `swarm clean` removes them.
        let spare = |line: &&str| {
            let of_checks = line.ends_with("/verify") || line.ends_with("/control");
            line.contains("/.pool-w") || of_checks
        };
        let used = trees.lines().filter(|line| line.starts_with("worktree "));
        let used = used.filter(|line| !spare(line)).count();
        let tidy = dirty.is_empty() && branches.is_empty() && used == 1;
        if landed && tidy {
            return Ok(());
        }
        Err(format!(
            "of {ideas} ideas: {} merges, {} files; \
             dirty: [{dirty}] branches: [{branches}] worktrees: [{trees}]",
            merges.trim(),
            files.lines().count()
        )
        .into())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // The temporary directory around it goes in the end anyway.
        drop(fs::remove_dir_all(&self.folder));
    }
}
