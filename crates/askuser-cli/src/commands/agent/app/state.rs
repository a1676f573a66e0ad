//! The app's state, its events and its effects. No IO and no clock: time is passed in.
//!
//! `update` handles events from the person, `agent_events` those from the agent, `view` draws the live region.

use super::agent_thread::{AgentCommand, SessionInfo};
use super::composer::{Composer, Offer};
use super::outputs::{OutputId, Outputs};
use super::scrollback::{Item, MAX_COLUMNS};
use super::tool_calls::RunningCall;
use crate::commands::agent::models::Offered;
use crate::config::Price;
use askuser::{Key, Purpose, Request};
use askuser_agent::{AgentEvent, ContextUse, PermissionMode, Usage};
use askuser_terminal::markdown::Stream;
use askuser_terminal::{Focus, Presentation, Role};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) presentation: Presentation,
    pub(crate) motion: Motion,
    pub(crate) composer: Composer,
    pub(crate) turn: Turn,
    pub(crate) questions: QuestionState,
    pub(crate) session: SessionState,
    pub(super) activity: Activity,
    pub(crate) notice: Option<Notice>,
    /// Shortened outputs, for Ctrl-O.
    pub(crate) outputs: Outputs,
    /// Until when another Ctrl-C quits.
    pub(super) quit_armed_until: Option<Duration>,
    pub(super) last_printed: LastPrinted,
    /// The driver's tasks in order.
    pub(crate) effects: VecDeque<Effect>,
}

/// The running turn, or the end of the last one.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) running: Option<RunningTurn>,
    pub(super) end: TurnEnd,
    /// The number of unfinished commands of the agent.
    pub(crate) pending_commands: usize,
    /// The model's current reasoning.
    pub(crate) thought: Option<Thought>,
    pub(crate) stream: Stream,
    /// Whether deltas of the current text have been shown.
    pub(super) is_streamed: bool,
    /// The number of texts that were shown by their deltas and have not come whole yet.
    pub(super) streamed: usize,
    /// The width of the model's text, for breaking long paragraphs.
    pub(crate) text_columns: usize,
    pub(crate) calls: Vec<RunningCall>,
    /// The calls that started the subagent whose event is being handled.
    pub(super) tasks: Vec<String>,
    /// The events are of an earlier process.
    pub(super) is_recalled: bool,
    pub(crate) usage: Usage,
}

impl Turn {
    /// A call of the agent, or of the subagent that the last call in `tasks` started. Two subagents may have the same
    /// task.
    pub(super) fn call(&mut self, id: &str, tasks: &[String]) -> Option<&mut RunningCall> {
        self.calls.iter_mut().find(|call| call.id == id && call.tasks == tasks)
    }
}

#[derive(Debug, Default)]
pub(crate) struct QuestionState {
    /// Those not opened yet, in the order of the driver's queue.
    pub(crate) pending: VecDeque<Arc<Request>>,
    pub(super) asked_for: Option<Purpose>,
    /// The person seemed to be here when the first of them came: they are notified once they seem to be away.
    pub(super) notify_later: bool,
    pub(super) time_open: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) about: Option<SessionInfo>,
    /// The number of messages, with the person's new ones. Zero means that there is no session to resume.
    pub(crate) message_count: usize,
    /// Tokens used by all turns of this process.
    pub(crate) spent: Usage,
    /// The price of tokens, if the settings name it.
    pub(crate) price: Option<Price>,
    pub(super) mode_before_plan: PermissionMode,
}

/// Signs of the person.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) focus: Option<Focus>,
    pub(super) last_key: Option<Duration>,
    /// The time of the last answer.
    pub(super) last_seen: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTurn {
    /// On the clock that stops while a question is open, see [`State::clock`].
    pub(crate) since: Duration,
    pub(crate) is_stopping: bool,
    pub(crate) work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Conversation,
    /// A failed summary leaves no state to resume.
    Summary,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Thought {
    pub(crate) since: Duration,
    pub(crate) output: OutputId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Full,
    Reduced,
}

/// A message under the input box, removed after a time or by the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) role: Role,
    pub(crate) text: String,
    pub(crate) until: Option<Duration>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TurnEnd {
    #[default]
    Completed,
    Stopped,
    /// It broke off with an error and can be resumed.
    Failed,
}

/// The last printed part, which decides about blank lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastPrinted {
    Nothing,
    /// A blank line after a prompt without a confirmation.
    Blank,
    /// The model's text, still incomplete.
    Text,
    Call,
    Other,
}

/// Input to [`State::update`]: from the person, the agent and the driver.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Key(Key),
    Paste(String),
    /// A complete line, in line mode; a beginning that was taken earlier is in the draft.
    Line(String),
    /// Text typed before a question arrived, in line mode: complete lines and an unfinished one. It never opens the
    /// question.
    TypeAhead {
        lines: Vec<String>,
        rest: String,
    },
    Focus(Focus),
    Edited(Result<String, String>),
    /// Time has passed.
    Tick,
    /// A session was started or resumed; with what has happened in it so far.
    SessionOpened(SessionInfo, Vec<AgentEvent>),
    SessionChanged(SessionInfo),
    Files(Vec<String>),
    Cleared,
    /// A command's message.
    Note(Role, String),
    /// The changes by the edits of the session.
    Diff(String),
    ModelsListed(Offered),
    /// Continues a turn that was cut off.
    TurnStarted,
    /// Messages of a turn that the model has not read.
    TakenBack(Vec<String>),
    /// A command is finished, failed or not. Also sent once after start-up, when a turn that was cut off is over.
    CommandDone,
    Agent(AgentEvent),
    QuestionArrived(Arc<Request>),
    QuestionGone(Arc<Request>),
    /// The open question was closed, after this time.
    QuestionClosed(QuestionEnd, Duration),
    AgentDied,
}

