//! The state of a prompt, and its readers.

use super::answer_draft::AnswerDraft;
use super::keymap::{KeyContext, SideText};
use super::viewport::{AgreedText, Scroll, Viewport};
use crate::draft::{Draft, Unsent};
use crate::outcome::{Answer, Outcome};
use crate::permission;
use crate::question::{Question, QuestionSet};
use crate::request::{Context, Purpose, Request};
use crate::rules::Form;
use crate::text::Text;
use std::time::Duration;

/// The timing of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptOptions {
    /// The time after the first frame in which some keys are ignored, because they may be meant for another program.
    /// These keys answer, cancel or open a text field.
    pub key_delay: Duration,
    /// The time limit, counted from the first frame; `None` without one. Any key stops the countdown, because a person
    /// is present.
    pub deadline: Option<Duration>,
}

impl Default for PromptOptions {
    fn default() -> PromptOptions {
        PromptOptions { key_delay: Duration::from_millis(250), deadline: None }
    }
}

/// The page on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// The question at this index.
    Question(usize),
    /// The review of all answers before they are submitted.
    Review,
}

/// The purpose of keys in the current state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// Keys move the cursor and choose.
    Choosing,
    /// Keys type into this field.
    Typing(TextField),
    /// Keys confirm or abandon a cancellation.
    Leaving,
    /// Keys scroll or close the help page.
    Help,
}

/// A text field of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The answer in the person's own words.
    Other,
    /// A note on this row.
    Note(usize),
    /// The message of "discuss first".
    Discuss,
    /// The reason of a refusal.
    Decline,
}

/// A message to the person about the last key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The text of the message.
    pub text: String,
    /// The kind: advice, or the refusal of a key.
    pub kind: NoticeKind,
    /// The end of the time in which a red border shows, too, counted from the first frame.
    pub flash_until: Duration,
}

/// The kind of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// The key was accepted. The text announces the effect of the next key.
    Advice,
    /// The key was refused, with the reason.
    Rejected,
    /// The key came too early. The notice disappears once keys count.
    TooEarly,
}

/// The style of a question's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMode {
    /// Prose, wrapped between words.
    Prose,
    /// Verbatim text, to the last blank, because the person agrees to it as to a command.
    Exact,
}

/// Text that the same person typed at another surface for the same question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The draft from the other surface.
    pub draft: Draft,
    /// A description of the draft on one line: the place and time of typing, and the text.
    pub summary: String,
}

/// The progress of drawing the text that the person agrees to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadState {
    /// The person agrees to no text.
    NotNeeded,
    /// Some rows were not drawn, so no option can be chosen. `drawn` has an entry for each row at the present width.
    Unread { source: AgreedText, drawn: Vec<bool> },
    /// Every row was drawn.
    Done,
}

impl ReadState {
    /// Marks the rows of a viewport as drawn.
    fn draw(&mut self, viewport: &Viewport) {
        let ReadState::Unread { source, drawn } = self else { return };
        let shown = viewport.agreed(*source);
        // The help page and the review show no row of the text.
        if shown.total == 0 {
            return;
        }
        // Another width wraps the text into other rows.
        if drawn.len() != shown.total {
            *drawn = vec![false; shown.total];
        }
        let now = shown.offset..shown.end();
        drawn.iter_mut().enumerate().for_each(|(row, is_drawn)| *is_drawn |= now.contains(&row));
        if !drawn.contains(&false) {
            *self = ReadState::Done;
        }
    }
}

/// The reason why a prompt is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The asking program shows the prompt and waits.
    #[default]
    Inline,
    /// A person opened a stored question. Esc means Later and keeps the draft.
    Opened,
    /// A stored question opened by itself, perhaps while a person types. Keys count once the keyboard has rested, and a
    /// digit alone chooses no option.
    Popup,
}

