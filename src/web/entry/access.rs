//! Who may see the page: one-time links, sessions and the token of the API.
//!
//! The file `web.json` (0600) beside the socket keeps the path, the port and the sessions, so that
//! open tabs survive a restart. Sessions and one-time codes are kept as SHA-256 hashes.
//!
//! Invariant: a code opens one session, within [`CODE_LIFE`]. Cookies ignore ports, so all pages
//! lie under a path that nobody can guess: a server at another port is never sent the cookie. One
//! that takes our port while no daemon runs is, by tabs that are still open: so path and sessions
//! are forgotten when the port changes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::api::Entrance;
use crate::plain_file;

/// How long a one-time link can be used.
pub const CODE_LIFE: Duration = Duration::from_secs(60);
/// The most sessions; a new one ends the oldest.
const MAX_SESSIONS: usize = 32;
/// The most codes that wait for their use.
const MAX_CODES: usize = 16;

const FILE: &str = "web.json";
const TOKEN: &str = "token";

/// See the module.
#[derive(Debug)]
pub struct Access {
    private: PathBuf,
    token: String,
    port: u16,
    kept: Mutex<Kept>,
    codes: Mutex<Vec<(String, Instant)>>,
}

/// What is kept from one daemon to the next.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// The last part of the path under which all pages lie.
    path: String,
    /// The port of the last daemon, if it had one.
    port: Option<u16>,
    /// The hashes of the sessions, oldest first.
    sessions: Vec<String>,
}

/// The port that an earlier daemon of this repository used, if it is known.
pub fn last_port(private: &Path) -> Option<u16> {
    read(private).ok().flatten()?.port
}

impl Access {
    /// Reads or makes the token and the path, for this port. The caller holds the state lock.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub fn open(private: &Path, port: u16) -> io::Result<Self> {
        let mut kept = read(private)?.unwrap_or_default();
        if let Some(last) = kept.port.filter(|last| *last != port) {
            tracing::warn!(
                last,
                port,
                "the page has another port than before, so its sessions have ended: open tabs may \
                 have sent their cookie to whoever has the old port; for a new link: swarm open"
            );
            kept = Kept::default();
        }
        if kept.path.is_empty() {
            // Each link of a page carries it: half a secret, 122 random bits, keeps pages short.
            kept.path = Uuid::new_v4().simple().to_string();
        }
        kept.port = Some(port);
        let access = Self {
            private: private.to_owned(),
            token: token(private)?,
            port,
            kept: Mutex::new(kept.clone()),
            codes: Mutex::default(),
        };
        access.write(&kept)?;
        Ok(access)
    }

    /// The path under which all pages lie: `/s/<random>`.
    pub fn path(&self) -> String {
        format!("/s/{}", self.kept().path)
    }

    /// `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.host())
    }

    /// The only `Host` that is answered.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The name of the session's cookie.
    pub fn cookie(&self) -> String {
        format!("swarm-{}", &self.kept().path[..8])
    }

    /// Whether this is the API's token.
    pub fn is_token(&self, text: &str) -> bool {
        // Equal hashes, compared in a time that says nothing about the token.
        hash(text) == hash(&self.token)
    }

    /// A link that opens one session within [`CODE_LIFE`].
    pub fn link(&self) -> String {
        let code = secret();
        let mut codes = lock(&self.codes);
        codes.retain(|(_, made)| made.elapsed() < CODE_LIFE);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push((hash(&code), Instant::now()));
        format!("{}{}/enter?code={code}", self.origin(), self.path())
    }

    /// Opens a session with a code; `None` if the code is unknown, used or too old. The session is
    /// on disk before it is returned.
    ///
    /// # Errors
    /// The session cannot be written.
    pub fn enter(&self, code: &str) -> io::Result<Option<String>> {
        let code = hash(code);
        let is_valid = {
            let mut codes = lock(&self.codes);
            codes.retain(|(_, made)| made.elapsed() < CODE_LIFE);
            let known = codes.iter().position(|(known, _)| *known == code);
            known.map(|index| codes.remove(index)).is_some()
        };
        if !is_valid {
            return Ok(None);
        }
        let session = secret();
        let mut kept = self.kept();
        let mut next = kept.clone();
        if next.sessions.len() >= MAX_SESSIONS {
            next.sessions.remove(0);
        }
        next.sessions.push(hash(&session));
        self.write(&next)?;
        *kept = next;
        Ok(Some(session))
    }

    /// Whether this session was opened and not ended.
    pub fn is_session(&self, session: &str) -> bool {
        let session = hash(session);
        self.kept().sessions.contains(&session)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.kept)
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        replace(&self.private, FILE, &serde_json::to_vec_pretty(kept)?)
    }
}

