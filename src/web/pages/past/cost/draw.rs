//! Draws what was spent: a chart of the hours, and all numbers as a table.

use maud::{Markup, html};

use super::{By, Row, Unit, View, What};
use crate::domain::time::Timestamp;
use crate::domain::usage::{MicroUsd, Spent};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::asked::Ready;
use crate::web::pages::past::{READING, pick};
use crate::web::parts::{local, short_count};
use crate::web::touches::Touched;

/// Hours of the chart.
const HOURS: u32 = 48;
/// Its height, and that of the space for its bars.
const HEIGHT: (f64, f64) = (160.0, 130.0);
/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let content = html! {
            (today(self))
            @if self.by == By::Hour { (chart(self)) }
            (table(drawing, self))
        };
        let main = html! {
            div .head {
                div { h1 { "Cost" } p { (total(self)) } }
                div .acts { (choices(drawing, self)) }
            }
            @if self.is_ready { (drawing.fragment("f-cost", Touched::COST, &content)) } @else {
                p .note role="status" { (READING) }
            }
        };
        Page {
            title: "Cost".into(),
            place: Place::Cost,
            main,
        }
    }
}

fn choices(drawing: &Drawing<'_>, view: &View) -> Markup {
    let link =
        |name: &str, value: &str| drawing.link(&format!("cost?{}", pick(&view.query, name, value)));
    let by = match view.by {
        By::Hour => "hour",
        By::Idea => "idea",
        By::Profile => "profile",
        By::Model => "model",
    };
    let current = |is: bool| is.then_some("true");
    let is_tokens = view.unit == Unit::Tokens;
    html! {
        nav .seg aria-label="Rows" { @for one in ["hour", "idea", "profile", "model"] {
            a href=(link("by", one)) aria-current=[current(one == by)] { "By " (one) }
        } }
        nav .seg aria-label="Unit" {
            a href=(link("unit", "usd")) aria-current=[current(!is_tokens)] { "Dollars" }
            a href=(link("unit", "tokens")) aria-current=[current(is_tokens)] { "Tokens" }
        }
    }
}

/// The total, each kind of knowledge for itself.
fn total(view: &View) -> String {
    let spent = &view.total;
    if spent.runs == 0 {
        return "Nothing was spent yet.".to_owned();
    }
    match view.unit {
        Unit::Dollars => {
            let unknown = match spent.runs_without_cost {
                0 => "nothing unknown".to_owned(),
                runs => format!("not known for {}", runs_of(runs)),
            };
            format!(
                "{} told by agents' programs, {} estimated, {unknown}, of {}.",
                spent.cost,
                spent.estimated,
                runs_of(spent.runs)
            )
        }
        Unit::Tokens => {
            let missing = match spent.runs_not_counted {
                0 => String::new(),
                runs => format!(", incomplete for {}", runs_of(runs)),
            };
            let tokens = short_count(spent.tokens.total());
            format!("{tokens} tokens in {}{missing}.", runs_of(spent.runs))
        }
    }
}

fn runs_of(count: u64) -> String {
    match count {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    }
}

/// Today beside the budget of a day.
fn today(view: &View) -> Markup {
    let today = &view.today;
    let budget = view.budget.usd_per_day;
    let share = |part: MicroUsd| {
        let whole = budget
            .map_or(1, |budget| budget.0)
            .max(1)
            .max(today.usd().0);
        percent(part.0, whole)
    };
    html! {
        section .sec {
            h2 { "Today, " (view.day) " (UTC)" }
            p {
                (today.cost) " told, " (today.estimated) " estimated"
                @if today.runs_without_cost > 0 {
                    ", not known for " (runs_of(today.runs_without_cost))
                }
                @match budget {
                    Some(budget) => { ". The budget of a day is " b { (budget) } "." }
                    None => { ". There is no budget of a day." }
                }
            }
            @if let Some(budget) = budget {
                svg .hours height="14" aria-hidden="true" {
                    rect .told width={ (share(today.cost)) "%" } height="10" {}
                    rect .guess x={ (share(today.cost)) "%" } width={ (share(today.estimated)) "%" }
                        height="10" {}
                    line .limit x1={ (share(budget)) "%" } x2={ (share(budget)) "%" } y2="14" {}
                }
            }
        }
    }
}

fn tenths(length: f64) -> String {
    format!("{length:.1}")
}

#[expect(clippy::cast_precision_loss, reason = "for drawing")]
fn percent(part: u64, whole: u64) -> String {
    format!("{:.2}", part as f64 * 100.0 / whole.max(1) as f64)
}

