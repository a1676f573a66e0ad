//! An agent in an app: a handle to steer it with, and an owned stream of what happens.
//!
//! The two can live in different places, tasks or threads. The agent works while the stream is polled, one turn at a time;
//! what the handle asks for during a turn waits until it is over, but for [`AgentHandle::stop`].

use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::event_channel::{EventSender, Run};
use crate::message::Message;
use crate::model::Model;
use crate::permission::PermissionMode;
use futures_util::{Stream, StreamExt};
use std::future::Future;
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

/// What happens, turn after turn, as a stream that owns its agent.
pub struct AgentEvents {
    events: Run<'static>,
}

enum Command {
    Say(String),
    SetMode(PermissionMode),
    SetModel(Arc<dyn Model>),
    Clear,
}

/// What the handle can see.
#[derive(Default)]
struct State {
    messages: Vec<Message>,
    mode: PermissionMode,
    turn: Option<CancellationToken>,
}

impl Agent {
    /// Splits the agent into a handle and the stream of its events. A turn that was cut off is taken up first, up to what had
    /// not begun if something has been said by the time the stream is polled.
    ///
    /// ```
    /// use askuser_agent::{Agent, AgentEvent, Script};
    /// use futures_util::StreamExt;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = Script::parse(r#"{"turns": [{"text": "Hello."}, {"text": "Bye."}]}"#)?;
    /// let (handle, mut events) = Agent::new(model).start();
    /// handle.say("Hi");
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
        let state = Arc::new(Mutex::new(State::default()));
        let (sender, events) = EventSender::channel();
        let (taken, abort) = (sender.taken(), CancellationToken::new());
        let work: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(Conversation { agent: self, commands: receiver, state: state.clone(), sender }.run());
        (AgentHandle { commands, state }, AgentEvents { events: Run::new(work, events, taken, abort) })
    }
}

impl AgentHandle {
    /// Says something to the agent, now or once the turn is over.
    pub fn say(&self, text: impl Into<String>) {
        self.send(Command::Say(text.into()));
    }

    /// Stops the turn in good order; nothing without one.
    pub fn stop(&self) {
        if let Some(turn) = &self.state().turn {
            turn.cancel();
        }
    }

    /// Changes what needs permission, now or once the turn is over.
    pub fn set_mode(&self, mode: PermissionMode) {
        self.send(Command::SetMode(mode));
    }

    /// Lets another model answer, now or once the turn is over.
    pub fn set_model(&self, model: Arc<dyn Model>) {
        self.send(Command::SetModel(model));
    }

    /// Forgets the conversation, now or once the turn is over. It stays in the transcript.
    pub fn clear(&self) {
        self.send(Command::Clear);
    }

    /// The conversation as it was at the end of the last turn.
    pub fn messages(&self) -> Vec<Message> {
        self.state().messages.clone()
    }

    /// What needs permission.
    pub fn mode(&self) -> PermissionMode {
        self.state().mode
    }

    fn send(&self, command: Command) {
        // Without a stream there is no agent any more.
        let _ = self.commands.send(command);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for AgentEvents {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        self.events.poll_next_unpin(context)
    }
}

struct Conversation {
    agent: Agent,
    commands: UnboundedReceiver<Command>,
    state: Arc<Mutex<State>>,
    sender: EventSender,
}

impl Conversation {
    async fn run(mut self) {
        self.publish();
        let (sender, state) = (self.sender.clone(), self.state.clone());
        // Whoever comes back with something to say is heard before anything begins that had not.
        let mut first = self.commands.try_recv().ok();
        let said = CancellationToken::new();
        if matches!(first, Some(Command::Say(_))) {
            said.cancel();
        }
        let end = match self.agent.resume_until_said(said) {
            Some(run) => follow(run, &sender, &state).await,
            None => None,
        };
        self.publish();
        end.into_iter().for_each(|event| sender.send(event));
        while let Some(command) = self.next(&mut first).await {
            match command {
                Command::Say(text) => {
                    let end = follow(self.agent.run(text), &sender, &state).await;
                    self.publish();
                    end.into_iter().for_each(|event| sender.send(event));
                }
                Command::SetModel(model) => self.agent.set_model(model),
                Command::SetMode(mode) => match self.agent.set_mode(mode) {
                    Ok(()) => sender.send(AgentEvent::Mode { mode }),
                    Err(error) => sender.send(AgentEvent::Notice { message: error.to_string() }),
                },
                Command::Clear => {
                    if let Err(error) = self.agent.clear() {
                        sender.send(AgentEvent::Notice { message: error.to_string() });
                    }
                }
            }
            self.publish();
        }
    }

    async fn next(&mut self, first: &mut Option<Command>) -> Option<Command> {
        match first.take() {
            Some(command) => Some(command),
            None => self.commands.recv().await,
        }
    }

    /// Lets the handle see what is true now.
    fn publish(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.messages, state.mode) = (self.agent.messages().to_vec(), self.agent.mode());
    }
}

/// Passes on what happens in a turn, at the pace of whoever reads it, up to the event that ends it: that one is returned, so
/// that the handle sees the whole turn when it is told.
async fn follow(mut run: Run<'_>, sender: &EventSender, state: &Mutex<State>) -> Option<AgentEvent> {
    let set_turn = |turn| state.lock().unwrap_or_else(PoisonError::into_inner).turn = turn;
    set_turn(Some(run.stopper()));
    let mut end = None;
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::Done { .. } | AgentEvent::Error { .. }) {
            end = Some(event);
            continue;
        }
        sender.send(event);
        sender.wait_until_taken().await;
    }
    set_turn(None);
    end
}
