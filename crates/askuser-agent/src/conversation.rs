//! Runs an agent in an app, with a handle that steers the agent and an owned stream of its events.
//!
//! The handle and the stream may live in different tasks or threads. The agent works while the stream is polled, and
//! runs the handle's commands one at a time in order. Only [`AgentHandle::stop`] and [`AgentHandle::set_mode`] take
//! effect immediately.

use crate::agent::Agent;
use crate::agent_context::Shared;
use crate::event::AgentEvent;
use crate::event_channel::{EventSender, Run};
use crate::message::Message;
use crate::model::Model;
use crate::permission::PermissionMode;
use crate::transcript::{Entry, Transcript, TranscriptError};
use futures_util::future::{BoxFuture, ready};
use futures_util::{Stream, StreamExt};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// A handle that steers an agent. Clones steer the same agent. Once the last clone is dropped, the stream ends after
/// the current turn.
#[derive(Clone)]
pub struct AgentHandle {
    commands: UnboundedSender<Command>,
    state: Arc<Mutex<State>>,
}

/// The stream of the events of all turns, which owns its agent. Dropping the stream interrupts a turn like a crash.
pub struct AgentEvents {
    events: Run<'static>,
}

/// A command that runs between turns and may start a turn.
type Command = Box<dyn for<'a> FnOnce(&'a mut Agent) -> BoxFuture<'a, Option<Run<'a>>> + Send>;

/// The state that the handle and the agent share.
struct State {
    messages: Vec<Message>,
    shared: Arc<Shared>,
    /// The number of unfinished commands.
    unfinished: usize,
    /// A token that stops the current turn, or the next turn of the queued commands.
    stop: CancellationToken,
    /// A token that is cancelled when the user sends a message before an interrupted turn is over.
    user_returned: CancellationToken,
}

impl Agent {
    /// Splits the agent into a handle and the stream of its events. An interrupted turn is resumed first, as by
    /// [`AgentHandle::resume`].
    ///
    /// ```
    /// use askuser_agent::{Agent, AgentEvent, Script};
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = Script::parse(r#"{"turns": [{"text": "Hello."}, {"text": "Bye."}]}"#)?;
    /// let (handle, mut events) = Agent::new(model).start();
    /// handle.say("Hi")?;
    /// while let Some(event) = events.next().await {
    ///     if let AgentEvent::Done { text } = event {
    ///         assert_eq!(text, "Hello.");
    ///         break;
    ///     }
    /// }
    /// assert_eq!(handle.messages().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn start(self) -> (AgentHandle, AgentEvents) {
        let (commands, receiver) = unbounded_channel();
        let state = Arc::new(Mutex::new(State {
            messages: self.messages().to_vec(),
            shared: self.shared.clone(),
            unfinished: 0,
            stop: CancellationToken::new(),
            user_returned: CancellationToken::new(),
        }));
        let handle = AgentHandle { commands, state: state.clone() };
        handle.resume();
        let events = Run::new(CancellationToken::new(), |events| converse(self, receiver, state, events));
        (handle, AgentEvents { events })
    }
}

impl AgentHandle {
    /// Sends a message of the user. Without a running turn, the message starts one.
    ///
    /// A running turn reads the message between two calls, before its next model request. Calls that have not started
    /// are skipped. [`AgentEvent::User`] reports that the model reads the message.
    ///
    /// # Errors
    /// If the transcript cannot be written. The message is then not sent.
    pub fn say(&self, text: impl Into<String>) -> Result<(), TranscriptError> {
        let text = text.into();
        let shared = self.shared();
        shared.transcript.append(&[], &Entry::Said { text: text.clone() })?;
        // A turn that is being stopped must not read the message. The next turn reads it.
        let later = self.is_stopping().then(|| text.clone());
        if later.is_none() {
            shared.said().push(text);
        }
        self.queue(move |agent| {
            agent.shared.said().extend(later);
            let is_heard = agent.shared.said().is_empty();
            Box::pin(ready(if is_heard { None } else { agent.resume() }))
        });
        Ok(())
    }

