//! What agents use: tokens and money, as their programs tell it and as it is added up.
//!
//! Invariant: what a program told is kept as it was told, with what its numbers mean ([`Usage`]);
//! what is added up ([`Bill`], [`Spent`]) is always a run's own part, so that nothing counts twice.
//! A figure that no program gave is an estimate and says so, or is missing.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// From dollars as programs write them, rounded; none for what is no amount.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        // taken within the range only
        let whole = micros as u64;
        (micros.is_finite() && (0.0..1e18).contains(&micros)).then_some(Self(whole))
    }

    /// In dollars, for those who read JSON.
    #[allow(clippy::cast_precision_loss)] // exact up to nine thousand million dollars
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, held at the end of the range.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for MicroUsd {
    /// `$1.23`; below ten cents with more digits: `$0.0053`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 || self.0 >= 100_000 {
            let cents = self.0.saturating_add(5_000) / 10_000;
            return write!(f, "${}.{:02}", cents / 100, cents % 100);
        }
        write!(f, "$0.{:04}", self.0.div_ceil(100))
    }
}

/// Numbers of tokens. The kinds do not overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    /// What the model read and had not in its cache, and did not put there.
    pub input: u64,
    /// What it read from its cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// What it read and put into its cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_written: u64,
    /// What it wrote, thinking included.
    pub output: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the form that serde asks for
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Tokens {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.input
            .saturating_add(self.cached)
            .saturating_add(self.cache_written)
            .saturating_add(self.output)
    }

    /// The sums.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
            output: self.output.saturating_add(other.output),
        }
    }

    /// What came since `earlier`; none where a number is smaller, since then another count began.
    pub fn since(self, earlier: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(earlier.input)?,
            cached: self.cached.checked_sub(earlier.cached)?,
            cache_written: self.cache_written.checked_sub(earlier.cache_written)?,
            output: self.output.checked_sub(earlier.output)?,
        })
    }
}

/// Over what a program's numbers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// This run alone.
    #[default]
    Run,
    /// The conversation from its beginning, over all its runs.
    Session,
}

/// What a program told about a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// The tokens, where it told any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Over what they run.
    pub tokens_of: Scope,
    /// The cost, where it told any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// Over what it runs.
    pub cost_of: Scope,
    /// The model that most of it was used with, for its price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The run was cut off before its program told its totals: so much at least.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
}

/// What a conversation had used when it was last looked at, as its program counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counted {
    /// Tokens.
    pub tokens: Tokens,
    /// Cost.
    pub cost: MicroUsd,
}

/// A model's prices, in millionths of a dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// For what it reads.
    pub input: u64,
    /// For what it reads from its cache.
    pub cached: u64,
    /// For what it reads and puts into its cache.
    pub cache_written: u64,
    /// For what it writes.
    pub output: u64,
}

impl Price {
    /// What these tokens cost.
    pub fn of(&self, tokens: &Tokens) -> MicroUsd {
        let part = |count: u64, price: u64| u128::from(count) * u128::from(price);
        let sum = part(tokens.input, self.input)
            + part(tokens.cached, self.cached)
            + part(tokens.cache_written, self.cache_written)
            + part(tokens.output, self.output);
        MicroUsd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// The price of this model: under its whole name, else under the one without its version.
fn price_of<'a>(prices: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    prices.get(model).or_else(|| prices.get(undated(model)))
}

/// The name of a model without the version that programs put behind it: a date (`-20250929`,
/// `-2025-09-29`), or `-latest`.
pub fn undated(model: &str) -> &str {
    let is_shaped = |version: &str, shape: &str| {
        let fits = |(byte, like): (u8, u8)| match like {
            b'0' => byte.is_ascii_digit(),
            like => byte == like,
        };
        version.len() == shape.len() && version.bytes().zip(shape.bytes()).all(fits)
    };
    let shapes = ["-00000000", "-0000-00-00", "-latest"];
    let mut cuts = shapes.iter().filter_map(|shape| {
        let at = model.len().checked_sub(shape.len()).filter(|at| *at > 0)?;
        let version = model.get(at..)?;
        is_shaped(version, shape).then(|| &model[..at])
    });
    cuts.next().unwrap_or(model)
}

/// What one run used, its own part only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bill {
    /// Tokens, where any are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Cost, where it is known or can be estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<MicroUsd>,
    /// The cost is from the configured prices, not from the program.
    #[serde(skip_serializing_if = "is_false")]
    pub estimated: bool,
    /// So much at least: the run was cut off.
    #[serde(skip_serializing_if = "is_false")]
    pub partial: bool,
}

