//! The text of commits, trees and tags, as `git cat-file` gives it and `git hash-object` takes it.
//! See `gitformat-pack(5)` and `git-cat-file(1)`; the fields are those of git's own objects.
//!
//! Invariant: pure. What is not understood is `None`, never a guess.

use std::path::{Component, Path};

use super::oid::Oid;
use crate::git::objects::names::printable;

/// Mode of a folder in a tree.
pub(crate) const FOLDER: u32 = 0o040_000;
/// Mode of a commit of another repository, in a tree and in the index.
pub(crate) const SUBMODULE: u32 = 0o160_000;

/// Author or committer of a commit, with the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    /// Name, without characters that git keeps for itself.
    pub(crate) name: Vec<u8>,
    /// E-mail address, likewise.
    pub(crate) email: Vec<u8>,
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    /// Offset of the time zone, as git writes it: `+0130`.
    pub(crate) zone: String,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Its own name.
    pub(crate) id: Oid,
    /// The files.
    pub(crate) tree: Oid,
    /// Commits that it follows.
    pub(crate) parents: Vec<Oid>,
    /// Who wrote it.
    pub(crate) author: Person,
    /// Who committed it, and when.
    pub(crate) committer: Person,
    /// The message as it was written.
    pub(crate) message: Vec<u8>,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Type and permissions, as in the index.
    pub(crate) mode: u32,
    /// Name in its folder.
    pub(crate) name: Vec<u8>,
    /// The file's content, or the folder's tree.
    pub(crate) id: Oid,
}

/// Arguments of a new commit.
#[derive(Debug)]
pub(crate) struct NewCommit<'a> {
    pub(crate) tree: Oid,
    pub(crate) parents: &'a [Oid],
    pub(crate) message: &'a str,
    pub(crate) author: &'a Person,
    pub(crate) committer: &'a Person,
}

impl Person {
    /// Somebody at a time, in UTC.
    pub(crate) fn new(name: &str, email: &str, seconds: i64) -> Self {
        let plain = |text: &str| text.replace(['<', '>', '\n', '\0'], "").trim().into();
        Self {
            name: plain(name),
            email: plain(email),
            seconds,
            zone: "+0000".into(),
        }
    }

    /// Reads `name <email> seconds zone`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (open, close) = (
            position(text, b'<')?,
            text.iter().rposition(|it| *it == b'>')?,
        );
        let when = std::str::from_utf8(text.get(close + 1..)?).ok()?;
        let mut when = when.split_ascii_whitespace();
        Some(Self {
            name: text.get(..open)?.trim_ascii_end().to_owned(),
            email: text.get(open + 1..close)?.to_owned(),
            // Other programs have written commits without a time.
            seconds: when.next().and_then(|it| it.parse().ok()).unwrap_or(0),
            zone: when.next().unwrap_or("+0000").to_owned(),
        })
    }

    fn write(&self, role: &str, to: &mut Vec<u8>) {
        to.extend_from_slice(role.as_bytes());
        to.push(b' ');
        to.extend_from_slice(&self.name);
        to.extend_from_slice(b" <");
        to.extend_from_slice(&self.email);
        to.extend_from_slice(format!("> {} {}\n", self.seconds, self.zone).as_bytes());
    }
}

impl Commit {
    /// Reads the text of the commit `id`.
    pub(crate) fn parse(id: Oid, text: &[u8]) -> Option<Self> {
        let (mut tree, mut parents, mut author, mut committer) = (None, Vec::new(), None, None);
        let mut rest = text;
        loop {
            let end = position(rest, b'\n')?;
            let (line, next) = (&rest[..end], &rest[end + 1..]);
            rest = next;
            if line.is_empty() {
                break;
            }
            // Lines of a signature begin with a space and are passed over.
            if let Some(value) = line.strip_prefix(b"tree ") {
                tree = Oid::from_hex(value);
            } else if let Some(value) = line.strip_prefix(b"parent ") {
                parents.push(Oid::from_hex(value)?);
            } else if let Some(value) = line.strip_prefix(b"author ") {
                author = Person::parse(value);
            } else if let Some(value) = line.strip_prefix(b"committer ") {
                committer = Person::parse(value);
            }
            if rest.is_empty() {
                break;
            }
        }
        Some(Self {
            id,
            tree: tree?,
            parents,
            author: author?,
            committer: committer?,
            message: rest.to_owned(),
        })
    }

    /// Time of the commit, in seconds since 1970.
    pub(crate) fn seconds(&self) -> i64 {
        self.committer.seconds
    }

    /// The message as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.message).into_owned()
    }

    /// First line of the message, for people.
    pub(crate) fn subject(&self) -> String {
        let message = self.message.trim_ascii_start();
        let first = message.split(|byte| *byte == b'\n').next();
        printable(first.unwrap_or_default().trim_ascii_end())
    }
}

impl NewCommit<'_> {
    /// The text of the commit.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = format!("tree {}\n", self.tree).into_bytes();
        for parent in self.parents {
            text.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        self.author.write("author", &mut text);
        self.committer.write("committer", &mut text);
        text.push(b'\n');
        text.extend_from_slice(self.message.as_bytes());
        text
    }
}

