//! The form of an idea: what is typed into it, and its fields.

use maud::{Markup, html};

use crate::domain::ids::{IdeaId, ProfileName};
use crate::domain::operation::{IdeaEdit, NewIdea};
use crate::domain::state::State;
use crate::view::IdeaView;
use crate::web::pages::WebError;
use crate::web::pages::asked::Query;

/// What was typed, as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed {
    text: String,
    priority: String,
    tags: String,
    after: String,
    profile: String,
    review: bool,
    several: bool,
}

/// What can be chosen.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    profiles: Vec<ProfileName>,
    default: Option<ProfileName>,
}

impl Choices {
    /// From the settings.
    pub fn of(state: &State) -> Self {
        let settings = state.settings.as_deref();
        settings.map_or_else(Self::default, |settings| Self {
            profiles: settings.profiles.clone(),
            default: Some(settings.default_profile.clone()),
        })
    }
}

impl Typed {
    /// From a form, or from the query of an address that fills it in.
    pub fn of(filled: &Query) -> Self {
        let text = |name: &str| {
            let text = filled.get(name).unwrap_or_default();
            text.replace("\r\n", "\n").trim().to_owned()
        };
        let all = |name: &str| filled.all(name).collect::<Vec<_>>().join(", ");
        Self {
            text: text("text"),
            priority: text("priority"),
            tags: all("tags"),
            after: all("after"),
            profile: text("profile"),
            review: filled.get("review").is_some(),
            several: filled.get("several").is_some(),
        }
    }

    /// As the idea is.
    pub fn as_it_is(idea: &IdeaView) -> Self {
        let after: Vec<&str> = idea.after.iter().map(IdeaId::as_str).collect();
        Self {
            text: idea.content.clone(),
            priority: idea.priority.to_string(),
            tags: idea.tags.join(", "),
            after: after.join(", "),
            ..Self::default()
        }
    }

    /// The ideas to add: one, or several between lines of `---`.
    pub(super) fn new_ideas(&self) -> Result<Vec<NewIdea>, WebError> {
        let texts = if self.several {
            parted(&self.text)
        } else {
            vec![self.text.clone()]
        };
        let idea = NewIdea {
            text: String::new(),
            after: self.after()?,
            tags: self.tags(),
            priority: self.priority()?,
            profile: profile(&self.profile)?,
            inbox: None,
            review: self.review,
            imported: None,
        };
        let of_text = |text| NewIdea {
            text,
            ..idea.clone()
        };
        Ok(texts.into_iter().map(of_text).collect())
    }

    /// The changes to make: all fields, as the form shows all.
    pub(super) fn edit(&self) -> Result<IdeaEdit, WebError> {
        Ok(IdeaEdit {
            text: Some(self.text.clone()),
            after: Some(self.after()?),
            tags: Some(self.tags()),
            priority: Some(self.priority()?),
        })
    }

    fn after(&self) -> Result<Vec<IdeaId>, WebError> {
        let mut after = Vec::new();
        for word in words(&self.after) {
            let id = match word.parse::<u64>() {
                Ok(number) => IdeaId::numbered(number),
                Err(_) => word.parse().map_err(|_| {
                    let message = format!("`{word}` is no idea; ids look like this: idea-001");
                    WebError::bad(message)
                })?,
            };
            if !after.contains(&id) {
                after.push(id);
            }
        }
        Ok(after)
    }

