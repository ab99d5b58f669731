//! What is fuzzed, on every build: each target's body (`fuzz/src`) over the corpus that is kept,
//! and over seeded mutations of it.
//!
//! The long run with coverage is `fuzz/run.sh`. Here: `SWARM_FUZZ_CASES` (mutations of each
//! target), `SWARM_TEST_SEED` (printed).

#![allow(clippy::unwrap_used)] // a test fails by panicking

#[path = "../fuzz/src/lib.rs"]
mod bodies;

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Longest input, in bytes.
const LONGEST: usize = 4096;

/// A small generator (splitmix64).
struct Random(u64);

impl Random {
    fn from_environment() -> Self {
        let fresh = u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_nanos() % (1 << 48)).unwrap();
        let seed = number("SWARM_TEST_SEED", fresh);
        println!("SWARM_TEST_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// A place in `bytes`, or its end.
    fn place(&mut self, bytes: &[u8]) -> usize {
        self.below(bytes.len() + 1)
    }

    /// A part of `bytes`, mostly short.
    fn part(&mut self, bytes: &[u8]) -> std::ops::Range<usize> {
        let start = self.place(bytes);
        let most = [4, 40, 400][self.below(3)];
        start..(start + self.below(most)).min(bytes.len())
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("fuzz/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!seeds.is_empty(), "{target} has no corpus");
    seeds
}

/// One of the seeds with a few changes; pieces of the others are what is put in.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    const WORDS: &[&[u8]] = &[
        b"\0",
        b"\n",
        b"\r\n",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"null",
        b"true",
        b"-1",
        b"0",
        b"1e999",
        b"18446744073709551616",
        b"9223372036854775807",
        b"-9223372036854775808",
        b"\xff",
        b"\xe2\x80\xa8",
        b"\xf0\x9f\xa6\x80",
        b"\x1b[31m",
        b"\\ud800",
        b"%00",
        b"../",
    ];
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.place(&bytes);
        match random.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next().to_le_bytes()[0],
            2 => {
                let word = WORDS[random.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let piece = other[random.part(other)].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => {
                let piece = bytes[random.part(&bytes)].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => drop(bytes.drain(random.part(&bytes))),
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Says which input it was when the body panics.
struct Culprit<'a>(&'a [u8], String);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}: b\"{}\"", self.1, self.0.escape_ascii());
        }
    }
}

fn fuzz(target: &str, cases: u64, check: fn(&[u8])) {
    let mut random = Random::from_environment();
    let seeds = corpus(target);
    for seed in &seeds {
        let culprit = Culprit(seed, format!("{target}, of the corpus"));
        check(culprit.0);
    }
    let cases = number("SWARM_FUZZ_CASES", cases);
    for case in 0..cases {
        let input = mutated(&mut random, &seeds);
        let culprit = Culprit(&input, format!("{target}, mutation {case}"));
        check(culprit.0);
    }
    println!("{target}: {} of the corpus, {cases} mutations", seeds.len());
}

#[test]
fn log() {
    fuzz("log", 20_000, bodies::log::check);
}

#[test]
fn events() {
    fuzz("events", 20_000, bodies::events::check);
}

#[test]
fn signals() {
    fuzz("signals", 20_000, bodies::signals::check);
}

#[test]
fn output() {
    fuzz("output", 20_000, bodies::output::check);
}

#[test]
fn config() {
    fuzz("config", 20_000, bodies::config::check);
}

#[test]
fn inbox() {
    fuzz("inbox", 20_000, bodies::inbox::check);
}

#[test]
fn api() {
    fuzz("api", 20_000, bodies::api::check);
}
