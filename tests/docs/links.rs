//! Every page is in the summary, and every link leads somewhere.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::page::{self, Page, root};

/// The links of a page outside of code: the line, and where it leads.
fn links(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in page.prose() {
        let bare: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in bare.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            found.push((index + 1, target.to_owned()));
        }
    }
    found
}

/// The anchors of a page, as GitHub and mdBook make them of its headings.
fn anchors(page: &Page) -> Vec<String> {
    let headings = page.prose().filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    for path in page::all() {
        let page = Page::read(&path);
        for (line, target) in links(&page) {
            if target.starts_with("https://") || target.starts_with("http://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&path).parent().unwrap();
            let to = match file {
                "" => PathBuf::from(&path),
                file => plain(&folder.join(file)),
            };
            if !root().join(&to).exists() {
                broken.push(format!("{path}:{line}: {target}: no such file"));
            } else if path.starts_with("docs/") && !to.starts_with("docs") {
                broken.push(format!("{path}:{line}: {target}: outside of the book"));
            } else if !anchor.is_empty()
                && !anchors(&Page::read(to.to_str().unwrap())).contains(&anchor.to_owned())
            {
                broken.push(format!("{path}:{line}: {target}: no such heading"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_summary_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut listed: Vec<String> = links(&summary)
        .into_iter()
        .map(|(_, target)| format!("docs/{target}"))
        .collect();
    listed.sort();
    let mut there = page::all();
    there.retain(|path| path.starts_with("docs/") && path != "docs/SUMMARY.md");
    assert_eq!(listed, there);
}

/// Folders whose files the pages name in code.
const FOLDERS: &[&str] = &[
    "src/",
    "tests/",
    "docs/",
    "fuzz/",
    "benches/",
    "hooks-examples/",
    ".ci/",
];

#[test]
fn every_file_that_is_named_exists() {
    let mut missing = Vec::new();
    for path in page::all() {
        for (index, line) in Page::read(&path).prose() {
            for span in line.split('`').skip(1).step_by(2) {
                let name = span.split_whitespace().next().unwrap_or_default();
                let named = FOLDERS.iter().any(|folder| name.starts_with(folder));
                for name in meant(name).iter().filter(|_| named) {
                    let (begin, rest) = name.split_once('*').unwrap_or((name, ""));
                    let (folder, begin) = begin.rsplit_once('/').unwrap_or(("", begin));
                    let is_there = |entry: &str| entry.starts_with(begin) && entry.ends_with(rest);
                    let there = if name.contains('*') {
                        entries(folder).iter().any(|entry| is_there(entry))
                    } else {
                        root().join(name).exists()
                    };
                    if !there {
                        missing.push(format!("{path}:{}: {name}", index + 1));
                    }
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn meant(name: &str) -> Vec<String> {
    let Some((begin, rest)) = name.split_once('{') else {
        return vec![name.to_owned()];
    };
    let (choices, end) = rest.split_once('}').unwrap_or((rest, ""));
    choices
        .split(',')
        .map(|choice| format!("{begin}{choice}{end}"))
        .collect()
}

fn entries(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn the_front_pages_stay_short() {
    for (path, most) in [("README.md", 130), ("CHANGELOG.md", 100)] {
        let lines = fs::read_to_string(root().join(path))
            .unwrap()
            .lines()
            .count();
        assert!(lines <= most, "{path} has {lines} lines; at most {most}");
    }
}
