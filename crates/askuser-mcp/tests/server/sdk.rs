//! The SDK's own client: what we serve is what others read.

use crate::support::{Desk, database, options, start};
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorData, Implementation,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::json;

/// A client whose person chooses SQLite.
struct WithDialog;

impl ClientHandler for WithDialog {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("sdk", "1"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"answer": "SQLite"})))
    }
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