/// A prompt: questions and the person's work on them. A prompt has no clock and no terminal. A surface passes events to
/// the prompt, carries out the effects, and draws the state.
///
/// ```
/// use askuser::input::QuestionInput;
/// use askuser::prompt::{Effect, Event, PromptOptions};
/// use askuser::{Key, KeyCode, Prompt, QuestionSet, Rules};
/// use std::time::Duration;
///
/// let question = QuestionInput::new("Which database?", "Database")
///     .option("PostgreSQL", "Robust")
///     .option("SQLite", "Embedded");
/// let set = QuestionSet::new([question], &Rules::strict())?;
/// let mut prompt = Prompt::new(set, PromptOptions::default());
/// let second = Duration::from_secs(1);
/// assert_eq!(prompt.update(Event::Key(Key::plain(KeyCode::Down)), second), Effect::Continue);
/// let Effect::Finish(outcome) = prompt.update(Event::Key(Key::plain(KeyCode::Enter)), second) else { panic!("it is answered") };
/// assert_eq!(outcome.answers()[0].selected_options, ["SQLite"]);
/// # Ok::<(), askuser::Violations>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prompt {
    pub(super) set: QuestionSet,
    pub(super) origin: Option<String>,
    pub(super) purpose: Purpose,
    pub(super) why: Option<String>,
    pub(super) input: Option<String>,
    /// The opened text, which is shown instead of the context; `None` while the context is shown.
    pub(super) opened: Option<SideText>,
    /// The asker's prefilled answers, and the answers of the person's earlier draft.
    pub(super) known: Vec<Answer>,
    pub(super) resumed: Vec<Answer>,
    pub(super) rival: Option<Rival>,
    pub(super) options: PromptOptions,
    pub(super) drafts: Vec<AnswerDraft>,
    pub(super) page: Page,
    /// The row of the cursor on the review page: a question, or "Send" after the last one.
    pub(super) review_row: usize,
    pub(super) mode: InputMode,
    pub(super) discuss: Text,
    pub(super) decline: Text,
    pub(super) notice: Option<Notice>,
    pub(super) scroll: Scroll,
    /// The first visible line of the context; `None` until the person scrolls it.
    pub(super) context_offset: Option<usize>,
    /// The row whose preview was scrolled, and the first visible line of that preview; `None` if none was scrolled.
    pub(super) preview_offset: Option<(usize, usize)>,
    pub(super) viewport: Option<Viewport>,
    /// The last drawn viewport; `None` before the page is drawn. `viewport` may be a later one that is not drawn yet.
    pub(super) looked: Option<Viewport>,
    pub(super) reading: ReadState,
    pub(super) now: Duration,
    /// The duration of the border that confirms an answer, and the end of the present one.
    pub(super) success_flash: Duration,
    pub(super) answered_until: Duration,
    pub(super) held: bool,
    /// The end of the time in which the person has hardly seen the prompt, so that keys do not count.
    pub(super) armed_at: Duration,
    pub(super) arming: Arming,
    /// Whether a key came too early. The input typed with that key is refused, too.
    pub(super) is_refusing: bool,
    pub(super) trigger: Trigger,
}

/// The author of an answer that was filled in before the prompt was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefilled {
    /// The person, in an earlier draft.
    Person,
    /// The asker, from an answers file or by a rule.
    Asker,
}

/// The effect of an early key on the time until keys count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arming {
    /// An early key does not change the time until keys count.
    Steady,
    /// Each early key restarts the time until keys count, because the person is typing for another program. Keys count
    /// once the keyboard rests.
    UntilRest,
}

/// The longest time until a held key repeats or an accidental double press comes.
const REPEATS_AFTER: Duration = Duration::from_millis(700);

impl Prompt {
    /// Creates the prompt of a request, with its asker, known answers and deadline.
    pub fn of(request: &Request, key_delay: Duration) -> Prompt {
        let options = PromptOptions { key_delay, deadline: request.deadline() };
        let prompt = Prompt::new(request.set().clone(), options).prefilled(request.known());
        let source = if request.context().is_some() { AgreedText::Context } else { AgreedText::Question };
        let unread = ReadState::Unread { source, drawn: Vec::new() };
        let reading = if request.is_agreed_to() { unread } else { ReadState::NotNeeded };
        let why = request.why().map(str::to_owned);
        let input = request.context().and_then(Context::raw_input);
        Prompt { origin: request.asked_by(), purpose: request.key().purpose, why, input, reading, ..prompt }
    }

