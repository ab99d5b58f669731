//! Merges three versions of a text line by line, where that needs no judgement.
//!
//! Invariant: pure. Edits that do not overlap are all applied. Overlapping edits are resolved only
//! if both sides made the same change, or one side changed only whitespace; then the other side
//! wins. Everything else stays open. So, whitespace aside, no added line is lost and no deleted
//! line comes back.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::whitespace::Whitespace;

/// Texts with more lines are not merged: comparing them could take long.
const MOST_LINES: usize = 50_000;

/// Result of a three-way merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThreeWay {
    /// The merged text.
    Whole(Vec<u8>),
    /// Unresolved regions, as the line count of each one's longer side.
    Open(Vec<usize>),
}

type Lines<'a> = Vec<&'a [u8]>;

/// An edit by one side: the lines `base` became the lines `side`.
#[derive(Debug, Clone)]
struct Hunk {
    base: Range<usize>,
    side: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Ours,
    Theirs,
}

/// Overlapping edits of both sides.
#[derive(Debug)]
struct Cluster {
    base: Range<usize>,
    hunks: Vec<(Side, Hunk)>,
}

/// Merges three texts; `layout` says which whitespace is insignificant in this kind of file.
pub fn merge_three_way(base: &[u8], ours: &[u8], theirs: &[u8], layout: Whitespace) -> ThreeWay {
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    if base.len().max(ours.len()).max(theirs.len()) > MOST_LINES {
        return ThreeWay::Open(vec![MOST_LINES]);
    }
    let texts = Texts {
        base,
        ours,
        theirs,
        layout,
    };
    let (mut result, mut open, mut at): (Lines<'_>, Vec<usize>, usize) =
        (Vec::new(), Vec::new(), 0);
    for cluster in texts.clusters() {
        result.extend(&texts.base[at..cluster.base.start]);
        at = cluster.base.end;
        match texts.settle(&cluster) {
            Ok(lines) => result.extend(lines),
            Err(size) => open.push(size),
        }
    }
    result.extend(&texts.base[at..]);
    if open.is_empty() && !ends_early(&result) {
        return ThreeWay::Whole(result.concat());
    }
    open.push(usize::from(open.is_empty()));
    open.retain(|size| *size > 0);
    ThreeWay::Open(open)
}

/// Whether a line other than the last lacks its line end.
fn ends_early(lines: &[&[u8]]) -> bool {
    let all_but_last = lines.split_last().map_or(&[][..], |(_, rest)| rest);
    all_but_last.iter().any(|line| !line.ends_with(b"\n"))
}

fn lines(text: &[u8]) -> Lines<'_> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

struct Texts<'a> {
    base: Lines<'a>,
    ours: Lines<'a>,
    theirs: Lines<'a>,
    layout: Whitespace,
}

impl<'a> Texts<'a> {
    fn side(&self, side: Side) -> &[&'a [u8]] {
        match side {
            Side::Ours => &self.ours,
            Side::Theirs => &self.theirs,
        }
    }

    fn clusters(&self) -> Vec<Cluster> {
        let mut hunks: Vec<(Side, Hunk)> = Vec::new();
        for side in [Side::Ours, Side::Theirs] {
            hunks.extend(
                edits(&self.base, self.side(side))
                    .into_iter()
                    .map(|hunk| (side, hunk)),
            );
        }
        // An insertion comes before an edit of the line at that place.
        hunks.sort_by_key(|(side, hunk)| (hunk.base.start, hunk.base.end, *side));
        let mut clusters: Vec<Cluster> = Vec::new();
        for (side, hunk) in hunks {
            match clusters.last_mut().filter(|last| last.meets(side, &hunk)) {
                Some(last) => last.add(side, hunk),
                None => clusters.push(Cluster {
                    base: hunk.base.clone(),
                    hunks: vec![(side, hunk)],
                }),
            }
        }
        clusters
    }

    /// Lines that replace the cluster; or, if unresolved, its line count.
    fn settle(&self, cluster: &Cluster) -> Result<Lines<'a>, usize> {
        let base = &self.base[cluster.base.clone()];
        let ours = self.text(cluster, Side::Ours);
        let theirs = self.text(cluster, Side::Theirs);
        if ours == theirs || theirs == base || self.layout.same(base, &theirs) {
            return Ok(ours);
        }
        if ours == base || self.layout.same(base, &ours) {
            return Ok(theirs);
        }
        if self.layout.same(&ours, &theirs) {
            return Ok(ours);
        }
        Err(ours.len().max(theirs.len()).max(1))
    }

    /// The side's version of the cluster's lines.
    fn text(&self, cluster: &Cluster, side: Side) -> Lines<'a> {
        let (mut lines, mut at) = (Vec::new(), cluster.base.start);
        for (_, hunk) in cluster.hunks.iter().filter(|(of, _)| *of == side) {
            lines.extend(&self.base[at..hunk.base.start]);
            lines.extend(&self.side(side)[hunk.side.clone()]);
            at = hunk.base.end;
        }
        lines.extend(&self.base[at..cluster.base.end]);
        lines
    }
}

impl Cluster {
    /// Whether the edit overlaps one of the other side in this cluster.
    fn meets(&self, side: Side, hunk: &Hunk) -> bool {
        self.hunks
            .iter()
            .any(|(other, member)| *other != side && overlap(&member.base, &hunk.base))
    }

    fn add(&mut self, side: Side, hunk: Hunk) {
        self.base.end = self.base.end.max(hunk.base.end);
        self.hunks.push((side, hunk));
    }
}

