//! The app's state, its events and its effects. The state does no IO and reads no clock: the time is passed in.
//!
//! `update` handles events from the person, `agent_events` handles those from the agent, and `view` draws the live
//! region.

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
    /// The latest outputs, for Ctrl-O.
    pub(crate) outputs: Outputs,
    /// The time until which another Ctrl-C quits; `None` without an earlier Ctrl-C.
    pub(super) quit_armed_until: Option<Duration>,
    pub(super) last_printed: LastPrinted,
    /// The driver's next tasks, in order.
    pub(crate) effects: VecDeque<Effect>,
}

/// The running turn, or the end of the last one.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    pub(crate) running: Option<RunningTurn>,
    pub(super) end: TurnEnd,
    /// The number of unfinished commands of the agent.
    pub(crate) pending_commands: usize,
    /// The model's current reasoning; `None` while the model does not reason.
    pub(crate) thought: Option<Thought>,
    pub(crate) stream: Stream,
    /// Whether deltas of the current text have arrived.
    pub(super) is_streamed: bool,
    /// The number of texts whose deltas were shown, and whose complete text has not arrived yet.
    pub(super) streamed: usize,
    /// The width of the model's text in columns, for breaking long paragraphs.
    pub(crate) text_columns: usize,
    pub(crate) calls: Vec<RunningCall>,
    /// The calls that started the subagent whose event is being handled.
    pub(super) tasks: Vec<String>,
    /// Whether the events are from an earlier process.
    pub(super) is_recalled: bool,
    pub(crate) usage: Usage,
}

impl Turn {
    /// Returns a call of the agent, or of the subagent that the last call in `tasks` started. `None` if there is no
    /// such call. Two subagents may have the same task.
    pub(super) fn call(&mut self, id: &str, tasks: &[String]) -> Option<&mut RunningCall> {
        self.calls.iter_mut().find(|call| call.id == id && call.tasks == tasks)
    }
}

#[derive(Debug, Default)]
pub(crate) struct QuestionState {
    /// The questions that are not opened yet, in the order of the driver's queue.
    pub(crate) pending: VecDeque<Arc<Request>>,
    pub(super) asked_for: Option<Purpose>,
    /// Whether to notify the person later. The person seemed to be present when the first question arrived, and may
    /// leave.
    pub(super) notify_later: bool,
    pub(super) time_open: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(crate) about: Option<SessionInfo>,
    /// The number of messages, with the person's new ones. If it is zero, there is no session to resume.
    pub(crate) message_count: usize,
    /// The tokens used by all turns of this process.
    pub(crate) spent: Usage,
    /// The price of tokens; `None` if the settings do not name it.
    pub(crate) price: Option<Price>,
    pub(super) mode_before_plan: PermissionMode,
}

/// Signs that the person is present.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) focus: Option<Focus>,
    pub(super) last_key: Option<Duration>,
    /// The time of the last answer; `None` without an answer.
    pub(super) last_seen: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunningTurn {
    /// The start of the turn, on the clock of [`State::clock`], which stops while a question is open.
    pub(crate) since: Duration,
    pub(crate) is_stopping: bool,
    pub(crate) work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Conversation,
    /// A summary of the conversation. If it fails, there is no turn to resume.
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

/// A message below the input box. A time limit or the next key removes it.
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
    /// The turn ended with an error and can be resumed.
    Failed,
}

/// The last printed part, which determines the blank lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastPrinted {
    Nothing,
    /// A blank line after a prompt without a confirmation.
    Blank,
    /// The model's text, which is still incomplete.
    Text,
    Call,
    Other,
}

