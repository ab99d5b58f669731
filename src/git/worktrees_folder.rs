//! Chooses the folder of the worktrees, and tells whose it is. It lies outside the checkout, where
//! no tool that looks upwards from a worktree, or downwards from the checkout, finds the other.
//!
//! Invariant: the folder is chosen once. Its absolute path stands in `<common dir>/swarm/worktrees`
//! before it is made; its file `owner` names the repository that it belongs to. swarm makes and
//! removes worktrees only in a folder with this file. Called by `swarm init` and a starting daemon.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use super::error::{At, GitError};
use super::objects::names::shown;
use super::worktree::registry::is_missing;
use crate::{crash, remove};

/// Name of the file that says whose folder it is.
pub(crate) const OWNER: &str = "owner";
const OWNER_DRAFT: &str = "owner.new";
/// Longest part of the folder's name that comes from the checkout's.
const NAME: usize = 32;
/// Free bytes below which the file system is taken for full.
const FULL_BELOW: u64 = 1 << 20;

/// Where a folder may be made.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// `worktree.root`: the folder to make it in, absolute or relative to the checkout.
    pub root: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub state_home: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Those of this process, and `worktree.root`.
    pub fn of_environment(root: Option<&str>) -> Self {
        let absolute = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.filter(|path| path.is_absolute())
        };
        Self {
            root: root.map(PathBuf::from),
            state_home: absolute("XDG_STATE_HOME"),
            home: absolute("HOME"),
        }
    }
}

/// What a start found out about the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettledFolder {
    /// Whether it was made now, so that no worktree is in it.
    pub is_new: bool,
    /// What a person should know: the repository is a copy, it was moved, the folder was gone.
    pub note: Option<String>,
}

impl SettledFolder {
    const NEW: Self = Self {
        is_new: true,
        note: None,
    };
}

/// Whose the folder is that was written down.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Unchosen,
    Ours(PathBuf),
    /// Ours, but it names another place of the repository: that was moved.
    Moved(PathBuf, PathBuf),
    /// It belongs to another repository, of which this is a copy.
    OfAnother(PathBuf, PathBuf),
    /// Not there, or empty.
    Gone(PathBuf),
    /// Something else is in its place.
    Foreign(PathBuf),
}

/// A repository by its common directory; device and inode stay when it is renamed.
struct Owner {
    common: PathBuf,
    device: u64,
    inode: u64,
}

impl Owner {
    fn of(common: &Path) -> io::Result<Self> {
        let meta = fs::metadata(common)?;
        Ok(Self {
            common: common.to_owned(),
            device: meta.dev(),
            inode: meta.ino(),
        })
    }

