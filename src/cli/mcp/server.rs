//! Answers the protocol's requests.
//!
//! Invariant: what swarm refuses is a tool result, which the model reads. Only a call that the list
//! of tools rules out is an error of the protocol.

use std::sync::Arc;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::arguments::Call;
use super::calls::{self, Caller};
use super::news::News;
use super::tools::ToolName;
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::domain::ids::{AgentId, ProfileName};

/// What a client tells its model about all tools.
const INSTRUCTIONS: &str = "The memory that all agents of this repository share. Search it before \
    you investigate; record what cost you time to find out.";

/// The server of one client.
pub(super) struct Server {
    repo: Arc<Repo>,
    profile: Option<ProfileName>,
    news: Arc<News>,
}

impl Server {
    pub(super) fn new(repo: Repo, profile: Option<ProfileName>, agent: Option<AgentId>) -> Self {
        Self {
            repo: Arc::new(repo),
            profile,
            news: Arc::new(News::new(agent)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("swarm", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(ToolName::list()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = request.name.parse().map_err(|_| unknown(&request.name))?;
        let call = Call::parse(tool, request.arguments.unwrap_or_default())
            .map_err(|error| ErrorData::invalid_params(error, None))?;
        let caller = Caller {
            profile: self.profile.clone(),
            client: context.client_info().map(|client| client.name),
        };
        let (repo, news) = (Arc::clone(&self.repo), Arc::clone(&self.news));
        let done = tokio::task::spawn_blocking(move || {
            let done = calls::carry_out(&repo, &caller, call)?;
            let news = news.after(&repo, &done);
            Ok((done, news))
        });
        let done = done.await.map_err(|error| {
            ErrorData::internal_error(format!("the call ended unexpectedly: {error}"), None)
        })?;
        Ok(answer(done).into())
    }
}

fn unknown(name: &str) -> ErrorData {
    let name: String = name.chars().take(100).collect();
    ErrorData::new(
        ErrorCode::INVALID_PARAMS,
        format!(
            "there is no tool `{}`; there are {}",
            name.escape_debug(),
            ToolName::all_names()
        ),
        None,
    )
}

fn answer(done: Result<(Value, Option<String>), CliError>) -> CallToolResult {
    match done {
        Ok((value, news)) => {
            let texts = [value.to_string()].into_iter().chain(news);
            CallToolResult::success(texts.map(ContentBlock::text).collect())
        }
        Err(error) => {
            let text = error.to_json().to_string();
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}
