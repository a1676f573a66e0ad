//! Tests with the SDK's own client, to show that other programs can read the server's messages.

use crate::support::{Desk, TOKEN, database, features, options, serve_http, server, start};
use askuser_mcp::HTTP_PATH;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, Implementation,
};
use rmcp::service::RequestContext;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A client whose person chooses SQLite. It immediately refuses any form without SQLite, as if no person were there.
struct WithDialog;

impl ClientHandler for WithDialog {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("sdk", "1"))
    }

    async fn create_elicitation(
        &self,
        form: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if serde_json::to_string(&form).is_ok_and(|form| form.contains("SQLite")) {
            Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": "SQLite"})))
        } else {
            Ok(ElicitResult::new(ElicitationAction::Decline))
        }
    }
}

#[tokio::test]
async fn the_sdks_client_asks_over_http_and_a_wrong_token_does_not() {
    // The client of the SDK is built with TLS, even if it does not use TLS. Another test may have installed the
    // provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let desk = Desk::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}{HTTP_PATH}", listener.local_addr().unwrap());
    let server = server(&desk, options());
    let end = CancellationToken::new();
    let stop = end.clone();
    let of = desk.clone();
    let served = tokio::spawn(async move { serve_http(&of, server, listener, stop).await });
    let connect = |token: &str| {
        let config = StreamableHttpClientTransportConfig::with_uri(url.clone()).auth_header(token);
        WithDialog.serve(StreamableHttpClientTransport::from_config(config))
    };
    assert!(connect("wrong").await.is_err());
    let client = connect(TOKEN).await.unwrap();
    assert_eq!(client.list_all_tools().await.unwrap()[0].name, "AskUserQuestion");
    let call = CallToolRequestParams::new("AskUserQuestion").with_arguments(database().as_object().unwrap().clone());
    let result = serde_json::to_value(client.call_tool(call).await.unwrap()).unwrap();
    assert_eq!(result["structuredContent"]["via"], "elicitation", "{result}");
    // A question with several choices is answered from the inbox, because the dialog of this client cannot show it.
    let call = CallToolRequestParams::new("AskUserQuestion").with_arguments(features().as_object().unwrap().clone());
    let calling = tokio::spawn({
        let client = client.peer().clone();
        async move { client.call_tool(call).await }
    });
    desk.choose(&desk.pending(1).await[0], "Export").await;
    let result = serde_json::to_value(calling.await.unwrap().unwrap()).unwrap();
    assert_eq!(result["structuredContent"]["via"], "inbox", "{result}");
    client.cancel().await.unwrap();
    end.cancel();
    served.await.unwrap();
}

#[tokio::test]
async fn the_sdks_client_lists_the_tools_and_is_asked_in_its_dialog() {
    let desk = Desk::new();
    let (streams, _end, served) = start(&desk, options());
    let client = WithDialog.serve(streams).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[0].name, "AskUserQuestion");
    let arguments = database().as_object().unwrap().clone();
    let result =
        client.call_tool(CallToolRequestParams::new("AskUserQuestion").with_arguments(arguments)).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    assert_eq!(result["structuredContent"]["via"], "elicitation", "{result}");
    client.cancel().await.unwrap();
    served.await.unwrap();
}
