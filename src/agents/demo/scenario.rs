//! The demo's repository and its backlog, as data.
//!
//! Invariants: the first files pass the check; an idea waits only for earlier ones, so that any first part of the backlog is a backlog;
//! apart from the pair that is meant to conflict, no two ideas change the same lines.

/// A file of the repository that the demo begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoFile {
    /// Its path in the repository.
    pub path: &'static str,
    /// Its content.
    pub content: &'static str,
    /// Whether it is to be executable.
    pub executable: bool,
}

/// An idea of the demo's backlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoIdea {
    /// Its text; the first line is its title.
    pub text: String,
    /// The ideas that it waits for, by their place in the backlog, from 1.
    pub after: Vec<usize>,
    /// Its tags.
    pub tags: Vec<&'static str>,
}

/// The quality command of the demo's repository.
pub const CHECK: &str = "./check.sh";

/// The repository that the demo begins with.
pub const FILES: &[DemoFile] = &[
    DemoFile {
        path: "README.md",
        content: "# Corner Bakery\n\nThe pages of a small web site, as text. `./check.sh` says whether they are fine.\n",
        executable: false,
    },
    DemoFile {
        path: "check.sh",
        content: CHECK_SCRIPT,
        executable: true,
    },
    DemoFile {
        path: "pages/home.txt",
        content: "title: Corner Bakery\n\nWe bake on Mill Street.\n\nFresh bread every day.\n\nlink: about\n",
        executable: false,
    },
    DemoFile {
        path: "pages/about.txt",
        content: "title: About us\n\nThree generations, one oven.\n\nlink: home\n",
        executable: false,
    },
];

/// Needs nothing but a POSIX shell.
const CHECK_SCRIPT: &str = r#"#!/bin/sh
# Each page begins with a title, each link leads to a page, lines are short.
complaints=0
pages=0

complain() {
    echo "not ok: $page: $1"
    complaints=$((complaints + 1))
}

check_line() {
    case $1 in
        "<<<<<<< "* | ">>>>>>> "*) complain "a conflict marker is left" ;;
        "link: "*) [ -f "pages/${1#link: }.txt" ] || complain "the link to '${1#link: }' leads nowhere" ;;
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
                *) complain "the first line is no title" ;;
            esac
        fi
        check_line "$line"
    done < "$page"
    [ $title = seen ] || complain "the page is empty"
done

if [ $complaints -gt 0 ]; then
    echo "$complaints complaints about $pages pages"
    exit 1
fi
echo "$pages pages are fine"
"#;

/// The titles of the ideas that are made for the demo, in order; `script` knows what its agent does for each.
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

/// The first `count` ideas of the backlog. After the eight that show something come plain ones, as many as wanted.
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
            "Street, telephone and how to get a cake made. Takes two rounds.",
            &[],
            &[],
        ),
        idea(
            titles::HOURS,
            "The first try has a link that leads nowhere: the check refuses it, and the agent mends it.",
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
            "Bread and cakes. Changes the same line as another idea: whoever lands second meets a conflict.",
            &[],
            &["quick-win"],
        ),
        idea(
            titles::PRICES,
            "Bread, rolls and cakes. Its first agent is killed in the middle of its work; another goes on from there.",
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
