//! Numbers the server's requests from 1. The SDK begins with 0, and some clients take a cancellation of request 0 for a
//! cancellation without a request.

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

pub(crate) struct IdsFromOne<T>(pub(crate) T);

impl<T: Transport<RoleServer>> Transport<RoleServer> for IdsFromOne<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        match &mut message {
            JsonRpcMessage::Request(request) => shift(&mut request.id, 1),
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &mut notification.notification
                    && let Some(request) = &mut cancelled.params.request_id
                {
                    shift(request, 1);
                }
            }
            _ => {}
        }
        self.0.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.0.receive().await?;
        match &mut message {
            JsonRpcMessage::Response(response) => shift(&mut response.id, -1),
            JsonRpcMessage::Error(error) => {
                if let Some(request) = &mut error.id {
                    shift(request, -1);
                }
            }
            _ => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.0.close().await
    }
}

fn shift(id: &mut RequestId, by: i64) {
    let number = match id {
        RequestId::Number(number) => Some(*number),
        // Some clients send the number back as a string.
        RequestId::String(text) => text.parse().ok(),
    };
    if let Some(shifted) = number.and_then(|number: i64| number.checked_add(by)) {
        *id = RequestId::Number(shifted);
    }
}
