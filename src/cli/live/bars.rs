//! Draws the live view at the bottom of a terminal: what needs you, a progress bar, the agents, the
//! merge queue.
//!
//! Invariant: the cursor rests at the start of the view. What the terminal itself writes there,
//! such as `^C`, is erased by the next drawing, and so is the view. No line is wider than the
//! terminal, and the view is never higher. All else that goes to the terminal is a whole line.

use std::io::Write;

use super::frame::Picture;
use crate::cli::output::terminal::{Size, Tone, paint, shorten, stderr_size};

/// Back to the start of the view; erases it.
const ERASE: &str = "\r\u{1b}[J";
/// A terminal that counts a character wider than we do must not wrap the line.
const NO_WRAP: &str = "\u{1b}[?7l";
const WRAP: &str = "\u{1b}[?7h";
/// The width of the progress bar.
const BAR: u64 = 24;
/// The live view.
pub struct Bars {
    out: Box<dyn Write + Send>,
    size: fn() -> Size,
    colors: bool,
    /// The lines on the screen.
    view: Vec<String>,
}

impl Bars {
    /// Draws on standard error.
    pub fn new(colors: bool) -> Self {
        Self {
            out: Box::new(std::io::stderr()),
            size: stderr_size,
            colors,
            view: vec![],
        }
    }

    /// Shows a picture.
    pub fn draw(&mut self, picture: &Picture) {
        let size = (self.size)();
        // One line stays free for what is typed.
        let most = usize::from(size.rows.saturating_sub(1)).max(1);
        let width = usize::from(size.columns.saturating_sub(1)).max(1);
        let line = |(tone, text): (Tone, String)| {
            paint(self.colors, tone, &shorten(&text, width, false)).into_owned()
        };
        self.view = lines(picture).into_iter().take(most).map(line).collect();
        self.write("");
    }

    /// Prints a line above the view.
    pub fn print(&mut self, line: &str) {
        self.write(&format!("{line}\n"));
    }

    /// Removes the view.
    pub fn clear(mut self) {
        self.view.clear();
        self.write("");
    }

    /// Writes whole lines, then the view below them.
    fn write(&mut self, lines: &str) {
        let mut text = format!("{ERASE}{lines}");
        if !self.view.is_empty() {
            let up = match self.view.len() - 1 {
                0 => String::new(),
                count => format!("\u{1b}[{count}A"),
            };
            let view = self.view.join("\n");
            text = format!("{text}{NO_WRAP}{view}{WRAP}\r{up}");
        }
        // The daemon continues even if the terminal is closed. One write: a kill in the middle must
        // not leave a terminal that does not wrap.
        drop(self.out.write_all(text.as_bytes()));
        drop(self.out.flush());
    }
}

/// The view, whatever the width; what needs the person comes first.
fn lines(picture: &Picture) -> Vec<(Tone, String)> {
    let needs = picture.needs.iter();
    let mut lines: Vec<_> = needs
        .map(|need| (Tone::Warn, format!("! {need}")))
        .collect();
    lines.push((Tone::Plain, progress(picture)));
    let agents = picture.agents.iter();
    lines.extend(agents.map(|agent| (Tone::Live, format!("  {agent}"))));
    if !picture.queue.is_empty() {
        lines.push((Tone::Plain, format!("  merge queue: {}", picture.queue)));
    }
    lines
}

fn progress(picture: &Picture) -> String {
    let Picture {
        done,
        total,
        counts,
        ..
    } = picture;
    let filled = (done * BAR).checked_div(*total).unwrap_or_default();
    let bar: String = (0..BAR)
        .map(|place| match place {
            place if place < filled => '=',
            place if place == filled && filled > 0 => '>',
            _ => ' ',
        })
        .collect();
    format!("[{bar}] {done}/{total} done  {counts}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::live::testkit::Lines;

    const SMALL: Size = Size {
        columns: 40,
        rows: 4,
    };

    fn bars() -> (Bars, Lines) {
        let lines = Lines::default();
        let bars = Bars {
            out: Box::new(lines.clone()),
            size: || SMALL,
            colors: false,
            view: vec![],
        };
        (bars, lines)
    }

    fn picture() -> Picture {
        Picture {
            done: 1,
            total: 3,
            counts: "1 active".into(),
            needs: vec!["a conflict".into()],
            agents: vec![
                "ed-001".into(),
                "ed-002  with much to say about its idea".into(),
            ],
            queue: "idea-001 building".into(),
        }
    }

    #[test]
    fn the_view_fits_the_terminal() {
        let (mut bars, _) = bars();
        bars.draw(&picture());
        assert_eq!(
            bars.view,
            [
                "! a conflict",
                "[========>               ] 1/3 done  1…",
                "  ed-001"
            ]
        );
        bars.draw(&Picture::default());
        assert_eq!(bars.view, ["[                        ] 0/0 done"]);
    }

    #[test]
    fn the_cursor_rests_at_the_start_of_the_view() {
        let (mut bars, written) = bars();
        bars.draw(&picture());
        assert!(written.take().ends_with("\u{1b}[?7h\r\u{1b}[2A"));
        bars.print("news");
        let text = written.take();
        assert!(
            text.starts_with("\r\u{1b}[Jnews\n\u{1b}[?7l! a"),
            "{text:?}"
        );
        bars.clear();
        assert_eq!(written.take(), ERASE);
    }
}
