//! However a stream is split, torn or mixed with other lines: the same events, or a clear failure.

use proptest::prelude::*;
use proptest::sample::Index;
use swarm::agents::stream::{Said, text_of};
use swarm::domain::verdict::Verdict;

use crate::reading::{Kept, Reading, kept};

/// Streams that are short enough for thousands of readings.
fn short() -> Vec<Kept> {
    let all = kept();
    let short = |kept: &Kept| kept.stdout.len() < 40_000;
    all.into_iter().filter(short).collect()
}

fn one(all: &[Kept], index: Index) -> &Kept {
    &all[index.index(all.len())]
}

/// Said, without what is about the stream rather than in it.
fn events(reading: &Reading) -> Vec<&Said> {
    let said = reading.said.iter();
    said.filter(|said| !matches!(said, Said::Note(_))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_split_is_read_alike(index: Index,
        mut cuts in prop::collection::vec(any::<Index>(), 0..40)) {
        let all = short();
        let kept = one(&all, index);
        let mut places: Vec<usize> = cuts.drain(..).map(|cut| cut.index(kept.stdout.len() + 1))
            .collect();
        places.extend([0, kept.stdout.len()]);
        places.sort_unstable();
        let pieces = places.windows(2).map(|pair| &kept.stdout[pair[0]..pair[1]]);
        prop_assert_eq!(kept.read(pieces), kept.read_whole());
    }

    #[test]
    fn what_is_cut_off_is_never_complete(index: Index, at: Index) {
        let all = short();
        let kept = one(&all, index);
        let whole = kept.read_whole();
        let last = kept.stdout.trim_ascii_end().len();
        let at = at.index(last.max(1)).min(last);
        let cut = kept.read(std::iter::once(&kept.stdout[..at]));
        let text = text_of(&whole.said);
        prop_assert!(text.starts_with(&text_of(&cut.said)));
        // A stream of several turns may be cut after one of them.
        let turns = whole.said.iter().filter(|said| matches!(said, Said::End { .. })).count();
        if turns < 2 {
            prop_assert_ne!(&cut.conclusion.verdict, &Some(Verdict::Complete));
        }
        let tokens = |reading: &Reading| {
            let usage = reading.conclusion.usage.as_ref()?;
            Some(usage.tokens?.total())
        };
        prop_assert!(tokens(&cut) <= tokens(&whole), "{:?} of {:?}", tokens(&cut), tokens(&whole));
    }

    #[test]
    fn foreign_lines_change_nothing(
        index: Index,
        foreign in prop::collection::vec((any::<Index>(), "[^\n]{0,60}"), 0..8),
    ) {
        let all = short();
        let kept = one(&all, index);
        let mut lines: Vec<Vec<u8>> = kept.stdout.split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec).collect();
        for (at, text) in foreign {
            // `{}` and its kind are lines of a kind that nobody knows.
            let at = at.index(lines.len() + 1);
            lines.insert(at, format!("{text}\n").into_bytes());
        }
        let mixed = kept.read(std::iter::once(lines.concat().as_slice()));
        let whole = kept.read_whole();
        prop_assert_eq!(events(&mixed), events(&whole));
        prop_assert_eq!(mixed.conclusion, whole.conclusion);
    }

    #[test]
    fn a_torn_line_never_makes_a_success(index: Index, from: Index, length in 1_usize..400) {
        let all = short();
        let kept = one(&all, index);
        prop_assume!(!kept.stdout.is_empty());
        let from = from.index(kept.stdout.len());
        let to = (from + length).min(kept.stdout.len());
        let torn = [&kept.stdout[..from], &kept.stdout[to..]].concat();
        let torn = kept.read(std::iter::once(torn.as_slice()));
        let whole = kept.read_whole();
        if torn.conclusion.verdict == Some(Verdict::Complete) {
            prop_assert_eq!(whole.conclusion.verdict, Some(Verdict::Complete));
        }
    }
}
