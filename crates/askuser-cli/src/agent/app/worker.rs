//! The agent's thread: it takes orders, runs one turn at a time, and tells what happens.
//!
//! Orders that come during a turn wait until it is over, but for the one that stops it and the one that ends everything.
//! Status cuts a turn off as a crash would, so that it can be taken up again; stopping ends it for good.

use super::asker::{Post, Question};
use crate::session;
use askuser_agent::{Agent, AgentEvent, Message, Model, PermissionMode, Run, Transcript};
use askuser_cli::failure::Failure;
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the agent's thread is told to do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Say(String),
    /// Go on with what was cut off.
    GoOn,
    Mode(PermissionMode),
    Model(String),
    /// Begin a new conversation.
    Clear,
    /// Go on with another session.
    Open(String),
    /// Stop the turn.
    Stop,
    Quit,
}

/// What the agent's thread tells.
#[derive(Debug)]
pub(crate) enum FromAgent {
    /// A session begins, or is taken up.
    Session(Session, Vec<Message>),
    Event(AgentEvent),
    Asks(Question),
    /// The model or the mode has changed, by order.
    Changed(Session),
    /// The conversation begins anew.
    Cleared,
    /// An order could not be carried out.
    Failed(String),
    /// A turn begins.
    Begins,
    /// An order has been carried out, or the first look at the session is over.
    Finished,
    /// The agent's thread has failed and is gone.
    Gone,
}

/// What is true of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) mode: PermissionMode,
    pub(crate) cwd: PathBuf,
}

/// Makes a model from its name.
pub(crate) type Connect = Box<dyn Fn(&str) -> Result<Arc<dyn Model>, Failure> + Send>;

/// The agent's thread, from outside.
pub(crate) struct Worker {
    orders: UnboundedSender<Order>,
    ended: mpsc::Receiver<()>,
}

/// How long the end of everything waits for a tool that does not notice.
const PATIENCE: Duration = Duration::from_secs(2);

impl Worker {
    pub(crate) fn start(agent: Agent, connect: Connect, post: Post) -> io::Result<Worker> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (orders, receiver) = unbounded_channel();
        let (over, ended) = mpsc::channel();
        thread::Builder::new().name("agent".into()).spawn(move || {
            let mut last_words = LastWords(Some(post.clone()));
            let work = Work { orders: receiver, waiting: VecDeque::new(), connect, post };
            runtime.block_on(work.run(agent));
            // A search that is still on its way is not waited for.
            runtime.shutdown_background();
            last_words.0 = None;
            let _ = over.send(());
        })?;
        Ok(Worker { orders, ended })
    }

    pub(crate) fn order(&self, order: Order) {
        // A thread that is gone has told why.
        let _ = self.orders.send(order);
    }

    /// Ends the thread, and what it has started.
    pub(crate) fn end(self) {
        self.order(Order::Quit);
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

/// Tells that the thread is gone, unless it has ended as it should.
struct LastWords(Option<Post>);

impl Drop for LastWords {
    fn drop(&mut self) {
        if let Some(post) = self.0.take() {
            post.tell(FromAgent::Gone);
        }
    }
}

struct Work {
    orders: UnboundedReceiver<Order>,
    waiting: VecDeque<Order>,
    connect: Connect,
    post: Post,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Order,
    End,
}

impl Work {
    async fn run(mut self, mut agent: Agent) {
        self.introduce(&agent);
        if self.go_on(&mut agent).await == Next::End {
            return;
        }
        self.post.tell(FromAgent::Finished);
        loop {
            let order = match self.waiting.pop_front() {
                Some(order) => order,
                None => match self.orders.recv().await {
                    Some(order) => order,
                    None => return,
                },
            };
            let next = match order {
                Order::Say(text) => {
                    self.post.tell(FromAgent::Begins);
                    self.follow(agent.run(text)).await
                }
                Order::GoOn => self.go_on(&mut agent).await,
                Order::Open(id) => match open(&id, &agent) {
                    Ok(transcript) => {
                        agent = agent.with_transcript(transcript);
                        self.introduce(&agent);
                        self.go_on(&mut agent).await
                    }
                    Err(failure) => {
                        self.post.tell(FromAgent::Failed(failure.message));
                        Next::Order
                    }
                },
                Order::Mode(mode) => {
                    self.report(agent.set_mode(mode).map_err(|error| error.to_string()), &agent);
                    Next::Order
                }
                Order::Model(name) => {
                    let model = (self.connect)(&name).map(|model| agent.set_model(model));
                    self.report(model.map_err(|failure| failure.message), &agent);
                    Next::Order
                }
                Order::Clear => {
                    self.post.tell(match agent.clear() {
                        Ok(()) => FromAgent::Cleared,
                        Err(error) => FromAgent::Failed(error.to_string()),
                    });
                    Next::Order
                }
                // The turn was over already.
                Order::Stop => continue,
                Order::Quit => Next::End,
            };
            if next == Next::End {
                return;
            }
            self.post.tell(FromAgent::Finished);
        }
    }

    fn introduce(&self, agent: &Agent) {
        self.post.tell(FromAgent::Session(about(agent), agent.messages().to_vec()));
    }

    fn report(&self, done: Result<(), String>, agent: &Agent) {
        self.post.tell(match done {
            Ok(()) => FromAgent::Changed(about(agent)),
            Err(message) => FromAgent::Failed(message),
        });
    }

    async fn go_on(&mut self, agent: &mut Agent) -> Next {
        match agent.resume() {
            Some(run) => {
                self.post.tell(FromAgent::Begins);
                self.follow(run).await
            }
            None => Next::Order,
        }
    }

    /// Follows a turn to its end.
    async fn follow(&mut self, mut run: Run<'_>) -> Next {
        let stopper = run.stopper();
        loop {
            tokio::select! {
                biased;
                order = self.orders.recv() => match order {
                    Some(Order::Stop) => stopper.cancel(),
                    // Told to stop, it is about to: what it writes down last should not be cut off.
                    Some(Order::Quit) | None if stopper.is_cancelled() => {
                        while run.next().await.is_some() {}
                        return Next::End;
                    }
                    Some(Order::Quit) | None => return Next::End,
                    Some(order) => self.waiting.push_back(order),
                },
                event = run.next() => match event {
                    Some(event) => self.post.tell(FromAgent::Event(event)),
                    None => return Next::Order,
                },
            }
        }
    }
}

/// Another session of the folder that this one works in.
fn open(id: &str, agent: &Agent) -> Result<Transcript, Failure> {
    let own = agent.transcript();
    if own.id() == id {
        return Err(Failure::new("this is that session"));
    }
    let transcript = session::open(id)?;
    if transcript.cwd() != own.cwd() {
        let folder = transcript.cwd().display().to_string();
        return Err(Failure::new(format!(
            "session {id} works in {folder}; leave, and run: askuser agent --resume {id}"
        )));
    }
    Ok(transcript)
}

fn about(agent: &Agent) -> Session {
    let transcript = agent.transcript();
    Session { id: transcript.id(), model: agent.model(), mode: agent.mode(), cwd: transcript.cwd() }
}