/// Input to [`State::update`]: from the person, the agent and the driver.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Key(Key),
    Paste(String),
    /// A complete line in line mode. A beginning that was read earlier is in the draft.
    Line(String),
    /// The text typed before a question arrived, in line mode: complete lines and an unfinished one. Such text never
    /// opens the question.
    TypeAhead {
        lines: Vec<String>,
        rest: String,
    },
    Focus(Focus),
    Edited(Result<String, String>),
    /// Time has passed without another event.
    Tick,
    /// A session was started or resumed. The list contains its earlier events.
    SessionOpened(SessionInfo, Vec<AgentEvent>),
    SessionChanged(SessionInfo),
    Files(Vec<String>),
    Cleared,
    /// A message for the person from a command.
    Note(Role, String),
    /// The changes by the edits of the session.
    Diff(String),
    ModelsListed(Offered),
    /// A turn was started that continues a cut-off one.
    TurnStarted,
    /// The messages that were taken back because the model had not read them.
    TakenBack(Vec<String>),
    /// A command is finished, successfully or not. The event is also sent once after start-up, when a cut-off turn is
    /// over.
    CommandDone,
    Agent(AgentEvent),
    QuestionArrived(Arc<Request>),
    QuestionGone(Arc<Request>),
    /// The open question was closed after this time.
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
    /// The person stopped the turn instead of answering.
    Interrupted,
    Unanswered,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Print(Item),
    Command(AgentCommand),
    /// Shows that a question is pending: with the window title, and with a notification if the person may be away.
    Announce {
        header: String,
        may_be_away: bool,
    },
    ClearAnnouncement,
    Ask(Arc<Request>),
    /// Shows the outputs in the person's pager.
    ReadOutputs,
    /// Lists the files that a message may name.
    ListFiles,
    SaveHistory(String),
    Edit(String),
    Redraw,
    ChooseSession,
    ChooseModel(Offered),
    Quit,
}

/// The time for which the keyboard must be idle before a question opens.
pub(crate) const TYPING_GUARD: Duration = Duration::from_millis(700);
/// The time for which Enter and Esc are ignored after a question.
pub(super) const STRAY_KEY_WINDOW: Duration = Duration::from_millis(700);
/// The time within which a second Ctrl-C quits.
pub(super) const QUIT_WINDOW: Duration = Duration::from_secs(2);
/// The time for which a key or an answer shows that the person is present.
const RECENT_ACTIVITY: Duration = Duration::from_secs(5);
const FRAME: Duration = Duration::from_millis(125);
const SECOND: Duration = Duration::from_secs(1);

impl State {
    /// Creates the state before the agent thread has sent its session. The start-up counts as a pending command.
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

    /// Returns the time of a clock that stops while a question is open.
    pub(crate) fn clock(&self, now: Duration) -> Duration {
        now.saturating_sub(self.questions.time_open)
    }

    /// Returns the time of the next `Tick`; `None` if only other events change the state.
    pub(crate) fn next_change(&self, now: Duration) -> Option<Duration> {
        let waits = self.activity.last_key.filter(|_| !self.questions.pending.is_empty());
        let opens = waits.and_then(|key| {
            if self.opens_when_idle() {
                return Some(key + TYPING_GUARD);
            }
            let may_notify = self.questions.notify_later && self.activity.focus.is_none();
            may_notify.then(|| key.max(self.activity.last_seen.unwrap_or_default()) + RECENT_ACTIVITY)
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

    /// Returns whether all running calls wait for the person. Subagents may continue during a question.
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

    /// Returns whether a question opens once the keyboard has been idle. With a draft, the question opens when the
    /// person presses Tab, or Enter in line mode.
    pub(crate) fn opens_when_idle(&self) -> bool {
        self.composer.draft.is_blank()
    }

    pub(super) fn is_quiet(&self, now: Duration) -> bool {
        let is_idle = || self.activity.last_key.is_none_or(|key| now.saturating_sub(key) >= TYPING_GUARD);
        // Line mode needs no idle time: a line answers only after Enter, and type-ahead was read before.
        self.opens_when_idle() && (self.presentation == Presentation::Line || is_idle())
    }

    /// Returns whether the person may be away from this terminal.
    pub(super) fn may_be_away(&self, now: Duration) -> bool {
        let last = self.activity.last_key.max(self.activity.last_seen);
        let was_here = last.is_some_and(|last| now.saturating_sub(last) < RECENT_ACTIVITY);
        self.activity.focus.map_or(!was_here, |focus| focus == Focus::Lost)
    }

    /// Returns the fill level of the model's context; `None` before the conversation has begun.
    pub(crate) fn context(&self) -> Option<ContextUse> {
        self.session.about.as_ref().and_then(|session| session.context)
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.session.about.as_ref().map(|session| session.mode).unwrap_or_default()
    }

    /// Returns the completions of the current text, best first. Line mode has none.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        match self.presentation {
            Presentation::Screen => self.composer.offers(),
            Presentation::Line => Vec::new(),
        }
    }

    /// Returns whether the model's next text needs a blank line before it, to separate it from the earlier output.
    pub(crate) fn begins_text(&self) -> bool {
        !matches!(self.last_printed, LastPrinted::Text | LastPrinted::Nothing | LastPrinted::Blank)
    }
}
