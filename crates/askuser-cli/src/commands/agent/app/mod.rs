//! The interactive agent in a terminal.
//!
//! ```text
//! keys, pastes ──▶ State::update ──▶ effects ──▶ driver ──▶ Console (scrollback, live region, questions)
//! agent events ───────▲                            └──────▶ AgentThread (commands)
//! ```
//!
//! The UI thread owns the terminal and the state. A handle controls the agent in its own thread. One channel returns
//! all events. `state`, `update`, `agent_events` and the views do no IO and read no clock.

mod agent_events;
mod agent_thread;
mod attachments;
mod composed_text;
mod composer;
mod drafts;
mod driver;
mod history;
mod mentions;
mod model_choice;
mod open_questions;
mod outputs;
mod pastes;
mod recall;
mod scrollback;
mod send;
mod session_choice;
mod slash_commands;
mod state;
#[cfg(test)]
mod test_fixtures;
pub(crate) mod tool_calls;
mod update;
mod view;

use crate::commands::agent::models::Models;
use crate::commands::agent::session::{self, Again};
use crate::config::Settings;
use crate::failure::{Failure, OrFail, exit};
use crate::surfaces::terminal_options;
use agent_thread::AgentThread;
use askuser::Asker;
use askuser::store::Handle;
use askuser_agent::{Agent, AgentEvent};
use askuser_terminal::{Console, DraftStore, Options};
use drafts::SessionDrafts;
use driver::Driver;
use history::HistoryFile;
use open_questions::{Questions, UiSender};
use state::{Event, Motion, State};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// The terminal of the app. It is opened before the agent is built, because the agent needs its asker.
pub(crate) struct Surface {
    console: Console,
    options: Options,
    ui: UiSender,
    questions: Questions,
    events: Receiver<(Instant, Event)>,
}

impl Surface {
    /// Opens the terminal. It is restored when the surface, or the app running on it, is dropped.
    pub(crate) fn open(settings: &Settings) -> Result<Surface, Failure> {
        let options = terminal_options(settings);
        let console = Console::open(&options).map_err(|error| {
            Failure::new(format!("cannot open the terminal: {error}"))
                .hint("without a terminal, use askuser agent -p TEXT")
                .code(exit::UNAVAILABLE)
        })?;
        let (sender, events) = channel();
        let ui = UiSender::new(sender, console.waker());
        let questions = Questions::new(ui.clone());
        Ok(Surface { console, options, ui, questions, events })
    }

    /// Sets the store of the questions' drafts, used as the person here. Without a store, a file beside the session
    /// holds the drafts.
    pub(crate) fn kept_in(mut self, store: Option<Handle>) -> Surface {
        let beside = || session::folder().ok().map(|folder| Arc::new(SessionDrafts { folder }) as Arc<dyn DraftStore>);
        self.options.kept_in = store.map(|store| Arc::new(store) as Arc<dyn DraftStore>).or_else(beside);
        self
    }

    pub(crate) fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(self.questions.queue.clone())
    }

    /// Returns a function that shows a notice in the conversation.
    pub(crate) fn teller(&self) -> impl Fn(&str) + Clone + Send + Sync + 'static {
        let ui = self.ui.clone();
        move |words| ui.send(Event::Agent(AgentEvent::Notice { message: words.to_owned() }))
    }
}

/// Runs the app until the person quits. An interrupted turn is resumed first. With an `opening`, calls that had not
/// started are skipped and the opening is sent.
pub(crate) fn run(
    agent: Agent,
    surface: Surface,
    opening: Option<String>,
    settings: &Settings,
    again: Again,
) -> Result<u8, Failure> {
    let folder = crate::state_folder::state_folder().ok();
    let (history_file, history) = folder.map(|folder| HistoryFile::open(&folder)).unzip();
    let history = history.unwrap_or_default();
    let mut state = State::new(surface.console.presentation(), motion(|name| std::env::var(name).ok()), history);
    state.session.price = settings.price;
    let has_opening = opening.is_some();
    state.composer.waiting.extend(opening);
    let agent_thread =
        AgentThread::start(agent, Models::new(settings), surface.ui.clone(), has_opening).or_fail("cannot start")?;
    Driver::new(surface, state, agent_thread, history_file, settings.notify).run(&again)
}

/// Returns the motion that the person prefers. There is no standard variable for reduced motion. Any of these variables
/// reduces motion unless it is empty or 0.
fn motion(variable: impl Fn(&str) -> Option<String>) -> Motion {
    let reduced = ["REDUCED_MOTION", "NO_MOTION", "PREFERS_REDUCED_MOTION"];
    let is_set = |name: &&str| variable(name).is_some_and(|value| !value.is_empty() && value != "0");
    if reduced.iter().any(is_set) { Motion::Reduced } else { Motion::Full }
}
