//! The first page: what needs a person, what agents do, the merge train, and what comes next.

mod empty;
mod last_lines;
mod rail;

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::ids::{AgentId, IdeaId};
use crate::domain::lifecycle::{AttemptPhase, MergePhase};
use crate::domain::scheduling;
use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, AgentView, MergeView, Outside, StatusView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::pages::needs::{self, Item};
use crate::web::parts::{capital, doing, dollars, icon, span, tinted, title, word};
use crate::web::touches::Touched;
use empty::Empty;
use rail::Rail;

/// Ideas in the list of what comes next.
const NEXT: usize = 6;
/// Entries of the merge train.
const FIRST: usize = 8;

/// What the page shows.
pub struct View {
    status: StatusView,
    needs: Vec<Item>,
    /// The titles of the ideas that the page names.
    titles: BTreeMap<IdeaId, String>,
    /// The last line of output of each agent, if it is known.
    last_lines: BTreeMap<AgentId, String>,
    next: Vec<Next>,
    ready: usize,
    waiting: usize,
    rail: Rail,
    empty: Option<Empty>,
}

/// An idea that has not begun.
struct Next {
    id: IdeaId,
    title: String,
    why: String,
    score: i64,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    let mut view = asked.read(View::of);
    if !asked.moment.is_past() {
        let agents = view.status.agents.iter();
        let runs = agents.filter_map(|agent| Some((agent.id.clone(), agent.runs.last()?.clone())));
        view.last_lines = last_lines::read(&asked.site.api.runs_dir, runs.collect()).await;
    }
    Ok(view)
}

impl View {
    fn of(state: &State) -> Self {
        let outside = Outside {
            pid: Some(std::process::id()),
            ..Outside::default()
        };
        let status = view::status(state, outside);
        let agents = status.agents.iter().map(|agent| &agent.idea_id);
        let named = agents.chain(status.merge_queue.iter().map(|entry| &entry.idea_id));
        let titled = |id: &IdeaId| {
            let idea = state.ideas.get(id)?;
            Some((id.clone(), title(&idea.text).to_owned()))
        };
        let pending = state.ideas.open();
        let pending = pending.filter(|(_, idea)| idea.status == IdeaStatus::Pending);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            pending.partition(|(_, idea)| scheduling::is_ready(state, idea));
        Self {
            needs: needs::items(state),
            titles: named.filter_map(titled).collect(),
            last_lines: BTreeMap::new(),
            next: next(state),
            ready: ready.len(),
            waiting: waiting.len(),
            rail: Rail::of(state, ready.len()),
            empty: state.ideas.is_empty().then(|| Empty::of(state)),
            status,
        }
    }

    fn title<'t>(&'t self, id: &'t IdeaId) -> &'t str {
        self.titles
            .get(id)
            .map_or_else(|| id.as_str(), String::as_str)
    }
}

fn next(state: &State) -> Vec<Next> {
    let line = scheduling::line(state).into_iter().take(NEXT);
    line.filter_map(|id| {
        let idea = state.ideas.get(id)?;
        let open = state.ideas.open();
        let dependents = open.filter(|(_, other)| other.after.contains(id)).count();
        Some(Next {
            id: id.clone(),
            title: title(&idea.text).to_owned(),
            why: why(state, id, dependents)?,
            score: scheduling::score(idea, i64::try_from(dependents).unwrap_or(i64::MAX)),
        })
    })
    .collect()
}

/// Why an idea stands where it stands.
fn why(state: &State, id: &IdeaId, dependents: usize) -> Option<String> {
    let idea = state.ideas.get(id)?;
    let not_done = |before: &&IdeaId| {
        let before = state.ideas.get(*before);
        before.is_some_and(|before| before.status != IdeaStatus::Done)
    };
    let before: Vec<&IdeaId> = idea.after.iter().filter(not_done).collect();
    if idea.held {
        return Some("held by you".to_owned());
    }
    if !before.is_empty() {
        return Some(format!("waits for {}", view::names(&before)));
    }
    let mut words = vec!["ready".to_owned()];
    if !scheduling::is_ready(state, idea) {
        words = vec!["waits for you to assign it".to_owned()];
    } else if idea.assigned {
        words.push("assigned by you".to_owned());
    }
    let known = ["critical", "quick-win"];
    let tags = idea.tags.iter().filter(|tag| known.contains(&tag.as_str()));
    words.extend(tags.cloned());
    if dependents > 0 {
        words.push(match dependents {
            1 => "1 idea waits for it".to_owned(),
            count => format!("{count} ideas wait for it"),
        });
    }
    if idea.priority != 0 {
        words.push(format!("priority {}", idea.priority));
    }
    match idea.failed_attempts {
        0 => {}
        1 => words.push("1 failed attempt".to_owned()),
        count => words.push(format!("{count} failed attempts")),
    }
    Some(words.join("; "))
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        let main = match &self.empty {
            Some(empty) => empty::draw(drawing, empty),
            None => main(drawing, self),
        };
        Page {
            title: "Overview".into(),
            place: Place::Overview,
            main,
        }
    }
}

