//! Draws the live view on a terminal: what needs you, a progress bar, the agents, the merge queue.
//!
//! Invariant: the lines are those of the last [`Picture`]; bars are only added and removed to fit.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::frame::Picture;
use crate::cli::output::terminal::{Tone, paint};

/// The most redraws per second.
const HERTZ: u8 = 10;

/// The lines of the live view, each an `indicatif` bar.
pub struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    above: Vec<ProgressBar>,
    below: Vec<ProgressBar>,
    colors: bool,
}

impl Bars {
    /// Draws on standard error.
    pub fn new(colors: bool) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(HERTZ));
        let total = all.add(ProgressBar::new(0));
        total.set_style(style("{spinner} [{bar:24}] {pos}/{len} done  {wide_msg}"));
        // The spinner shows that the program is alive while nothing happens.
        total.enable_steady_tick(Duration::from_millis(500));
        Self {
            all,
            total,
            above: vec![],
            below: vec![],
            colors,
        }
    }

    /// Shows a picture.
    pub fn draw(&mut self, picture: &Picture) {
        self.total.set_length(picture.total);
        self.total.set_position(picture.done);
        self.total.set_message(picture.counts.clone());
        let needs = picture.needs.iter();
        let above: Vec<String> = needs
            .map(|need| self.line(Tone::Warn, &format!("! {need}")))
            .collect();
        let agents = picture.agents.iter();
        let mut below: Vec<String> = agents
            .map(|agent| self.line(Tone::Live, &format!("  {agent}")))
            .collect();
        if !picture.queue.is_empty() {
            below.push(self.line(Tone::Plain, &format!("  merge queue: {}", picture.queue)));
        }
        self.fit(&above, &below);
    }

    /// Prints a line above the bars.
    pub fn print(&self, line: &str) {
        // The daemon continues even if the terminal is closed.
        drop(self.all.println(line));
    }

    /// Removes the bars.
    pub fn clear(self) {
        drop(self.all.clear());
    }

    fn line(&self, tone: Tone, text: &str) -> String {
        paint(self.colors, tone, text).into_owned()
    }

    fn fit(&mut self, above: &[String], below: &[String]) {
        while self.above.len() < above.len() {
            let bar = self.all.insert_before(&self.total, plain());
            self.above.push(bar);
        }
        while self.below.len() < below.len() {
            let bar = self.all.add(plain());
            self.below.push(bar);
        }
        for bar in self
            .above
            .drain(above.len()..)
            .chain(self.below.drain(below.len()..))
        {
            self.all.remove(&bar);
        }
        for (bar, line) in self
            .above
            .iter()
            .zip(above)
            .chain(self.below.iter().zip(below))
        {
            bar.set_message(line.clone());
        }
    }
}

fn plain() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.set_style(style("{wide_msg}"));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates of this file are valid")
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bars_follow_the_picture() {
        let mut bars = Bars::new(false);
        bars.all.set_draw_target(ProgressDrawTarget::hidden());
        let mut picture = Picture {
            done: 1,
            total: 3,
            needs: vec!["a conflict".into()],
            agents: vec!["ed-001".into(), "ed-002".into()],
            queue: "idea-001 building".into(),
            ..Picture::default()
        };
        bars.draw(&picture);
        assert_eq!((bars.above.len(), bars.below.len()), (1, 3));
        assert_eq!((bars.total.position(), bars.total.length()), (1, Some(3)));
        assert_eq!(bars.below[2].message(), "  merge queue: idea-001 building");
        picture.agents.clear();
        picture.needs.clear();
        bars.draw(&picture);
        assert_eq!((bars.above.len(), bars.below.len()), (0, 1));
        bars.clear();
    }
}