impl Entrance for Access {
    fn link(&self) -> (String, u64) {
        (self.link(), CODE_LIFE.as_secs())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 244 random bits.
pub(in crate::web) fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Bytes in hex.
pub(in crate::web) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        text.extend(
            [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)])),
        );
        text
    })
}

/// What an earlier daemon kept; nothing if the file is missing or not ours to read: a new path and
/// new sessions cost a `swarm open`.
fn read(private: &Path) -> io::Result<Option<Kept>> {
    let Some(text) = read_text(&private.join(FILE))? else {
        return Ok(None);
    };
    let kept: Option<Kept> = serde_json::from_str(&text).ok();
    Ok(kept.filter(|kept| is_hex(&kept.path, 32)))
}

/// The API's token, made if there is none.
fn token(private: &Path) -> io::Result<String> {
    let path = private.join(TOKEN);
    if let Some(token) = read_text(&path)? {
        let token = token.trim();
        if is_hex(token, 64) {
            return Ok(token.to_owned());
        }
    }
    let token = secret();
    replace(private, TOKEN, format!("{token}\n").as_bytes())?;
    Ok(token)
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read_text(path: &Path) -> io::Result<Option<String>> {
    let mut text = String::new();
    match plain_file::open(path) {
        Ok(file) => file
            .take(1 << 20)
            .read_to_string(&mut text)
            .map(|_| Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a file as a whole, readable by its owner alone.
pub(super) fn replace(private: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    // A fixed name is safe under the state lock, and overwrites what a kill left.
    let new = private.join(format!("{name}.new"));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, private.join(name))?;
    File::open(private)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn code_of(link: &str) -> &str {
        link.rsplit_once("code=").unwrap().1
    }

    #[test]
    fn a_code_opens_one_session_which_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access::open(dir.path(), 7420).unwrap();
        let link = access.link();
        assert!(link.starts_with(&format!("http://127.0.0.1:7420{}/enter?", access.path())));
        let session = access.enter(code_of(&link)).unwrap().unwrap();
        assert_eq!(access.enter(code_of(&link)).unwrap(), None, "used twice");
        let next = Access::open(dir.path(), 7420).unwrap();
        assert!(next.is_session(&session));
        assert!(!next.is_session("another"));
        assert_eq!(next.path(), access.path());
        assert_eq!(last_port(dir.path()), Some(7420));
        assert!(next.is_token(&token(dir.path()).unwrap()));
    }

    #[test]
    fn another_port_ends_the_sessions_and_has_another_path() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access::open(dir.path(), 7420).unwrap();
        let session = access.enter(code_of(&access.link())).unwrap().unwrap();
        let next = Access::open(dir.path(), 7421).unwrap();
        assert!(!next.is_session(&session));
        assert_ne!(next.path(), access.path());
        assert_ne!(next.cookie(), access.cookie());
        assert_eq!(last_port(dir.path()), Some(7421));
        let back = Access::open(dir.path(), 7420).unwrap();
        assert!(!back.is_session(&session), "they stay ended");
    }

    #[test]
    fn a_code_is_worth_nothing_after_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access::open(dir.path(), 1).unwrap();
        for (age, opens) in [
            (CODE_LIFE.checked_sub(Duration::from_secs(5)).unwrap(), true),
            (CODE_LIFE, false),
        ] {
            let link = access.link();
            for (_, made) in lock(&access.codes).iter_mut() {
                *made = made.checked_sub(age).unwrap();
            }
            let session = access.enter(code_of(&link)).unwrap();
            assert_eq!(session.is_some(), opens, "{age:?}");
        }
    }

    #[test]
    fn secrets_are_for_their_owner_alone_and_sessions_are_hashed() {
        let dir = tempfile::tempdir().unwrap();
        let access = Access::open(dir.path(), 1).unwrap();
        let session = access.enter(code_of(&access.link())).unwrap().unwrap();
        for name in [FILE, TOKEN] {
            let path = dir.path().join(name);
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
            assert!(!fs::read_to_string(&path).unwrap().contains(&session));
        }
    }

    #[test]
    fn a_damaged_file_costs_a_new_link_only() {
        let dir = tempfile::tempdir().unwrap();
        for damaged in ["", "{", "{\"path\":\"../x\",\"port\":1,\"sessions\":[]}"] {
            fs::write(dir.path().join(FILE), damaged).unwrap();
            let access = Access::open(dir.path(), 1).unwrap();
            assert!(is_hex(access.path().strip_prefix("/s/").unwrap(), 32));
        }
    }
}
