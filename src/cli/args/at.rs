//! `--at`: the point of the event log that a command shows.

use clap::Args;

/// `--at` of the commands that read.
#[derive(Debug, Default, Args)]
pub struct At {
    /// Show it as it was after this event, or at this time or age (`10m`, `2h`, `1d`).
    #[arg(long, value_name = "SEQ|TIME")]
    pub at: Option<String>,
}