    /// `None` if the folder has no readable owner.
    fn read(folder: &Path) -> Option<Self> {
        let text = fs::read(folder.join(OWNER)).ok()?;
        let text = text.strip_suffix(b"\n")?;
        let end = text.iter().rposition(|byte| *byte == b'\n')?;
        let (device, inode) = std::str::from_utf8(&text[end + 1..])
            .ok()?
            .split_once(' ')?;
        Some(Self {
            common: OsStr::from_bytes(&text[..end]).into(),
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    }

    fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = self.common.as_os_str().as_bytes().to_vec();
        text.extend(format!("\n{} {}\n", self.device, self.inode).bytes());
        replace(&folder.join(OWNER_DRAFT), &folder.join(OWNER), &text)
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Whether another repository than `own` is at the place of this one now, and uses the folder.
    fn is_another(&self, own: &Self, folder: &Path) -> bool {
        Self::of(&self.common).is_ok_and(|there| !there.is_same(own))
            && written_down(&self.common).is_some_and(|path| path == folder)
    }
}

/// The folder of this repository; `None` before it has one.
pub(crate) fn read(common: &Path) -> Option<PathBuf> {
    match standing(common).ok()? {
        Standing::Ours(folder) | Standing::Moved(folder, _) | Standing::Gone(folder) => {
            Some(folder)
        }
        Standing::Unchosen | Standing::OfAnother(..) | Standing::Foreign(_) => None,
    }
}

/// Whether this is the folder of another repository's worktrees.
pub(crate) fn is_of_another(folder: &Path, common: &Path) -> bool {
    let own = Owner::of(common);
    own.is_ok_and(|own| Owner::read(folder).is_some_and(|owner| owner.is_another(&own, folder)))
}

/// Chooses the folder if there is none, or takes over that of a repository that was moved. In place
/// of one that is gone it chooses another: what comes back there, as with a disk that was not
/// mounted, is older than the branches. `worktrees` are the registered ones. Returns the folder
/// too.
pub(crate) fn settle(
    root: &Path,
    common: &Path,
    places: &Places,
    worktrees: &[PathBuf],
) -> Result<(PathBuf, SettledFolder), GitError> {
    let said = |note: String, is_new: bool| SettledFolder {
        is_new,
        note: Some(note),
    };
    let standing = standing(common)?;
    if let Standing::Gone(folder) = &standing
        && let Some(moved) = moved_along(folder, root, common, places)
    {
        return follow(folder, moved, common);
    }
    if standing == Standing::Unchosen
        && let Some(folder) = of_worktrees(worktrees, common)
    {
        write_down(&folder, common)?;
        claim(&folder, common)?;
        return Ok((folder, SettledFolder::default()));
    }
    match standing {
        Standing::Unchosen => Ok((choose(root, common, places)?, SettledFolder::NEW)),
        Standing::Ours(folder) if is_unused(&folder) && !is_wanted(&folder, root, places) => {
            let chosen = choose(root, common, places)?;
            leave(&folder);
            Ok((chosen, SettledFolder::NEW))
        }
        Standing::Ours(folder) => {
            let own = Owner::of(common).at("inspect", common)?;
            // A copy of the repository may have taken the place of the one that made it.
            if Owner::read(&folder).is_some_and(|owner| !owner.is_same(&own)) {
                claim(&folder, common)?;
            }
            Ok((folder, SettledFolder::default()))
        }
        Standing::Moved(folder, from) => {
            claim(&folder, common)?;
            let settled = said(was_moved(&from, &folder), false);
            Ok((folder, settled))
        }
        Standing::OfAnother(_, other) => {
            let folder = choose(root, common, places)?;
            let settled = said(is_a_copy(&other, &folder), true);
            Ok((folder, settled))
        }
        Standing::Gone(folder) => {
            let chosen = choose(root, common, places)?;
            leave(&folder);
            Ok((chosen, SettledFolder::NEW))
        }
        Standing::Foreign(path) => Err(taken(path)),
    }
}

/// Removes a folder in which nothing is but the file that says whose it is. One that stays, as a
/// mount does, is of no harm.
fn leave(folder: &Path) {
    let owner = remove::file_if_there(&folder.join(OWNER));
    if let Err(error) = owner.and_then(|()| remove::empty_dir(folder)) {
        tracing::debug!(%error, folder = %folder.display(), "an unused folder stays");
    }
}

/// Makes the folder, and writes whose it is. Never changes one that has files and no owner.
pub(crate) fn make(folder: &Path, common: &Path) -> Result<(), GitError> {
    if !is_empty(folder) {
        return Err(taken(folder.to_owned()));
    }
    fs::create_dir_all(folder).at("make", folder)?;
    crash::point("git.worktrees.made");
    claim(folder, common)
}

fn claim(folder: &Path, common: &Path) -> Result<(), GitError> {
    let owner = Owner::of(common).at("inspect", common)?;
    owner.write(folder).at("write the owner of", folder)?;
    crash::point("git.worktrees.owned");
    Ok(())
}

fn taken(path: PathBuf) -> GitError {
    let why = if path.is_symlink() {
        "it is a symbolic link; swarm makes worktrees only in a folder of its own".into()
    } else {
        "it is not a folder that swarm made for worktrees: it has no file `owner`".into()
    };
    GitError::PathTaken { path, why }
}

fn standing(common: &Path) -> Result<Standing, GitError> {
    let Some(folder) = written_down(common) else {
        return Ok(Standing::Unchosen);
    };
    match fs::symlink_metadata(&folder) {
        Err(error) if is_missing(&error) => return Ok(Standing::Gone(folder)),
        Err(error) => return Err(GitError::io("inspect", &folder, error)),
        Ok(meta) if !meta.is_dir() => return Ok(Standing::Foreign(folder)),
        Ok(_) => {}
    }
    // Git names worktrees by their real paths.
    let real = fs::canonicalize(&folder).at("resolve", &folder)?;
    let Some(owner) = Owner::read(&folder) else {
        return Ok(if is_empty(&folder) {
            Standing::Gone(real)
        } else {
            Standing::Foreign(folder)
        });
    };
    let own = Owner::of(common).at("inspect", common)?;
    Ok(if owner.common == own.common {
        Standing::Ours(real)
    } else if owner.is_another(&own, &folder) {
        Standing::OfAnother(folder, owner.common)
    } else {
        Standing::Moved(real, owner.common)
    })
}

/// The path in `<common dir>/swarm/worktrees`.
fn written_down(common: &Path) -> Option<PathBuf> {
    let mut text = fs::read(common.join("swarm/worktrees")).ok()?;
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    let path = PathBuf::from(OsString::from_vec(text));
    path.is_absolute().then_some(path)
}

/// Whether no worktree was ever made in it.
fn is_unused(folder: &Path) -> bool {
    has_only(folder, &[OWNER, OWNER_DRAFT])
}

fn is_empty(folder: &Path) -> bool {
    has_only(folder, &[OWNER_DRAFT])
}

fn has_only(folder: &Path, names: &[&str]) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return fs::symlink_metadata(folder).is_err();
    };
    let mut entries = entries.flatten().map(|entry| entry.file_name());
    entries.all(|entry| names.iter().any(|name| entry == *name))
}