    /// Creates a prompt at its first question.
    pub fn new(set: QuestionSet, options: PromptOptions) -> Prompt {
        let limit = set.limits().typed_chars;
        let drafts: Vec<_> = set.questions().iter().map(|question| AnswerDraft::new(question, limit)).collect();
        let prompt = Prompt {
            review_row: drafts.len(),
            set,
            origin: None,
            purpose: Purpose::Question,
            why: None,
            input: None,
            opened: None,
            known: Vec::new(),
            resumed: Vec::new(),
            rival: None,
            options,
            drafts,
            page: Page::Question(0),
            mode: InputMode::Choosing,
            discuss: Text::new(limit),
            decline: Text::new(limit),
            notice: None,
            scroll: Scroll::At(0),
            context_offset: None,
            preview_offset: None,
            viewport: None,
            looked: None,
            reading: ReadState::NotNeeded,
            now: Duration::ZERO,
            success_flash: Duration::ZERO,
            answered_until: Duration::ZERO,
            held: false,
            armed_at: options.key_delay,
            arming: Arming::Steady,
            is_refusing: false,
            trigger: Trigger::Inline,
        };
        Prompt { mode: prompt.resting_mode(), ..prompt }
    }

    /// Returns the default mode: typing if the question has only a text field, otherwise choosing.
    pub(super) fn resting_mode(&self) -> InputMode {
        match self.form() {
            Some(Form::Input) => InputMode::Typing(TextField::Other),
            _ => InputMode::Choosing,
        }
    }

    /// The form of the question on the screen; `None` on the review page.
    pub(super) fn form(&self) -> Option<Form> {
        self.current().map(|(question, _)| question.form())
    }

    /// Sets the trigger. The default is [`Trigger::Inline`].
    pub fn on(self, trigger: Trigger) -> Prompt {
        let prompt = if trigger == Trigger::Popup { self.among_keys(None) } else { self };
        Prompt { trigger, ..prompt }
    }

    /// Sets the description of the asker.
    pub fn from_whom(self, origin: Option<String>) -> Prompt {
        Prompt { origin, ..self }
    }

    /// The reason why the prompt is on the screen.
    pub fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// Whether a key has stopped the countdown.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Extends the key delay for a prompt that appears while the person types. Every early key restarts the delay, so
    /// that neither a held key nor text for another program gets through. `since` is the time since another prompt
    /// closed, whose last key may still be down.
    pub fn among_keys(mut self, since: Option<Duration>) -> Prompt {
        if !self.options.key_delay.is_zero() {
            let held = since.map_or(Duration::ZERO, |since| REPEATS_AFTER.saturating_sub(since));
            self.armed_at = self.options.key_delay.max(held);
            self.arming = Arming::UntilRest;
        }
        self
    }

    /// Sets the time for which the next page shows the colour of success. The page does so after an answer to one of
    /// several questions. Keys work meanwhile, and no answer is sent yet.
    pub fn flashing_success(self, success_flash: Duration) -> Prompt {
        Prompt { success_flash, ..self }
    }

    /// Fills in known answers, which the person sees and may change. Opens the first question without an answer.
    pub fn prefilled(mut self, answers: &[Answer]) -> Prompt {
        for (question, draft) in self.set.questions().iter().zip(&mut self.drafts) {
            if let Some(answer) = answers.iter().find(|answer| answer.question == question.text_verbatim()) {
                draft.fill(question, answer);
            }
        }
        self.page = self.next_page(0);
        self.known = self.answers();
        self
    }

