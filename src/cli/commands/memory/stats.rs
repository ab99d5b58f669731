//! `swarm memory stats`: what the memory is worth.

use clap::Args;

use crate::cli::access::Access;
use crate::cli::args::at::At;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::terminal::Tone;
use crate::cli::output::{Output, write_page};
use crate::view::memory::{StatsView, markdown, summary};

/// The longest name of a figure, in characters.
const NAME: usize = 24;

/// `memory stats`. Works with and without a daemon.
#[derive(Debug, Args)]
#[command(after_help = "\
A TIME means after the last event that is not later than it.

Examples:
  $ swarm memory stats
  $ swarm memory stats --at 1d
  $ swarm memory stats --markdown > memory.md")]
pub struct Stats {
    /// Print Markdown.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// The point to show.
    #[command(flatten)]
    pub at: At,
}

/// Shows the measures.
pub(super) fn run(args: &Stats, context: &mut Context) -> Result<(), CliError> {
    context.look_back(&args.at)?;
    let document = context.with_access(Access::memory_stats)?;
    if context.output.json {
        return context.output.document(&document);
    }
    let stats: StatsView = serde_json::from_value(document).map_err(|error| {
        CliError::refused(format!("the daemon's answer has another shape: {error}"))
    })?;
    let page = if args.markdown {
        markdown(&stats)
    } else {
        page(&context.output, &stats)
    };
    write_page(&mut context.output, &page)
}

fn page(output: &Output, stats: &StatsView) -> Vec<String> {
    let mut page = Vec::new();
    for measure in summary(stats) {
        if !page.is_empty() {
            page.push(String::new());
        }
        page.push(output.paint(Tone::Strong, measure.title).into_owned());
        let meaning = format!("  {}", measure.meaning);
        page.push(output.paint(Tone::Dim, &meaning).into_owned());
        let figures = measure.figures.iter();
        page.extend(figures.map(|(name, value)| format!("  {name:NAME$}  {value}")));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::state::State;
    use crate::view::memory::{Aged, Measures, SinceStart, stats};

    #[test]
    fn the_measures_fit_60_columns() {
        let counts = SinceStart {
            writes: 123_456,
            conflicts: 12_345,
            synthesis_accepted: 1_234,
            synthesis_refused: 1_234,
        };
        let (empty, measures) = (State::default(), Measures::default());
        let view = stats(&empty, &Aged::nothing(), &measures, Some(counts));
        let page = page(&Output::for_pages(false), &view);
        for line in &page {
            assert!(line.chars().count() <= 60, "{line}");
        }
        let figure = "  conflicts since start     12345 of 123456 writes";
        assert!(page.iter().any(|line| line == figure), "{page:?}");
        assert!(
            page.iter()
                .any(|line| line == "  said again                -")
        );
    }
}
