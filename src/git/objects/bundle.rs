//! Commits as one file, for another clone: `git bundle`.
//!
//! Invariant: the bundle has exactly the given references, at the given objects, whatever the
//! repository's references say meanwhile: git reads them from a scratch repository that borrows the
//! objects. One thread packs, so that the same references give the same bytes. Nothing in the
//! repository changes. What a bundle says at its beginning is read without git.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use super::names::check_ref;
use crate::git::GitError;
use crate::git::error::At as _;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;
use crate::plain_file;

/// First line of a bundle, of the versions that are read: of SHA-1, and of SHA-256. See
/// `gitformat-bundle(5)`.
const SIGNATURES: [&str; 2] = ["# v2 git bundle\n", "# v3 git bundle\n"];
/// Most bytes before the pack.
const HEAD_MAX: u64 = 1024 * 1024;

/// What a bundle says before its pack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BundleHead {
    /// Commits that the repository must have.
    pub needs: Vec<Oid>,
    /// Its references by full name.
    pub refs: Vec<(String, Oid)>,
}

impl BundleHead {
    /// Reads it.
    ///
    /// # Errors
    /// The file cannot be read; [`io::ErrorKind::InvalidData`] if it is no bundle.
    pub fn read(file: &Path) -> io::Result<Self> {
        let mut lines = BufReader::new(plain_file::open(file)?.take(HEAD_MAX));
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line)?;
        if !SIGNATURES.iter().any(|it| line == it.as_bytes()) {
            return Err(no_bundle());
        }
        let mut head = Self::default();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            let Some(text) = line.strip_suffix(b"\n") else {
                return Err(no_bundle());
            };
            if text.is_empty() {
                return Ok(head);
            }
            // What it needs of git, such as `@object-format=sha256`, git itself checks.
            if !text.starts_with(b"@") {
                head.add(&String::from_utf8_lossy(text))
                    .ok_or_else(no_bundle)?;
            }
        }
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let (is_needed, rest) = match line.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (oid, name) = rest.split_once(' ').unwrap_or((rest, ""));
        let oid = oid.parse().ok()?;
        if is_needed {
            self.needs.push(oid);
        } else {
            self.refs.push((name.to_owned(), oid));
        }
        Some(())
    }
}

fn no_bundle() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is no bundle of commits")
}

impl Repo {
    /// Writes a bundle with these references, by full name, to `file`: all their commits, or those
    /// that are not in `base`. `scratch` is a new folder that the caller removes.
    pub fn write_bundle(
        &self,
        refs: &BTreeMap<String, Oid>,
        base: Option<Oid>,
        scratch: &Path,
        file: &Path,
    ) -> Result<(), GitError> {
        let mut packed = String::new();
        for (name, oid) in refs {
            check_ref(name)?;
            // Writing to a `String` cannot fail.
            let _ = writeln!(packed, "{oid} {name}");
        }
        let objects = self.common_dir().join("objects");
        let info = scratch.join("objects/info");
        for folder in [&info, &scratch.join("refs")] {
            fs::create_dir_all(folder).at("make", folder)?;
        }
        let config = self.bare_config()?;
        let alternates = format!("{}\n", objects.display());
        for (name, text) in [
            ("HEAD", "ref: refs/heads/none\n"),
            ("config", config),
            ("objects/info/alternates", &alternates),
            ("packed-refs", &packed),
        ] {
            let path = scratch.join(name);
            fs::write(&path, text).at("write", &path)?;
        }
        self.git_at(scratch, scratch)
            .config("pack.threads=1")
            .args(["bundle", "create", "--quiet"])
            .arg(file)
            .arg("--all")
            .args(base.map(|base| format!("^{base}")))
            .long()
            .ok()?;
        Ok(())
    }

    /// Whether the clone lacks the beginning of its history, of which git makes no bundle.
    pub fn is_shallow(&self) -> bool {
        self.common_dir().join("shallow").exists()
    }

    /// Commits without parents that `commit` descends from, sorted.
    pub fn root_commits(&self, commit: Oid) -> Result<Vec<String>, GitError> {
        let output = self
            .git()
            .args(["rev-list", "--max-parents=0"])
            .arg(commit.to_string())
            .long()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut roots: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
        roots.sort();
        Ok(roots)
    }

    /// Configuration of a git directory of our own that uses the repository's objects.
    pub(crate) fn bare_config(&self) -> Result<&'static str, GitError> {
        Ok(if self.is_sha256()? {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = \
            sha256\n"
        } else {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        })
    }

    /// Whether objects are named by SHA-256 instead of SHA-1.
    pub fn is_sha256(&self) -> Result<bool, GitError> {
        let output = self
            .git()
            .args(["rev-parse", "--show-object-format"])
            .ok()?;
        Ok(output.line() == b"sha256")
    }
}
