//! Second names of the files of a log, in a folder that no tool of the work tree reaches.
//!
//! Invariant: `events.<first seq>.jsonl` there is a hard link to the segment that begins with that
//! event, so whoever removes the first name (`git clean -fdx`) removes no event. The log's own
//! folder counts more: missing names are brought back, and another file that stands there is only
//! replaced by a sound log that goes on from it, as after an older backup. Called when the log is
//! opened or rotated, before a command reads it, and before a repair.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::LIVE_FILE;
use super::candidates::{SegmentCandidate, first_of_name, rotated_name};
use crate::journal::disk::{Disk, Storage as _, make_private_dir};
use crate::journal::error::JournalError;
use crate::journal::repair::diagnose;
use crate::remove;

/// What the name of a file begins with that is no second name of the log any more.
const REPLACED: &str = "replaced.";
/// The last file that stood in the place of the log and had only its beginning.
const OLDER: &str = "older.events.jsonl";

/// Where a log has its second names.
#[derive(Debug, Clone)]
pub struct SecondNames {
    state_dir: PathBuf,
    folder: PathBuf,
}

impl SecondNames {
    /// The second names in `folder` of the log in `state_dir`; both on one file system.
    pub fn new(state_dir: &Path, folder: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            folder: folder.to_owned(),
        }
    }

    /// Whether there are any with events.
    pub fn is_any(&self) -> bool {
        self.list().is_ok_and(|names| !names.is_empty())
    }

    /// Gives each segment its second name. `live` is the first seq of the live one. A name that
    /// another file has, since somebody replaced the log's own file, is kept under another name.
    pub(in crate::journal) fn link(&self, live: u64) -> Result<(), JournalError> {
        let failed = JournalError::io("give a second name to the event log in", &self.folder);
        let rotated = SegmentCandidate::rotated(&self.state_dir)?;
        let rotated = rotated.iter().filter_map(|file| {
            let first = file.claimed?;
            Some((first, file.path.clone()))
        });
        let live = (live, self.state_dir.join(LIVE_FILE));
        make_private_dir(&self.folder)
            .and_then(|()| {
                for (first, path) in rotated.chain([live]) {
                    self.link_one(first, &path)?;
                }
                Disk.sync_dir(&self.folder)
            })
            .map_err(failed)
    }

    fn link_one(&self, first: u64, path: &Path) -> io::Result<()> {
        let name = self.folder.join(rotated_name(first));
        match fs::symlink_metadata(&name) {
            Ok(there) if there.ino() == fs::symlink_metadata(path)?.ino() => return Ok(()),
            // It had no event: nothing has to be kept.
            Ok(there) if there.len() == 0 => remove::file(&name)?,
            Ok(_) => self.set_aside(first)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::hard_link(path, name)
    }

    /// Brings missing segments back into the log's own folder; whether there were any.
    ///
    /// # Errors
    /// A folder cannot be read or written.
    pub fn restore(&self) -> Result<bool, JournalError> {
        let names = self.list()?;
        let mut live = SegmentCandidate::live(&self.state_dir)?;
        if let Some(older) = &live
            && (self.is_in_the_way(older, &names) || self.goes_on_from(older, &names)?)
        {
            let aside = self.folder.join(OLDER);
            fs::rename(&older.path, &aside).map_err(JournalError::io("rename", &older.path))?;
            live = None;
        }
        let rotated = SegmentCandidate::rotated(&self.state_dir)?;
        // Something else has the live name: whoever reads the log says what is wrong with it.
        if live
            .as_ref()
            .is_some_and(|live| live.size > 0 && live.claimed.is_none())
        {
            return Ok(false);
        }
        let here: Vec<&SegmentCandidate> = rotated.iter().chain(&live).collect();
        let is_here = |name: &SecondName| {
            let mut here = here.iter();
            here.any(|file| file.inode == name.inode || file.claimed == Some(name.first))
        };
        let missing: Vec<&SecondName> = names.iter().filter(|name| !is_here(name)).collect();
        let firsts = here.iter().filter_map(|file| file.claimed);
        let last = names.iter().map(|name| name.first).chain(firsts).max();
        let mut restored = false;
        for name in missing {
            let own = match &live {
                None if Some(name.first) == last => LIVE_FILE.to_owned(),
                // Later than what somebody has put here.
                Some(live) if live.claimed.is_some_and(|first| first < name.first) => continue,
                None | Some(_) => rotated_name(name.first),
            };
            self.bring_back(name, &own)?;
            restored = true;
        }
        Ok(restored)
    }

    /// Whether `live` is an empty file in the place of what the second names still have.
    fn is_in_the_way(&self, live: &SegmentCandidate, names: &[SecondName]) -> bool {
        let gone = |name: &SecondName| {
            let rotated = self.state_dir.join(rotated_name(name.first));
            fs::symlink_metadata(rotated).is_err()
        };
        live.size == 0 && names.iter().any(gone)
    }

    /// Whether the second names are those of a sound log that is longer than `live`, whose events
    /// it has.
    fn goes_on_from(
        &self,
        live: &SegmentCandidate,
        names: &[SecondName],
    ) -> Result<bool, JournalError> {
        let same = |name: &&SecondName| Some(name.first) == live.claimed;
        let Some(name) = names.iter().find(same) else {
            return Ok(false);
        };
        if name.inode == live.inode {
            return Ok(false);
        }
        let read = |path: &Path| fs::read(path).map_err(JournalError::io("read", path));
        let (own, kept) = (read(&live.path)?, read(&name.path)?);
        let (own, kept) = (whole_lines(&own), whole_lines(&kept));
        let more = kept.len() > own.len() || names.iter().any(|it| it.first > name.first);
        Ok(more && kept.starts_with(own) && self.is_sound(names)?)
    }

    /// Whether the second names together are a log without damage.
    fn is_sound(&self, names: &[SecondName]) -> Result<bool, JournalError> {
        let last = names.iter().map(|name| name.first).max();
        let together = tempfile::tempdir_in(&self.folder);
        let together = together.map_err(JournalError::io("make a folder in", &self.folder))?;
        for name in names {
            let file = if Some(name.first) == last {
                LIVE_FILE.to_owned()
            } else {
                rotated_name(name.first)
            };
            fs::hard_link(&name.path, together.path().join(file))
                .map_err(JournalError::io("link", &name.path))?;
        }
        let found = diagnose(together.path())?;
        Ok(found.damage.is_none() && found.newer.is_none())
    }

    fn bring_back(&self, name: &SecondName, own: &str) -> Result<(), JournalError> {
        let own = self.state_dir.join(own);
        let linked = make_private_dir(&self.state_dir)
            .and_then(|()| match fs::hard_link(&name.path, &own) {
                // Another process brings it back, too.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                linked => linked,
            })
            .and_then(|()| Disk.sync_dir(&self.state_dir));
        linked.map_err(JournalError::io("bring back", &own))
    }

    /// Ends all second names, before the log is replaced on purpose. The files stay.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn forget(&self) -> Result<(), JournalError> {
        for name in self.list()? {
            let kept = self.set_aside(name.first);
            kept.map_err(JournalError::io("rename", &name.path))?;
        }
        Ok(())
    }

    fn set_aside(&self, first: u64) -> io::Result<()> {
        let name = rotated_name(first);
        let kept = self.folder.join(format!("{REPLACED}{name}"));
        fs::rename(self.folder.join(name), kept)
    }

    fn list(&self) -> Result<Vec<SecondName>, JournalError> {
        let failed = || JournalError::io("list", &self.folder);
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            entries => entries.map_err(failed())?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed())?;
            let Some(first) = first_of_name(&entry.file_name().to_string_lossy()) else {
                continue;
            };
            let meta = entry.metadata().map_err(failed())?;
            // Without an event there is nothing to bring back.
            if meta.is_file() && meta.len() > 0 {
                found.push(SecondName {
                    first,
                    inode: meta.ino(),
                    path: entry.path(),
                });
            }
        }
        Ok(found)
    }
}

