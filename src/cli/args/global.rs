//! The options that every command takes.
//!
//! Invariant: this file knows no command, so that every command may know it.

use std::path::PathBuf;

use clap::ArgAction;

use crate::cli::output::terminal::ColorChoice;

/// What goes for every command.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// Work in the repository of this folder instead of the current one's.
    #[arg(
        short = 'C',
        long = "repo",
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub repo: Option<PathBuf>,
    /// Write JSON: one document, or JSON lines where the output goes on.
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// When to use colours.
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        global = true,
        help_heading = "Global options"
    )]
    pub color: ColorChoice,
    /// Say more.
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Global options")]
    pub verbose: u8,
    /// Say nothing but the data and errors.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,
}
