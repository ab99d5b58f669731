//! New ideas from files and from the person's editor, in the form of the inbox: text with optional
//! front matter.
//!
//! Invariant: every file is read before the first idea is added, and a text that was written in the
//! editor is never lost.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempPath;

use super::error::{CliError, Kind};
use super::output::terminal::can_ask;
use crate::daemon::effects::inbox::new_idea;
use crate::daemon::effects::inbox::parse::{MAX_INBOX_BYTES, parse};
use crate::domain::operation::NewIdea;
use crate::git;

/// An idea and the file that it comes from.
pub struct Draft {
    /// The file, for messages.
    pub file: PathBuf,
    /// The idea.
    pub idea: NewIdea,
}

/// Reads ideas from files.
///
/// # Errors
/// The first file that is no idea.
pub fn read_files(files: &[PathBuf]) -> Result<Vec<Draft>, CliError> {
    files.iter().map(|file| read_file(file)).collect()
}

fn read_file(file: &Path) -> Result<Draft, CliError> {
    let refuse = |why: &dyn std::fmt::Display| {
        let message = format!(
            "{} is no idea, and nothing was added: {why}",
            file.display()
        );
        CliError::refused(message).hint("correct the file, then repeat the command")
    };
    let text = read_text(file).map_err(|error| refuse(&error))?;
    let idea = parse(&text).map_err(|error| refuse(&error))?;
    let idea = new_idea(idea, None).map_err(|error| refuse(&error))?;
    Ok(Draft {
        file: file.to_owned(),
        idea,
    })
}

fn read_text(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    // One byte more than allowed, so that the parser refuses a larger file.
    let most = MAX_INBOX_BYTES as u64 + 1;
    io::BufReader::new(std::fs::File::open(file)?)
        .take(most)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Lets the person write one idea in their editor. Dropping the path removes the text.
///
/// # Errors
/// There is no terminal or no editor, or the text is empty or no idea.
pub fn edit() -> Result<(Draft, TempPath), CliError> {
    if !can_ask() {
        let message = "TEXT is missing, and there is no terminal to open an editor on";
        return Err(CliError::new(Kind::Usage, message)
            .hint("give the text: swarm idea add \"...\"")
            .hint("or a file: swarm idea add -f FILE.md"));
    }
    let editor = editor().ok_or_else(|| {
        CliError::refused("TEXT is missing, and git names no editor either (git var GIT_EDITOR)")
            .hint("name one: export EDITOR=nano")
            .hint("or give the text: swarm idea add \"...\"")
    })?;
    let file = tempfile::Builder::new()
        .prefix("swarm-idea-")
        .suffix(".md")
        .tempfile()
        .map_err(|error| CliError::io("make a file for the editor", &error))?
        .into_temp_path();
    let ran = run_editor(&editor, &file);
    let text = match read_text(&file) {
        Ok(text) => text,
        Err(error) => return Err(keep(CliError::io("read the text", &error), file)),
    };
    match ran {
        Err(error) if text.trim().is_empty() => return Err(error),
        Err(error) => return Err(keep(error, file)),
        Ok(()) if text.trim().is_empty() => {
            return Err(CliError::refused("nothing was added: the text is empty"));
        }
        Ok(()) => {}
    }
    match read_file(&file) {
        Ok(draft) => Ok((draft, file)),
        Err(error) => Err(keep(error, file)),
    }
}

/// Keeps the text of an idea that was refused, and says where it is.
pub fn keep(mut error: CliError, file: TempPath) -> CliError {
    match file.keep() {
        Ok(path) => {
            let path = path.display();
            error.hints = vec![format!("your text is kept: swarm idea add -f {path}")];
            error
        }
        Err(lost) => error.details(format!("your text could not be kept: {}", lost.error)),
    }
}

/// `$VISUAL` or `$EDITOR`, else what git would open: `core.editor`, or the system's default.
fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].map(|name| std::env::var(name).ok());
    let mut named = named.into_iter().flatten();
    let named = named.find(|command| !command.trim().is_empty());
    named.or_else(git::editor)
}

/// The variable may hold arguments too, as in `code --wait`, so a shell reads it.
fn run_editor(editor: &str, file: &Path) -> Result<(), CliError> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\""));
    command.arg("sh").arg(file);
    let status = command
        .status()
        .map_err(|error| CliError::io(format!("run the editor `{editor}`"), &error))?;
    if status.success() {
        return Ok(());
    }
    let message = format!("nothing was added: the editor `{editor}` failed ({status})");
    Err(CliError::refused(message).hint("give the text: swarm idea add \"...\""))
}