impl Event {
    pub(super) fn told(words: impl Into<String>) -> Event {
        Event::Note(Role::Muted, words.into())
    }

    pub(super) fn failed(why: impl ToString) -> Event {
        Event::Note(Role::Danger, why.to_string())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionEnd {
    Answered,
    /// The person stopped the turn instead.
    Interrupted,
    Unanswered,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Print(Item),
    Command(AgentCommand),
    /// Show that a question is pending: window title, and a notification if the person may be away.
    Announce {
        header: String,
        may_be_away: bool,
    },
    ClearAnnouncement,
    Ask(Arc<Request>),
    /// Show the outputs in the person's pager.
    ReadOutputs,
    /// Find out which files a message may name.
    ListFiles,
    SaveHistory(String),
    Edit(String),
    Redraw,
    ChooseSession,
    ChooseModel(Offered),
    Quit,
}

/// The time that the keyboard must rest before a question opens.
pub(crate) const TYPING_GUARD: Duration = Duration::from_millis(700);
/// For how long after a question Enter and Esc are ignored.
pub(super) const STRAY_KEY_WINDOW: Duration = Duration::from_millis(700);
/// Within what time Ctrl-C has to be pressed again to quit.
pub(super) const QUIT_WINDOW: Duration = Duration::from_secs(2);
/// A key or an answer within this time means that the person is here.
const RECENT_ACTIVITY: Duration = Duration::from_secs(5);
const FRAME: Duration = Duration::from_millis(125);
const SECOND: Duration = Duration::from_secs(1);

impl State {
    /// The state before the agent thread has sent its session; that start-up counts as a pending command.
    pub(crate) fn new(presentation: Presentation, motion: Motion, history: Vec<String>) -> State {
        State {
            presentation,
            motion,
            composer: Composer::new(history),
            turn: Turn { pending_commands: 1, text_columns: MAX_COLUMNS, ..Turn::default() },
            questions: QuestionState::default(),
            session: SessionState::default(),
            activity: Activity::default(),
            notice: None,
            outputs: Outputs::default(),
            quit_armed_until: None,
            last_printed: LastPrinted::Nothing,
            effects: VecDeque::new(),
        }
    }

    /// A clock that stops while a question is open.
    pub(crate) fn clock(&self, now: Duration) -> Duration {
        now.saturating_sub(self.questions.time_open)
    }

    /// The time of the next `Tick`; `None` if only input or updates change the state.
    pub(crate) fn next_change(&self, now: Duration) -> Option<Duration> {
        let waits = self.activity.last_key.filter(|_| !self.questions.pending.is_empty());
        let opens = waits.and_then(|key| match self.opens_when_idle() {
            true => Some(key + TYPING_GUARD),
            false => (self.questions.notify_later && self.activity.focus.is_none())
                .then(|| key.max(self.activity.last_seen.unwrap_or_default()) + RECENT_ACTIVITY),
        });
        let notice = self.notice.as_ref().and_then(|notice| notice.until);
        let moves = self.presentation == Presentation::Screen && !self.is_paused();
        let frame = self.turn.running.filter(|_| moves).map(|_| {
            let step = match self.motion {
                Motion::Full => FRAME,
                Motion::Reduced => SECOND,
            };
            let steps = now.as_millis() / step.as_millis() + 1;
            step.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
        });
        [opens, notice, self.quit_armed_until, frame].into_iter().flatten().min()
    }

    /// Whether all running calls wait for the person; subagents may go on beside a question.
    pub(crate) fn is_paused(&self) -> bool {
        let works = |call: &RunningCall| call.waits_since.is_none() && call.ended.is_none();
        !self.questions.pending.is_empty() && !self.turn.calls.iter().any(works)
    }

    pub(crate) fn frame(&self, now: Duration) -> usize {
        match self.motion {
            Motion::Full => (now.as_millis() / FRAME.as_millis()) as usize,
            Motion::Reduced => 0,
        }
    }

    /// Whether a question opens once the keyboard has been idle. With a draft, it opens when the person presses Tab, or
    /// Enter in line mode.
    pub(crate) fn opens_when_idle(&self) -> bool {
        self.composer.draft.is_blank()
    }

    pub(super) fn is_quiet(&self, now: Duration) -> bool {
        let is_idle = || self.activity.last_key.is_none_or(|key| now.saturating_sub(key) >= TYPING_GUARD);
        // Line mode needs no idle time: a line answers only once Enter is pressed, and type-ahead was taken before.
        self.opens_when_idle() && (self.presentation == Presentation::Line || is_idle())
    }

    /// Whether the person may not be at this terminal.
    pub(super) fn may_be_away(&self, now: Duration) -> bool {
        let last = self.activity.last_key.max(self.activity.last_seen);
        let was_here = last.is_some_and(|last| now.saturating_sub(last) < RECENT_ACTIVITY);
        self.activity.focus.map_or(!was_here, |focus| focus == Focus::Lost)
    }

    /// The fill level of the model's context, once the conversation has begun.
    pub(crate) fn context(&self) -> Option<ContextUse> {
        self.session.about.as_ref().and_then(|session| session.context)
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.session.about.as_ref().map(|session| session.mode).unwrap_or_default()
    }

    /// The completions of the current text, best first.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        match self.presentation {
            Presentation::Screen => self.composer.offers(),
            Presentation::Line => Vec::new(),
        }
    }

    /// Whether the model's next text starts a new paragraph, apart from what was printed before.
    pub(crate) fn begins_text(&self) -> bool {
        !matches!(self.last_printed, LastPrinted::Text | LastPrinted::Nothing | LastPrinted::Blank)
    }
}
