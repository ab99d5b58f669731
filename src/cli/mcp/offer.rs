//! Which tools a client gets: the memory's, and outside a run those of a person's own agent.
//!
//! Invariant: who calls is found from the processes above this one, never from an argument. A
//! server that began in a run stays one of a run, whatever becomes of the run.

use rmcp::model::Tool;
use serde_json::{Map, Value};
use strum::VariantArray as _;

use super::arguments;
use super::calls::{self, Caller};
use super::person::{self, PersonTool};
use super::tools::ToolName;
use crate::cli::access::speaker;
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::domain::request::Author;

/// Most characters of an unknown name that an error repeats.
const MAX_NAME: usize = 100;

/// A tool that a client may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    /// One of the memory.
    Memory(ToolName),
    /// One of a person's own agent.
    Person(PersonTool),
}

/// A call with its arguments.
pub(super) enum Call {
    Memory(arguments::Call),
    Person(person::Call),
}

/// What the tools of a run are for.
const IN_A_RUN: &str = "The memory that all agents of this repository share. Search it before \
    you investigate; record what cost you time to find out.";
/// The same for a person's own agent.
const OUTSIDE: &str = "swarm runs agents on a backlog of ideas in this repository and lands their \
    work. `status` shows where it stands, `idea_add` gives it work. Its agents share a memory: \
    search it before you investigate; record what cost you time to find out.";
/// The same for one that may only read.
const ONLY_READING: &str = "swarm runs agents on a backlog of ideas in this repository and lands \
    their work. `status` shows where it stands. Its agents share a memory: search it before you \
    investigate.";

/// What one client is offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    /// Whether the server began in a run.
    in_run: bool,
    /// Whether the client gets the reading tools only.
    only_reading: bool,
}

impl Offer {
    /// The offer to the client of this process.
    pub(super) fn new(repo: &Repo, only_reading: bool) -> Self {
        Self {
            in_run: is_in_run(repo),
            only_reading,
        }
    }

    /// What a client tells its model about all tools.
    pub(super) const fn instructions(self) -> &'static str {
        match (self.in_run, self.only_reading) {
            (true, _) => IN_A_RUN,
            (false, false) => OUTSIDE,
            (false, true) => ONLY_READING,
        }
    }

    /// The tools at this moment.
    pub(super) fn tools(self, repo: &Repo) -> Vec<Offered> {
        let memory = ToolName::VARIANTS.iter().copied().map(Offered::Memory);
        let mut tools: Vec<Offered> = memory.collect();
        if !self.in_run && !is_in_run(repo) {
            let person = PersonTool::VARIANTS.iter().copied();
            tools.extend(person.map(Offered::Person));
        }
        tools.retain(|tool| tool.only_reads() || !self.only_reading);
        tools
    }

    /// The tool of this name, or an error that names those there are.
    pub(super) fn find(self, repo: &Repo, name: &str) -> Result<Offered, String> {
        let tools = self.tools(repo);
        let found = tools.iter().find(|tool| tool.name() == name);
        found.copied().ok_or_else(|| {
            let name: String = name.chars().take(MAX_NAME).collect();
            let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
            format!(
                "there is no tool `{}`; there are {}",
                name.escape_debug(),
                names.join(", ")
            )
        })
    }
}

/// Whether a run of this repository is above this process. Whoever cannot be found out gets no more
/// than a run.
fn is_in_run(repo: &Repo) -> bool {
    match speaker::author(&repo.paths()) {
        Ok(Author::Person | Author::Mcp { .. }) => false,
        Ok(
            Author::Hook { .. }
            | Author::Agent { .. }
            | Author::Synthesis { .. }
            | Author::Check { .. },
        )
        | Err(_) => true,
    }
}

impl Offered {
    fn name(self) -> &'static str {
        match self {
            Self::Memory(tool) => tool.name(),
            Self::Person(tool) => tool.name(),
        }
    }

    fn only_reads(self) -> bool {
        match self {
            Self::Memory(tool) => tool.only_reads(),
            Self::Person(tool) => tool.only_reads(),
        }
    }

    /// The tool as a client lists it.
    pub(super) fn describe(self) -> Tool {
        match self {
            Self::Memory(tool) => tool.describe(),
            Self::Person(tool) => tool.describe(),
        }
    }

    /// A call with these arguments, or what is wrong with them.
    pub(super) fn parse(self, arguments: Map<String, Value>) -> Result<Call, String> {
        match self {
            Self::Memory(tool) => arguments::Call::parse(tool, arguments).map(Call::Memory),
            Self::Person(tool) => person::Call::parse(tool, arguments).map(Call::Person),
        }
    }
}

impl Call {
    /// The answer, as the client's model reads it.
    pub(super) fn carry_out(self, repo: &Repo, caller: &Caller) -> Result<Value, CliError> {
        match self {
            Self::Memory(call) => calls::carry_out(repo, caller, call),
            Self::Person(call) => person::carry_out(repo, caller, call),
        }
    }
}
