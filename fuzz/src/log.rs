//! The log scanner: on any bytes, and on a good log that was cut, overwritten and garbled as the
//! bytes say.

use std::sync::LazyLock;

use swarm::domain::event::{Event, WarningRaised};
use swarm::domain::time::Timestamp;
use swarm::journal::{ChainStart, Journal, LIVE_FILE, Scan, Tail, scan};

/// A log that ends with a mark, and where its lines begin.
static LOG: LazyLock<(Vec<u8>, Vec<usize>)> = LazyLock::new(|| {
    let dir = std::env::temp_dir().join(format!("swarm-fuzz-{}", std::process::id()));
    let bytes = write(&dir);
    std::fs::remove_dir_all(&dir).expect("the folder can be removed");
    let ends = (0..bytes.len()).filter(|at| bytes[*at] == b'\n');
    let starts = std::iter::once(0).chain(ends.map(|at| at + 1)).collect();
    (bytes, starts)
});

fn write(dir: &std::path::Path) -> Vec<u8> {
    let (mut journal, _) = Journal::open(dir).expect("a log can be made");
    for batch in 0..12_u32 {
        let events: Vec<Event> = (0..=batch % 4)
            .map(|event| {
                Event::WarningRaised(WarningRaised {
                    key: format!("batch-{batch}"),
                    message: format!("{event} {{\"v\":1,\"seq\":9,\"dur\":8,\"ts\":\""),
                    commands: Vec::new(),
                })
            })
            .collect();
        let seq = journal.position().seq;
        let now = Timestamp::from_millis(1_800_000_000_000 + i64::from(batch));
        journal.append(seq, now, &events).expect("there is room");
    }
    let now = Timestamp::from_millis(1_800_000_100_000);
    journal.mark::<Event>(now).expect("there is room");
    std::fs::read(dir.join(LIVE_FILE)).expect("the log is there")
}

/// See the module.
pub fn check(data: &[u8]) {
    any_bytes(data);
    garbled(data);
}

fn any_bytes(bytes: &[u8]) {
    let whole = sound(bytes, ChainStart::ORIGIN);
    // In two parts, as two segments are, it is the same.
    let half = bytes[..whole.end / 2].iter().rposition(|b| *b == b'\n');
    let half = half.map_or(0, |at| at + 1);
    let first = sound(&bytes[..half], ChainStart::ORIGIN);
    let chain = ChainStart {
        next_seq: first.last_seq + 1,
        crc: first.last_crc,
    };
    let second = sound(&bytes[half..], chain);
    assert_eq!(first.tail, Tail::Clean);
    assert_eq!(half + second.end, whole.end);
    assert_eq!(
        (second.last_seq, second.last_crc),
        (whole.last_seq, whole.last_crc)
    );
}

/// What holds of every verdict.
fn sound(bytes: &[u8], start: ChainStart) -> Scan {
    let found = scan(bytes, start, 0);
    assert!(found.proven <= found.end && found.end <= bytes.len());
    assert!(found.durable <= found.last_seq);
    let lines = bytes[..found.end].split(|b| *b == b'\n').count() - 1;
    assert_eq!(found.last_seq - (start.next_seq - 1), lines as u64);
    match &found.tail {
        Tail::Clean => assert_eq!(found.end, bytes.len()),
        Tail::Torn { offset, seq, .. } | Tail::Damaged { offset, seq, .. } => {
            assert_eq!((*offset, *seq), (found.end as u64, found.last_seq + 1));
        }
        Tail::Newer { offset, found: v } => assert!(*offset >= found.end as u64 && *v > 1),
    }
    // Cut at its end, it is clean; known to go on, it is not.
    let cut = scan(&bytes[..found.end], start, 0);
    assert_eq!((cut.tail, cut.last_seq), (Tail::Clean, found.last_seq));
    if let Tail::Torn { seq, .. } = found.tail {
        assert!(matches!(scan(bytes, start, seq).tail, Tail::Damaged { .. }));
    }
    found
}

/// Each five bytes of `data` change the log once.
fn garbled(data: &[u8]) {
    let (log, starts) = &*LOG;
    let mut bytes = log.clone();
    for edit in data.chunks_exact(5).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % bytes.len();
        let length = usize::from(edit[3]) + 1;
        let end = (at + length).min(bytes.len());
        match edit[0] % 6 {
            0 => bytes[at] ^= 1 << (edit[3] % 8),
            1 => bytes[at] = edit[4],
            2 => bytes[at..end].fill(edit[4]),
            3 => {
                let to = bytes.len() - (end - at);
                bytes.copy_within(at..end, to);
            }
            4 => drop(bytes.drain(at..end)),
            _ => bytes.truncate(at),
        }
        if bytes.is_empty() {
            return;
        }
    }
    let found = sound(&bytes, ChainStart::ORIGIN);
    let same = bytes.iter().zip(log).take_while(|(a, b)| a == b).count();
    let intact = starts.partition_point(|start| *start <= same) - 1;
    assert!(found.last_seq >= intact as u64, "{found:?}");
    assert!(log.starts_with(&bytes[..found.end]), "{found:?}");
    // The last record and the mark that proves it are still there: whatever came before is
    // acknowledged.
    let proof = &log[starts[starts.len() - 3]..];
    if found.end < bytes.len() && bytes.ends_with(proof) {
        assert!(!matches!(found.tail, Tail::Torn { .. }), "{found:?}");
    }
}