fn main(drawing: &Drawing<'_>, view: &View) -> Markup {
    let all = Touched::NEEDS | Touched::AGENTS | Touched::TRAIN | Touched::IDEAS;
    let of_needs = Touched::NEEDS | Touched::IDEAS | Touched::TRAIN;
    let needs = html! {
        @if !view.needs.is_empty() {
            h2 .vh { "Needs you" }
            (needs::list(drawing, &view.needs))
        }
    };
    html! {
        (drawing.fragment("f-head", all, &head(drawing, view)))
        div .cols {
            div {
                (drawing.fragment("f-needs", of_needs, &needs))
                (drawing.fragment("f-agents", Touched::AGENTS, &agents(drawing, view)))
                (drawing.fragment("f-train", Touched::TRAIN, &train(drawing, view)))
                (drawing.fragment("f-next", Touched::IDEAS, &next_ideas(drawing, view)))
            }
            aside .rail aria-label="At a glance" {
                (rail::draw(drawing, &view.rail, &view.status))
            }
        }
    }
}

fn head(drawing: &Drawing<'_>, view: &View) -> Markup {
    let heading = match view.needs.len() {
        0 => "Nothing needs you".to_owned(),
        1 => "One thing needs you".to_owned(),
        count => format!("{} things need you", capital(&word(count))),
    };
    let done = view.status.ideas.get("done").copied().unwrap_or(0);
    let is_waiting = |agent: &&AgentView| agent.phase == AttemptPhase::WaitingForHuman;
    let waiting = view.status.agents.iter().filter(is_waiting).count();
    let is_working = |agent: &&AgentView| {
        !matches!(
            agent.phase,
            AttemptPhase::WaitingForHuman | AttemptPhase::ReadyToMerge
        )
    };
    let at_work = match view.status.agents.iter().filter(is_working).count() {
        0 => "No agent works".to_owned(),
        1 => "One agent works".to_owned(),
        count => format!("{} agents work", capital(&word(count))),
    };
    let waiting = match waiting {
        0 => String::new(),
        1 => " and one waits for your answer".to_owned(),
        count => format!(" and {} wait for your answer", word(count)),
    };
    html! {
        div .head { div {
            h1 { (heading) }
            p {
                (at_work) (waiting) ". "
                (capital(&word(done))) @if done == 1 { " idea is" } @else { " ideas are" } " done. "
                a href=(drawing.link("report")) { "What happened" }
            }
        } }
    }
}

fn agents(drawing: &Drawing<'_>, view: &View) -> Markup {
    let slots = view.status.slots;
    html! {
        section .sec {
            header {
                h2 { "Agents" } span { (slots.used) " of " (slots.max) " slots" }
                a .more href=(drawing.link("agents")) { "Open" }
            }
            @if view.status.agents.is_empty() {
                p .sub { "None at work." }
            } @else {
                div .card.clip { table .fix.stackable {
                    colgroup {
                        col width="84"; col; col width="190"; col width="76"; col width="72";
                    }
                    thead { tr {
                        th { "Agent" } th { "Idea and last line" } th { "Doing" }
                        th .num { "Time" } th .num { "Cost" }
                    } }
                    tbody { @for agent in &view.status.agents {
                        (agent_row(drawing, view, agent))
                    } }
                } }
            }
        }
    }
}

