//! Which filters the files of the checkout go through, for people.
//!
//! Invariant: reads only, and starts none of them.

use std::collections::BTreeMap;

use crate::git::error::GitError;
use crate::git::repo::Repo;

/// A filter that `.gitattributes` names for at least one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its name, as in `filter=NAME`.
    pub name: String,
    /// The shell commands that git is configured to start for it. Without any, git takes the files
    /// as they are in the repository.
    pub commands: Vec<String>,
}

impl Repo {
    /// The filters of tracked files, by name; of those that are not configured only the first.
    pub fn used_filters(&self) -> Result<Vec<Filter>, GitError> {
        let configured = self.configured_filters()?;
        let mut used = Vec::new();
        let mut others = vec![
            ":(exclude,attr:!filter)".to_owned(),
            ":(exclude,attr:-filter)".to_owned(),
        ];
        for (name, commands) in configured {
            if !is_plain(&name) {
                continue;
            }
            others.push(format!(":(exclude,attr:filter={name})"));
            if self
                .first_file(&[format!(":(attr:filter={name})")])?
                .is_some()
            {
                used.push(Filter { name, commands });
            }
        }
        if let Some(file) = self.first_file(&others)? {
            let git = self.git().args(["check-attr", "-z", "filter"]);
            let answer = git.paths([file]).ok()?;
            let name = answer.pieces().nth(2).unwrap_or_default();
            used.push(Filter {
                name: String::from_utf8_lossy(name).into_owned(),
                commands: Vec::new(),
            });
        }
        Ok(used)
    }

    /// Commands of all filters in the configuration, the person's included.
    fn configured_filters(&self) -> Result<BTreeMap<String, Vec<String>>, GitError> {
        let git = self.git().args(["config", "-z", "--get-regexp"]);
        // Exit code 1: there are none.
        let answer = git.arg(r"^filter\..*\.(clean|smudge|process)$").run()?;
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for piece in answer.pieces() {
            let text = String::from_utf8_lossy(piece);
            let Some((key, command)) = text.split_once('\n') else {
                continue;
            };
            let name = key
                .strip_prefix("filter.")
                .and_then(|it| it.rsplit_once('.'));
            if let Some((name, _)) = name {
                found
                    .entry(name.to_owned())
                    .or_default()
                    .push(command.to_owned());
            }
        }
        Ok(found)
    }

    fn first_file(&self, specs: &[String]) -> Result<Option<String>, GitError> {
        let git = self.git().long().args(["ls-files", "-z", "--"]);
        let answer = git.args(specs).ok()?;
        let first = answer.pieces().next();
        Ok(first.map(|name| String::from_utf8_lossy(name).into_owned()))
    }
}

/// Whether git takes the name in a pathspec as it is.
fn is_plain(name: &str) -> bool {
    let mut letters = name.bytes();
    letters.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
