//! Answers the protocol's requests.
//!
//! Invariant: what swarm refuses is a tool result, which the model reads. Only a call that the list
//! of tools rules out is an error of the protocol.

use std::sync::Arc;

use jiff::tz::TimeZone;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::Options;
use super::calls::Caller;
use super::news::News;
use super::offer::{Offer, Offered};
use crate::cli::error::CliError;
use crate::cli::repo::Repo;
use crate::domain::ids::ProfileName;

/// The server of one client.
pub(super) struct Server {
    repo: Arc<Repo>,
    profile: Option<ProfileName>,
    zone: TimeZone,
    offer: Offer,
    news: Arc<News>,
}

impl Server {
    pub(super) fn new(repo: Repo, options: Options) -> Self {
        Self {
            offer: Offer::new(&repo, options.only_reading),
            repo: Arc::new(repo),
            profile: options.profile,
            zone: options.zone,
            news: Arc::new(News::new(options.agent)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("swarm", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.offer.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offer.tools(&self.repo).into_iter();
        let tools = tools.map(Offered::describe).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.offer.find(&self.repo, &request.name);
        let call = tool
            .and_then(|tool| tool.parse(request.arguments.unwrap_or_default()))
            .map_err(|error| ErrorData::invalid_params(error, None))?;
        let caller = Caller {
            profile: self.profile.clone(),
            client: context.client_info().map(|client| client.name),
            zone: self.zone.clone(),
        };
        let (repo, news) = (Arc::clone(&self.repo), Arc::clone(&self.news));
        let done = tokio::task::spawn_blocking(move || {
            let done = call.carry_out(&repo, &caller)?;
            let news = news.after(&repo, &done);
            Ok((done, news))
        });
        let done = done.await.map_err(|error| {
            ErrorData::internal_error(format!("the call ended unexpectedly: {error}"), None)
        })?;
        Ok(answer(done).into())
    }
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