/// What comes before the last line end: the rest was never acknowledged.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..end.map_or(0, |end| end + 1)]
}

/// The second name of a segment.
struct SecondName {
    first: u64,
    inode: u64,
    path: PathBuf,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::journal::record::FORMAT;

    /// The first line of a segment, as far as it matters.
    fn line(first: u64) -> String {
        format!("{{\"v\":{FORMAT},\"seq\":{first},\"dur\":0,\"ts\":\"\"}}\n")
    }

    /// A log with these segments, all of which have a second name; the last one is live.
    fn log(firsts: &[u64]) -> (tempfile::TempDir, SecondNames) {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        let (live, rotated) = firsts.split_last().unwrap();
        for first in rotated {
            fs::write(state.join(rotated_name(*first)), line(*first)).unwrap();
        }
        fs::write(state.join(LIVE_FILE), line(*live)).unwrap();
        let names = SecondNames::new(&state, &dir.path().join("git/swarm/log"));
        names.link(*live).unwrap();
        (dir, names)
    }

    fn own(names: &SecondNames, file: &str) -> String {
        fs::read_to_string(names.state_dir.join(file)).unwrap_or_default()
    }

    #[test]
    fn a_log_that_was_removed_comes_back_under_its_names() {
        let (_dir, names) = log(&[1, 5, 9]);
        fs::remove_dir_all(&names.state_dir).unwrap();
        assert!(names.restore().unwrap());
        assert_eq!(own(&names, "events.1.jsonl"), line(1));
        assert_eq!(own(&names, "events.5.jsonl"), line(5));
        assert_eq!(own(&names, LIVE_FILE), line(9));
        assert!(!names.restore().unwrap(), "nothing is missing any more");
    }

