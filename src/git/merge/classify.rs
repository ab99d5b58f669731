//! Classifies conflicts: what kind they are, and who can resolve them.
//!
//! Invariant: pure. SIMPLE is what [`super::three_way`] resolves by itself. MEDIUM is conflicting
//! text that an agent can resolve. COMPLEX needs a decision about files (renamed, deleted, retyped,
//! binary, submodules), or has more text than an agent should be trusted with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::git::objects::names::path_of;
use crate::git::store::oid::Oid;

/// More conflicting files than this are COMPLEX.
pub const MOST_FILES: usize = 10;
/// More unresolved regions than this, over all files, are COMPLEX.
pub const MOST_REGIONS: usize = 30;
/// A region with more lines than this, on its longer side, is COMPLEX.
pub const MOST_REGION_LINES: usize = 150;

/// Who can resolve a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictClass {
    /// An agent.
    Medium,
    /// A person.
    Complex,
}

/// Why a file is in conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both sides changed the same lines.
    Content,
    /// Both sides added a file of this name.
    BothAdded,
    /// One side changed the file, the other deleted it.
    ModifyDelete,
    /// Renamed and deleted, renamed twice, or colliding names.
    Rename,
    /// A file on one side, a directory on the other.
    FileDirectory,
    /// A binary file.
    Binary,
    /// Different types, for example a file and a symbolic link.
    Type,
    /// A submodule moved on both sides.
    Submodule,
    /// A conflict that git reports under a name unknown to swarm.
    Other,
}

/// A conflicting path, with the kind of its conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictFile {
    /// Path, escaped for people.
    pub path: String,
    /// Why it is in conflict.
    pub kind: ConflictKind,
}

/// One version of a conflicting file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) mode: u32,
    pub(crate) blob: Oid,
}

/// All versions of a conflicting path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    pub(crate) base: Option<Version>,
    pub(crate) ours: Option<Version>,
    pub(crate) theirs: Option<Version>,
}

/// Parsed output of `git merge-tree`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Merged tree; files in conflict contain markers.
    pub(crate) tree: Oid,
    pub(crate) conflicts: BTreeMap<PathBuf, (Stages, ConflictKind)>,
    /// Conflicts without a file entry of their own.
    pub(crate) others: Vec<(PathBuf, ConflictKind)>,
}

const SYMLINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

impl Stages {
    fn all(&self) -> impl Iterator<Item = Version> {
        [self.base, self.ours, self.theirs].into_iter().flatten()
    }

    /// The two texts to merge, and their base if there is one.
    pub(crate) fn texts(&self) -> Option<(Option<Version>, Version, Version)> {
        let regular = self
            .all()
            .all(|version| version.mode & 0o170_000 == 0o100_000);
        Some((self.base, self.ours?, self.theirs?)).filter(|_| regular)
    }

    /// Mode of the merged file: the one that a side changed.
    pub(crate) fn mode(&self) -> Option<u32> {
        let (base, ours, theirs) = self.texts()?;
        let unchanged = base.is_some_and(|base| base.mode == ours.mode);
        Some(if unchanged { theirs.mode } else { ours.mode })
    }
}

/// Who can resolve conflicts of these kinds, with regions of these sizes (lines) left open.
pub(crate) fn classify(kinds: &[ConflictKind], regions: &[usize]) -> ConflictClass {
    let text =
        |kind: &ConflictKind| matches!(kind, ConflictKind::Content | ConflictKind::BothAdded);
    let small = kinds.len() <= MOST_FILES
        && regions.len() <= MOST_REGIONS
        && regions.iter().all(|lines| *lines <= MOST_REGION_LINES);
    if small && kinds.iter().all(text) {
        ConflictClass::Medium
    } else {
        ConflictClass::Complex
    }
}

/// Parses `git merge-tree --write-tree -z`: the tree, the conflicting versions, an empty piece,
/// messages.
pub(crate) fn parse(answer: &[u8]) -> Option<Merged> {
    let mut pieces = answer.split(|byte| *byte == 0);
    let tree = oid(pieces.next()?)?;
    let mut stages: BTreeMap<PathBuf, Stages> = BTreeMap::new();
    for piece in pieces.by_ref().take_while(|piece| !piece.is_empty()) {
        add_version(&mut stages, piece)?;
    }
    let messages = messages(&mut pieces)?;
    let named = |path: &PathBuf| {
        messages
            .iter()
            .find(|(paths, _)| paths.contains(path))
            .map(|(_, kind)| *kind)
    };
    let conflicts: BTreeMap<_, _> = stages
        .into_iter()
        .map(|(path, stages)| {
            let kind = kind_of(&stages, named(&path));
            (path, (stages, kind))
        })
        .collect();
    let of_files = |paths: &Vec<PathBuf>| paths.iter().any(|path| conflicts.contains_key(path));
    let others = messages.iter().filter(|(paths, _)| !of_files(paths));
    let others = others
        .filter_map(|(paths, kind)| Some((paths.first()?.clone(), *kind)))
        .collect();
    Some(Merged {
        tree,
        conflicts,
        others,
    })
}

fn oid(text: &[u8]) -> Option<Oid> {
    Oid::from_str(std::str::from_utf8(text).ok()?).ok()
}

