//! Effects of the merge queue in git.

use super::dispatch::failed;
use super::git_effects::{oid, ours};
use super::tools::Tools;
use crate::domain::effect::{ConflictLevel, Effect};
use crate::domain::ids::{EffectId, Oid};
use crate::domain::observation::Outcome;
use crate::git::{GitError};

type Done = Result<Outcome, GitError>;