    /// Restores an earlier draft. Parts of the draft that do not fit the questions are dropped.
    pub fn resuming(mut self, draft: &Draft) -> Prompt {
        if draft.is_empty() {
            return self;
        }
        for (question, entry) in self.set.questions().iter().zip(&mut self.drafts) {
            let is_its = |unsent: &&Unsent| unsent.answer.question == question.text_verbatim();
            if let Some(unsent) = draft.answers.iter().find(is_its) {
                entry.resume(question, unsent);
            }
        }
        for (key, field, typed) in [('c', &mut self.discuss, &draft.discuss), ('d', &mut self.decline, &draft.decline)]
        {
            if let Some(typed) = typed {
                let _ = field.set(typed);
                let text = format!("What you had typed at {key} is still there");
                self.notice = Some(Notice { text, kind: NoticeKind::Advice, flash_until: Duration::ZERO });
            }
        }
        self.page = self.next_page(0);
        let is_theirs = |answer: &Answer| draft.answers.iter().any(|unsent| unsent.answer.question == answer.question);
        self.resumed = self.answers().into_iter().filter(is_theirs).collect();
        self
    }

    /// Sets or clears a draft from another surface. The person chooses between the two drafts by a key.
    pub fn offer(&mut self, rival: Option<Rival>) {
        self.rival = rival;
    }

    /// The draft from another surface; `None` once the person has chosen.
    pub fn rival(&self) -> Option<&Rival> {
        self.rival.as_ref()
    }

    /// The author of the prefilled answer to question `i`; `None` if the answer was not prefilled.
    pub fn prefilled_by(&self, i: usize) -> Option<Prefilled> {
        let answer = self.answer(i)?;
        if self.resumed.contains(&answer) {
            return Some(Prefilled::Person);
        }
        self.known.contains(&answer).then_some(Prefilled::Asker)
    }

