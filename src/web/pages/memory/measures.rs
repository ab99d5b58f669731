//! What the memory is worth, at the moment of the page.
//!
//! Invariant: it is no live part of the page. Nearly every event changes some figure, and nobody
//! watches them; loading the page again shows the new ones.

use std::time::Duration;

use maud::{Markup, html};

use super::freshness;
use crate::view::memory::{StatsView, stats, summary};
use crate::web::pages::WebError;
use crate::web::pages::asked::Asked;
use crate::web::pages::past::READING;

/// How long the page waits for the log to be read; the reading goes on without it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Measures; `None` while the log is being read.
pub async fn load(asked: &Asked<'_>) -> Result<Option<StatsView>, WebError> {
    if asked.is_update {
        return Ok(None);
    }
    let api = &asked.site.api;
    let seq = asked.read(|state| state.seq);
    let reading = api.measured.at(&api.log, seq);
    let Ok(read) = tokio::time::timeout(PATIENCE, reading).await else {
        return Ok(None);
    };
    let measures = read.map_err(|error| WebError::failed(error.to_string()))?;
    let aged = freshness::aged(asked).await?;
    let is_past = asked.moment.is_past();
    let counts = (!is_past).then(|| api.handle.tally().since_start());
    let measure = |state: &_| stats(state, &aged, &measures, counts);
    Ok(Some(asked.read(measure)))
}

/// Draws them.
pub fn section(stats: Option<&StatsView>) -> Markup {
    html! {
        section #measures .sec aria-labelledby="measures-title" {
            header { h2 #measures-title { "Measures" } }
            @match stats {
                None => p .sub role="note" { (READING) },
                Some(stats) => ul .sides.worth {
                    @for measure in summary(stats) {
                        li .card.cp-note {
                            h3 { (measure.title) }
                            p .sub { (measure.meaning) }
                            dl .facts {
                                @for (name, value) in &measure.figures {
                                    dt { (name) } dd { (value) }
                                }
                            }
                        }
                    }
                },
            }
        }
    }
}
