//! The first page: what needs a person, what agents do, the merge train, and what comes next.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::domain::ids::IdeaId;
use crate::domain::lifecycle::MergePhase;
use crate::domain::scheduling;
use crate::domain::state::{IdeaStatus, State};
use crate::view::{self, NeedsYou, Outside, StatusView};
use crate::web::document::{Drawing, Page, Place};
use crate::web::pages::WebError;
use crate::web::pages::asked::{Asked, Ready};
use crate::web::parts::{
    capital, clock, commands, doing, dollars, icon, label, look, many, span, tinted, title, tokens,
    word,
};
use crate::web::touches::Touched;

/// Ideas in the list of what comes next.
const NEXT: usize = 6;

/// What the page shows.
pub struct View {
    status: StatusView,
    /// The texts of the ideas that the page names.
    texts: BTreeMap<IdeaId, String>,
    next: Vec<Next>,
    ready: usize,
    waiting: usize,
    checkpoint: Option<(String, crate::domain::time::Timestamp)>,
}

struct Next {
    id: IdeaId,
    text: String,
    why: String,
}

/// Loads it.
pub async fn load(asked: &Asked<'_>) -> Result<View, WebError> {
    Ok(asked.read(View::of))
}

impl View {
    fn of(state: &State) -> Self {
        let outside = Outside {
            pid: Some(std::process::id()),
            ..Outside::default()
        };
        let status = view::status(state, outside);
        let named = status
            .needs_you
            .iter()
            .filter_map(|need| need.idea_id.clone());
        let named = named
            .chain(status.agents.iter().map(|agent| agent.idea_id.clone()))
            .chain(status.merge_queue.iter().map(|entry| entry.idea_id.clone()));
        let text = |id: IdeaId| {
            let text = state.ideas.get(&id)?.text.to_string();
            Some((id, text))
        };
        let pending = state.ideas.open();
        let pending = pending.filter(|(_, idea)| idea.status == IdeaStatus::Pending);
        let (ready, waiting): (Vec<_>, Vec<_>) =
            pending.partition(|(_, idea)| scheduling::is_ready(state, idea));
        let newest = state
            .checkpoints
            .iter()
            .max_by_key(|(_, one)| one.created_at);
        Self {
            texts: named.filter_map(text).collect(),
            next: next(state),
            ready: ready.len(),
            waiting: waiting.len(),
            checkpoint: newest.map(|(name, one)| (name.to_string(), one.created_at)),
            status,
        }
    }

    fn title(&self, id: &IdeaId) -> String {
        let text = self.texts.get(id).map(String::as_str);
        text.map_or_else(|| id.to_string(), |text| title(text).to_owned())
    }
}

fn next(state: &State) -> Vec<Next> {
    let line = scheduling::line(state).into_iter().take(NEXT);
    line.filter_map(|id| {
        let idea = state.ideas.get(id)?;
        let is_done = |before: &&IdeaId| {
            let before = state.ideas.get(*before);
            before.is_some_and(|before| before.status == IdeaStatus::Done)
        };
        let before: Vec<&str> = idea
            .after
            .iter()
            .filter(|before| !is_done(before))
            .map(IdeaId::as_str)
            .collect();
        let why = if idea.held {
            "held by you".to_owned()
        } else if before.is_empty() {
            "ready".to_owned()
        } else {
            format!("waits for {}", before.join(", "))
        };
        Some(Next {
            id: id.clone(),
            text: idea.text.to_string(),
            why,
        })
    })
    .collect()
}

impl Ready for View {
    fn page(&self, drawing: &Drawing<'_>) -> Page {
        page(drawing, self)
    }
}

fn page(drawing: &Drawing<'_>, view: &View) -> Page {
    let all = Touched::NEEDS | Touched::AGENTS | Touched::TRAIN | Touched::IDEAS;
    let main = html! {
        (drawing.fragment("f-head", all, &head(view)))
        div .cols {
            div {
                (drawing.fragment("f-needs", Touched::NEEDS | Touched::IDEAS, &needs(drawing, view)))
                (drawing.fragment("f-agents", Touched::AGENTS, &agents(drawing, view)))
                (drawing.fragment("f-train", Touched::TRAIN, &train(drawing, view)))
                (drawing.fragment("f-next", Touched::IDEAS, &next_ideas(drawing, view)))
            }
            aside .rail aria-label="At a glance" {
                (drawing.fragment("f-ideas", Touched::IDEAS, &ideas(drawing, view)))
                (drawing.fragment("f-spent", Touched::COST, &spent(view)))
                (drawing.fragment("f-last", Touched::CHECKPOINTS, &checkpoint(drawing, view)))
                (drawing.fragment("f-warnings", Touched::STATUS, &warnings(view)))
            }
        }
    };
    Page {
        title: "Overview".into(),
        place: Place::Overview,
        main,
    }
}

