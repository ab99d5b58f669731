//! Words and pairs of neighbouring words of a text, without case and punctuation.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Their counts, by hash.
pub(super) fn grams(text: &str) -> BTreeMap<u64, usize> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let mut grams = BTreeMap::new();
    let pairs = words.windows(2).map(hash);
    for gram in words.iter().map(hash).chain(pairs) {
        *grams.entry(gram).or_default() += 1;
    }
    grams
}

fn hash<T: Hash + ?Sized>(it: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}
