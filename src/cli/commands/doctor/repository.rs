//! What in the repository keeps swarm from working or landing: its layout, and what was left there.

use super::check::{Check, Level};
use crate::config::Config;
use crate::git::Repo as GitRepo;

/// What in the layout of the repository should be changed.
pub(super) fn layout(git: &GitRepo) -> Check {
    let findings = match git.probe_layout() {
        Ok(findings) => findings,
        Err(error) => return Check::warn("layout", error.to_string()),
    };
    let level = if findings.iter().any(|it| it.blocks) {
        Level::Fail
    } else if findings.is_empty() {
        return Check::ok("layout", "agents work apart from your checkout");
    } else {
        Level::Warn
    };
    let what: Vec<&str> = findings.iter().map(|it| it.what.as_str()).collect();
    let ways: Vec<&str> = findings.iter().map(|it| it.way_out.as_str()).collect();
    Check::new("layout", level, what.join("\n")).advice(ways.join("\n"))
}

/// What stands in the way in the repository and its checkouts; `None` if nothing does.
pub(super) fn leftovers(git: &GitRepo, config: Option<&Config>) -> Option<Check> {
    const NAME: &str = "checkout";
    let target = config.and_then(|config| config.target.clone());
    let target = target.or_else(|| git.head_branch().ok()?);
    let found = match git.leftovers(target.as_deref()) {
        Ok(found) if found.is_empty() => return None,
        Ok(found) => found,
        Err(error) => return Some(Check::warn(NAME, error.to_string())),
    };
    let what: Vec<&str> = found.iter().map(|it| it.what.as_str()).collect();
    let ways: Vec<&str> = found.iter().map(|it| it.way_out.as_str()).collect();
    Some(Check::warn(NAME, what.join("\n")).advice(ways.join("\n")))
}
