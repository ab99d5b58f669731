//! The slot of a worktree: its number, its ports, and the variables of `worktree.env`.
//!
//! Invariant: worktree `w01` has slot 1 and so on to 64, the merge worktree has slot 65 and that of
//! controls 66, so that what a setup made for a worktree stays right for as long as the worktree
//! lives. A worktree beyond them has no slot. Its ports change only if another program holds one.
//! Called by `launch`, `script` and `hooks`, and by `run` after a command that found a port in use.

use std::collections::BTreeMap;

use crate::agents::environment::WorkVariables;
use crate::config::{Config, Placeholders};
use crate::daemon::effects::context::DriverContext;
use crate::git;
use crate::process::RunDir;

/// Slots of agents' worktrees, from 1.
const AGENTS: u16 = 64;
/// Slot of the merge worktree.
const MERGES: u16 = 65;
/// Slot of the worktree of controls.
const CONTROLS: u16 = 66;
/// Most characters of the repository's name in that of a database; `PostgreSQL` takes 63 in all.
const DATABASE_NAME: usize = 48;

/// Adds the slot of a worktree to what its programs find in their environment.
pub(crate) fn add_slot(
    context: &DriverContext,
    worktree: &str,
    work: WorkVariables,
) -> WorkVariables {
    let of_slot = placeholders(context, worktree);
    WorkVariables {
        slot: of_slot.slot.zip(of_slot.port),
        of_worktree: variables(&context.config(), &of_slot),
        ..work
    }
}

/// The variables that `worktree.env` sets in a worktree. One whose placeholder has no value there
/// is left out.
pub(crate) fn configured(context: &DriverContext, worktree: &str) -> BTreeMap<String, String> {
    variables(&context.config(), &placeholders(context, worktree))
}

/// The first port of a worktree whose own ports another program holds.
pub(crate) fn moved_to(context: &DriverContext, worktree: &str) -> Option<u16> {
    let (slot, ports) = number(worktree).zip(context.ports())?;
    ports.has_moved(slot).then(|| ports.base(slot))?
}

/// Gives the worktree of a command that found something in use other ports, if another program
/// holds one of those that it had. Returns the held port. Blocks.
pub(super) fn leave_held_ports(context: &DriverContext, dir: &RunDir) -> Option<u16> {
    let cwd = dir.spec().ok()?.cwd;
    let worktree = context.paths.worktree_name(&cwd)?;
    context.ports()?.leave_held(number(worktree)?)
}

fn variables(config: &Config, of_slot: &Placeholders) -> BTreeMap<String, String> {
    let all = config.worktree.env.iter();
    all.filter_map(|(name, value)| Some((name.clone(), of_slot.fill(value)?)))
        .collect()
}

fn placeholders(context: &DriverContext, worktree: &str) -> Placeholders {
    let Some(slot) = number(worktree) else {
        return Placeholders::default();
    };
    let folder = context.paths.root.file_name().unwrap_or_default();
    Placeholders {
        port: context.ports().and_then(|block| block.base(slot)),
        slot: Some(slot),
        db: Some(database(&folder.to_string_lossy(), slot)),
    }
}

fn number(worktree: &str) -> Option<u16> {
    if worktree == git::VERIFY {
        return Some(MERGES);
    }
    if worktree == git::CONTROL {
        return Some(CONTROLS);
    }
    let number = worktree.strip_prefix('w')?.parse().ok()?;
    (1..=AGENTS).contains(&number).then_some(number)
}

/// A name that every database takes without quotes.
fn database(repository: &str, slot: u16) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let name: String = repository.chars().map(plain).take(DATABASE_NAME).collect();
    let prefix = if name.starts_with(|c: char| c.is_ascii_lowercase()) {
        ""
    } else {
        "db_"
    };
    format!("{prefix}{name}_{slot}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worktree_has_a_slot_of_its_own() {
        assert_eq!(number("w01"), Some(1));
        assert_eq!(number("w64"), Some(64));
        assert_eq!(number(git::VERIFY), Some(65));
        assert_eq!(number(git::CONTROL), Some(66));
        for other in ["w00", "w65", "w100", "ed-001-idea-001", "replay-1", "w"] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn a_database_name_needs_no_quotes() {
        assert_eq!(database("My-Shop.v2", 3), "my_shop_v2_3");
        assert_eq!(database("2048", 65), "db_2048_65");
        assert_eq!(database("caf\u{e9}", 1), "caf__1");
        let long = database(&"x".repeat(200), 64);
        assert!(long.len() <= 63 && long.ends_with("x_64"), "{long}");
    }
}
