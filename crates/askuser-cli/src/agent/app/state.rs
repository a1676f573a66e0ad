//! All that the conversation's screen depends on, and what can happen to it. No IO and no clock: time is passed in.

use super::calls::{self, Asks, Call};
use super::draft::Draft;
use super::item::{Item, WIDEST};
use super::markdown::Stream;
use super::worker::{Order, Session};
use askuser::Key;
use askuser_agent::{AgentEvent, Message, PermissionMode, Usage};
use askuser_terminal::{Focus, Manner, Role};
use std::collections::VecDeque;
use std::time::Duration;

/// The conversation, as the person sees it.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) manner: Manner,
    pub(crate) motion: Motion,
    pub(crate) session: Option<Session>,
    pub(crate) draft: Draft,
    /// How many columns a row of the draft has.
    pub(crate) room: usize,
    /// How many columns a row of text has.
    pub(crate) columns: usize,
    /// How much has been said in this session.
    pub(crate) said: usize,
    /// Messages that are sent when the turn is over, the first one first.
    pub(crate) queue: VecDeque<String>,
    /// How many orders have not been carried out yet.
    pub(crate) orders: usize,
    pub(crate) turn: Option<Turn>,
    pub(crate) stream: Stream,
    /// Whether the text that is being written has been seen in parts.
    pub(super) heard: Heard,
    pub(crate) calls: Vec<Call>,
    /// What the turn has cost so far, or the last one.
    pub(crate) usage: Usage,
    /// Questions that have not been opened yet.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Whether the person has been called to the first of them.
    pub(super) called: Called,
    pub(crate) notice: Option<Notice>,
    pub(crate) detail: Detail,
    /// The last call that gave something back.
    pub(super) last_output: Option<(calls::Ended, String)>,
    pub(super) focus: Option<Focus>,
    pub(super) last_key: Option<Duration>,
    /// When a question was answered last: who answers is there.
    pub(super) last_seen: Option<Duration>,
    /// Until when a key may still be meant for a question that is over.
    pub(super) stray_until: Option<Duration>,
    /// Until when Ctrl-C quits.
    pub(super) quits_until: Option<Duration>,
    /// How long the person has been asked, all in all.
    pub(super) asked: Duration,
    pub(super) ended: Ended,
    /// The mode to go back to from plan mode.
    pub(super) before_plan: PermissionMode,
    /// A diff that was shown with the question about it.
    pub(super) shown_diff: Option<String>,
    pub(super) above: Above,
}

/// A turn at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// On the clock that stands still while the person is asked.
    pub(crate) since: Duration,
    pub(crate) stopping: Stopping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    No,
    Yes,
}

/// Whether things may move by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Motion {
    Full,
    Reduced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Nothing,
    Parts,
}

/// A question that has not been opened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) header: String,
    /// What it is about, to be shown above it.
    pub(crate) context: Option<String>,
}

/// What a question that waits waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// Nothing is being written: it opens once the keyboard rests.
    AtRest,
    /// A text is half written, and who wrote it may go on at any time: it opens when they say so.
    OnWish,
}

/// Whether the person was told in a way that is noticed elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Called {
    No,
    Yes,
}

/// Words under the box that go by themselves or with the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) role: Role,
    pub(crate) text: String,
    pub(crate) until: Option<Duration>,
}

/// How much is shown of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    Short,
    Full,
}

/// How the last turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    /// The person stopped it.
    Stopped,
    /// It broke off, and can be taken up again.
    Broken,
}

/// What the scrollback ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Above {
    Nothing,
    /// Text that is still being written.
    Text,
    Call,
    Other,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Key(Key),
    Paste(String),
    /// A whole line, in line mode; what was taken of it before is in the draft.
    Line(String),
    /// What had been typed when a question came, in line mode: whole lines, and the beginning of one. It opens nothing.
    Typed {
        lines: Vec<String>,
        rest: String,
    },
    Focus(Focus),
    /// The editor came back.
    Edited(Result<String, String>),
    /// Time has passed.
    Tick,
    Session(Session, Vec<Message>),
    Changed(Session),
    Cleared,
    Failed(String),
    Begins,
    Finished,
    Agent(AgentEvent),
    /// The agent asks.
    Asked(Waiting),
    /// The question in this place of the queue is not wanted any more.
    Withdrawn(usize),
    /// The first question is over, after so long.
    Settled(Settled, Duration),
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Answered,
    /// The person stopped the turn instead.
    Interrupted,
    Otherwise,
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    Print(Item),
    Order(Order),
    /// A question has come.
    Announce {
        header: String,
        away: Away,
    },
    /// No question waits any more.
    Quiet,
    /// Open the first question.
    Ask,
    /// Remember what was typed.
    Keep(String),
    /// Let the person write in their editor.
    Edit(String),
    Redraw,
    /// Let the person choose a session.
    ChooseSession,
    Quit,
}