/// The last hours; the table has the same numbers.
#[expect(clippy::cast_precision_loss, reason = "for drawing")]
fn chart(view: &View) -> Markup {
    let Some(last) = view.rows.first().and_then(hour) else {
        return html! {};
    };
    let first = last.plus_millis(-HOUR * (i64::from(HOURS) - 1));
    let shown: Vec<(i64, &Spent)> = view
        .rows
        .iter()
        .filter_map(|row| Some((hour(row)?.since(first) / HOUR, &row.spent)))
        .filter(|(index, _)| *index >= 0)
        .collect();
    let parts = |spent: &Spent| match view.unit {
        Unit::Dollars => (spent.cost.0, spent.estimated.0),
        Unit::Tokens => (spent.tokens.total(), 0),
    };
    let most = shown
        .iter()
        .map(|(_, spent)| parts(spent))
        .map(|(one, two)| one + two)
        .max();
    let most = most.unwrap_or(0).max(1);
    let height = |part: u64| part as f64 * HEIGHT.1 / most as f64;
    let width = 100.0 / f64::from(HOURS);
    html! {
        section .sec {
            h2 { "The last " (HOURS) " hours" }
            svg .hours aria-hidden="true" {
                @for (index, spent) in &shown {
                    @let (told, guess) = parts(spent);
                    (bar(*index as f64 * width, width, (height(told), height(guess)), spent))
                }
                line .base x2="100%" y1=(HEIGHT.1) y2=(HEIGHT.1) {}
                @for index in (0..HOURS).step_by(6) {
                    text x={ (format!("{:.2}", f64::from(index) * width)) "%" } y=(HEIGHT.1 + 16.0)
                        .hide-s[index % 12 != 0] {
                        (local(first.plus_millis(HOUR * i64::from(index)), "%a %H:%M"))
                    }
                }
            }
            ul .keys {
                @for (class, words) in [("told", "Told"), ("guess", "Estimated"),
                    ("unknown", "Cost of a run not known")] {
                    li { svg aria-hidden="true" { rect class=(class) width="16" {} } (words) }
                }
            }
        }
    }
}

fn bar(left: f64, width: f64, (told, guess): (f64, f64), spent: &Spent) -> Markup {
    let x = format!("{:.2}%", left + width * 0.1);
    let wide = format!("{:.2}%", width * 0.8);
    let rect = |class: &str, above: f64, height: f64| {
        html! {
            @if height > 0.0 {
                rect class=(class) x=(x) width=(wide)
                    y=(tenths(HEIGHT.1 - above - height)) height=(tenths(height)) {}
            }
        }
    };
    html! {
        (rect("told", 0.0, told))
        (rect("guess", told, guess))
        @if spent.runs_without_cost > 0 { (rect("unknown", told + guess, 8.0)) }
    }
}

fn hour(row: &Row) -> Option<Timestamp> {
    match &row.what {
        What::Hour(hour) => Some(*hour),
        What::Idea(..) | What::Name(_) => None,
    }
}

fn table(drawing: &Drawing<'_>, view: &View) -> Markup {
    let head: &[&str] = match view.unit {
        Unit::Dollars => &["Told", "Estimated", "Not known", "Runs"],
        Unit::Tokens => &[
            "Input",
            "From the cache",
            "Into the cache",
            "Output",
            "Incomplete",
        ],
    };
    let what = match view.by {
        By::Hour => "Hour",
        By::Idea => "Idea",
        By::Profile => "Profile",
        By::Model => "Model",
    };
    html! {
        section .sec {
            h2 { "In numbers" }
            @if view.rows.is_empty() && view.rest.is_empty() {
                p .sub { "No run has ended yet." }
            } @else { div .card.clip { table .stackable {
                thead { tr { th { (what) } @for one in head { th .num { (one) } } } }
                tbody {
                    @for row in &view.rows { tr {
                        td .full { (label(drawing, &row.what)) }
                        (numbers(view.unit, &row.spent))
                    } }
                    @for (words, spent) in &view.rest { tr {
                        td .full { span .sub { (words) } }
                        (numbers(view.unit, spent))
                    } }
                    tr { th scope="row" { "All" } (numbers(view.unit, &view.total)) }
                }
            } } }
        }
    }
}

fn label(drawing: &Drawing<'_>, what: &What) -> Markup {
    html! { @match what {
        What::Hour(hour) => time datetime=(hour.to_string()) { (local(*hour, "%Y-%m-%d %H:%M")) },
        What::Idea(id, title) => {
            span .id { (id) } " "
            a .t.two href=(drawing.link(&format!("ideas/{id}"))) { (title) }
        },
        What::Name(name) => span .two { (name) },
    } }
}

fn numbers(unit: Unit, spent: &Spent) -> Markup {
    let tokens = &spent.tokens;
    html! { @match unit {
        Unit::Dollars => {
            td .num { (spent.cost) }
            td .num { (spent.estimated) }
            td .num { @if spent.runs_without_cost > 0 { (runs_of(spent.runs_without_cost)) }
                @else { "–" } }
            td .num { (spent.runs) }
        },
        Unit::Tokens => {
            @for count in [tokens.input, tokens.cached, tokens.cache_written, tokens.output] {
                td .num { (short_count(count)) }
            }
            td .num { @if spent.runs_not_counted > 0 { (runs_of(spent.runs_not_counted)) }
                @else { "–" } }
        },
    } }
}
