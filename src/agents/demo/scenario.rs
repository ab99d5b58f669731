//! The demo's repository and backlog, as data.
//!
//! Invariants: the initial files pass the check. An idea waits only for earlier ones, so every
//! prefix of the backlog is valid. No two ideas change the same lines, except the pair meant to
//! conflict.

/// A file of the demo's initial repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoFile {
    /// Path in the repository.
    pub path: &'static str,
    /// Content of the file.
    pub content: &'static str,
    /// Whether the file is executable.
    pub executable: bool,
}

/// An idea of the demo's backlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoIdea {
    /// Text; the first line is the title.
    pub text: String,
    /// The ideas it waits for, by position in the backlog, from 1.
    pub after: Vec<usize>,
    /// Tags.
    pub tags: Vec<&'static str>,
}

/// Quality command of the demo's repository.
pub const CHECK: &str = "./check.sh";

/// The demo's initial repository.
pub const FILES: &[DemoFile] = &[
    DemoFile {
        path: "README.md",
        content: "# Corner Bakery\n\nThe pages of a small web site, as text. `./check.sh` checks \
            them.\n",
        executable: false,
    },
    DemoFile {
        path: "check.sh",
        content: CHECK_SCRIPT,
        executable: true,
    },
    DemoFile {
        path: "pages/home.txt",
        content: "title: Corner Bakery\n\nWe bake on Mill Street.\n\nFresh bread every \
            day.\n\nlink: about\n",
        executable: false,
    },
    DemoFile {
        path: "pages/about.txt",
        content: "title: About us\n\nThree generations, one oven.\n\nlink: home\n",
        executable: false,
    },
];

/// Needs only a POSIX shell.
const CHECK_SCRIPT: &str = r#"#!/bin/sh
# Each page starts with a title, each link leads to a page, and lines are short.
complaints=0
pages=0

complain() {
    echo "not ok: $page: $1"
    complaints=$((complaints + 1))
}

check_line() {
    case $1 in
        "<<<<<<< "* | ">>>>>>> "*) complain "a conflict marker remains" ;;
        "link: "*)
            [ -f "pages/${1#link: }.txt" ] || complain "the link to '${1#link: }' leads nowhere"
            ;;
    esac
    [ ${#1} -le 60 ] || complain "a line is longer than 60 characters"
}

for page in pages/*.txt; do
    pages=$((pages + 1))
    title=missing
    while IFS= read -r line || [ -n "$line" ]; do
        if [ $title = missing ]; then
            title=seen
            case $line in
                "title: "?*) ;;
                *) complain "the first line is not a title" ;;
            esac
        fi
        check_line "$line"
    done < "$page"
    [ $title = seen ] || complain "the page is empty"
done

if [ $complaints -gt 0 ]; then
    echo "$complaints problems in $pages pages"
    exit 1
fi
echo "$pages pages are fine"
"#;

/// Titles of the ideas made for the demo, in order. `script` defines what the agent does for each.
pub(super) mod titles {
    pub(in super::super) const CONTACT: &str = "Add a contact page";
    pub(in super::super) const HOURS: &str = "Add a page with the opening hours";
    pub(in super::super) const READY_AT_SIX: &str = "Say on the home page when the bread is ready";
    pub(in super::super) const CAKES: &str = "Say on the home page that we bake cakes too";
    pub(in super::super) const PRICES: &str = "Add a price list";
    pub(in super::super) const MOTTO: &str = "Write down the motto of the house";
    pub(in super::super) const LINK_CONTACT: &str = "Link the contact page from the about page";
    pub(in super::super) const SITE_MAP: &str = "Add a site map";
}

/// The first `count` ideas of the backlog: eight that each show a feature, then plain ones.
pub fn ideas(count: usize) -> Vec<DemoIdea> {
    let mut ideas = made_for_the_demo();
    for number in ideas.len() + 1..=count {
        let title = format!("Add guest page number {number}");
        ideas.push(idea(&title, "A page for a guest of the house.", &[], &[]));
    }
    ideas.truncate(count);
    ideas
}

fn made_for_the_demo() -> Vec<DemoIdea> {
    vec![
        idea(
            titles::CONTACT,
            "Street, telephone and how to order a cake. Takes two iterations.",
            &[],
            &[],
        ),
        idea(
            titles::HOURS,
            "The first try has a link that leads nowhere: the check rejects it, and the agent \
            fixes it.",
            &[],
            &[],
        ),
        idea(
            titles::READY_AT_SIX,
            "It is ready at six. Changes the same line as another idea.",
            &[],
            &["quick-win"],
        ),
        idea(
            titles::CAKES,
            "Bread and cakes. Changes the same line as another idea: whoever lands second meets a \
            conflict.",
            &[],
            &["quick-win"],
        ),
        idea(
            titles::PRICES,
            "Bread, rolls and cakes. Its first agent is killed in the middle of its work; another \
            continues from there.",
            &[],
            &["critical"],
        ),
        idea(
            titles::MOTTO,
            "In a file motto.txt. The agent leaves it uncommitted.",
            &[],
            &[],
        ),
        idea(
            titles::LINK_CONTACT,
            "Waits until there is a contact page.",
            &[1],
            &[],
        ),
        idea(
            titles::SITE_MAP,
            "A page that links all others. Waits until they are there.",
            &[1, 2, 5],
            &[],
        ),
    ]
}

fn idea(title: &str, rest: &str, after: &[usize], tags: &[&'static str]) -> DemoIdea {
    DemoIdea {
        text: format!("{title}\n\n{rest}"),
        after: after.to_vec(),
        tags: tags.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ideas_wait_only_for_earlier_ones() {
        for (place, idea) in (1..).zip(ideas(12)) {
            assert!(idea.after.iter().all(|after| *after < place), "{idea:?}");
        }
        assert_eq!(
            (ideas(0).len(), ideas(3).len(), ideas(12).len()),
            (0, 3, 12)
        );
    }

    #[test]
    fn titles_are_unique() {
        let mut titles: Vec<String> = ideas(20)
            .iter()
            .filter_map(|idea| idea.text.lines().next().map(str::to_owned))
            .collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), 20);
    }
}
