//! The output of agents and of quality commands: readers give the same text however it is split;
//! text is made plain.

use swarm::agents::adapter::StartedAs;
use swarm::agents::stream::text_of;
use swarm::agents::test_status::TestStatus;
use swarm::agents::text::{fenced, head, one_line, plain, tail};
use swarm::agents::{AdapterKind, adapter};

use super::pieces;

/// See the module.
pub fn check(data: &[u8]) {
    for kind in KINDS {
        assert_eq!(read(kind, &pieces(data)), read(kind, &[data]));
    }
    let text = String::from_utf8_lossy(data);
    let safe = plain(&text);
    assert!(
        !safe
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
    );
    assert_eq!(plain(&safe), safe);
    let line = one_line(&text);
    assert!(!line.contains(['\n', '\t', '\r']));
    assert_eq!(one_line(&line), line);
    let max = data.len() / 2;
    assert!(text.starts_with(head(&text, max)) && head(&text, max).len() <= max);
    assert!(text.ends_with(tail(&text, max)) && tail(&text, max).len() <= max);
    let block = fenced(&text);
    let fence = block.lines().next().expect("a block has a first line");
    assert!(!text.contains(fence) && block.trim_end().ends_with(fence));
    if let Some(status) = TestStatus::from_output(&text) {
        assert!(status.total() >= status.passed);
    }
}

/// Every adapter of the configuration.
const KINDS: [AdapterKind; 7] = [
    AdapterKind::Command,
    AdapterKind::Demo,
    AdapterKind::Claude,
    AdapterKind::Codex,
    AdapterKind::Gemini,
    AdapterKind::Opencode,
    AdapterKind::Acp,
];

fn read(kind: AdapterKind, pieces: &[&[u8]]) -> Vec<u8> {
    let mut reader = adapter(kind).reader(&StartedAs::new(kind));
    let mut said = Vec::new();
    for piece in pieces {
        reader.push(piece, &mut said);
    }
    reader.finish(&mut said);
    text_of(&said)
}
