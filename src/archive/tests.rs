//! An archive of our own comes back as it went in; every other one is refused and leaves nothing.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::manifest::{FORMAT, VERSION};
use super::*;
use crate::domain::time::Timestamp;

fn head() -> Manifest {
    Manifest {
        format: FORMAT.to_owned(),
        version: VERSION.to_owned(),
        created_at: Timestamp::from_millis(1_000),
        swarm_version: "0.1.0".to_owned(),
        swarm_id: "a".repeat(64),
        purpose: Purpose::Copy,
        snapshot: SnapshotPart {
            seq: 3,
            at: Timestamp::from_millis(1_000),
            log_crc: 7,
        },
        git: None,
        programs: std::collections::BTreeMap::new(),
        files: Vec::new(),
        redactions: Vec::new(),
    }
}

fn bytes(path: &str, content: &[u8]) -> Source {
    Source {
        path: path.to_owned(),
        content: Content::Bytes(content.to_vec()),
    }
}

fn sources() -> Vec<Source> {
    vec![
        bytes("snapshot.json", b"{\"state\":{}}"),
        bytes("events/events.jsonl", b"{\"v\":1}\n{\"v\":1}\n"),
        bytes("runs/r0001-ed-001-i1/stdout.log", &[b'x'; 1024]),
        bytes("runs/r0001-ed-001-i1/empty.log", b""),
    ]
}

fn archive() -> Vec<u8> {
    let mut out = Vec::new();
    write(head(), &sources(), &mut out).unwrap();
    out
}

/// Packs raw blocks as the writer does.
fn frame(tar: &[u8]) -> Vec<u8> {
    let out = format::Hashed::new(Vec::new());
    let mut encoder = zstd::stream::write::Encoder::new(out, format::LEVEL).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.include_contentsize(false).unwrap();
    encoder.window_log(format::WINDOW_LOG).unwrap();
    encoder.write_all(tar).unwrap();
    let sealed = encoder.finish().unwrap();
    [&sealed.inner[..], &sealed.seal()].concat()
}

/// An archive made by hand: entries as header and content.
#[derive(Default)]
struct Raw(Vec<u8>);

impl Raw {
    fn file(mut self, name: &str, content: &[u8]) -> Self {
        let header = format::header(name, content.len() as u64).unwrap();
        self.0.extend_from_slice(header.as_bytes());
        self.body(content)
    }

    fn body(mut self, content: &[u8]) -> Self {
        self.0.extend_from_slice(content);
        self.0
            .extend_from_slice(format::padding(content.len() as u64));
        self
    }

    /// A file whose header was changed, with a checksum that fits.
    fn odd(mut self, name: &str, content: &[u8], change: impl Fn(&mut tar::Header)) -> Self {
        let mut header = format::header(name, content.len() as u64).unwrap();
        change(&mut header);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.body(content)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        frame(&self.0)
    }
}

fn listed(path: &str, content: &[u8]) -> Entry {
    Entry {
        path: path.to_owned(),
        size: content.len() as u64,
        sha256: read::hex(&Sha256::digest(content)),
    }
}

const SNAPSHOT: (&str, &[u8]) = ("snapshot.json", b"{}");

/// A manifest with these files after the snapshot.
fn manifest(files: &[(&str, &[u8])]) -> Manifest {
    let mut manifest = head();
    let all = std::iter::once(&SNAPSHOT).chain(files);
    manifest.files = all.map(|(path, content)| listed(path, content)).collect();
    manifest
}

fn raw(manifest: &Manifest) -> Raw {
    let bytes = serde_json::to_vec(manifest).unwrap();
    Raw::default()
        .file("manifest.json", &bytes)
        .file(SNAPSHOT.0, SNAPSHOT.1)
}

/// A manifest that lists `name`, and the file.
fn named(name: &str) -> Vec<u8> {
    let manifest = manifest(&[(name, b"x")]);
    let header = |header: &mut tar::Header| {
        let bytes = header.as_mut_bytes();
        bytes[..100].fill(0);
        let length = name.len().min(100);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    };
    raw(&manifest).odd("runs/r1/x", b"x", header).end()
}

