//! Runs a command that the person typed. The command needs no permission and runs like a command of Bash. The model
//! reads its output with the person's next message.

use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::event_channel::EventSender;
use crate::tool::Stop;
use crate::tools::run_command;
use crate::transcript::Entry;
use serde_json::json;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// The name of a typed command in its events. No tool has this name.
pub const USER_COMMAND: &str = "!";

pub(crate) async fn drive(agent: &mut Agent, command: String, events: EventSender, abort: CancellationToken) {
    let context = agent.shared.context(&events, &abort);
    let id = USER_COMMAND.to_owned();
    context.emit(AgentEvent::ToolStart { id: id.clone(), name: id.clone(), input: json!({"command": command}) });
    let began = Instant::now();
    let result = agent.shared.secrets.redact(run_command(&id, &command, &context).await).timed(began.elapsed());
    let command = agent.shared.secrets.redact_text(command);
    let kept = agent.record_user_action(Entry::UserCommand { command, result: result.clone() });
    context.emit(AgentEvent::ToolResult { id: id.clone(), name: id, result });
    events.send(match (kept, abort.is_cancelled()) {
        (Err(error), _) => Stop::from(error).into(),
        (Ok(()), true) => Stop::Interrupted.into(),
        (Ok(()), false) => AgentEvent::Done { text: String::new() },
    });
}