impl Usage {
    /// This run's own part, given what its conversation had used before it began.
    pub fn bill(&self, before: Counted, prices: &BTreeMap<String, Price>) -> Bill {
        let tokens = self.tokens.map(|tokens| match self.tokens_of {
            Scope::Run => tokens,
            Scope::Session => tokens.since(before.tokens).unwrap_or(tokens),
        });
        let told = self.cost.map(|cost| match self.cost_of {
            Scope::Run => cost,
            Scope::Session => MicroUsd(cost.0.checked_sub(before.cost.0).unwrap_or(cost.0)),
        });
        let estimate = || {
            let price = price_of(prices, self.model.as_deref()?)?;
            Some(price.of(tokens.as_ref()?))
        };
        let cost = told.or_else(estimate);
        Bill {
            tokens,
            cost,
            estimated: told.is_none() && cost.is_some(),
            partial: self.partial,
        }
    }

    /// What its conversation has used after this run, given what it had before.
    pub fn counted(&self, before: Counted) -> Counted {
        let of_session = |scope| scope == Scope::Session;
        let tokens = self.tokens.filter(|_| of_session(self.tokens_of));
        let cost = self.cost.filter(|_| of_session(self.cost_of));
        Counted {
            tokens: tokens.unwrap_or(before.tokens),
            cost: cost.unwrap_or(before.cost),
        }
    }
}

/// What several runs used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Tokens.
    pub tokens: Tokens,
    /// Cost as programs told it.
    pub cost: MicroUsd,
    /// Cost as the configured prices give it, where programs told none.
    pub estimated: MicroUsd,
    /// Runs.
    pub runs: u64,
    /// Runs of which no cost is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_without_cost: u64,
    /// Runs of which not even tokens are known, or not all.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_not_counted: u64,
}

impl Spent {
    /// Adds a run.
    pub fn add(&mut self, bill: &Bill) {
        self.runs += 1;
        self.tokens = self.tokens.plus(bill.tokens.unwrap_or_default());
        match bill.cost {
            Some(cost) if bill.estimated => self.estimated = self.estimated.plus(cost),
            Some(cost) => self.cost = self.cost.plus(cost),
            None => self.runs_without_cost += 1,
        }
        if bill.tokens.is_none() || bill.partial {
            self.runs_not_counted += 1;
        }
    }

    /// Adds another sum.
    pub fn add_all(&mut self, other: &Self) {
        self.tokens = self.tokens.plus(other.tokens);
        self.cost = self.cost.plus(other.cost);
        self.estimated = self.estimated.plus(other.estimated);
        self.runs += other.runs;
        self.runs_without_cost += other.runs_without_cost;
        self.runs_not_counted += other.runs_not_counted;
    }