/// Whether two edits touch the same lines. Adjacent edits do not overlap; two insertions at one
/// place do.
fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    if a.is_empty() && b.is_empty() {
        return a.start == b.start;
    }
    a.start < b.end && b.start < a.end
}

/// Edits from the base to a side; a deletion and an insertion at one place are one edit.
fn edits(base: &[&[u8]], side: &[&[u8]]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Histogram, base, side) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (base, side) = (op.old_range(), op.new_range());
        match hunks
            .last_mut()
            .filter(|last| last.base.end == base.start && last.side.end == side.start)
        {
            Some(last) => (last.base.end, last.side.end) = (base.end, side.end),
            None => hunks.push(Hunk { base, side }),
        }
    }
    hunks
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> ThreeWay {
        merge_three_way(
            base.as_bytes(),
            ours.as_bytes(),
            theirs.as_bytes(),
            Whitespace::of("x.rs".as_ref()),
        )
    }

    fn whole(text: &str) -> ThreeWay {
        ThreeWay::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn edits_of_neighbouring_lines_are_both_kept() {
        assert_eq!(
            merged("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"),
            whole("A\nB\nc\n")
        );
        assert_eq!(merged("a\nb\n", "a\nx\nb\n", "a\nB\n"), whole("a\nx\nB\n"));
        assert_eq!(merged("a\nb\n", "A\nb\n", "a\ny\nb\n"), whole("A\ny\nb\n"));
    }

    #[test]
    fn the_same_change_counts_once() {
        assert_eq!(merged("a\nb\n", "a\nx\n", "a\nx\n"), whole("a\nx\n"));
        assert_eq!(merged("a\n", "a\nnew\n", "a\nnew\n"), whole("a\nnew\n"));
    }

    #[test]
    fn a_content_change_wins_over_a_whitespace_change() {
        assert_eq!(
            merged("f(a, b);\n", "f( a,  b );\n", "f(a, c);\n"),
            whole("f(a, c);\n")
        );
        assert_eq!(merged("x\ny\n", "x \ny\t\n", "x\nz\n"), whole("x\nz\n"));
        assert_eq!(
            merged("a\r\nb\r\n", "a\nb\n", "a\r\nc\r\n"),
            whole("a\r\nc\r\n")
        );
    }

    #[test]
    fn conflicting_edits_stay_open_and_report_their_size() {
        assert_eq!(merged("a\n", "b\n", "c\nd\n"), ThreeWay::Open(vec![2]));
        assert_eq!(merged("a\n", "a\nx\n", "a\ny\n"), ThreeWay::Open(vec![1]));
        assert!(matches!(
            merged("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"),
            ThreeWay::Open(_)
        ));
    }

    #[test]
    fn a_last_line_without_newline_never_joins_another() {
        let result = merged("a\nb", "a\nB", "a\nb\nc\n");
        assert!(
            !matches!(&result, ThreeWay::Whole(text) if text == b"a\nBc\n"),
            "{result:?}"
        );
    }

    /// Applies at most one edit to each base line: keep, delete, replace, or insert before it.
    fn side(tag: char, edits: &[(usize, u8)], length: usize) -> (String, Vec<String>, Vec<String>) {
        let (mut text, mut added, mut deleted) = (String::new(), Vec::new(), Vec::new());
        for line in 0..length {
            let edit = edits
                .iter()
                .find(|(at, _)| *at == line)
                .map_or(0, |(_, kind)| kind % 4);
            let (old, new) = (format!("base {line}\n"), format!("{tag} {line}\n"));
            match edit {
                1 => deleted.push(old),
                2 => {
                    text.push_str(&new);
                    added.push(new);
                    deleted.push(old);
                }
                3 => {
                    text.push_str(&new);
                    text.push_str(&old);
                    added.push(new);
                }
                _ => text.push_str(&old),
            }
        }
        (text, added, deleted)
    }

    proptest! {
        #[test]
        fn no_added_line_is_lost_and_no_deleted_line_comes_back(
            length in 1_usize..14,
            ours in proptest::collection::vec((0_usize..14, any::<u8>()), 0..6),
            theirs in proptest::collection::vec((0_usize..14, any::<u8>()), 0..6),
        ) {
            let (base, ..) = side('-', &[], length);
            let (left, left_added, left_deleted) = side('o', &ours, length);
            let (right, right_added, right_deleted) = side('t', &theirs, length);
            if let ThreeWay::Whole(text) = merged(&base, &left, &right) {
                let text = String::from_utf8(text).unwrap();
                let has = |line: &String| text.split_inclusive('\n').any(|found| found == line);
                prop_assert!(left_added.iter().chain(&right_added).all(has), "{text}");
                prop_assert!(!left_deleted.iter().chain(&right_deleted).any(has), "{text}");
                let kept = text.split_inclusive('\n').filter(|line| line.starts_with("base"))
                    .count();
                let gone: std::collections::BTreeSet<_> = left_deleted.iter().chain(&right_deleted)
                    .collect();
                prop_assert_eq!(kept, length - gone.len());
            }
        }

        #[test]
        fn disjoint_edits_always_merge(length in 2_usize..14, ours in any::<u16>(),
            theirs in any::<u16>(), kinds in proptest::collection::vec(1_u8..3, 14)) {
            let (base, ..) = side('-', &[], length);
            let pick = |mask: u16|
                -> Vec<(usize, u8)> { (0..length).filter(|line| mask >> line & 1 == 1)
                .map(|line| (line, kinds[line])).collect() };
            let (left, ..) = side('o', &pick(ours & !theirs), length);
            let (right, ..) = side('t', &pick(theirs & !ours), length);
            prop_assert!(matches!(merged(&base, &left, &right), ThreeWay::Whole(_)));
        }
    }
}
