//! A power cut while a batch was being written: any of the sectors written since the last sync may
//! be there, lost, zero, old, in another's place or twice. No acknowledged record is lost and no
//! start is refused.
//!
//! `SWARM_SECTOR_CASES` (100000) is the number of cases; one in fifty goes through a whole start.

use super::*;
use crate::journal::testing::number;

/// A log whose last batch is not synced yet.
struct Unsynced {
    /// All bytes, the last batch's too.
    bytes: Vec<u8>,
    /// What an earlier last batch, torn and cut off since, has left in the sectors after the synced
    /// bytes.
    stale: Vec<u8>,
    /// Bytes that are synced, and their end.
    synced: usize,
    end: ChainStart,
}

impl Unsynced {
    fn new(random: &mut Random) -> Self {
        let dir = quick_dir();
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        for _ in 0..random.below(30) {
            append(&mut journal, random);
        }
        let position = journal.position();
        let live = dir.path().join(LIVE_FILE);
        let synced = std::fs::read(&live).unwrap();
        append(&mut journal, random);
        let stale = std::fs::read(&live).unwrap();
        std::fs::write(&live, &synced).unwrap();
        drop(journal);
        let (mut journal, _) = Journal::open(dir.path()).unwrap();
        append(&mut journal, random);
        Self {
            bytes: std::fs::read(&live).unwrap(),
            stale,
            synced: synced.len(),
            end: ChainStart {
                next_seq: position.seq + 1,
                crc: position.crc,
            },
        }
    }

    /// What the disk has of it after a power cut. The synced bytes that share a sector with others
    /// are as they were.
    fn after_a_cut(&self, random: &mut Random, counts: &mut [u64; 6]) -> Vec<u8> {
        let sector = if random.below(2) == 0 { 512 } else { 4096 };
        let first = self.synced / sector;
        let number = self.bytes.len().div_ceil(sector) - first;
        let mut image = vec![0; self.bytes.len()];
        // Mostly a few sectors are not as they should be; sometimes each may be anything.
        let wild = 1 + random.below(4);
        for index in 0..number {
            let fate = if random.below(wild) == 0 {
                random.below(6)
            } else {
                0
            };
            counts[fate] += 1;
            let other = random.below(number);
            let (from, source) = match fate {
                // Written, lost with what was there before, zero, another's content, its
                // neighbour's, this twice over.
                0 => (index, Some(&self.bytes)),
                1 => (index, Some(&self.stale)),
                2 => (index, None),
                3 => (other, Some(&self.bytes)),
                4 => (index + 1, Some(&self.bytes)),
                _ => (index.saturating_sub(1), Some(&self.bytes)),
            };
            let to = &mut image[(first + index) * sector..];
            let length = to.len().min(sector);
            to[..length].copy_from_slice(&piece(source, (first + from) * sector, length));
        }
        image[..self.synced].copy_from_slice(&self.bytes[..self.synced]);
        image.truncate(self.length_after_a_cut(random, sector));
        image
    }

    fn length_after_a_cut(&self, random: &mut Random, sector: usize) -> usize {
        let unsynced = self.bytes.len() - self.synced;
        match random.below(4) {
            0 => self.synced + random.below(unsynced + 1),
            1 => (self.synced + random.below(unsynced + 1)).next_multiple_of(sector),
            _ => self.bytes.len(),
        }
    }

    /// What a scan takes for good is what was appended, then or before.
    fn assert_good(&self, good: &[u8], context: &str) {
        let known = [&self.bytes, &self.stale];
        assert!(good.len() >= self.synced, "{context}");
        assert!(
            known.iter().any(|bytes| bytes.starts_with(good)),
            "{context}"
        );
    }
}

/// `length` bytes of `source` from `at`, as if zeros came after it.
fn piece(source: Option<&Vec<u8>>, at: usize, length: usize) -> Vec<u8> {
    let there = source.and_then(|bytes| bytes.get(at..)).unwrap_or_default();
    let mut piece = there[..there.len().min(length)].to_vec();
    piece.resize(length, 0);
    piece
}

fn append(journal: &mut Journal, random: &mut Random) {
    let most = [1, 4, 60][random.below(3)];
    let longest = [20, 200, 2000][random.below(3)];
    let texts = (0..=random.below(most)).map(|_| Note::text(&random.text(longest)));
    let notes: Vec<_> = texts.collect();
    let seq = journal.position().seq;
    journal.append(seq, TS, &notes).unwrap();
}

fn open(image: &[u8], case: &Unsynced, context: &str) {
    let dir = quick_dir();
    let live = dir.path().join(LIVE_FILE);
    std::fs::write(&live, image).unwrap();
    let (mut journal, opened) = Journal::open(dir.path()).unwrap();
    let end = opened.position.offset;
    case.assert_good(&std::fs::read(&live).unwrap(), context);
    let kept = opened.torn.map(|kept| std::fs::read(kept.copy).unwrap());
    assert_eq!(
        kept.unwrap_or_default(),
        image[usize::try_from(end).unwrap()..]
    );
    append_all(&mut journal, &[1]);
    assert_eq!(verify(dir.path()).unwrap(), opened.position.seq + 1);
}

#[test]
fn whatever_became_of_the_unsynced_sectors_nothing_acknowledged_is_lost_and_no_start_refused() {
    let mut random = Random::from_environment();
    let cases = number("SWARM_SECTOR_CASES", 100_000);
    let mut fates = [0; 6];
    let mut verdicts = [0; 2];
    let mut case = Unsynced::new(&mut random);
    for number in 0..cases {
        if number % 200 == 0 {
            case = Unsynced::new(&mut random);
        }
        let image = case.after_a_cut(&mut random, &mut fates);
        let context = format!("case {number}");
        let scan = scan(&image[case.synced.min(image.len())..], case.end, 0);
        assert!(scan.last_seq + 1 >= case.end.next_seq, "{context}");
        case.assert_good(&image[..case.synced + scan.end], &context);
        match scan.tail {
            Tail::Clean => verdicts[0] += 1,
            Tail::Torn { .. } => verdicts[1] += 1,
            refused => panic!("{context}: {refused:?}"),
        }
        if number % 50 == 0 {
            open(&image, &case, &context);
        }
    }
    let [written, old, zero, others, next, before] = fates;
    println!(
        "{cases} power cuts: {} clean, {} torn; sectors: {written} written, {old} old, {zero} \
        zero, {others} another's, {next} the next one's, {before} the one's before",
        verdicts[0], verdicts[1]
    );
    assert!(verdicts.iter().all(|count| *count > 0));
}
