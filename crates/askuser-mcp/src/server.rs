//! The server: which tools there are, and who answers a call.

use crate::deliveries::Deliveries;
use crate::inbox::Inbox;
use crate::tools;
use askuser::{Origin, Rules};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How a server asks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where it runs; the agent is whatever client calls.
    pub origin: Origin,
    /// How inputs are read.
    pub rules: Rules,
    /// How long a call waits at most, instead of what is known of the client.
    pub limit: Option<Duration>,
    /// When a question gives up altogether.
    pub deadline: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options { origin: Origin::default(), rules: Rules::strict(), limit: None, deadline: None }
    }
}

/// An MCP server. Clones share everything.
#[derive(Clone)]
pub struct Server {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) options: Arc<Options>,
    pub(crate) deliveries: Deliveries,
    /// The connection is gone: whoever waits for a person stops.
    pub(crate) closed: CancellationToken,
}

impl Server {
    /// Asks through this inbox.
    pub fn new(inbox: Arc<dyn Inbox>, options: Options) -> Server {
        let (deliveries, closed) = (Deliveries::default(), CancellationToken::new());
        Server { inbox, options: Arc::new(options), deliveries, closed }
    }

    pub(crate) fn of_connection(self, deliveries: Deliveries, closed: CancellationToken) -> Server {
        Server { deliveries, closed, ..self }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("askuser", env!("CARGO_PKG_VERSION")).with_title("askuser"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::definitions(self.options.rules.limits())))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.map(Into::into).unwrap_or_default();
        match &*call.name {
            tools::ASK => self.ask(arguments, &context).await,
            tools::RESULT => self.redeem(&arguments, &context).await,
            name => Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
        }
    }
}
