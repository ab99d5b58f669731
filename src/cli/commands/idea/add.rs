//! `swarm idea add`: from the arguments, standard input, files or the editor.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::dependencies;
use crate::cli::access::ids::Typed;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::json::text;
use crate::cli::new_ideas;
use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::operation::{Command, NewIdea};

/// The most that is read from standard input, in bytes.
const MAX_INPUT: u64 = 1024 * 1024;

/// `idea add`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  $ swarm idea add \"add a --version flag\"
  $ swarm idea add \"document it\" --after idea-001 --tag docs --priority 5
  $ swarm idea add -f one.md -f two.md
  $ swarm idea add \"use both\" --after idea-001,idea-002 --profile ed
  $ cat idea.md | swarm idea add -
  $ swarm idea add \"rewrite the parser\" --review
  $ swarm idea add -- \"--help should name the exit codes\"")]
pub struct Add {
    /// What to do; `-` reads it from standard input. After `--` it may start with a dash. Without
    /// it, your editor opens: `$VISUAL`, `$EDITOR`, or else git's.
    pub text: Option<String>,
    /// Read an idea from this Markdown file, which may begin with front matter as in the inbox
    /// (after, tags, priority, profile, review). May be repeated; the ids are printed in order.
    #[arg(
        short = 'f',
        long = "file",
        value_name = "FILE",
        conflicts_with = "text"
    )]
    pub files: Vec<PathBuf>,
    /// An idea that must be done first. Separate several with commas, or repeat the option.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub after: Vec<Typed<IdeaId>>,
    /// A tag; may be repeated. `critical` and `quick-win` raise the idea in the order.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Added to the score that orders ideas; may be negative. Default: 0, or the file's.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i64>,
    /// The agent profile to use instead of the default one, or the file's.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    /// Land its work only after `swarm merge approve`, even if `merge.autoMerge` is on.
    #[arg(long)]
    pub review: bool,
}

pub(super) fn add(mut args: Add, context: &mut Context) -> Result<(), CliError> {
    let after = context.with_access(|access| dependencies(access, &args.after))?;
    if let Some(typed) = args.text.take() {
        let mut idea = NewIdea {
            text: text_or_stdin(typed)?,
            after: vec![],
            tags: vec![],
            priority: 0,
            profile: None,
            inbox: None,
            review: false,
            imported: None,
        };
        args.complete(&mut idea, &after);
        let answer = add_one(idea, context)?;
        return show_added(&[answer], context);
    }
    if args.files.is_empty() {
        return add_written(&args, &after, context);
    }
    let mut drafts = new_ideas::read_files(&args.files)?;
    let mut added = Vec::new();
    for draft in &mut drafts {
        let found = find_dependencies(&mut draft.idea, context);
        args.complete(&mut draft.idea, &after);
        match found.and_then(|()| add_one(draft.idea.clone(), context)) {
            Ok(answer) => added.push(answer),
            Err(error) => {
                if !added.is_empty() {
                    show_added(&added, context)?;
                }
                return Err(some_added(error, &draft.file, &added));
            }
        }
    }
    show_added(&added, context)
}

/// Adds an idea that the person writes in the editor.
fn add_written(args: &Add, after: &[IdeaId], context: &mut Context) -> Result<(), CliError> {
    let (mut draft, text) = new_ideas::edit()?;
    let found = find_dependencies(&mut draft.idea, context);
    args.complete(&mut draft.idea, after);
    match found.and_then(|()| add_one(draft.idea, context)) {
        Ok(answer) => show_added(&[answer], context),
        Err(error) => Err(new_ideas::keep(error, text)),
    }
}

impl Add {
    /// The options come on top of what a file says.
    fn complete(&self, idea: &mut NewIdea, after: &[IdeaId]) {
        idea.after.extend(after.iter().cloned());
        idea.tags.extend(self.tags.iter().cloned());
        idea.priority = self.priority.unwrap_or(idea.priority);
        idea.review |= self.review;
        if self.profile.is_some() {
            idea.profile.clone_from(&self.profile);
        }
    }
}

/// A file names its dependencies as `--after` does.
fn find_dependencies(idea: &mut NewIdea, context: &Context) -> Result<(), CliError> {
    if !idea.after.is_empty() {
        let typed: Vec<_> = idea.after.drain(..).map(Typed::from).collect();
        idea.after = context.with_access(|access| dependencies(access, &typed))?;
    }
    Ok(())
}

fn add_one(idea: NewIdea, context: &Context) -> Result<Value, CliError> {
    let command = Command::AddIdea(idea);
    context.with_access(|access| access.execute(&command))
}

/// Prints the ids in order. As JSON one idea is an object, several are an array.
fn show_added(added: &[Value], context: &mut Context) -> Result<(), CliError> {
    match (context.output.json, added) {
        (true, [one]) => context.output.document(one),
        (true, many) => context.output.document(&many),
        (false, many) => many.iter().try_for_each(|answer| {
            let id = text(answer, "id").to_owned();
            context.output.line(id)
        }),
    }
}

/// Says which of several ideas were added before one was refused.
fn some_added(mut error: CliError, file: &Path, added: &[Value]) -> CliError {
    error.message = format!("{}: {}", file.display(), error.message);
    let ids: Vec<&str> = added.iter().map(|answer| text(answer, "id")).collect();
    let done = match ids.as_slice() {
        [] => "nothing was added".to_owned(),
        some => format!("already added: {}; do not add them again", some.join(", ")),
    };
    error.details(done)
}

/// The text itself, or the content of standard input for `-`.
pub(in crate::cli::commands) fn text_or_stdin(text: String) -> Result<String, CliError> {
    if text == "-" {
        read_text(&mut std::io::stdin().lock())
    } else {
        Ok(text)
    }
}

fn read_text(input: &mut dyn Read) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    input
        .take(MAX_INPUT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::io("read standard input", &error))?;
    if bytes.len() as u64 > MAX_INPUT {
        let message = format!("the text on standard input is longer than {MAX_INPUT} bytes");
        return Err(CliError::refused(message).hint(
            "put the long part into a file in the repository and name that file in the idea",
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::refused(format!(
            "standard input is not UTF-8 text (invalid at byte {at})"
        ))
        .hint("convert it first, for example: iconv -f latin1 -t utf-8 FILE | swarm idea add -")
    })?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_is_bounded_and_must_be_text() {
        assert_eq!(read_text(&mut "an idea\n\n".as_bytes()).unwrap(), "an idea");
        let error = read_text(&mut &b"ab\xffc"[..]).unwrap_err();
        assert!(error.message.contains("byte 2"), "{error}");
        let endless = &mut std::io::repeat(b'x');
        assert!(read_text(endless).unwrap_err().message.contains("1048576"));
    }
}
