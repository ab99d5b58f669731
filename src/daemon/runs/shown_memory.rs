//! What a run's prompt shows of the memory, in a file of its directory, and its way into the log.
//!
//! Invariant: the file is written with the prompt, so the event that follows it says what the agent
//! was told, also if the daemon was killed in between. An unusable file fails no run: what it would
//! say counts as not told.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::launch_record;
use crate::daemon::actor::handle::Handle;
use crate::daemon::memory::recall::shown_items;
use crate::daemon::memory::selection::Selection;
use crate::domain::effect::Purpose;
use crate::domain::event::ShownItem;
use crate::domain::ids::RunId;
use crate::domain::observation::Observation;
use crate::process::RunDir;

/// The file in the run's directory.
pub(super) const SHOWN_MEMORY: &str = "memory.json";
/// Most bytes read of it.
const MAX_BYTES: u64 = 64 * 1024;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownMemory {
    items: Vec<ShownItem>,
    /// Whether the conversation is new.
    fresh: bool,
    /// Whether it shows nothing on purpose.
    held: bool,
}

impl ShownMemory {
    pub(super) fn of(selection: &Selection, fresh: bool) -> Self {
        Self {
            items: shown_items(selection),
            fresh,
            held: false,
        }
    }

    /// The same, for an attempt that may be shown nothing on purpose.
    pub(super) fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }
}

/// What the prompt of the run in this directory shows.
///
/// # Errors
/// The file cannot be read, or is not as it was written.
pub(crate) fn read(dir: &Path) -> io::Result<Vec<ShownItem>> {
    let text = launch_record::text(&dir.join(SHOWN_MEMORY), MAX_BYTES)?;
    let shown: ShownMemory = serde_json::from_str(&text)?;
    Ok(shown.items)
}

/// Reports what the prompt of an agent's run shows, unless the log has it.
pub(super) async fn report(handle: &Handle, dir: &RunDir, run: &RunId, purpose: &Purpose) {
    if !matches!(purpose, Purpose::Iteration { .. }) {
        return;
    }
    let path = dir.path().join(SHOWN_MEMORY);
    let read = spawn_blocking(move || launch_record::text(&path, MAX_BYTES)).await;
    let text = match read.map_err(io::Error::other).and_then(|text| text) {
        Ok(text) => text,
        Err(error) => {
            tracing::warn!(%run, %error, "what the prompt shows of the memory cannot be read");
            return;
        }
    };
    let Ok(ShownMemory { items, fresh, held }) = serde_json::from_str(&text) else {
        tracing::warn!(%run, "what the prompt shows of the memory is not as it was written");
        return;
    };
    let run = run.clone();
    handle
        .observe(Observation::MemoryShown {
            run,
            items,
            fresh,
            held,
        })
        .await;
}
