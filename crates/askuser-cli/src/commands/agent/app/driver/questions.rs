//! Questions in the driver: it announces them, shows the prompt, and lets the person choose a session or a model.

use super::{Driver, End};
use crate::commands::agent::app::model_choice;
use crate::commands::agent::app::open_questions::SIGHUP;
use crate::commands::agent::app::scrollback;
use crate::commands::agent::app::session_choice;
use crate::commands::agent::app::state::{Event, QuestionEnd};
use crate::commands::agent::models::Offered;
use crate::commands::agent::session;
use askuser::{AskError, Delivery, Purpose, QuestionSet, Request, RequestKey, Resolution, Status, Via, sanitize};
use askuser_agent::Session;
use askuser_terminal::{CloseSignal, Confirm, Deliver, Presentation, Role};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

impl Driver {
    pub(super) fn announce(&mut self, header: &str, may_be_away: bool) {
        if self.notify {
            let words = format!("askuser: {header}");
            self.console.set_title(&format!("{} {words}", scrollback::dot(&self.options.theme)));
            if may_be_away {
                self.console.bell();
                self.console.notify(&words);
            }
        }
    }

    /// Asks a question and delivers the answer to the agent. Returns the event for the state.
    pub(super) fn ask(&mut self, request: &Arc<Request>) -> Result<Event, End> {
        let Some(close) = self.questions.open(request)? else {
            self.questions.closed();
            return Ok(Event::QuestionClosed(QuestionEnd::Unanswered, Duration::ZERO));
        };
        let began = Instant::now();
        let queue = self.questions.queue.clone();
        // The queue refuses an answer without a waiting caller, and the prompt shows the refusal.
        let mut deliver = |delivery: Delivery| _ = queue.deliver(request, delivery);
        // The line of the call shows the answer to its permission.
        let usual = self.options.confirm;
        let is_permission = request.key().purpose == Purpose::Permission;
        if is_permission && usual == Confirm::Inline && self.console.presentation() == Presentation::Screen {
            self.options.confirm = Confirm::Elsewhere;
        }
        // The words of the model already stand above the question, but those of a subagent do not.
        let is_above = request.key().tasks.is_empty();
        let shown = Request::clone(request);
        let shown = if is_above { shown.with_why(None) } else { shown };
        let asked = self.show_question(&shown, Some(close), &mut deliver);
        self.options.confirm = usual;
        self.questions.closed();
        let end = end_of(&asked).inspect_err(|end| {
            // The person did not decline. The question stays open, and is asked again when the session is resumed.
            let signal = if let End::Signal(signal) = end { *signal } else { SIGHUP };
            let _ = queue.fail(request, AskError::Signal(signal));
        })?;
        if let Err(error) = asked {
            // A question that was withdrawn is not affected by this.
            let _ = queue.fail(request, error);
        }
        Ok(Event::QuestionClosed(end, began.elapsed()))
    }

    /// Shows the prompt until it closes. Input typed before the prompt was visible is kept for the draft.
    fn show_question(
        &mut self,
        request: &Request,
        close: Option<CloseSignal>,
        deliver: Deliver<'_>,
    ) -> Result<Resolution, AskError> {
        let asked = self.console.ask(request, &self.options, close, &mut self.type_ahead, deliver);
        self.input_prompt_shown = false;
        asked
    }

    /// Lets the person choose among the latest sessions of this folder that are not open elsewhere. Returns `None` if
    /// no session was chosen.
    pub(super) fn choose_session(&mut self) -> Result<Option<String>, End> {
        let Some(here) = self.state.session.about.clone() else { return Ok(None) };
        let sessions = session::of_folder(&here.cwd).unwrap_or_default();
        let said_something = |session: &Session| session.id != here.id && !sanitize::is_blank(&session.opening);
        let can_be_opened = |session: &Session| session::open(&session.id).is_ok();
        let sessions = sessions.into_iter().filter(said_something).filter(can_be_opened);
        let sessions: Vec<Session> = sessions.take(session_choice::MAX_SESSIONS).collect();
        let Some(set) = session_choice::question(&sessions, SystemTime::now()) else {
            let words = "There is no other session of this folder that is not open elsewhere.";
            self.state.note(Role::Muted, words);
            return Ok(None);
        };
        let chosen = self.choose("resume", set)?;
        Ok(chosen.map(|index| sessions[index].id.clone()))
    }

    pub(super) fn choose_model(&mut self, offered: &Offered) -> Result<Option<String>, End> {
        let Some(here) = self.state.session.about.clone() else { return Ok(None) };
        let Some((set, models)) = model_choice::question(offered, &here.model) else { return Ok(None) };
        let chosen = self.choose("model", set)?;
        let name = chosen.map(|index| format!("{}/{}", offered.provider.name, models[index].name));
        Ok(name.filter(|name| *name != here.model))
    }

    /// Asks a question of the app itself. Returns the index of the chosen option; `None` if no option was chosen.
    fn choose(&mut self, what: &str, set: QuestionSet) -> Result<Option<usize>, End> {
        let session = self.state.session.about.as_ref().map_or("", |session| &session.id);
        let request = Request::new(RequestKey::new(session, what).for_purpose(Purpose::Choice), set);
        let began = Instant::now();
        let kept_in = self.options.kept_in.take();
        let asked = self.show_question(&request, None, &mut |delivery| drop(delivery.stored()));
        self.options.kept_in = kept_in;
        let end = end_of(&asked)?;
        self.state.update(Event::QuestionClosed(end, began.elapsed()), self.now());
        let Ok(resolution) = asked else { return Ok(None) };
        let answer =
            resolution.outcome().answers().first().filter(|_| *resolution.outcome().status() == Status::Answered);
        let chosen = answer.and_then(|answer| answer.selected_options.first());
        let mut options = request.set().questions()[0].options().iter();
        Ok(chosen.and_then(|chosen| options.position(|option| option.label_verbatim() == chosen)))
    }
}

/// Returns the ending of a question. A signal or a closed terminal is an error that ends the conversation.
fn end_of(asked: &Result<Resolution, AskError>) -> Result<QuestionEnd, End> {
    match asked {
        Ok(resolution) => match (resolution.via(), resolution.outcome().status()) {
            (Some(Via::Terminal | Via::Line), Status::Unavailable { .. }) => Err(End::Closed),
            (_, Status::TimedOut) => Ok(QuestionEnd::Unanswered),
            _ => Ok(QuestionEnd::Answered),
        },
        Err(AskError::Signal(signal)) => Err(End::Signal(*signal)),
        Err(AskError::Interrupted) => Ok(QuestionEnd::Interrupted),
        Err(_) => Ok(QuestionEnd::Unanswered),
    }
}