    fn tags(&self) -> Vec<String> {
        let tags = self.tags.split([',', '\n']).map(str::trim);
        tags.filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn priority(&self) -> Result<i64, WebError> {
        if self.priority.is_empty() {
            return Ok(0);
        }
        let number = self.priority.parse();
        number.map_err(|_| WebError::bad(format!("`{}` is no whole number", self.priority)))
    }
}

/// A profile's name; `None` for the usual one.
pub(super) fn profile(text: &str) -> Result<Option<ProfileName>, WebError> {
    if text.is_empty() {
        return Ok(None);
    }
    let name = text.parse();
    name.map(Some)
        .map_err(|_| WebError::bad(format!("`{text}` is no profile")))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([',', ' ', '\n', '\t']);
    words.filter(|word| !word.is_empty())
}

fn parted(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    let parts = parts.into_iter().map(|part| part.trim().to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

/// What an idea should say.
pub fn hint() -> Markup {
    html! {
        p { "One small, well-described piece of work, said as you would to a colleague. The first \
            line is its title." }
    }
}

/// The fields of a new idea.
pub fn add_fields(typed: &Typed, choices: &Choices) -> Markup {
    html! {
        (text_field(typed))
        label .tick {
            input type="checkbox" name="several" value="yes" checked[typed.several];
            span { "Several ideas, separated by lines of " code { "---" } }
        }
        (number_and_lists(typed))
        div .field {
            label for="profile" { "Agent profile" }
            select #profile name="profile" {
                option value="" {
                    "the default"
                    @if let Some(default) = &choices.default { " (" (default) ")" }
                }
                @for profile in &choices.profiles {
                    option value=(profile) selected[profile.as_str() == typed.profile] { (profile) }
                }
            }
        }
        label .tick {
            input type="checkbox" name="review" value="yes" checked[typed.review];
            span { "Land it only after my review" }
        }
    }
}

/// The fields of an idea that is edited.
pub fn edit_fields(typed: &Typed) -> Markup {
    html! {
        (text_field(typed))
        (number_and_lists(typed))
    }
}

fn text_field(typed: &Typed) -> Markup {
    html! {
        label for="text" { "What to do" }
        textarea #text name="text" rows="8" required autofocus { "\n" (typed.text) }
    }
}

fn number_and_lists(typed: &Typed) -> Markup {
    html! {
        div .fields {
            div .field {
                label for="priority" { "Priority" }
                input #priority name="priority" inputmode="numeric" pattern="-?[0-9]+"
                    value=(typed.priority) placeholder="0" aria-describedby="priority-hint";
                p #priority-hint .dim { "Added to its score; may be negative." }
            }
            div .field {
                label for="tags" { "Tags" }
                input #tags name="tags" value=(typed.tags) placeholder="docs, critical"
                    aria-describedby="tags-hint";
                p #tags-hint .dim { code { "critical" } " and " code { "quick-win" } " raise it." }
            }
            div .field {
                label for="after" { "After" }
                input #after name="after" value=(typed.after) placeholder="idea-001, idea-002"
                    aria-describedby="after-hint";
                p #after-hint .dim { "Ideas that must be done first." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_becomes_an_idea() {
        let form = "text=Add+a+page%0D%0A%0D%0Awith+hours&priority=-5&tags=docs,+critical\
                    &after=3+idea-007,3&profile=ed&review=yes";
        let ideas = Typed::of(&Query::of(form)).new_ideas().unwrap();
        let [idea] = ideas.as_slice() else {
            panic!("{ideas:?}");
        };
        assert_eq!(idea.text, "Add a page\n\nwith hours");
        assert_eq!((idea.priority, idea.review), (-5, true));
        assert_eq!(idea.tags, ["docs", "critical"]);
        let after: Vec<&str> = idea.after.iter().map(IdeaId::as_str).collect();
        assert_eq!(after, ["idea-003", "idea-007"]);
        assert_eq!(idea.profile.as_ref().unwrap().as_str(), "ed");
    }

    #[test]
    fn lines_of_dashes_part_several_ideas_only_if_wanted() {
        let form = "text=one%0A---%0A%0A---%0Atwo%0Amore";
        let one = Typed::of(&Query::of(form)).new_ideas().unwrap();
        assert_eq!(one.len(), 1);
        let form = format!("{form}&several=yes");
        let two = Typed::of(&Query::of(&form)).new_ideas().unwrap();
        let texts: Vec<&str> = two.iter().map(|idea| idea.text.as_str()).collect();
        assert_eq!(texts, ["one", "two\nmore"]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_its_name() {
        for (form, named) in [("priority=high", "high"), ("after=X+y", "X")] {
            let error = Typed::of(&Query::of(form)).new_ideas().unwrap_err();
            assert!(error.refusal().message.contains(named));
        }
    }
}