/// The text of an annotated tag `name` on an object.
pub(crate) fn tag_text(name: &str, target: (Oid, Kind), tagger: &Person, message: &str) -> Vec<u8> {
    let (target, kind) = target;
    let head = format!("object {target}\ntype {}\ntag {name}\n", kind.word());
    let mut text = head.into_bytes();
    tagger.write("tagger", &mut text);
    text.push(b'\n');
    text.extend_from_slice(message.as_bytes());
    text
}

/// Type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it all
pub(crate) enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl Kind {
    /// Git's word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
            Self::Tag => "tag",
        }
    }

    /// Reads git's word.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let all = [Self::Blob, Self::Tree, Self::Commit, Self::Tag];
        all.into_iter().find(|kind| kind.word() == word)
    }
}

impl Entry {
    /// Type of the object; a submodule's commit is not in this repository.
    pub(crate) fn kind(&self) -> Kind {
        match self.mode {
            FOLDER => Kind::Tree,
            SUBMODULE => Kind::Commit,
            _ => Kind::Blob,
        }
    }
}

/// Reads a tree: `<mode> <name> NUL <hash>` for each entry. `width` is the hash's length in bytes.
pub(crate) fn parse_tree(mut text: &[u8], width: usize) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    while !text.is_empty() {
        let space = position(text, b' ')?;
        let end = position(text, 0)?;
        let mode = std::str::from_utf8(text.get(..space)?).ok()?;
        entries.push(Entry {
            mode: u32::from_str_radix(mode, 8).ok()?,
            name: text.get(space + 1..end)?.to_owned(),
            id: Oid::from_bytes(text.get(end + 1..end + 1 + width)?)?,
        });
        text = &text[end + 1 + width..];
    }
    Some(entries)
}

/// The text of a tree; the entries are in git's order.
pub(crate) fn tree_text(entries: &[Entry]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        text.extend_from_slice(format!("{:o} ", entry.mode).as_bytes());
        text.extend_from_slice(&entry.name);
        text.push(0);
        text.extend_from_slice(entry.id.as_bytes());
    }
    text
}

/// Names of a path's folders and of its file; `None` if it leads out of the tree.
pub(crate) fn names_of(path: &Path) -> Option<Vec<&[u8]>> {
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.as_encoded_bytes()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    (!names.is_empty()).then_some(names)
}

fn position(text: &[u8], byte: u8) -> Option<usize> {
    memchr::memchr(byte, text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::from_str(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn a_commit_is_read_as_it_was_written() {
        let author = Person {
            zone: "-0330".into(),
            ..Person::new("Ann <x> Example", " ann@example.org\n", 1_700_000_000)
        };
        let committer = Person::new("swarm", "", 5);
        let new = NewCommit {
            tree: oid('a'),
            parents: &[oid('b'), oid('c')],
            message: "Add\n\nall of it\n",
            author: &author,
            committer: &committer,
        };
        let read = Commit::parse(oid('d'), &new.text()).unwrap();
        assert_eq!((read.tree, &read.parents[..]), (oid('a'), new.parents));
        assert_eq!((&read.author, &read.committer), (&author, &committer));
        assert_eq!(read.author.name, b"Ann x Example");
        assert_eq!(
            (read.text(), read.subject()),
            (new.message.into(), "Add".into())
        );
    }

    #[test]
    fn a_signature_in_a_commit_is_passed_over() {
        let text = format!(
            "tree {}\nauthor a <a@b> 1 +0000\ncommitter c <> 2 +0100\ngpgsig -----BEGIN\n tree x\n \
            \n -----END\nencoding latin1\n\nmessage\n",
            oid('a')
        );
        let read = Commit::parse(oid('d'), text.as_bytes()).unwrap();
        assert_eq!((read.tree, read.seconds()), (oid('a'), 2));
        assert_eq!(read.message, b"message\n");
    }

    #[test]
    fn a_commit_without_a_message_or_time_is_still_one() {
        let text = format!(
            "tree {}\nauthor a <a@b>\ncommitter c <d> 9 +0000\n",
            oid('a')
        );
        let read = Commit::parse(oid('d'), text.as_bytes()).unwrap();
        assert_eq!((read.author.seconds, read.message.len()), (0, 0));
        assert!(Commit::parse(oid('d'), b"tree 12\n\n").is_none());
        assert!(Commit::parse(oid('d'), b"").is_none());
    }

    #[test]
    fn a_tree_is_read_as_it_was_written() {
        let entry = |mode, name: &[u8], digit| Entry {
            mode,
            name: name.to_owned(),
            id: oid(digit),
        };
        let entries = vec![
            entry(0o100_755, b"a b\xff", '1'),
            entry(FOLDER, b"src", '2'),
            entry(SUBMODULE, b"vendor", '3'),
        ];
        let text = tree_text(&entries);
        assert_eq!(parse_tree(&text, 20).unwrap(), entries);
        assert!(parse_tree(&text[..text.len() - 1], 20).is_none());
        let kinds: Vec<Kind> = entries.iter().map(Entry::kind).collect();
        assert_eq!(kinds, [Kind::Blob, Kind::Tree, Kind::Commit]);
    }

    #[test]
    fn a_path_that_leads_out_of_the_tree_has_no_names() {
        assert_eq!(names_of("a/./b".as_ref()).unwrap(), [b"a", b"b"]);
        for path in ["", "/a", "../a", "."] {
            assert!(names_of(path.as_ref()).is_none(), "{path}");
        }
    }
}
