//! Archives made by hand, so that a test can leave things out or change them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use swarm::archive::write::{Content, Source, write};
use swarm::archive::{GitPart, Manifest, ObjectFormat, Purpose, SnapshotPart};
use swarm::journal::{position_of, verify};

use super::Sandbox;

/// What goes into an archive.
pub struct Pack {
    /// The manifest, without its files.
    pub manifest: Manifest,
    /// The files.
    pub sources: Vec<Source>,
}

impl Sandbox {
    /// The files of this stopped swarm, as an export packs them.
    pub fn pack(&self, purpose: Purpose) -> Pack {
        let state = self.dot_swarm("state");
        let seq = verify(&state).unwrap();
        let end = position_of(&state, seq).unwrap().unwrap();
        let log = fs::read(state.join("events.jsonl")).unwrap();
        let first = log.split(|byte| *byte == b'\n').next().unwrap();
        let refs = self.bundle();
        let roots = self.git(&["rev-list", "--max-parents=0", "main"]);
        let mut pack = Pack {
            manifest: Manifest {
                format: "swarm-export".into(),
                version: "1.0.0".into(),
                created_at: swarm::domain::time::Timestamp::from_millis(0),
                swarm_version: env!("CARGO_PKG_VERSION").into(),
                swarm_id: hex(&Sha256::digest(first)),
                purpose,
                snapshot: SnapshotPart {
                    seq,
                    at: swarm::domain::time::Timestamp::from_millis(0),
                    log_crc: end.crc,
                },
                git: Some(GitPart {
                    object_format: match roots.lines().next().unwrap().len() {
                        40 => ObjectFormat::Sha1,
                        _ => ObjectFormat::Sha256,
                    },
                    roots: roots.lines().map(str::to_owned).collect(),
                    target: "main".into(),
                    refs,
                }),
                programs: BTreeMap::new(),
                files: Vec::new(),
                redactions: Vec::new(),
            },
            sources: Vec::new(),
        };
        let snapshot = serde_json::json!({ "state": self.swarm(&["replay"]).json() });
        pack.put("snapshot.json", snapshot.to_string().as_bytes());
        pack.add_folder("events", &state, |name| name.starts_with("events"));
        pack.add_folder("checkpoints", &self.dot_swarm("checkpoints"), |_| true);
        let bundle = fs::read(self.path("work.bundle")).unwrap();
        pack.put("git/work.bundle", &bundle);
        for run in fs::read_dir(self.private("runs")).unwrap() {
            let run = run.unwrap();
            let name = format!("runs/{}", run.file_name().to_str().unwrap());
            let kept = ["prompt.md", "stdout.log", "stderr.log", "agent.json"];
            pack.add_folder(&name, &run.path(), |name| kept.contains(&name));
        }
        pack
    }

    /// All commits as a bundle; its references.
    fn bundle(&self) -> BTreeMap<String, String> {
        let file = self.path("work.bundle");
        self.git(&["bundle", "create", "-q", file.to_str().unwrap(), "--all"]);
        let heads = self.git(&["bundle", "list-heads", file.to_str().unwrap()]);
        let pairs = heads.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(oid, name)| (name.into(), oid.into())).collect()
    }
}

impl Pack {
    /// Adds a file with this content.
    pub fn put(&mut self, path: &str, content: &[u8]) {
        self.sources.push(Source {
            path: path.to_owned(),
            content: Content::Bytes(content.to_vec()),
        });
    }

    /// Leaves out the files whose name begins so.
    pub fn drop(&mut self, begin: &str) {
        self.sources
            .retain(|source| !source.path.starts_with(begin));
    }

    fn add_folder(&mut self, name: &str, folder: &Path, wanted: impl Fn(&str) -> bool) {
        let mut files: Vec<PathBuf> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        for file in files {
            let own = file.file_name().unwrap().to_str().unwrap().to_owned();
            if wanted(&own) {
                self.put(&format!("{name}/{own}"), &fs::read(&file).unwrap());
            }
        }
    }

    /// Writes the archive.
    pub fn write(&self, file: &Path) {
        let out = File::create(file).unwrap();
        write(self.manifest.clone(), &self.sources, out).unwrap();
    }
}

/// A digest as swarm writes it.
pub fn hex(digest: &[u8]) -> String {
    let hex = |hex, byte| format!("{hex}{byte:02x}");
    digest.iter().fold(String::new(), hex)
}