/// Parses `<mode> <object> <stage>\t<path>`.
fn add_version(stages: &mut BTreeMap<PathBuf, Stages>, piece: &[u8]) -> Option<()> {
    let tab = piece.iter().position(|byte| *byte == b'\t')?;
    let mut fields = piece[..tab].split(|byte| *byte == b' ');
    let mode = u32::from_str_radix(std::str::from_utf8(fields.next()?).ok()?, 8).ok()?;
    let blob = oid(fields.next()?)?;
    let version = Some(Version { mode, blob });
    let entry = stages.entry(path_of(&piece[tab + 1..])).or_default();
    match fields.next()? {
        b"1" => entry.base = version,
        b"2" => entry.ours = version,
        b"3" => entry.theirs = version,
        _ => return None,
    }
    Some(())
}

type Message = (Vec<PathBuf>, ConflictKind);

/// Parses messages: number of paths, the paths, type, text. Keeps only types that are conflicts.
fn messages<'a>(pieces: &mut impl Iterator<Item = &'a [u8]>) -> Option<Vec<Message>> {
    let mut found = Vec::new();
    while let Some(count) = pieces.next().filter(|count| !count.is_empty()) {
        let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
        let paths: Vec<PathBuf> = pieces.by_ref().take(count).map(path_of).collect();
        let kind = kind_of_message(pieces.next()?);
        pieces.next()?;
        found.extend(kind.map(|kind| (paths, kind)));
    }
    Some(found)
}

/// `git help merge-tree` promises that these words are stable.
fn kind_of_message(words: &[u8]) -> Option<ConflictKind> {
    let words = String::from_utf8_lossy(words).into_owned();
    let inside = words.strip_prefix("CONFLICT (")?.trim_end_matches(')');
    Some(match inside {
        "contents" => ConflictKind::Content,
        "binary" => ConflictKind::Binary,
        "modify/delete" => ConflictKind::ModifyDelete,
        "file/directory" => ConflictKind::FileDirectory,
        "distinct modes" | "distinct types" => ConflictKind::Type,
        _ if inside.contains("submodule") => ConflictKind::Submodule,
        _ if inside.contains("rename") => ConflictKind::Rename,
        _ => ConflictKind::Other,
    })
}

fn kind_of(stages: &Stages, named: Option<ConflictKind>) -> ConflictKind {
    let mode = |wanted: u32| {
        stages
            .all()
            .any(|version| version.mode & 0o170_000 == wanted)
    };
    match named {
        _ if mode(SUBMODULE) => ConflictKind::Submodule,
        Some(ConflictKind::Content) | None if mode(SYMLINK) => ConflictKind::Type,
        Some(ConflictKind::Content) if stages.ours.is_some() && stages.theirs.is_some() => {
            if stages.base.is_some() {
                ConflictKind::Content
            } else {
                ConflictKind::BothAdded
            }
        }
        Some(ConflictKind::Content) | None => ConflictKind::Other,
        Some(kind) => kind,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const A: &str = "1111111111111111111111111111111111111111";

    fn answer(pieces: &[&str]) -> Vec<u8> {
        pieces
            .iter()
            .flat_map(|piece| [piece.as_bytes(), b"\0"].concat())
            .collect()
    }

    #[test]
    fn conflicting_versions_and_their_kinds_are_parsed() {
        let stage = |number: u8, path: &str| format!("100644 {A} {number}\t{path}");
        let answer = answer(&[
            A,
            &stage(1, "a\nb"),
            &stage(2, "a\nb"),
            &stage(3, "a\nb"),
            &stage(1, "gone"),
            &stage(2, "gone"),
            "",
            "1",
            "a\nb",
            "Auto-merging",
            "Auto-merging a\n",
            "1",
            "a\nb",
            "CONFLICT (contents)",
            "text",
            "1",
            "gone",
            "CONFLICT (modify/delete)",
            "text",
        ]);
        let merged = parse(&answer).unwrap();
        let kinds: Vec<_> = merged.conflicts.values().map(|(_, kind)| *kind).collect();
        assert_eq!(kinds, [ConflictKind::Content, ConflictKind::ModifyDelete]);
        assert!(
            merged.conflicts[&PathBuf::from("a\nb")].0.texts().is_some()
                && merged.others.is_empty()
        );
    }

    #[test]
    fn output_without_conflicts_is_only_a_tree() {
        let merged = parse(&answer(&[A])).unwrap();
        assert!(merged.conflicts.is_empty() && merged.others.is_empty());
        assert!(parse(b"nonsense\0").is_none());
    }

    #[test]
    fn conflicts_above_the_limits_go_to_a_person() {
        use ConflictKind::{Content, Rename};
        assert_eq!(
            classify(&[Content], &[1, MOST_REGION_LINES]),
            ConflictClass::Medium
        );
        assert_eq!(classify(&[Content, Rename], &[1]), ConflictClass::Complex);
        assert_eq!(
            classify(&[Content], &[MOST_REGION_LINES + 1]),
            ConflictClass::Complex
        );
        assert_eq!(
            classify(&[Content; MOST_FILES + 1], &[]),
            ConflictClass::Complex
        );
        assert_eq!(
            classify(&[Content], &[1; MOST_REGIONS + 1]),
            ConflictClass::Complex
        );
    }

    #[test]
    fn the_side_that_changed_the_mode_wins() {
        let version = |mode| {
            Some(Version {
                mode,
                blob: Oid::from_str(A).unwrap(),
            })
        };
        let stages = |base, ours, theirs| Stages {
            base: version(base),
            ours: version(ours),
            theirs: version(theirs),
        };
        assert_eq!(
            stages(0o100_644, 0o100_644, 0o100_755).mode(),
            Some(0o100_755)
        );
        assert_eq!(
            stages(0o100_644, 0o100_755, 0o100_644).mode(),
            Some(0o100_755)
        );
    }
}