fn head(view: &View) -> Markup {
    let needs = view.status.needs_you.len();
    let heading = match needs {
        0 => "Nothing needs you".to_owned(),
        1 => "One thing needs you".to_owned(),
        _ => format!("{} things need you", capital(&word(needs))),
    };
    let done = view.status.ideas.get("done").copied().unwrap_or(0);
    let at_work = match view.status.agents.len() {
        0 => "No agent works".to_owned(),
        1 => "One agent works".to_owned(),
        count => format!("{} agents work", capital(&word(count))),
    };
    html! {
        div .head { div {
            h1 { (heading) }
            p { (at_work) ". " (capital(&word(done))) @if done == 1 { " idea is" } @else { " ideas are" }
                " done." }
        } }
    }
}

fn needs(drawing: &Drawing<'_>, view: &View) -> Markup {
    if view.status.needs_you.is_empty() {
        return html! {};
    }
    html! {
        h2 .vh { "Needs you" }
        ul .card.needs {
            @for need in &view.status.needs_you { li { (need_item(drawing, view, need)) } }
        }
    }
}

fn need_item(drawing: &Drawing<'_>, view: &View, need: &NeedsYou) -> Markup {
    let (shape, words) = match need.kind {
        "question" => ("ask", "asks you"),
        "review" => ("eye", "is ready to land"),
        "conflict" => ("fork", "has a conflict only you can settle"),
        "merge" | "checkout" => ("half", "cannot land"),
        "blocked" => ("stopped", "is blocked"),
        "failed" => ("x", "failed"),
        "target" => ("warn", "The target needs you"),
        "account" => ("clock", "An account needs you"),
        "paused" => ("pause", "Paused"),
        _ => ("warn", "Needs you"),
    };
    let is_past = drawing.moment.is_past();
    html! {
        (tinted(shape, "wait"))
        h3 {
            @match &need.idea_id {
                Some(id) => {
                    a href=(drawing.link(&format!("ideas/{id}"))) { (view.title(id)) " " (words) }
                    " " span .id { (id) }
                }
                None => (words),
            }
        }
        div .what { (need.message) }
        @if !is_past && need.kind == "question" && let Some(id) = &need.idea_id
            && let Some(agent) = view.status.agents.iter().find(|one| one.idea_id == *id) {
            div .do { (drawing.form(&format!("do/say/{}", agent.id), &html! {
                input name="text" required aria-label={ "Answer to " (agent.id) }
                    placeholder="Answer; it goes on at once";
                button .b.pri { "Send" }
            })) }
        } @else if !is_past && need.kind == "review" && let Some(id) = &need.idea_id {
            div .acts { a .b href=(drawing.link(&format!("ideas/{id}"))) { "Review" } }
        } @else if !need.commands.is_empty() {
            (commands(&need.commands))
        }
    }
}

fn agents(drawing: &Drawing<'_>, view: &View) -> Markup {
    let time = drawing.moment.time();
    let slots = view.status.slots;
    html! {
        section .sec {
            header { h2 { "Agents" } span { (slots.used) " of " (slots.max) " slots" } }
            @if view.status.agents.is_empty() {
                p .sub { "None at work." }
            } @else {
                div .card.clip { table .fix.stackable {
                    colgroup { col width="84"; col; col width="190"; col width="76"; col width="72"; }
                    thead { tr {
                        th { "Agent" } th { "Idea" } th { "Doing" } th .num { "Time" }
                        th .num { "Cost" }
                    } }
                    tbody { @for agent in &view.status.agents {
                        tr #{ "row-" (agent.id) } {
                            td .nw { (agent.id) }
                            td .full {
                                a .t.two href=(drawing.link(&format!("ideas/{}", agent.idea_id))) {
                                    (view.title(&agent.idea_id))
                                }
                            }
                            td {
                                span .st {
                                    (tinted("run", "run")) " " (doing(agent.phase))
                                    @if agent.iteration > 1 { ", iteration " (agent.iteration) }
                                }
                                @if let Some(progress) = agent.progress {
                                    svg .bar aria-hidden="true" {
                                        rect width={ (progress) "%" } height="4" {}
                                    }
                                }
                            }
                            td .num { (span(time.since(agent.started_at))) }
                            td .num { (agent.used.as_ref().and_then(dollars).unwrap_or_default()) }
                        }
                    } }
                } }
            }
        }
    }
}