    /// Withdraws the last message and returns it; `None` if the model has already read all messages.
    pub fn take_back(&self) -> Option<String> {
        let shared = self.shared();
        let text = shared.said().pop()?;
        // If this entry cannot be written, the message returns after a crash.
        let _ = shared.transcript.append(&[], &Entry::TakenBack { text: text.clone() });
        Some(text)
    }

    /// Continues an interrupted turn, if there is one.
    ///
    /// Once the user sends a message, no further call of that turn starts. The model reads the message before its next
    /// step.
    pub fn resume(&self) {
        let user_returned = CancellationToken::new();
        self.state().user_returned = user_returned.clone();
        self.queue(|agent| Box::pin(ready(agent.resume_until_user_returned(user_returned))));
    }

    /// Announces that the user is about to send a message. No further call of an interrupted turn starts, as in
    /// [`AgentHandle::resume`].
    pub fn yield_to_user(&self) {
        self.state().user_returned.cancel();
    }

    /// Stops the current turn, or the turn that is about to start. The calls of a stopped turn get results. Without a
    /// turn, the method has no effect.
    pub fn stop(&self) {
        let state = self.state();
        if state.unfinished > 0 {
            state.stop.cancel();
        }
    }

    /// Whether the current turn is being stopped.
    pub fn is_stopping(&self) -> bool {
        self.state().stop.is_cancelled()
    }

    /// Returns the agent's transcript.
    pub fn transcript(&self) -> Transcript {
        self.shared().transcript.clone()
    }

    /// Changes the permission mode for all later calls, also during a turn. An open question stays open.
    ///
    /// # Errors
    /// If the transcript cannot be written. The mode is then unchanged.
    pub fn set_mode(&self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.shared().set_mode(mode)
    }

    /// Returns the permission mode.
    pub fn mode(&self) -> PermissionMode {
        self.shared().permissions().mode
    }

    /// Switches to another model after the commands that were queued before, so after the current turn.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        self.queue(|agent| {
            agent.set_model(model);
            Box::pin(ready(None))
        });
    }

    /// Returns the conversation as of the end of the last turn.
    pub fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }

    /// Queues work that runs with the agent between turns.
    ///
    /// The work may start a turn, as in `|agent| Box::pin(async { Some(agent.compact(None)) })`. The stream then has
    /// the events of that turn.
    pub fn queue<F>(&self, command: F)
    where
        F: for<'a> FnOnce(&'a mut Agent) -> BoxFuture<'a, Option<Run<'a>>> + Send + 'static,
    {
        self.state().unfinished += 1;
        // If the stream was dropped, the agent no longer exists.
        let _ = self.commands.send(Box::new(command));
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.state().shared.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Stream for AgentEvents {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.events.poll_next_unpin(context)
    }
}

async fn converse(
    mut agent: Agent,
    mut commands: UnboundedReceiver<Command>,
    state: Arc<Mutex<State>>,
    events: EventSender,
) {
    while let Some(command) = commands.recv().await {
        let stop = lock(&state).stop.clone();
        let (was_turn, end) = match command(&mut agent).await {
            Some(run) => (true, follow(run, &stop, &events).await),
            None => (false, None),
        };
        {
            let mut state = lock(&state);
            (state.messages, state.shared) = (agent.messages().to_vec(), agent.shared.clone());
            state.unfinished -= 1;
            if stop.is_cancelled() && (was_turn || state.unfinished == 0) {
                state.stop = CancellationToken::new();
            }
        }
        if let Some(end) = end {
            events.send(end);
            events.wait_until_taken().await;
        }
    }
}

/// Forwards the events of a turn at the reader's pace, except the last one, which it returns. So the handle has the
/// whole turn before the reader gets that event.
async fn follow(mut run: Run<'_>, stop: &CancellationToken, events: &EventSender) -> Option<AgentEvent> {
    let stopper = run.stopper();
    let following = async {
        let mut end = None;
        while let Some(event) = run.next().await {
            if matches!(event, AgentEvent::Done { .. } | AgentEvent::Error { .. }) {
                end = Some(event);
            } else {
                events.send(event);
                events.wait_until_taken().await;
            }
        }
        end
    };
    let stopping = async {
        stop.cancelled().await;
        stopper.cancel();
        std::future::pending().await
    };
    tokio::select! {
        biased;
        never = stopping => never,
        end = following => end,
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
