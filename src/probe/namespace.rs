//! The hidden program `swarm __namespace SPEC`: enters a user and mount namespace of its own, hides
//! or replaces files there, and becomes the command.
//!
//! Invariant: the checkout, the worktree and the home folder are changed in overlays whose upper
//! layers are in memory, so all of it is gone when the last process of the namespace ends. The
//! user keeps its id. Needs Linux 5.11 (overlays in user namespaces) and one thread.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use super::garbage::{Manner, garbage};

const PROGRAM: &str = "__namespace";
/// Exit code if the command could not be begun; the file of errors says why.
const NOT_BEGUN: u8 = 125;

/// What the command sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum View {
    /// Everything.
    Everything,
    /// An empty folder in place of the checkout, but for git's directory and the worktree.
    CheckoutHidden,
    /// Garbage in these files of the checkout.
    CheckoutSwapped { files: Vec<String> },
    /// Garbage in these files of the worktree.
    Garbage { files: Vec<String>, manner: Manner },
}

/// A command and the namespace that it runs in. Paths are absolute and canonical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub view: View,
    pub checkout: PathBuf,
    /// The git directory that the checkout and the worktree share.
    pub git_dir: PathBuf,
    pub worktree: PathBuf,
    /// The home folder, if what the command changes in it is thrown away too.
    pub home: Option<PathBuf>,
    /// An empty folder, to mount on.
    pub scratch: PathBuf,
    /// Where an error is written.
    pub error: PathBuf,
    /// What `sh -c` gets.
    pub command: String,
}

impl Spec {
    /// The process that enters the namespace; its spec is written to `file`.
    pub(super) fn process(&self, exe: &Path, file: &Path) -> io::Result<Command> {
        fs::write(file, serde_json::to_vec(self)?)?;
        let mut command = Command::new(exe);
        command.arg(PROGRAM).arg(file).current_dir("/");
        Ok(command)
    }
}

/// Runs the hidden subcommand; `None` for any other command line. Call it first in `main`, before
/// anything starts a thread.
pub fn hidden_program(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != PROGRAM {
        return None;
    }
    let file = PathBuf::from(args.next()?);
    let spec = fs::read(file);
    let spec = spec.and_then(|bytes| serde_json::from_slice::<Spec>(&bytes).map_err(Into::into));
    let begun = spec.and_then(|spec| {
        // It is opened now, because the namespace may hide it.
        let errors = File::create(&spec.error)?;
        Ok((spec, errors))
    });
    match begun {
        Ok((spec, mut errors)) => {
            let error = become_command(&spec);
            // Nobody is left to tell if the pipe is gone: the parent then finds an exit code
            // without a reason.
            let _ = write!(errors, "{error}");
        }
        Err(error) => eprintln!("swarm {PROGRAM}: {error}"),
    }
    Some(ExitCode::from(NOT_BEGUN))
}

/// Returns only if the command could not be begun.
fn become_command(spec: &Spec) -> io::Error {
    if let Err(error) = enter(spec) {
        return error;
    }
    Command::new("/bin/sh")
        .args(["-c", &spec.command])
        .current_dir(&spec.worktree)
        .exec()
}

fn enter(spec: &Spec) -> io::Result<()> {
    // The command ends with the probe, if that is killed.
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    own_namespaces().map_err(|error| at("make a user namespace", &error))?;
    mount_on("/", None, None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    tmpfs(&spec.scratch)?;
    // From here on the scratch folder is named by relative paths: the home folder may hide it.
    std::env::set_current_dir(&spec.scratch)?;
    // Each overlay stands on what is there now, because the kernel stacks two at most.
    let tree = overlay("tree", &spec.worktree)?;
    let home = spec.home.as_ref().map(|home| overlay("home", home));
    let home = home.transpose()?;
    let covers = spec.git_dir.starts_with(&spec.checkout);
    let git = Path::new("git");
    fs::create_dir(git)?;
    bind(&spec.git_dir, git)?;
    let checkout = match &spec.view {
        View::Everything | View::CheckoutHidden => None,
        View::CheckoutSwapped { files } => {
            let checkout = overlay("checkout", &spec.checkout)?;
            replace(&checkout, files, Manner::Polite)?;
            Some(checkout)
        }
        View::Garbage { files, manner } => {
            replace(&tree, files, *manner)?;
            None
        }
    };
    if let (Some(home), Some(overlay)) = (&spec.home, home) {
        bind(&overlay, home)?;
    }
    let is_covered = match (&spec.view, checkout) {
        (View::CheckoutHidden, _) => {
            tmpfs(&spec.checkout)?;
            true
        }
        (_, Some(overlay)) => {
            bind(&overlay, &spec.checkout)?;
            true
        }
        (_, None) => false,
    };
    if is_covered && covers {
        fs::create_dir_all(&spec.git_dir)?;
        bind(git, &spec.git_dir)?;
    }
    fs::create_dir_all(&spec.worktree)?;
    bind(&tree, &spec.worktree)
}

/// Enters a user namespace, with all rights in it and the same ids, and a mount namespace.
fn own_namespaces() -> io::Result<()> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Makes an overlay of the folder under `name` in the current folder; returns where.
fn overlay(name: &str, lower: &Path) -> io::Result<PathBuf> {
    let folder = Path::new(name);
    for part in ["lower", "upper", "work", "merged"] {
        fs::create_dir_all(folder.join(part))?;
    }
    bind(lower, &folder.join("lower"))?;
    let merged = folder.join("merged");
    let layers =
        format!("lowerdir={name}/lower,upperdir={name}/upper,workdir={name}/work,userxattr");
    let kind = Some("overlay");
    mount_on(&merged, kind, kind, MsFlags::empty(), Some(&layers))?;
    Ok(merged)
}

fn replace(root: &Path, files: &[String], manner: Manner) -> io::Result<()> {
    for path in files {
        let file = root.join(path);
        let old = fs::read(&file).map_err(|error| at(&file.display().to_string(), &error))?;
        let mut open = OpenOptions::new().write(true).truncate(true).open(&file)?;
        open.write_all(garbage(path, &old, manner).as_bytes())?;
    }
    Ok(())
}

fn tmpfs(target: &Path) -> io::Result<()> {
    let kind = Some("tmpfs");
    mount_on(target, kind, kind, MsFlags::empty(), Some("mode=0755"))
}

fn bind(source: &Path, target: &Path) -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    let source = source.to_string_lossy();
    mount_on(target, Some(&source), None, flags, None)
}

fn mount_on(
    target: impl AsRef<Path>,
    source: Option<&str>,
    kind: Option<&str>,
    flags: MsFlags,
    data: Option<&str>,
) -> io::Result<()> {
    let target = target.as_ref();
    mount(source, target, kind, flags, data).map_err(|error| {
        let what = kind.or(source).unwrap_or("its mounts");
        at(
            &format!("mount {what} on {}", target.display()),
            &error.into(),
        )
    })
}

fn at(tried: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {tried}: {error}"))
}