const ODD: &str = "runs/r1/x";

/// An archive whose last file has a header with a change.
fn changed(change: impl Fn(&mut tar::Header)) -> Vec<u8> {
    raw(&manifest(&[(ODD, b"x")])).odd(ODD, b"x", change).end()
}

fn kind(kind: tar::EntryType, target: &str) -> Vec<u8> {
    changed(|header| {
        header.set_entry_type(kind);
        if !target.is_empty() {
            header.set_link_name(target).unwrap();
        }
    })
}

/// A manifest's bytes with a field of another value.
fn field(name: &str, value: serde_json::Value) -> Vec<u8> {
    let mut json = serde_json::to_value(manifest(&[])).unwrap();
    json[name] = value;
    Raw::default()
        .file("manifest.json", &serde_json::to_vec(&json).unwrap())
        .file(SNAPSHOT.0, SNAPSHOT.1)
        .end()
}

fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let good = archive();
    let x = manifest(&[(ODD, b"x")]);
    let mut cases = vec![
        ("nothing", Vec::new()),
        ("some text", b"not an archive at all".to_vec()),
        ("another frame", zstd::encode_all(&b"x"[..], 3).unwrap()),
        ("no blocks", frame(b"")),
        ("an empty archive", frame(&[0; 1024])),
        ("half of it", good[..good.len() / 2].to_vec()),
        ("the last byte missing", good[..good.len() - 1].to_vec()),
        ("no seal", good[..good.len() - 40].to_vec()),
        ("more bytes", [&good[..], b"x"].concat()),
        ("itself twice", [&good[..], &good[..]].concat()),
        ("no end", frame(&raw(&x).file(ODD, b"x").0)),
        ("one end block", {
            let mut tar = raw(&x).file(ODD, b"x").0;
            tar.extend_from_slice(&[0; 512]);
            frame(&tar)
        }),
        ("bytes after the end", {
            let mut tar = raw(&x).file(ODD, b"x").0;
            tar.extend_from_slice(&[0; 1536]);
            frame(&tar)
        }),
        ("a file between the end blocks", {
            let mut tar = raw(&x).0;
            tar.extend_from_slice(&[0; 512]);
            frame(&Raw(tar).file(ODD, b"x").0)
        }),
        ("the manifest last", {
            let bytes = serde_json::to_vec(&manifest(&[])).unwrap();
            let first = Raw::default().file(SNAPSHOT.0, SNAPSHOT.1);
            first.file("manifest.json", &bytes).end()
        }),
        ("no JSON", Raw::default().file("manifest.json", b"{").end()),
        ("another format", field("format", "tar".into())),
        ("a newer version", field("version", "2.0.0".into())),
        ("an older version", field("version", "0.9.0".into())),
        ("no version", field("version", "new".into())),
        ("no list", field("files", serde_json::Value::Null)),
        ("an empty list", field("files", serde_json::json!([]))),
        ("an unknown purpose", field("purpose", "war".into())),
        (
            "a file that is not listed",
            raw(&manifest(&[])).file(ODD, b"x").end(),
        ),
        ("a file that is missing", raw(&x).end()),
        ("another size", raw(&x).file(ODD, b"xy").end()),
        ("other content", raw(&x).file(ODD, b"y").end()),
        ("another order", {
            let list = manifest(&[(ODD, b"x"), ("runs/r1/y", b"y")]);
            raw(&list).file("runs/r1/y", b"y").file(ODD, b"x").end()
        }),
        ("the same name twice", {
            let list = manifest(&[(ODD, b"x"), (ODD, b"x")]);
            raw(&list).file(ODD, b"x").file(ODD, b"x").end()
        }),
        (
            "a file twice, listed once",
            raw(&x).file(ODD, b"x").file(ODD, b"x").end(),
        ),
        ("a file as a folder", {
            let list = manifest(&[("runs/r1/a", b"x"), ("runs/r1/a/b", b"y")]);
            let first = raw(&list).file("runs/r1/a", b"x");
            first.file("runs/r1/a/b", b"y").end()
        }),
        ("a digest in capitals", {
            let mut list = x.clone();
            list.files[1].sha256 = list.files[1].sha256.to_uppercase();
            raw(&list).file(ODD, b"x").end()
        }),
        ("a list with a huge size", {
            let mut list = x.clone();
            list.files[1].size = u64::MAX;
            raw(&list).file(ODD, b"x").end()
        }),
        ("a bomb", {
            let zeros = vec![0; 4 << 20];
            raw(&manifest(&[(ODD, &zeros)])).file(ODD, &zeros).end()
        }),
        ("too many files", {
            let names: Vec<String> = (0..200).map(|n| format!("runs/r1/{n}")).collect();
            let files: Vec<(&str, &[u8])> = names.iter().map(|n| (&**n, &b""[..])).collect();
            let start = raw(&manifest(&files));
            let all = names.iter().fold(start, |raw, name| raw.file(name, b""));
            all.end()
        }),
        ("bytes in the padding", {
            let mut tar = raw(&x).file(ODD, b"x").0;
            let last = tar.len() - 1;
            tar[last] = 1;
            tar.extend_from_slice(&[0; 1024]);
            frame(&tar)
        }),
        (
            "a symbolic link",
            kind(tar::EntryType::Symlink, "/etc/passwd"),
        ),
        ("a hard link", kind(tar::EntryType::Link, "../../outside")),
        ("a folder", kind(tar::EntryType::Directory, "")),
        ("a pipe", kind(tar::EntryType::Fifo, "")),
        ("a device", kind(tar::EntryType::Char, "")),
        ("a sparse file", kind(tar::EntryType::GNUSparse, "")),
        ("an extended header", kind(tar::EntryType::XHeader, "")),
        ("a global header", kind(tar::EntryType::XGlobalHeader, "")),
        ("a long name", kind(tar::EntryType::GNULongName, "")),
        ("a setuid bit", changed(|header| header.set_mode(0o4600))),
        ("an owner", changed(|header| header.set_uid(1))),
        ("a time", changed(|header| header.set_mtime(1))),
        (
            "a link name in a plain file",
            changed(|h| h.set_link_name("/x").unwrap()),
        ),
        (
            "an old header",
            changed(|header| header.as_mut_bytes()[257..265].fill(0)),
        ),
        ("a wrong checksum", {
            let mut tar = raw(&x).file(ODD, b"x").0;
            let at = tar.len() - 1024 + 148;
            tar[at] ^= 1;
            tar.extend_from_slice(&[0; 1024]);
            frame(&tar)
        }),
    ];
    let names = [
        "/outside",
        "../outside",
        "runs/../../outside",
        "runs/r1/../../../outside",
        "./runs/r1/x",
        "runs/r1/.git",
        "config.local.json",
        "runs/r1/a\\..\\b",
        "runs/r1/\u{202e}x",
    ];
    cases.extend(names.map(|name| (name, named(name))));
    cases
}