/// Whether it lies where `worktree.root` says; without that any place is right.
fn is_wanted(folder: &Path, root: &Path, places: &Places) -> bool {
    let Some(wanted) = &places.root else {
        return true;
    };
    fs::canonicalize(root.join(wanted)).is_ok_and(|wanted| folder.parent() == Some(&wanted))
}

/// Chooses a folder, writes its path down, and makes it.
fn choose(root: &Path, common: &Path, places: &Places) -> Result<PathBuf, GitError> {
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev());
    let (parent, name) = wanted(root, places, unique(), &device)?;
    let refuse = |why: String| GitError::NoPlace { why };
    fs::create_dir_all(&parent)
        .map_err(|error| refuse(format!("{} cannot be made ({error})", shown(&parent))))?;
    let parent = fs::canonicalize(&parent).at("resolve", &parent)?;
    if parent.starts_with(root) {
        return Err(refuse(format!("{} lies in the checkout", shown(&parent))));
    }
    access(&parent, AccessFlags::W_OK | AccessFlags::X_OK)
        .map_err(|errno| refuse(format!("{} is not writable ({errno})", shown(&parent))))?;
    if is_full(&parent) {
        return Err(refuse(format!(
            "the file system of {} is full",
            shown(&parent)
        )));
    }
    let folder = parent.join(name);
    write_down(&folder, common)?;
    make(&folder, common)?;
    Ok(folder)
}

fn write_down(folder: &Path, common: &Path) -> Result<(), GitError> {
    let (own, file) = (common.join("swarm"), common.join("swarm/worktrees"));
    fs::create_dir_all(&own).at("make", &own)?;
    let text = [folder.as_os_str().as_bytes(), b"\n"].concat();
    replace(&own.join("worktrees.new"), &file, &text).at("write", &file)?;
    crash::point("git.worktrees.written");
    Ok(())
}

fn was_moved(from: &Path, folder: &Path) -> String {
    let (from, folder) = (shown(from), shown(folder));
    format!("the repository was at {from} before; its worktrees in {folder} go on")
}

fn is_a_copy(other: &Path, folder: &Path) -> String {
    let (other, folder) = (shown(other), shown(folder));
    format!(
        "this repository is a copy of {other}; its worktrees lie in {folder}, and its ideas go on \
        from the last commits of their branches"
    )
}

/// Goes on in the folder where it is now, and says so.
fn follow(
    folder: &Path,
    moved: PathBuf,
    common: &Path,
) -> Result<(PathBuf, SettledFolder), GitError> {
    write_down(&moved, common)?;
    claim(&moved, common)?;
    let note = format!(
        "the worktrees were in {} before; they go on in {}",
        shown(folder),
        shown(&moved)
    );
    let settled = SettledFolder {
        is_new: false,
        note: Some(note),
    };
    Ok((moved, settled))
}

/// The folder of the registered worktrees, where the file that names it is lost.
fn of_worktrees(worktrees: &[PathBuf], common: &Path) -> Option<PathBuf> {
    let own = Owner::of(common).ok()?;
    let is_own = |folder: &&Path| {
        Owner::read(folder).is_some_and(|it| it.common == own.common && it.is_same(&own))
    };
    let mut folders = worktrees.iter().filter_map(|it| it.parent());
    folders.find(is_own).map(Path::to_owned)
}

/// Where a folder is that was moved together with the repository, as with the home folder that
/// both lie in: at the place that would be chosen now, and no living repository has it.
fn moved_along(folder: &Path, root: &Path, common: &Path, places: &Places) -> Option<PathBuf> {
    let device = |path: &Path| fs::metadata(path).map(|meta| meta.dev());
    let (parent, _) = wanted(root, places, 0, &device).ok()?;
    let there = fs::canonicalize(parent.join(folder.file_name()?)).ok()?;
    let (owner, own) = (Owner::read(&there)?, Owner::of(common).ok()?);
    (owner.is_same(&own) || !owner.common.exists()).then_some(there)
}

