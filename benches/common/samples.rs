//! Measured numbers of several rounds, and a line for each that shows their noise.

use std::time::{Duration, Instant};

use super::smoke;

/// One number a round.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// None yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Those of one round.
    pub fn one(value: f64) -> Self {
        Self(vec![value])
    }

    /// Whether there is no round yet.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a round's number.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle one; of an even number, the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match (sorted.len(), sorted.len() / 2) {
            (0, _) => f64::NAN,
            (count, half) if count % 2 == 1 => sorted[half],
            (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
        }
    }

    fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Round by round, this over that.
    pub fn over(&self, floor: &Self) -> Self {
        Self(self.0.iter().zip(&floor.0).map(|(a, b)| a / b).collect())
    }

    /// Round by round, this less that.
    pub fn minus(&self, floor: &Self) -> Self {
        Self(self.0.iter().zip(&floor.0).map(|(a, b)| a - b).collect())
    }

    /// Prints a line: median, and min and max where there is more than one round.
    pub fn show(&self, what: &str, unit: &str) {
        println!("  {what:<46} {}", self.text(unit));
    }

    fn text(&self, unit: &str) -> String {
        let rounds = self.0.len();
        let median = format!("{:>10} {unit:<8}", digits(self.median()));
        if rounds < 2 {
            return median;
        }
        let (min, max) = (digits(self.min()), digits(self.max()));
        format!("{median} min {min:>8}  max {max:>8}  ({rounds} rounds)")
    }
}

/// Three significant digits, no exponent.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// What a number is to be.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
}

impl Goal {
    /// Prints the number with the goal and whether it is met; the median decides. The few rounds
    /// of a smoke run, in the dev profile, decide nothing.
    pub fn judge(self, what: &str, numbers: &Samples, unit: &str) {
        let median = numbers.median();
        let (met, goal) = match self {
            Self::AtMost(limit) => (median <= limit, format!("<= {limit} {unit}")),
            Self::AtLeast(limit) => (median >= limit, format!(">= {limit} {unit}")),
        };
        let verdict = match (smoke(), met) {
            (true, _) => "not judged",
            (false, true) => "met",
            (false, false) => "MISSED",
        };
        numbers.show(&format!("{what}  (goal {})", goal.trim_end()), unit);
        println!("  {:<46} {verdict:>10}", "");
    }
}

/// How long the work took.
pub fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(Duration, T), E> {
    let start = Instant::now();
    let result = work()?;
    Ok((start.elapsed(), result))
}

/// As milliseconds.
pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
