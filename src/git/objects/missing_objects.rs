//! Checks that a commit's new objects exist. In a damaged repository the commit may exist without
//! its files.
//!
//! Invariant: reads only. Objects that both commits use are not checked: they have been written
//! before.

use crate::git::error::GitError;
use crate::git::repo::Repo;
use crate::git::store::oid::Oid;

/// Mode of a submodule entry, whose commit is not in this repository.
const SUBMODULE: &[u8] = b"160000";

impl Repo {
    /// Describes an object that a checkout from `from` to `to` needs and git lacks; `None` if all
    /// exist.
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
        // Git fetches what a checkout needs.
        if self.is_partial() {
            return Ok(None);
        }
        // `:100644 100644 <object> <object> M`, and the path.
        let lines = output.pieces().step_by(2);
        let wanted = lines.filter_map(|line| {
            let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            let [_, mode, _, object, _] = fields[..] else {
                return None;
            };
            let object = Oid::from_str(&String::from_utf8_lossy(object)).ok()?;
            (mode != SUBMODULE && !object.is_zero()).then_some(object)
        });
        for object in wanted {
            if !self.has_object(object)? {
                let what = format!("object {object:.10} is missing from the git repository");
                return Ok(Some(what));
            }
        }
        Ok(None)
    }
}
