//! The last line of each agent's output: from the end of its file, so that its length is no matter.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::daemon;
use crate::domain::ids::{AgentId, RunId};
use crate::plain_file;

/// Bytes that are read from the end of a file.
const END: u64 = 16 << 10;
/// Characters of a line on the page.
const LENGTH: usize = 160;

/// The last line of each agent's run, as far as there is one that can be read.
pub async fn read(runs: &Path, agents: Vec<(AgentId, RunId)>) -> BTreeMap<AgentId, String> {
    let runs: PathBuf = runs.to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let lines = agents.into_iter().filter_map(|(agent, run)| {
            let line = last_line(&runs.join(run.as_str())).ok()??;
            Some((agent, line))
        });
        lines.collect()
    });
    read.await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the last lines of agents were not read");
        BTreeMap::new()
    })
}

fn last_line(run: &Path) -> io::Result<Option<String>> {
    let mut file = plain_file::open(&run.join("stdout.log"))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let end = String::from_utf8_lossy(&bytes);
    // The first line may have lost its beginning.
    let whole = if length > END {
        end.split_once('\n').map_or("", |(_, rest)| rest)
    } else {
        &end
    };
    Ok(match daemon::transcript(run)? {
        None => last_of(whole),
        Some(mut transcript) => {
            let mut text = Vec::new();
            transcript.push(whole.as_bytes(), &mut text);
            last_of(&String::from_utf8_lossy(&text))
        }
    })
}

/// The last line with text, without colours, and not too long.
fn last_of(text: &str) -> Option<String> {
    let lines = text.lines().rev().map(plain);
    let line = lines
        .map(|line| line.trim().to_owned())
        .find(|line| !line.is_empty())?;
    Some(line.chars().take(LENGTH).collect())
}

/// A line without its escape sequences and other control characters.
fn plain(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            if letters.next() == Some('[') {
                letters.by_ref().find(|letter| ('@'..='~').contains(letter));
            }
        } else if !letter.is_control() {
            plain.push(letter);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_text_is_plain_and_short() {
        let text = "one\n\u{1b}[32mtwo\u{1b}[0m\u{7}\n \u{1b}[2m\u{1b}[0m\n\n";
        assert_eq!(last_of(text).as_deref(), Some("two"));
        assert_eq!(last_of(" \n\n"), None);
        assert_eq!(
            last_of(&"x".repeat(500)).map(|line| line.len()),
            Some(LENGTH)
        );
    }
}
