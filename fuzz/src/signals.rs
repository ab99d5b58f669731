//! The signal parser: a prompt, a zero byte, an agent's output.

use swarm::domain::signal::{Found, Item, MAX_PAYLOAD, Scanner, shield};

use super::{halves, pieces};

/// The same findings however the output is split; payloads are plain and bounded; a shielded
/// prompt, repeated, says nothing.
pub fn check(data: &[u8]) {
    let (prompt, output) = halves(data);
    let prompt = String::from_utf8_lossy(prompt);
    let whole = heard(&prompt, &[output]);
    assert_eq!(heard(&prompt, &pieces(output)), whole);
    assert_eq!(heard(&prompt, &output.chunks(1).collect::<Vec<_>>()), whole);
    for pair in whole.windows(2) {
        assert!(pair[0].offset < pair[1].offset);
    }
    for found in &whole {
        let at = usize::try_from(found.offset).expect("it lies within the output");
        assert!(output[at..].starts_with(b"<swarm>"));
        if let Item::Signal(signal) = &found.item {
            let words = signal.words().unwrap_or_default();
            assert!(!words.chars().any(char::is_control), "{words:?}");
            // Each byte of a payload may become one replacement character.
            assert!(words.len() <= 3 * MAX_PAYLOAD);
        }
    }
    let shielded = shield(&prompt);
    for line in shielded.split_inclusive('\n') {
        assert!(
            signals(&heard(&shielded, &[line.as_bytes()])).is_empty(),
            "{line:?}"
        );
    }
    assert!(signals(&heard(&shielded, &[shielded.as_bytes()])).is_empty());
}

fn heard(prompt: &str, pieces: &[&[u8]]) -> Vec<Found> {
    let mut scanner = Scanner::new(prompt);
    let mut found: Vec<Found> = pieces
        .iter()
        .flat_map(|piece| scanner.push(piece))
        .collect();
    found.extend(scanner.finish());
    found
}

fn signals(found: &[Found]) -> Vec<&Found> {
    let is_signal = |found: &&Found| matches!(found.item, Item::Signal(_));
    found.iter().filter(is_signal).collect()
}