const SMALL: Limits = Limits {
    files: 100,
    bytes: 1 << 20,
};

/// All names below a folder.
fn all_names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_names(&path));
        }
        found.push(path.display().to_string());
    }
    found.sort();
    found
}

#[test]
fn an_archive_is_unpacked_as_it_was_packed() {
    let lab = tempfile::tempdir().unwrap();
    let into = lab.path().join("staging");
    let mut packed = Vec::new();
    let written = write(head(), &sources(), &mut packed).unwrap();
    let staged = stage(&packed[..], &into, SMALL).unwrap();
    assert_eq!(staged.manifest, written.manifest);
    assert_eq!(staged.sha256, written.sha256);
    for source in sources() {
        let path = into.join(&source.path);
        let Content::Bytes(packed) = source.content else {
            panic!("{} is not in memory", source.path);
        };
        assert_eq!(fs::read(&path).unwrap(), packed, "{}", source.path);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", source.path);
    }
    let manifest = fs::read(into.join("manifest.json")).unwrap();
    assert_eq!(read::hex(&Sha256::digest(manifest)), staged.sha256);
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    assert_eq!(archive(), archive());
}

#[test]
fn hostile_archives_are_refused_and_write_nothing_outside() {
    let lab = tempfile::tempdir().unwrap();
    let cases = hostile();
    assert!(cases.len() >= 40, "only {}", cases.len());
    for (what, packed) in cases {
        let folder = lab.path().join("in");
        fs::create_dir(&folder).unwrap();
        let refused = stage(&packed[..], &folder.join("staging"), SMALL);
        let error = refused.expect_err(what);
        assert!(!error.suggestions().is_empty(), "{what}");
        assert!(!error.to_string().contains('\u{202e}'), "{what}: {error}");
        fs::remove_dir(&folder).unwrap_or_else(|_| panic!("{what} left something"));
        assert_eq!(all_names(lab.path()), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn an_archive_with_a_flipped_byte_is_refused() {
    let lab = tempfile::tempdir().unwrap();
    let good = archive();
    let tries = 200.max(good.len());
    for at in 0..tries {
        let mut flipped = good.clone();
        let byte = at % good.len();
        flipped[byte] ^= 1 << (at % 8);
        let into = lab.path().join("staging");
        let staged = stage(&flipped[..], &into, SMALL);
        assert!(staged.is_err(), "byte {byte} of {}", good.len());
        assert!(all_names(lab.path()).is_empty(), "byte {byte}");
    }
}

#[test]
fn a_folder_that_is_there_is_left_alone() {
    let lab = tempfile::tempdir().unwrap();
    fs::write(lab.path().join("precious"), "x").unwrap();
    let refused = stage(&archive()[..], lab.path(), SMALL).unwrap_err();
    assert!(matches!(refused, ArchiveError::Io { .. }), "{refused}");
    assert!(lab.path().join("precious").exists());
}

#[test]
fn a_file_that_changes_while_it_is_packed_is_noticed() {
    let lab = tempfile::tempdir().unwrap();
    let path = lab.path().join("log");
    fs::write(&path, "0123456789").unwrap();
    let source = |size| Source {
        path: ODD.to_owned(),
        content: Content::File {
            path: path.clone(),
            size,
        },
    };
    let mut first = sources();
    first.push(source(10));
    let mut packed = Vec::new();
    write(head(), &first, &mut packed).unwrap();
    // What is appended meanwhile is not packed.
    fs::write(&path, "0123456789 and more").unwrap();
    let mut again = Vec::new();
    write(head(), &first, &mut again).unwrap();
    assert_eq!(packed, again);
    first.push(Source {
        path: "runs/r1/y".to_owned(),
        ..source(100)
    });
    let error = write(head(), &first, &mut Vec::new()).unwrap_err();
    assert!(matches!(error, ArchiveError::Changed { .. }), "{error}");
}

#[test]
fn an_archive_gets_its_name_only_when_it_is_whole() {
    let lab = tempfile::tempdir().unwrap();
    let path = lab.path().join("a.swarm.tar.zst");
    let part = lab.path().join("a.swarm.tar.zst.part");
    fs::write(&part, "left by a killed export, longer than what comes now").unwrap();
    let mut file = PartFile::create(&path).unwrap();
    file.write_all(b"whole").unwrap();
    let busy = PartFile::create(&path).unwrap_err();
    assert!(matches!(busy, ArchiveError::Busy { .. }), "{busy}");
    file.sync().unwrap();
    assert!(!path.exists());
    file.publish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"whole");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!part.exists());
    let there = PartFile::create(&path).unwrap_err();
    assert!(matches!(there, ArchiveError::Exists { .. }), "{there}");
    let other = lab.path().join("b");
    std::os::unix::fs::symlink(&path, lab.path().join("b.part")).unwrap();
    assert!(PartFile::create(&other).is_err(), "a link is not followed");
    assert_eq!(fs::read(&path).unwrap(), b"whole");
}
