//! An agent in an app: a handle to steer it with, and an owned stream of what happens.
//!
//! The two can live in different places, tasks or threads. The agent works while the stream is polled and does one thing at a
//! time, in the order in which the handle was asked for them. Only [`AgentHandle::stop`] and [`AgentHandle::set_mode`] act
//! at once.

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

/// Steers an agent. Clones steer the same one; once the last is gone, the stream ends after the current turn.
#[derive(Clone)]
pub struct AgentHandle {
    commands: UnboundedSender<Command>,
    state: Arc<Mutex<State>>,
}

/// What happens, turn after turn, as a stream that owns its agent. Dropping it cuts a turn off as a crash would.
pub struct AgentEvents {
    events: Run<'static>,
}

/// Something to do with the agent between turns; a turn may come of it.
type Command = Box<dyn for<'a> FnOnce(&'a mut Agent) -> BoxFuture<'a, Option<Run<'a>>> + Send>;

/// What the handle and the agent share.
struct State {
    messages: Vec<Message>,
    shared: Arc<Shared>,
    /// How many commands are not finished.
    unfinished: usize,
    /// Stops the turn, or the next one of the commands that wait.
    stop: CancellationToken,
    /// Cancelled when the user says something before a turn that was cut off is over.
    user_returned: CancellationToken,
}

impl Agent {
    /// Splits the agent into a handle and the stream of its events. A turn that was cut off is resumed first, see
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
    /// Says something. A turn hears it between two calls, before its next request: calls that had not begun by then do not run.
    /// Without a turn one begins. It is recorded at once. [`AgentEvent::User`] tells when the model reads it.
    ///
    /// # Errors
    /// If the transcript cannot be written. Nothing was said then.
    pub fn say(&self, text: impl Into<String>) -> Result<(), TranscriptError> {
        let (text, shared) = (text.into(), self.shared());
        shared.transcript.append(&[], &Entry::Said { text: text.clone() })?;
        // A turn that is being stopped does not take it along.
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

    /// Takes back what was said last and the model has not read yet.
    pub fn take_back(&self) -> Option<String> {
        let shared = self.shared();
        let text = shared.said().pop()?;
        // If this cannot be recorded, it is said again after a crash.
        let _ = shared.transcript.append(&[], &Entry::TakenBack { text: text.clone() });
        Some(text)
    }

    /// Goes on with a turn that was cut off, if one was. Once the user says something, no call of it begins that had not, and
    /// the model is not asked before it has read their words.
    pub fn resume(&self) {
        let user_returned = CancellationToken::new();
        self.state().user_returned = user_returned.clone();
        self.queue(|agent| Box::pin(ready(agent.resume_until_user_returned(user_returned))));
    }

    /// The user is about to say something: what was cut off makes room for it, as in [`AgentHandle::resume`].
    pub fn yield_to_user(&self) {
        self.state().user_returned.cancel();
    }

    /// Stops the turn in good order, or the one that is about to begin; nothing without one.
    pub fn stop(&self) {
        let state = self.state();
        if state.unfinished > 0 {
            state.stop.cancel();
        }
    }

    /// Whether the turn has been told to stop and is not over yet.
    pub fn is_stopping(&self) -> bool {
        self.state().stop.is_cancelled()
    }

    /// The agent's record.
    pub fn transcript(&self) -> Transcript {
        self.shared().transcript.clone()
    }

    /// Changes what needs permission, also during a turn: the next call minds it. A question that is open stays open.
    ///
    /// # Errors
    /// Where the transcript cannot be written; nothing has changed then.
    pub fn set_mode(&self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.shared().set_mode(mode)
    }

    /// What needs permission.
    pub fn mode(&self) -> PermissionMode {
        self.shared().permissions().mode
    }

    /// Lets another model answer, now or once the turn is over.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        self.queue(|agent| {
            agent.set_model(model);
            Box::pin(ready(None))
        });
    }

    /// The conversation as it was at the end of the last turn.
    pub fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }

    /// Does something else with the agent, now or once the turn is over. If a turn comes of it, as of
    /// `|agent| Box::pin(async { Some(agent.compact(None)) })`, the stream follows that.
    pub fn queue<F>(&self, command: F)
    where
        F: for<'a> FnOnce(&'a mut Agent) -> BoxFuture<'a, Option<Run<'a>>> + Send + 'static,
    {
        self.state().unfinished += 1;
        // Without a stream there is no agent any more.
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

/// Passes on what happens in a turn, at the pace of the reader, up to the event that ends it: that one is returned, so that
/// the handle sees the whole turn by the time it is told.
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
