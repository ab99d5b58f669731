//! Which files of facts changed since. Git is asked again only if the target or the facts' evidence
//! have changed.

use std::sync::{Mutex, PoisonError};

use crate::daemon::memory::freshness::{self, SeenFiles};
use crate::domain::ids::Oid;
use crate::domain::state::State;
use crate::view::memory::Aged;
use crate::web::pages::WebError;
use crate::web::pages::asked::Asked;

/// The last answer, for open pages.
#[derive(Default)]
pub struct Freshness(Mutex<Option<(Question, Aged)>>);

/// What git is asked: files with the commits in which they were seen, and the target.
type Question = (Vec<SeenFiles>, Option<Oid>);

impl Freshness {
    fn known(&self, question: &Question) -> Option<Aged> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref().filter(|(asked, _)| asked == question);
        kept.map(|(_, aged)| aged.clone())
    }

    fn keep(&self, question: Question, aged: Aged) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((question, aged));
    }
}

/// The changed files of the moment's facts.
pub async fn aged(asked: &Asked<'_>) -> Result<Aged, WebError> {
    let question = |state: &State| (freshness::seen_files(state), freshness::target_of(state));
    let question = asked.read(question);
    let kept = &asked.site.freshness;
    if let Some(aged) = kept.known(&question) {
        return Ok(aged);
    }
    let root = asked.site.api.repo_root.clone();
    let look = move || {
        let (seen, target) = &question;
        let aged = freshness::aged_in(&root, seen, target.as_ref());
        (question, Aged::from(aged))
    };
    let looked = tokio::task::spawn_blocking(look).await;
    let (question, aged) = looked.map_err(|error| WebError::failed(error.to_string()))?;
    if !asked.moment.is_past() {
        kept.keep(question, aged.clone());
    }
    Ok(aged)
}
