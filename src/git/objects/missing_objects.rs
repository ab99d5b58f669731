//! Whether what a commit brings can be written: a damaged repository has the commit, and not the
//! files.
//!
//! Invariant: reads only. What both commits have is not looked at: it is there already.

use git2::Oid;

use crate::git::error::GitError;
use crate::git::repo::Repo;

/// The mode of another repository's commit, which is not here.
const SUBMODULE: &[u8] = b"160000";

impl Repo {
    /// An object that the checkout of `to` needs where `from` is, and git does not have, for
    /// people; none: all is there.
    pub fn missing_object(&self, from: Oid, to: Oid) -> Result<Option<String>, GitError> {
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-renames",
        ];
        let git = self.git().long().args(words).arg("--no-ext-diff");
        let output = git.args([from.to_string(), to.to_string()]).run()?;
        if output.code != 0 {
            return Ok(Some(output.stderr));
        }
        let library = self.library()?;
        let database = library
            .odb()
            .map_err(GitError::library("open the object database"))?;
        // `:100644 100644 <object> <object> M`, and the path.
        let lines = output.pieces().step_by(2);
        let mut wanted = lines.filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            let [_, mode, _, object, _] = fields[..] else {
                return None;
            };
            let object = Oid::from_str(&String::from_utf8_lossy(object)).ok()?;
            (mode != SUBMODULE && !object.is_zero()).then_some(object)
        });
        let gone = wanted.find(|object| !database.exists(*object));
        Ok(gone.map(|object| format!("git has no object {object:.10} any more")))
    }
}