    /// What came since `earlier`, of the same sum.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            tokens: self.tokens.since(earlier.tokens).unwrap_or(self.tokens),
            cost: MicroUsd(self.cost.0.saturating_sub(earlier.cost.0)),
            estimated: MicroUsd(self.estimated.0.saturating_sub(earlier.estimated.0)),
            runs: self.runs.saturating_sub(earlier.runs),
            runs_without_cost: self
                .runs_without_cost
                .saturating_sub(earlier.runs_without_cost),
            runs_not_counted: self
                .runs_not_counted
                .saturating_sub(earlier.runs_not_counted),
        }
    }

    /// Cost, told and estimated.
    pub const fn usd(&self) -> MicroUsd {
        self.cost.plus(self.estimated)
    }

    /// Whether nothing was used.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, cached: u64, output: u64) -> Tokens {
        Tokens {
            input,
            cached,
            output,
            ..Tokens::default()
        }
    }

    #[test]
    fn dollars_are_written_as_people_read_them() {
        for (micros, text) in [
            (0, "$0.00"),
            (1, "$0.0001"),
            (5_340, "$0.0054"),
            (99_999, "$0.1000"),
            (100_000, "$0.10"),
            (1_234_999, "$1.23"),
            (1_235_000, "$1.24"),
            (12_000_000, "$12.00"),
        ] {
            assert_eq!(MicroUsd(micros).to_string(), text);
        }
        assert_eq!(MicroUsd::from_dollars(0.005_34), Some(MicroUsd(5_340)));
        for bad in [-1.0, f64::NAN, f64::INFINITY, 1e30] {
            assert_eq!(MicroUsd::from_dollars(bad), None);
        }
    }

    #[test]
    fn a_session_is_counted_once_over_its_runs() {
        let prices = BTreeMap::new();
        let usage = |input, cost| Usage {
            tokens: Some(tokens(input, 0, 1)),
            tokens_of: Scope::Session,
            cost: Some(MicroUsd(cost)),
            cost_of: Scope::Session,
            ..Usage::default()
        };
        let mut before = Counted::default();
        let mut spent = Spent::default();
        for (input, cost) in [(10, 100), (30, 150), (30, 150)] {
            let usage = usage(input, cost);
            spent.add(&usage.bill(before, &prices));
            before = usage.counted(before);
        }
        assert_eq!((spent.tokens.input, spent.cost), (30, MicroUsd(150)));
        // A smaller number is another count.
        let usage = usage(5, 20);
        let bill = usage.bill(before, &prices);
        assert_eq!(bill.tokens, Some(tokens(5, 0, 1)));
        assert_eq!(bill.cost, Some(MicroUsd(20)));
        assert_eq!(usage.counted(before).tokens, tokens(5, 0, 1));
    }

    #[test]
    fn prices_give_estimates_and_say_so() {
        let price = Price {
            input: 3_000_000,
            cached: 300_000,
            cache_written: 3_750_000,
            output: 15_000_000,
        };
        let prices = BTreeMap::from([("m".to_owned(), price)]);
        let mut usage = Usage {
            tokens: Some(tokens(1_000, 500, 100)),
            model: Some("m".into()),
            ..Usage::default()
        };
        let bill = usage.bill(Counted::default(), &prices);
        assert_eq!(bill.cost, Some(MicroUsd(3_000 + 150 + 1_500)));
        assert!(bill.estimated);
        usage.cost = Some(MicroUsd(7));
        let bill = usage.bill(Counted::default(), &prices);
        assert_eq!((bill.cost, bill.estimated), (Some(MicroUsd(7)), false));
        usage.cost = None;
        usage.model = Some("unknown".into());
        assert_eq!(usage.bill(Counted::default(), &prices).cost, None);
    }

    #[test]
    fn a_price_holds_for_every_version_of_its_model() {
        let pair = |name: &str| (name.to_owned(), Price::default());
        let names = ["opus-4-20250514", "sonnet-4", "sonnet-4-5"];
        let mut prices = BTreeMap::from(names.map(pair));
        for (model, holds) in [
            ("sonnet-4-5", true),
            ("sonnet-4-5-20250929", true),
            ("sonnet-4-5-latest", true),
            ("opus-4-20250514", true),
            ("opus-4", false),
            ("opus-4-20250101", false),
            ("sonnet-4-6", false),
            ("sonnet-4-5-fast", false),
            ("sonnet-4-5-2025092", false),
            ("sonnet-4-5-2025-09-29", true),
            ("sonnet-4-5-2025-09-2", false),
            ("sonnet-4-5-2025.09.29", false),
            ("sonnet-4-5é20250929", false),
            ("-20250929", false),
            ("-2025-09-29", false),
        ] {
            assert_eq!(price_of(&prices, model).is_some(), holds, "{model}");
        }
        // The longest name counts.
        let own = Price {
            input: 1,
            ..Price::default()
        };
        prices.insert("sonnet-4-5-20250929".to_owned(), own);
        assert_eq!(price_of(&prices, "sonnet-4-5-20250929"), Some(&own));
    }

    #[test]
    fn what_is_not_known_is_said() {
        let mut spent = Spent::default();
        spent.add(&Bill::default());
        spent.add(&Bill {
            tokens: Some(tokens(1, 0, 0)),
            partial: true,
            ..Bill::default()
        });
        assert_eq!((spent.runs_without_cost, spent.runs_not_counted), (2, 2));
        let mut all = Spent::default();
        all.add_all(&spent);
        assert_eq!(all, spent);
    }
}