fn train(drawing: &Drawing<'_>, view: &View) -> Markup {
    let branch = view.status.target.branch.as_deref().unwrap_or("the target");
    html! {
        section .sec {
            header { h2 { "Merge train" } span { "into " (branch) } }
            @if view.status.merge_queue.is_empty() {
                p .sub { "Empty." }
            } @else {
                ol .card.train { @for (index, entry) in view.status.merge_queue.iter().enumerate() {
                    li {
                        span .stop.held[entry.held].now[!entry.held] { (index + 1) }
                        div {
                            a .t href=(drawing.link(&format!("ideas/{}", entry.idea_id))) {
                                (view.title(&entry.idea_id))
                            }
                            " " span .id { (entry.idea_id) }
                            div .sub2 {
                                @if entry.held { span .c-wait { "waits for your review" } }
                                @else { span { (step(entry.state)) } }
                                @if let Some(reason) = &entry.reason { ": " (reason) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

fn step(phase: MergePhase) -> &'static str {
    match phase {
        MergePhase::Queued => "waits for its turn",
        MergePhase::Building => "is being merged",
        MergePhase::Resolver => "an agent settles its conflict",
        MergePhase::Person => "has a conflict only you can settle",
        MergePhase::Verifying => "is being checked",
        MergePhase::Landing => "is landing",
    }
}

fn next_ideas(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        section .sec {
            header {
                h2 { "Next" }
                span { (view.ready) " ready, " (view.waiting) " wait for others" }
                a .more href=(drawing.link("ideas")) { "All ideas" }
            }
            @if view.next.is_empty() {
                p .sub { "No idea waits." }
            } @else {
                div .card.clip { table .fix.stackable {
                    colgroup { col width="96"; col; col width="34%"; }
                    thead { tr { th { "Idea" } th { "What" } th { "Why here" } } }
                    tbody { @for next in &view.next {
                        tr #{ "next-" (next.id) } {
                            td .nw { span .id { (next.id) } }
                            td .full {
                                a .t.two href=(drawing.link(&format!("ideas/{}", next.id))) {
                                    (title(&next.text))
                                }
                            }
                            td .sub { span .two { (next.why) } }
                        }
                    } }
                } }
            }
        }
    }
}

fn ideas(drawing: &Drawing<'_>, view: &View) -> Markup {
    let counted = IdeaStatus::ALL.map(|status| {
        let count = view.status.ideas.get(status.as_str()).copied().unwrap_or(0);
        (status, count)
    });
    let all: usize = counted.iter().map(|(_, count)| count).sum();
    html! {
        section {
            h2 { (many(all, "idea")) }
            ul .legend { @for (status, count) in counted.iter().filter(|(_, count)| *count > 0) {
                @let (shape, tone) = look(*status);
                li {
                    (tinted(shape, tone))
                    a href=(drawing.link(&format!("ideas?status={}", status.as_str()))) {
                        (label(*status))
                    }
                    span { (count) }
                }
            } }
        }
    }
}

fn spent(view: &View) -> Markup {
    let Some(today) = &view.status.used_today else {
        return html! {};
    };
    html! {
        section {
            h2 { (dollars(&today.used).unwrap_or_else(|| "Cost not known".into())) " "
                span .dim { "on " (today.day) } }
            @if let Some(tokens) = tokens(&today.used) { p .dim { (tokens) } }
        }
    }
}

fn checkpoint(drawing: &Drawing<'_>, view: &View) -> Markup {
    html! {
        section {
            h2 { "Last checkpoint" }
            @match &view.checkpoint {
                Some((name, at)) => p .sub {
                    a href=(drawing.link("checkpoints")) { (name) } ", " (clock(*at))
                },
                None => p .sub { "None yet." },
            }
        }
    }
}

fn warnings(view: &View) -> Markup {
    html! {
        @if !view.status.warnings.is_empty() {
            section {
                h2 { "Warnings" }
                ul .list { @for warning in &view.status.warnings {
                    li { (icon("warn")) div .grow { (warning.message) (commands(&warning.commands)) } }
                } }
            }
        }
    }
}
