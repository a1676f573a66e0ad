//! The conversation in a terminal.
//!
//! ```text
//! keys, pastes ──▶ State::update ──▶ effects ──▶ driver ──▶ Console (scrollback, live region, questions)
//! agent's thread ─────▲                            └──────▶ worker: orders
//! ```
//!
//! The person's thread owns the terminal and the state; the agent's thread owns the agent. They share a channel each way
//! and nothing else. `state`, `update`, `telling` and `view` do no IO and read no clock.

mod asker;
mod calls;
mod choice;
mod commands;
mod draft;
mod driver;
mod history;
mod item;
mod markdown;
mod state;
mod telling;
mod update;
mod view;
mod worker;

use crate::session;
use asker::{AtTheTerminal, Post};
use askuser::Asker;
use askuser_agent::Agent;
use askuser_cli::answering;
use askuser_cli::config::Settings;
use askuser_cli::failure::{Failure, exit};
use askuser_terminal::{Console, Options};
use driver::Driver;
use history::Keeper;
use state::{Motion, State};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use worker::{FromAgent, Worker};

/// The terminal, before there is an agent to talk to.
pub(crate) struct Surface {
    console: Console,
    options: Options,
    post: Post,
    news: Receiver<(Instant, FromAgent)>,
}

impl Surface {
    /// Takes the terminal over. It is given back when the surface, or the conversation on it, ends.
    pub(crate) fn open(settings: &Settings) -> Result<Surface, Failure> {
        let options = answering::options(settings, Vec::new());
        let console = Console::open(&options).map_err(|error| {
            Failure::new(format!("cannot open the terminal: {error}"))
                .hint("without a terminal, use askuser agent -p TEXT")
                .code(exit::NOBODY_THERE)
        })?;
        let (sender, news) = channel();
        let post = Post::new(sender, console.waker());
        Ok(Surface { console, options, post, news })
    }

    /// Who asks on it.
    pub(crate) fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(AtTheTerminal { post: self.post.clone() })
    }
}

/// Talks until the person leaves. What was cut off goes on by itself; then `opening` is said for them.
pub(crate) fn run(agent: Agent, surface: Surface, opening: Option<String>, settings: &Settings) -> Result<u8, Failure> {
    let Surface { console, options, post, news } = surface;
    let (keeper, history) = match session::state_folder() {
        Ok(folder) => {
            let (keeper, history) = Keeper::open(&folder);
            (Some(keeper), history)
        }
        Err(_) => (None, Vec::new()),
    };
    let mut state = State::new(console.manner(), motion(|name| std::env::var(name).ok()), history);
    state.queue.extend(opening);
    let wishes = settings.clone();
    let connect = Box::new(move |name: &str| crate::connect(name, &wishes));
    let worker = Worker::start(agent, connect, post).map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    Driver::new(console, options, state, worker, news, keeper, settings.notify).run()
}

/// There is no one variable for this; what is set to anything but 0 counts.
fn motion(variable: impl Fn(&str) -> Option<String>) -> Motion {
    let reduced = ["REDUCED_MOTION", "NO_MOTION", "PREFERS_REDUCED_MOTION"];
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    if reduced.iter().any(is_set) { Motion::Reduced } else { Motion::Full }
}