/// The parent and the name of a new folder.
fn wanted(
    root: &Path,
    places: &Places,
    unique: u32,
    device: &dyn Fn(&Path) -> io::Result<u64>,
) -> Result<(PathBuf, String), GitError> {
    let name = safe_name(root);
    let plain = format!("{name}-{unique:08x}");
    if let Some(parent) = &places.root {
        return Ok((root.join(parent), plain));
    }
    let state = places.state_home.clone();
    let state = state.or_else(|| Some(places.home.as_ref()?.join(".local/state")));
    let Some(parent) = state.map(|state| state.join("swarm")) else {
        return Err(GitError::NoPlace {
            why: "neither XDG_STATE_HOME nor HOME is set".into(),
        });
    };
    let existing = parent.ancestors().find(|path| path.exists());
    let is_same = existing.is_some_and(|there| match (device(there), device(root)) {
        (Ok(there), Ok(here)) => there == here,
        (Err(_), _) | (_, Err(_)) => false,
    });
    if is_same && !parent.starts_with(root) {
        return Ok((parent, plain));
    }
    let beside = root.parent().ok_or_else(|| GitError::NoPlace {
        why: format!("nothing lies beside {}", shown(root)),
    })?;
    Ok((beside.to_owned(), format!(".{name}-swarm-{unique:08x}")))
}

/// The checkout's name, in letters that no tool stumbles over.
fn safe_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let is_safe = |it: char| it.is_ascii_alphanumeric() || "-._".contains(it);
    let safe = name.chars().map(|it| if is_safe(it) { it } else { '_' });
    let safe: String = safe.take(NAME).collect();
    let safe = safe.trim_start_matches('.');
    if safe.is_empty() { "repo" } else { safe }.to_owned()
}

fn unique() -> u32 {
    // The keys of a hasher are random.
    let random = std::hash::RandomState::new().build_hasher().finish();
    u32::try_from(random >> 32).unwrap_or_default()
}

fn is_full(place: &Path) -> bool {
    nix::sys::statvfs::statvfs(place).is_ok_and(|disk| {
        #[allow(clippy::useless_conversion)] // The counters are narrower on some systems.
        let free = u64::from(disk.blocks_available()).saturating_mul(disk.fragment_size());
        free < FULL_BELOW || (disk.files() > 0 && disk.files_available() == 0)
    })
}

/// Replaces a file atomically and durably.
fn replace(draft: &Path, file: &Path, text: &[u8]) -> io::Result<()> {
    let mut new = File::create(draft)?;
    new.write_all(text)?;
    new.sync_all()?;
    fs::rename(draft, file)?;
    match file.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HERE: u64 = 7;

    fn chosen(root: &str, places: &Places, at_home: u64) -> Result<String, String> {
        let home = places.home.clone().unwrap_or_else(|| "/none".into());
        let device = |path: &Path| {
            let is_home = home.starts_with(path) && path != Path::new("/");
            Ok(if is_home { at_home } else { HERE })
        };
        let found = wanted(Path::new(root), places, 0xab, &device);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.0.join(found.1).display().to_string())
    }

    fn home(path: &Path) -> Places {
        Places {
            home: Some(path.into()),
            ..Places::default()
        }
    }

    #[test]
    fn the_folder_lies_in_the_state_home_on_the_same_file_system_and_else_beside_the_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let at_home = home(dir.path());
        let state = format!("{}/.local/state/swarm/app-000000ab", dir.path().display());
        assert_eq!(chosen("/work/app", &at_home, HERE).unwrap(), state);
        let other = chosen("/work/app", &at_home, HERE + 1).unwrap();
        assert_eq!(other, "/work/.app-swarm-000000ab");
        let named = Places {
            state_home: Some("/state".into()),
            ..at_home.clone()
        };
        let there = chosen("/work/app", &named, HERE).unwrap();
        assert_eq!(there, "/state/swarm/app-000000ab");
        // A home that is the checkout.
        let inside = chosen(dir.path().to_str().unwrap(), &at_home, HERE).unwrap();
        assert!(!Path::new(&inside).starts_with(dir.path()), "{inside}");
    }

    #[test]
    fn worktree_root_overrides_it_and_is_named_where_there_is_no_home() {
        for (root, folder) in [("/fast", "/fast"), ("../trees", "/work/app/../trees")] {
            let places = Places {
                root: Some(root.into()),
                ..Places::default()
            };
            let found = chosen("/work/app", &places, HERE).unwrap();
            assert_eq!(found, format!("{folder}/app-000000ab"));
        }
        let refused = chosen("/work/app", &Places::default(), HERE).unwrap_err();
        assert!(
            refused.contains("HOME") && refused.contains("worktree"),
            "{refused}"
        );
    }

    #[test]
    fn the_name_is_short_and_has_no_letter_that_tools_stumble_over() {
        let long = "x".repeat(40);
        for (name, safe) in [
            ("..my app ü", "my_app__"),
            (long.as_str(), &long[..NAME]),
            ("...", "repo"),
        ] {
            assert_eq!(safe_name(&Path::new("/work").join(name)), safe);
        }
    }
}