    #[test]
    fn what_is_written_later_comes_back_as_well() {
        let (_dir, names) = log(&[1]);
        let live = names.state_dir.join(LIVE_FILE);
        let longer = line(1) + &line(2);
        fs::write(&live, &longer).unwrap();
        fs::remove_file(&live).unwrap();
        names.restore().unwrap();
        assert_eq!(own(&names, LIVE_FILE), longer);
    }

    #[test]
    fn only_the_missing_one_of_several_comes_back() {
        let (_dir, names) = log(&[1, 5]);
        fs::remove_file(names.state_dir.join("events.1.jsonl")).unwrap();
        assert!(names.restore().unwrap());
        assert_eq!(own(&names, "events.1.jsonl"), line(1));
        assert_eq!(own(&names, LIVE_FILE), line(5));
    }

    #[test]
    fn another_file_in_the_place_of_a_segment_is_not_replaced_and_the_old_one_is_kept() {
        for other in [line(1) + "other", "{\n  \"v\": 1".to_owned()] {
            let (_dir, names) = log(&[1]);
            let live = names.state_dir.join(LIVE_FILE);
            fs::remove_file(&live).unwrap();
            fs::write(&live, &other).unwrap();
            assert!(!names.restore().unwrap());
            assert_eq!(own(&names, LIVE_FILE), other);
            names.link(1).unwrap();
            let kept = names.folder.join("replaced.events.1.jsonl");
            assert_eq!(fs::read_to_string(kept).unwrap(), line(1));
        }
    }

    #[test]
    fn an_empty_file_in_the_place_of_the_log_takes_no_second_name() {
        let (_dir, names) = log(&[1]);
        let live = names.state_dir.join(LIVE_FILE);
        fs::remove_file(&live).unwrap();
        fs::write(&live, "").unwrap();
        assert!(names.restore().unwrap());
        assert_eq!(own(&names, LIVE_FILE), line(1));
    }

    #[test]
    fn a_log_that_is_replaced_on_purpose_does_not_come_back() {
        let (_dir, names) = log(&[1, 5]);
        assert!(names.is_any());
        names.forget().unwrap();
        fs::remove_dir_all(&names.state_dir).unwrap();
        assert!(!names.is_any() && !names.restore().unwrap());
    }
}