/// Whether the person may be looking elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    No,
    Perhaps,
}

/// How long the keyboard has to rest before a question opens.
pub(crate) const GUARD: Duration = Duration::from_millis(700);
/// For how long after a question Enter and Esc are taken for one press too many.
pub(super) const STRAY: Duration = Duration::from_millis(700);
/// Within what time Ctrl-C has to be pressed again.
pub(super) const AGAIN: Duration = Duration::from_secs(2);
/// Who has typed or answered so recently is there.
const RECENTLY: Duration = Duration::from_secs(5);
const FRAME: Duration = Duration::from_millis(125);
const SECOND: Duration = Duration::from_secs(1);

impl State {
    /// Nothing has been said; the agent's thread is about to tell what there is.
    pub(crate) fn new(manner: Manner, motion: Motion, history: Vec<String>) -> State {
        State {
            manner,
            motion,
            session: None,
            draft: Draft::new(history),
            room: WIDEST,
            columns: WIDEST,
            said: 0,
            queue: VecDeque::new(),
            orders: 1,
            turn: None,
            stream: Stream::default(),
            heard: Heard::Nothing,
            calls: Vec::new(),
            usage: Usage::default(),
            waiting: VecDeque::new(),
            called: Called::Yes,
            notice: None,
            detail: Detail::Short,
            last_output: None,
            focus: None,
            last_key: None,
            last_seen: None,
            stray_until: None,
            quits_until: None,
            asked: Duration::ZERO,
            ended: Ended::Well,
            before_plan: PermissionMode::Ask,
            shown_diff: None,
            above: Above::Nothing,
        }
    }

    /// The clock that stands still while the person is asked.
    pub(crate) fn clock(&self, now: Duration) -> Duration {
        now.saturating_sub(self.asked)
    }

    /// When the screen changes by itself; `None` means never.
    pub(crate) fn next_change(&self, now: Duration) -> Option<Duration> {
        let waits = self.last_key.filter(|_| !self.waiting.is_empty());
        let opens = waits.and_then(|key| match self.opens() {
            Opens::AtRest => Some(key + GUARD),
            Opens::OnWish => (self.called == Called::No && self.focus.is_none())
                .then(|| key.max(self.last_seen.unwrap_or_default()) + RECENTLY),
        });
        let notice = self.notice.as_ref().and_then(|notice| notice.until);
        let moves = self.manner == Manner::Screen && !self.is_paused();
        let frame = self.turn.filter(|_| moves).map(|_| {
            let step = match self.motion {
                Motion::Full => FRAME,
                Motion::Reduced => SECOND,
            };
            let steps = now.as_millis() / step.as_millis() + 1;
            step.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
        });
        [opens, notice, self.quits_until, frame].into_iter().flatten().min()
    }

    /// Whether the agent does nothing but wait for the person; subagents may go on beside a question.
    pub(crate) fn is_paused(&self) -> bool {
        !self.waiting.is_empty() && self.calls.iter().all(|call| call.asks != Asks::Nothing)
    }

    /// Which picture of the spinner to show.
    pub(crate) fn frame(&self, now: Duration) -> usize {
        match self.motion {
            Motion::Full => (now.as_millis() / FRAME.as_millis()) as usize,
            Motion::Reduced => 0,
        }
    }

    /// What a question would wait for.
    pub(crate) fn opens(&self) -> Opens {
        if self.draft.is_blank() { Opens::AtRest } else { Opens::OnWish }
    }

    /// Whether nothing stands in the way of a question.
    pub(super) fn is_quiet(&self, now: Duration) -> bool {
        match (self.opens(), self.manner) {
            (Opens::OnWish, _) => false,
            // A line of one's own takes an Enter of its own.
            (Opens::AtRest, Manner::Line) => true,
            (Opens::AtRest, Manner::Screen) => self.last_key.is_none_or(|key| now.saturating_sub(key) >= GUARD),
        }
    }

    pub(super) fn away(&self, now: Duration) -> Away {
        let last = self.last_key.max(self.last_seen);
        let was_here = last.is_some_and(|last| now.saturating_sub(last) < RECENTLY);
        match self.focus {
            Some(Focus::Gained) => Away::No,
            None if was_here => Away::No,
            Some(Focus::Lost) | None => Away::Perhaps,
        }
    }

    pub(crate) fn mode(&self) -> PermissionMode {
        self.session.as_ref().map(|session| session.mode).unwrap_or_default()
    }

    /// Whether text that comes now would begin a paragraph of its own.
    pub(crate) fn begins_text(&self) -> bool {
        !matches!(self.above, Above::Text | Above::Nothing)
    }
}
