//! The options that every command accepts.
//!
//! Invariant: this file uses no command, so that every command can use it.

use std::path::PathBuf;

use clap::ArgAction;

use crate::cli::output::terminal::ColorChoice;

/// Options that every command accepts.
#[derive(Debug, Clone, clap::Args)]
pub struct Global {
    /// Use the repository in this folder instead of the current one.
    #[arg(
        short = 'C',
        long = "repo",
        value_name = "DIR",
        global = true,
        help_heading = "Global options"
    )]
    pub repo: Option<PathBuf>,
    /// Print JSON: one document, or one line for each item when following.
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
    /// Do not show long output in a pager.
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_pager: bool,
    /// Print more.
    #[arg(short, long, action = ArgAction::Count, global = true, help_heading = "Global options")]
    pub verbose: u8,
    /// Print only data and errors.
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        help_heading = "Global options"
    )]
    pub quiet: bool,
}
