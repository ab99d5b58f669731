//! A page as the parts that a test acts on: fenced blocks, the HTML comments above them, and the
//! text around.
//!
//! Comments that mean something: `setup` (a script that runs unseen, here), `not run: WHY`, `exit
//! N` (of the block's last command), `any order` (lines of agents that work side by side; numbers
//! of ideas and agents may differ), `config` (a JSON block is merged into `.swarm/config.json`),
//! `file PATH` (the block is that file's content).

use std::fs;
use std::path::{Path, PathBuf};

/// A page.
pub struct Page {
    /// From the repository's root.
    pub path: String,
    /// Its lines.
    pub lines: Vec<String>,
    /// What is acted on, in order.
    pub parts: Vec<Part>,
}

/// Something that a test acts on.
pub enum Part {
    /// A script that runs unseen.
    Setup(String),
    /// A fenced block.
    Block(Block),
}

/// A fenced block.
pub struct Block {
    /// The word behind the fence.
    pub language: String,
    /// Index of the line behind the opening fence.
    pub begin: usize,
    /// Index of the closing fence.
    pub end: usize,
    /// The comments directly above it.
    pub notes: Vec<String>,
}

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether pages are to be written instead of compared.
pub fn blesses() -> bool {
    std::env::var_os("SWARM_BLESS").is_some()
}

/// What to do about a stale page.
pub const HOW_TO_BLESS: &str = "to write it: SWARM_BLESS=1 cargo test --test docs";

/// All pages: the README, and everything below `docs/`.
pub fn all() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                if path != Path::new("docs/book") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

impl Page {
    /// Reads a page.
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let parts = parts(path, &lines);
        Self {
            path: path.to_owned(),
            lines,
            parts,
        }
    }

    /// The fenced blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().filter_map(|part| match part {
            Part::Block(block) => Some(block),
            Part::Setup(_) => None,
        })
    }

    /// A block's lines.
    pub fn inside(&self, block: &Block) -> &[String] {
        &self.lines[block.begin..block.end]
    }

    /// Lines outside of fenced blocks, with their index.
    pub fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let inside = |index: &usize| {
            self.blocks()
                .any(|block| (block.begin - 1..=block.end).contains(index))
        };
        let lines = self.lines.iter().enumerate();
        lines
            .filter(move |(index, _)| !inside(index))
            .map(|(index, line)| (index, line.as_str()))
    }
}

impl Block {
    /// What the comment `name` above it says.
    pub fn note(&self, name: &str) -> Option<&str> {
        let mut notes = self.notes.iter();
        notes.find_map(|note| {
            let rest = note.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with([' ', ':']))
                .then(|| rest[..].trim_start_matches(':').trim())
        })
    }
}

fn parts(path: &str, lines: &[String]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].as_str();
        if line.starts_with("<!--") {
            let last = (at..lines.len()).find(|end| lines[*end].ends_with("-->"));
            let last =
                last.unwrap_or_else(|| panic!("{path}:{}: a comment without an end", at + 1));
            let text = lines[at..=last].join("\n");
            let text = text
                .trim_start_matches("<!--")
                .trim_end_matches("-->")
                .trim();
            match text.strip_prefix("setup\n") {
                Some(script) => parts.push(Part::Setup(script.to_owned())),
                None => notes.push(text.to_owned()),
            }
            at = last + 1;
        } else if let Some(language) = line.strip_prefix("```") {
            let end = (at + 1..lines.len()).find(|end| lines[*end] == "```");
            let end = end.unwrap_or_else(|| panic!("{path}:{}: a block without an end", at + 1));
            parts.push(Part::Block(Block {
                language: language.trim().to_owned(),
                begin: at + 1,
                end,
                notes: std::mem::take(&mut notes),
            }));
            at = end + 1;
        } else {
            notes.clear();
            at += 1;
        }
    }
    parts
}