fn agent_row(drawing: &Drawing<'_>, view: &View, agent: &AgentView) -> Markup {
    let time = drawing.moment.time();
    let (shape, tone) = match agent.phase {
        AttemptPhase::WaitingForHuman => ("ask", "wait"),
        AttemptPhase::ReadyToMerge | AttemptPhase::Merged => ("half", "join"),
        AttemptPhase::Backoff | AttemptPhase::Queued => ("clock", "idle"),
        AttemptPhase::Failed => ("x", "bad"),
        AttemptPhase::Preparing
        | AttemptPhase::Starting
        | AttemptPhase::Working
        | AttemptPhase::Gating
        | AttemptPhase::Stopping
        | AttemptPhase::Released => ("run", "run"),
    };
    html! {
        tr #{ "row-" (agent.id) } {
            td .nw { a .t href=(drawing.link(&format!("agents/{}", agent.id))) { (agent.id) } }
            td .full {
                a .t.two href=(drawing.link(&format!("ideas/{}", agent.idea_id))) {
                    (view.title(&agent.idea_id))
                }
                @if let Some(line) = view.last_lines.get(&agent.id) {
                    code .two.dim { (line) }
                }
            }
            td {
                span .st {
                    (tinted(shape, tone)) " " (doing(agent.phase))
                    @if agent.iteration > 1 && agent.phase == AttemptPhase::Working {
                        ", iteration " (agent.iteration)
                    }
                }
                @if let Some(progress) = agent.progress {
                    svg .bar role="img" aria-label={ (progress) " percent" } {
                        rect width={ (progress) "%" } height="4" {}
                    }
                }
            }
            td .num { (span(time.since(agent.started_at))) }
            td .num { (agent.used.as_ref().and_then(dollars).unwrap_or_default()) }
        }
    }
}

fn train(drawing: &Drawing<'_>, view: &View) -> Markup {
    let branch = view.status.target.branch.as_deref().unwrap_or("the target");
    html! {
        section .sec {
            header {
                h2 { "Merge train" } span { "into " (branch) }
                a .more href=(drawing.link("train")) { "Open" }
            }
            @if view.status.merge_queue.is_empty() {
                p .sub { "Empty." }
            } @else {
                ol .card.train { @for (index, entry) in
                    view.status.merge_queue.iter().take(FIRST).enumerate() {
                    li #{ "train-" (entry.idea_id) } {
                        span .stop.held[entry.held].now[!entry.held] { (index + 1) }
                        div {
                            a .t href=(drawing.link(&format!("ideas/{}", entry.idea_id))) {
                                (view.title(&entry.idea_id))
                            }
                            " " span .id { (entry.idea_id) }
                            div .sub2 { (way(entry)) }
                        }
                    }
                } }
                @if view.status.merge_queue.len() > FIRST {
                    p .sub.sec2 { "And " (view.status.merge_queue.len() - FIRST) " more." }
                }
            }
        }
    }
}

/// Where an entry of the merge train is on its way.
fn way(entry: &MergeView) -> Markup {
    let steps = match entry.state {
        MergePhase::Building => Some(0),
        MergePhase::Verifying => Some(1),
        MergePhase::Landing => Some(2),
        MergePhase::Queued | MergePhase::Resolver | MergePhase::Person => None,
    };
    let words = match entry.state {
        MergePhase::Resolver => "an agent settles its conflict",
        MergePhase::Person => "has a conflict only you can settle",
        MergePhase::Queued | MergePhase::Building | MergePhase::Verifying | MergePhase::Landing => {
            "waits for its turn"
        }
    };
    html! {
        @if entry.held {
            span .c-wait { "waits for your review" }
        } @else if let Some(now) = steps {
            ol .steps { @for (index, step) in ["Build", "Check", "Land"].into_iter().enumerate() {
                li .is-done[index < now] .is-now[index == now]
                    aria-current=[(index == now).then_some("step")] {
                    @if index < now { (icon("ok")) } @else if index == now { (icon("half")) }
                    (step)
                }
            } }
        } @else { span { (words) } }
        @if let Some(reason) = &entry.reason { span .any { (reason) } }
    }
}

fn next_ideas(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        section .sec {
            header {
                h2 { "Next" }
                span { (view.ready) " ready, " (view.waiting) @if view.waiting == 1 { " waits" }
                    @else { " wait" } }
                a .more href=(drawing.link("ideas?status=pending")) { "All that wait" }
            }
            @if view.next.is_empty() {
                p .sub { "No idea waits." }
            } @else {
                div .card.clip { table .fix.stackable {
                    colgroup { col width="96"; col; col width="34%"; col width="64" .hide-s; }
                    thead { tr {
                        th { "Idea" } th { "What" } th { "Why here" } th .num.hide-s { "Score" }
                    } }
                    tbody { @for next in &view.next {
                        tr #{ "next-" (next.id) } {
                            td .nw { span .id { (next.id) } }
                            td .full {
                                a .t.two href=(drawing.link(&format!("ideas/{}", next.id))) {
                                    (next.title)
                                }
                            }
                            td .sub { span .two { (next.why) } }
                            td .num.hide-s { (next.score) }
                        }
                    } }
                } }
            }
        }
    }
}
