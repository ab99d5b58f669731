//! `swarm man`: writes the manual pages, for packages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use crate::cli::context::Context;
use crate::cli::error::CliError;

/// `man`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  $ swarm man ~/.local/share/man/man1")]
pub struct Man {
    /// The directory to write to.
    pub directory: PathBuf,
}

/// Writes a page for each command of `cli`.
pub fn run(args: &Man, cli: Command, context: &mut Context) -> Result<(), CliError> {
    let directory = args.directory.display();
    let written = write(cli, &args.directory);
    written.map_err(|error| CliError::io(format!("write to {directory}"), &error))?;
    context
        .output
        .note(format!("wrote the manual pages to {directory}"));
    Ok(())
}

fn write(cli: Command, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(cli, directory)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    /// The names of the pages of a command and of those below it.
    fn pages(command: &Command, before: &str, found: &mut Vec<String>) {
        let name = format!("{before}{}", command.get_name());
        found.push(format!("{name}.1"));
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            pages(sub, &format!("{name}-"), found);
        }
    }

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        write(Cli::command(), folder.path()).unwrap();
        let mut expected = Vec::new();
        pages(&Cli::command(), "", &mut expected);
        assert!(expected.contains(&"swarm-idea-add.1".to_owned()));
        expected.sort();
        let files = fs::read_dir(folder.path()).unwrap();
        let mut files: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, expected);
        let page = fs::read_to_string(folder.path().join("swarm-idea-add.1")).unwrap();
        for words in ["priority", "Examples", "swarm idea add"] {
            assert!(page.replace("\\-", "-").contains(words), "{words}: {page}");
        }
    }
}