    /// The note in an outcome that prevents the action, if there is one.
    pub fn condition<'a>(&self, outcome: &'a Outcome) -> Option<&'a str> {
        permission::condition(self.purpose, &self.set, outcome)
    }

    /// The description of the asker, safe to show; `None` if the asker is unknown.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// The side text of this kind, unchanged, if there is one.
    pub fn side_text(&self, text: SideText) -> Option<&str> {
        match text {
            SideText::Why => self.why.as_deref(),
            SideText::Input => self.input.as_deref(),
        }
    }

    /// The side text that the person opened, if any. A surface shows it instead of the context.
    pub fn opened(&self) -> Option<SideText> {
        self.opened
    }

    /// The style of the questions' text.
    pub fn wording(&self) -> TextMode {
        match self.purpose {
            Purpose::Permission => TextMode::Exact,
            _ => TextMode::Prose,
        }
    }

    /// The warning about a note on this row, because a note beside a yes may be a condition. `None` for other rows.
    pub fn note_hint(&self, row: usize) -> Option<&'static str> {
        let (question, _) = self.current()?;
        // The last option refuses, and so does a typed text.
        self.purpose.note_hint().filter(|_| row + 1 < question.options().len())
    }

    /// The questions of the prompt.
    pub fn set(&self) -> &QuestionSet {
        &self.set
    }

    /// The page that is on the screen.
    pub fn page(&self) -> Page {
        self.page
    }

    /// The purpose of keys in the current state.
    pub fn mode(&self) -> InputMode {
        self.mode
    }

    /// The person's work on question `i`.
    ///
    /// # Panics
    /// If there is no such question.
    pub fn draft(&self, i: usize) -> &AnswerDraft {
        &self.drafts[i]
    }

    /// The question on the screen with its draft; `None` on the review page.
    pub fn current(&self) -> Option<(&Question, &AnswerDraft)> {
        match self.page {
            Page::Question(i) => Some((&self.set.questions()[i], &self.drafts[i])),
            Page::Review => None,
        }
    }

    /// The row of the cursor. It is an option, or Other after the last option. On the review page it is a question, or
    /// "Send" after the last question.
    pub fn focus(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].focus,
            Page::Review => self.review_row,
        }
    }

    /// The position of the cursor's row in the list. During a search, only some rows are listed.
    pub fn place(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].place_of(self.drafts[i].focus),
            Page::Review => self.review_row,
        }
    }

    /// The number of listed rows.
    pub(super) fn places(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].listed().len(),
            Page::Review => self.drafts.len() + 1,
        }
    }

    /// The complete answer to question `i`; `None` without one.
    pub fn answer(&self, i: usize) -> Option<Answer> {
        self.drafts.get(i)?.answer(self.set.questions().get(i)?)
    }

    /// The complete answers.
    pub fn answers(&self) -> Vec<Answer> {
        (0..self.drafts.len()).filter_map(|i| self.answer(i)).collect()
    }

    /// The answers that the person gave. A prefilled answer is not the person's before they submit it. In a prompt that
    /// the person opened, prefilled answers are their earlier draft and count.
    pub fn partial_answers(&self) -> Vec<Answer> {
        let is_theirs = |answer: &Answer| self.trigger != Trigger::Inline || !self.known.contains(answer);
        self.answers().into_iter().filter(is_theirs).collect()
    }

    /// Returns the choices and every text as a draft for [`Prompt::resuming`].
    pub fn unsent(&self) -> Draft {
        let entries = self.set.questions().iter().zip(&self.drafts);
        let answers = entries.filter_map(|(question, entry)| entry.unsent(question)).collect();
        Draft { answers, discuss: self.discuss.written(), decline: self.decline.written() }
    }

    /// The text being typed; `None` if the person is not typing.
    pub fn text(&self) -> Option<&Text> {
        match self.mode {
            InputMode::Typing(field) => Some(self.field(field)),
            InputMode::Choosing | InputMode::Leaving | InputMode::Help => None,
        }
    }

    /// The text of a field of the current page.
    pub fn field(&self, field: TextField) -> &Text {
        match (field, self.page) {
            (TextField::Other, Page::Question(i)) => &self.drafts[i].other,
            (TextField::Note(row), Page::Question(i)) => &self.drafts[i].notes[row],
            (TextField::Decline, _) => &self.decline,
            (TextField::Discuss, _) | (_, Page::Review) => &self.discuss,
        }
    }

    /// The message about the last key, if any.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref().filter(|notice| notice.kind != NoticeKind::TooEarly || self.now < self.armed_at)
    }

    /// Whether the border shows a rejected key now.
    pub fn is_flashing(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| self.now < notice.flash_until)
    }

    /// Whether one of several questions was just answered.
    pub fn is_answer_fresh(&self) -> bool {
        self.now < self.answered_until
    }

    /// The remaining time; `None` without a limit, or if the person has stopped the countdown.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.options.deadline.filter(|_| !self.held)?;
        Some(deadline.saturating_sub(self.now))
    }

    /// The time of the next change without an event, counted from the first frame; `None` if there is none.
    pub fn next_change(&self) -> Option<Duration> {
        let flash = self.notice.as_ref().map(|notice| notice.flash_until).filter(|&until| until > self.now);
        let fresh = Some(self.answered_until).filter(|&until| until > self.now);
        let countdown = self.time_left().map(|left| {
            // The countdown shows minutes first and seconds at the end. The prompt wakes up no more often than the
            // countdown changes.
            let step = if left > Duration::from_secs(60) { 60_000 } else { 1_000 };
            let rest = left.as_millis() % step;
            self.now
                + Duration::from_millis(if rest == 0 { step as u64 } else { rest as u64 }.min(left.as_millis() as u64))
        });
        let armed = self.notice().filter(|notice| notice.kind == NoticeKind::TooEarly).map(|_| self.armed_at);
        flash.into_iter().chain(fresh).chain(countdown).chain(armed).min()
    }

    /// The scroll position of the page.
    pub fn scroll(&self) -> Scroll {
        self.scroll
    }

    /// The first line of the context or of the opened text; `None` until the person has scrolled it. Until then, the
    /// surface decides.
    pub fn context_offset(&self) -> Option<usize> {
        self.context_offset
    }

    /// The first line of the focused option's preview; `None` until the person has scrolled it. Each preview starts at
    /// its beginning.
    pub fn preview_offset(&self) -> Option<usize> {
        self.preview_offset.filter(|(row, _)| *row == self.focus()).map(|(_, offset)| offset)
    }

    /// Reports the drawn viewport. Keys scroll by it, and an option can be chosen only after it was drawn. A surface
    /// that scrolls calls this after each event. Without a call, every row counts as visible.
    pub fn look(&mut self, viewport: Viewport) {
        if self.opened.is_none() {
            self.reading.draw(&viewport);
        }
        self.looked = Some(viewport.clone());
        self.set_expected_viewport(viewport);
    }

    /// Sets the viewport about to be drawn. A key before the drawing then has the same effect as after it. Text to
    /// agree to does not count as read yet.
    pub fn set_expected_viewport(&mut self, viewport: Viewport) {
        self.viewport = Some(viewport);
    }

    /// Records that a surface has printed the whole text that the person agrees to.
    pub fn show_all(&mut self) {
        self.reading = ReadState::Done;
    }

    /// Whether some row of the text to agree to was not drawn yet. Until every row was drawn, no option can be chosen.
    pub fn is_unread(&self) -> bool {
        matches!(self.reading, ReadState::Unread { .. })
    }

    /// Whether [`Prompt::is_unread`] still holds after this viewport is drawn.
    pub fn is_unread_after(&self, viewport: &Viewport) -> bool {
        let mut reading = self.reading.clone();
        if self.opened.is_none() {
            reading.draw(viewport);
        }
        matches!(reading, ReadState::Unread { .. })
    }

    /// The state of the prompt, as far as keys depend on it.
    pub fn context(&self) -> KeyContext {
        match (self.mode, self.current()) {
            (InputMode::Typing(_), _) => KeyContext::Typing,
            (_, None) => KeyContext::Review,
            (_, Some((question, _))) if question.form() == Form::Confirm => KeyContext::Confirm,
            (_, Some((question, _))) if question.form() == Form::Pick => {
                if question.is_multi_select() {
                    KeyContext::SearchMulti
                } else {
                    KeyContext::Search
                }
            }
            (_, Some((_, draft))) if draft.focus == draft.other_row() => KeyContext::Other,
            (_, Some((question, _))) if question.is_multi_select() => KeyContext::Multi,
            (_, Some(_)) => KeyContext::Single,
        }
    }

    /// Returns the page after question `from`: the next unanswered question, or else the review. A single question has
    /// no review.
    pub(super) fn next_page(&self, from: usize) -> Page {
        let count = self.drafts.len();
        let open = (0..count).map(|step| (from + step) % count).find(|&i| self.answer(i).is_none());
        match open {
            Some(i) => Page::Question(i),
            None if count == 1 => Page::Question(0),
            None => Page::Review,
        }
    }

    /// Whether an escape byte may count as Esc before the next byte. On a slow link, it may be the first half of
    /// another key. If this is true, neither Esc nor the second half could end the prompt or send an answer.
    pub fn is_esc_harmless(&self) -> bool {
        match self.mode {
            InputMode::Help => true,
            InputMode::Leaving => false,
            // With unsent work, Esc asks first. In a search, Esc only ends the search.
            InputMode::Choosing => self.has_something_to_lose() && !self.is_searching(),
            InputMode::Typing(TextField::Other) if self.form() == Some(Form::Input) => self.has_something_to_lose(),
            // On the row of Other, the Enter of Alt-Enter starts typing again, unless Other is ticked.
            InputMode::Typing(TextField::Other) => self
                .current()
                .is_none_or(|(question, draft)| !(question.is_multi_select() && draft.is_picked(draft.other_row()))),
            // On another row, Enter would choose the row.
            InputMode::Typing(_) => false,
        }
    }

    /// Whether closing now would discard the person's work.
    pub(super) fn has_something_to_lose(&self) -> bool {
        let is_empty =
            self.drafts.iter().all(AnswerDraft::is_empty) && self.discuss.is_blank() && self.decline.is_blank();
        debug_assert_eq!(is_empty, self.unsent().is_empty());
        !is_empty
    }
}
