//! What a prompt remembers, and how a view reads it.

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

/// How a prompt behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptOptions {
    /// How long after the first frame keys that answer, cancel or open a text field are ignored, so that a key meant for
    /// something else does nothing here.
    pub key_delay: Duration,
    /// When to give up waiting, counted from the first frame. Any key holds the clock: a person is there.
    pub deadline: Option<Duration>,
}

impl Default for PromptOptions {
    fn default() -> PromptOptions {
        PromptOptions { key_delay: Duration::from_millis(250), deadline: None }
    }
}

/// What is on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// A question.
    Question(usize),
    /// All answers, before they are submitted.
    Review,
}

/// What the keys are for at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputMode {
    /// Moving and choosing.
    Choosing,
    /// Typing into a field.
    Typing(TextField),
    /// Asking once more whether to cancel.
    Leaving,
    /// Reading the help page.
    Help,
}

/// A text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextField {
    /// The answer in the person's own words.
    Other,
    /// A note on a row.
    Note(usize),
    /// What to talk about first.
    Discuss,
    /// Why not.
    Decline,
}

/// A word to the person about the key they pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What to do.
    pub text: String,
    /// Whether the key was refused.
    pub kind: NoticeKind,
    /// Until when it also shows as a red border.
    pub flash_until: Duration,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// The key was taken; this is what the next one does.
    Advice,
    /// The key was refused, and why.
    Rejected,
    /// The key came before keys count; the notice goes once they do.
    TooEarly,
}

/// How the text of a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// As prose, wrapped between words.
    Prose,
    /// Exactly, to the last blank: the person agrees to what it says, such as a command.
    Exact,
}

/// Text that the same person typed at another surface, for the same question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// The draft.
    pub draft: Draft,
    /// The place and time of typing, and the text, in one line.
    pub summary: String,
}

/// The drawn part of the text that the person agrees to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// The person agrees to no text.
    NotNeeded,
    /// Some rows were not drawn, so no option can be chosen. `drawn` has an entry for each row at the present width.
    Unread { source: AgreedText, drawn: Vec<bool> },
    /// Every row was drawn.
    Done,
}

impl Reading {
    /// Marks the rows of a viewport as drawn.
    fn draw(&mut self, viewport: &Viewport) {
        let Reading::Unread { source, drawn } = self else { return };
        let shown = viewport.agreed(*source);
        // The help page and the review show no row of it.
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
            *self = Reading::Done;
        }
    }
}

/// How a prompt has come to be on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// The program that asks shows it, and waits right here.
    #[default]
    Inline,
    /// The question is kept somewhere, and a person opened it. Esc puts it aside, with what they have done so far.
    Opened,
    /// The question is kept somewhere, and opened by itself, maybe while a person is typing: keys count once the keyboard has
    /// rested, and a digit alone answers nothing.
    Popup,
}

/// A prompt: questions, and everything the person has done about them so far. It knows no clock and no terminal: a surface
/// gives it events, does what comes of them, and shows what it has become.
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
    /// The text that is shown in the place of the context.
    pub(super) opened: Option<SideText>,
    /// What was filled in for the person, and what they had done another time.
    pub(super) known: Vec<Answer>,
    pub(super) resumed: Vec<Answer>,
    pub(super) rival: Option<Rival>,
    pub(super) options: PromptOptions,
    pub(super) drafts: Vec<AnswerDraft>,
    pub(super) page: Page,
    /// The row under the cursor of the review page: a question, or "Send" after the last of them.
    pub(super) review_row: usize,
    pub(super) mode: InputMode,
    pub(super) discuss: Text,
    pub(super) decline: Text,
    pub(super) notice: Option<Notice>,
    pub(super) scroll: Scroll,
    /// The first line of the context that is shown, once it was scrolled.
    pub(super) context_offset: Option<usize>,
    /// The row whose preview was scrolled, and the first line of it that is shown.
    pub(super) preview_offset: Option<(usize, usize)>,
    pub(super) viewport: Option<Viewport>,
    /// What has been on the screen last; the viewport may be ahead of it.
    pub(super) looked: Option<Viewport>,
    pub(super) reading: Reading,
    pub(super) now: Duration,
    /// How long the border shows that a question of several was answered, and until when it does.
    pub(super) success_flash: Duration,
    pub(super) answered_until: Duration,
    pub(super) held: bool,
    /// Until when the person can hardly have seen the prompt.
    pub(super) armed_at: Duration,
    pub(super) arming: Arming,
    /// Whether a key came too early, so that those typed with it are refused too.
    pub(super) is_refusing: bool,
    pub(super) trigger: Trigger,
}

/// The author of an answer that was filled in before the prompt was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefilled {
    /// The person, in an earlier answer.
    Person,
    /// The asker, from an answers file or by a rule.
    Asker,
}

/// What a key means to a prompt that is not armed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arming {
    /// Nothing: it is armed when it would have been.
    Steady,
    /// That the keyboard is still busy with something else: it is armed once that rests.
    UntilRest,
}

/// For how long a key is held, at most, before it repeats, and within what time a key is pressed twice by mistake.
const REPEATS_AFTER: Duration = Duration::from_millis(700);

impl Prompt {
    /// A prompt for a request: who asks, what is known already and the deadline are the request's.
    pub fn of(request: &Request, key_delay: Duration) -> Prompt {
        let options = PromptOptions { key_delay, deadline: request.deadline() };
        let prompt = Prompt::new(request.set().clone(), options).prefilled(request.known());
        let source = if request.context().is_some() { AgreedText::Context } else { AgreedText::Question };
        let unread = Reading::Unread { source, drawn: Vec::new() };
        let reading = if request.is_agreed_to() { unread } else { Reading::NotNeeded };
        let why = request.why().map(str::to_owned);
        let input = request.context().and_then(Context::raw_input);
        Prompt { origin: request.asked_by(), purpose: request.key().purpose, why, input, reading, ..prompt }
    }

    /// A prompt at its first question.
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
            reading: Reading::NotNeeded,
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

    /// What the keys are for where nothing else was asked for: where there are no options, a text.
    pub(super) fn resting_mode(&self) -> InputMode {
        match self.form() {
            Some(Form::Input) => InputMode::Typing(TextField::Other),
            _ => InputMode::Choosing,
        }
    }

    /// How the question on the screen is answered; `None` on the review page.
    pub(super) fn form(&self) -> Option<Form> {
        self.current().map(|(question, _)| question.form())
    }

    /// Sets how the prompt has come to be on the screen; [`Trigger::Inline`] without it.
    pub fn on(self, trigger: Trigger) -> Prompt {
        let prompt = if trigger == Trigger::Popup { self.among_keys(None) } else { self };
        Prompt { trigger, ..prompt }
    }

    /// Says who asks, in these words.
    pub fn from_whom(self, origin: Option<String>) -> Prompt {
        Prompt { origin, ..self }
    }

    /// How it has come to be on the screen.
    pub fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// Whether the person has stopped the clock by touching a key.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// For a prompt that comes while the person is at the keyboard: every key that comes too early puts off the moment it
    /// is armed, so neither a held key nor a text typed for something else gets through. `since` is how long ago another
    /// prompt was closed, whose last key may still be down.
    pub fn among_keys(mut self, since: Option<Duration>) -> Prompt {
        if !self.options.key_delay.is_zero() {
            let held = since.map_or(Duration::ZERO, |since| REPEATS_AFTER.saturating_sub(since));
            self.armed_at = self.options.key_delay.max(held);
            self.arming = Arming::UntilRest;
        }
        self
    }

    /// After each answer but the last, the next page shows in the colour of success for so long. It holds up no key, and says
    /// nothing: nothing is sent yet.
    pub fn flashing_success(self, success_flash: Duration) -> Prompt {
        Prompt { success_flash, ..self }
    }

    /// Fills in answers that are already known; the person sees them and may change them. Starts at the first question
    /// without one.
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

    /// Goes on from what the person had done another time. What does not fit the questions is left out.
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

    /// Shows a draft from another surface beside this one, or none any more. The person chooses between the two by a key.
    pub fn offer(&mut self, rival: Option<Rival>) {
        self.rival = rival;
    }

    /// The draft from another surface, until the person has chosen.
    pub fn rival(&self) -> Option<&Rival> {
        self.rival.as_ref()
    }

    /// Returns the author of the answer to question `i` if it was filled in before the prompt was shown.
    pub fn prefilled_by(&self, i: usize) -> Option<Prefilled> {
        let answer = self.answer(i)?;
        if self.resumed.contains(&answer) {
            return Some(Prefilled::Person);
        }
        self.known.contains(&answer).then_some(Prefilled::Asker)
    }

    /// The note in an outcome that keeps the action from running.
    pub fn condition<'a>(&self, outcome: &'a Outcome) -> Option<&'a str> {
        permission::condition(self.purpose, &self.set, outcome)
    }

    /// Who asks, safe to show.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// A text beside the question, as it was given.
    pub fn side_text(&self, text: SideText) -> Option<&str> {
        match text {
            SideText::Why => self.why.as_deref(),
            SideText::Input => self.input.as_deref(),
        }
    }

    /// The text that the person opened. A surface shows it in the place of the context.
    pub fn opened(&self) -> Option<SideText> {
        self.opened
    }

    /// How the text of the questions is shown.
    pub fn wording(&self) -> Wording {
        match self.purpose {
            Purpose::Permission => Wording::Exact,
            _ => Wording::Prose,
        }
    }

    /// What the person should know of a note on this row: beside a yes it may be a condition.
    pub fn note_hint(&self, row: usize) -> Option<&'static str> {
        let (question, _) = self.current()?;
        // The last option refuses, and so does whatever is typed.
        self.purpose.note_hint().filter(|_| row + 1 < question.options().len())
    }

    /// The questions.
    pub fn set(&self) -> &QuestionSet {
        &self.set
    }

    /// What is on the screen.
    pub fn page(&self) -> Page {
        self.page
    }

    /// What the keys are for.
    pub fn mode(&self) -> InputMode {
        self.mode
    }

    /// What the person has done with question `i`.
    ///
    /// # Panics
    /// Where there is no such question.
    pub fn draft(&self, i: usize) -> &AnswerDraft {
        &self.drafts[i]
    }

    /// The question on the screen with what was done about it; `None` on the review page.
    pub fn current(&self) -> Option<(&Question, &AnswerDraft)> {
        match self.page {
            Page::Question(i) => Some((&self.set.questions()[i], &self.drafts[i])),
            Page::Review => None,
        }
    }

    /// The row under the cursor: an option, or Other after the last of them; on the review page a question, or "Send" after
    /// the last of them.
    pub fn focus(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].focus,
            Page::Review => self.review_row,
        }
    }

    /// The place of the row under the cursor among those that are listed; a search lists only some.
    pub fn place(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].place_of(self.drafts[i].focus),
            Page::Review => self.review_row,
        }
    }

    /// How many rows are listed.
    pub(super) fn places(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].listed().len(),
            Page::Review => self.drafts.len() + 1,
        }
    }

    /// The answer to question `i` as it stands; `None` while there is none, or no such question.
    pub fn answer(&self, i: usize) -> Option<Answer> {
        self.drafts.get(i)?.answer(self.set.questions().get(i)?)
    }

    /// The answers given so far.
    pub fn answers(&self) -> Vec<Answer> {
        (0..self.drafts.len()).filter_map(|i| self.answer(i)).collect()
    }

    /// The answers the person gave so far. Answers filled in for them are not theirs until they submit them; in a prompt that
    /// they opened it is what they had put aside.
    pub fn so_far(&self) -> Vec<Answer> {
        let is_theirs = |answer: &Answer| self.trigger != Trigger::Inline || !self.known.contains(answer);
        self.answers().into_iter().filter(is_theirs).collect()
    }

    /// Everything to go on from another time ([`Prompt::resuming`]): what is chosen, and every text.
    pub fn unsent(&self) -> Draft {
        let entries = self.set.questions().iter().zip(&self.drafts);
        let answers = entries.filter_map(|(question, entry)| entry.unsent(question)).collect();
        Draft { answers, discuss: self.discuss.written(), decline: self.decline.written() }
    }

    /// The text being typed.
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

    /// What the person is told about the last key.
    pub fn notice(&self) -> Option<&Notice> {
        self.notice.as_ref().filter(|notice| notice.kind != NoticeKind::TooEarly || self.now < self.armed_at)
    }

    /// Whether the border shows a rejected key just now.
    pub fn is_flashing(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| self.now < notice.flash_until)
    }

    /// Whether a question of several was answered just now.
    pub fn is_answer_fresh(&self) -> bool {
        self.now < self.answered_until
    }

    /// How much time is left; `None` when there is no limit or the person has stopped the clock.
    pub fn time_left(&self) -> Option<Duration> {
        let deadline = self.options.deadline.filter(|_| !self.held)?;
        Some(deadline.saturating_sub(self.now))
    }

    /// When something will change by itself, counted from the first frame; `None` when nothing will until an event.
    pub fn next_change(&self) -> Option<Duration> {
        let flash = self.notice.as_ref().map(|notice| notice.flash_until).filter(|&until| until > self.now);
        let fresh = Some(self.answered_until).filter(|&until| until > self.now);
        let countdown = self.time_left().map(|left| {
            // The countdown shows minutes while there are many and seconds at the end: wake no oftener than it changes.
            let step = if left > Duration::from_secs(60) { 60_000 } else { 1_000 };
            let rest = left.as_millis() % step;
            self.now
                + Duration::from_millis(if rest == 0 { step as u64 } else { rest as u64 }.min(left.as_millis() as u64))
        });
        let armed = self.notice().filter(|notice| notice.kind == NoticeKind::TooEarly).map(|_| self.armed_at);
        flash.into_iter().chain(fresh).chain(countdown).chain(armed).min()
    }

    /// Where the page should start.
    pub fn scroll(&self) -> Scroll {
        self.scroll
    }

    /// The first line to show of the context, or of an opened text, once the person has scrolled it; until then the surface decides.
    pub fn context_offset(&self) -> Option<usize> {
        self.context_offset
    }

    /// The first line to show of the preview of the focused option, once the person reads it; each is read from its
    /// beginning.
    pub fn preview_offset(&self) -> Option<usize> {
        self.preview_offset.filter(|(row, _)| *row == self.focus()).map(|(_, offset)| offset)
    }

    /// Says what the surface shows, so that keys can scroll, and so that nothing off the screen is chosen unread. A
    /// surface that may show less than the whole says it after each event; until it has, all is taken to be seen.
    pub fn look(&mut self, viewport: Viewport) {
        if self.opened.is_none() {
            self.reading.draw(&viewport);
        }
        self.looked = Some(viewport.clone());
        self.foresee(viewport);
    }

    /// Says what the surface is about to show, so that keys that come at once do what they would do then. Nothing that is agreed
    /// to counts as read by that.
    pub fn foresee(&mut self, viewport: Viewport) {
        self.viewport = Some(viewport);
    }

    /// Records that a surface has printed the whole text that the person agrees to.
    pub fn show_all(&mut self) {
        self.reading = Reading::Done;
    }

    /// Whether a row of the text that the person agrees to was not drawn yet. No option can be chosen until then.
    pub fn is_unread(&self) -> bool {
        matches!(self.reading, Reading::Unread { .. })
    }

    /// Whether the same holds after this viewport is drawn.
    pub fn is_unread_after(&self, viewport: &Viewport) -> bool {
        let mut reading = self.reading.clone();
        if self.opened.is_none() {
            reading.draw(viewport);
        }
        matches!(reading, Reading::Unread { .. })
    }

    /// Where the person is, as far as keys are concerned.
    pub fn context(&self) -> KeyContext {
        match (self.mode, self.current()) {
            (InputMode::Typing(_), _) => KeyContext::Typing,
            (_, None) => KeyContext::Review,
            (_, Some((question, _))) if question.form() == Form::Confirm => KeyContext::Confirm,
            (_, Some((question, _))) if question.form() == Form::Pick => match question.is_multi_select() {
                true => KeyContext::SearchMulti,
                false => KeyContext::Search,
            },
            (_, Some((_, draft))) if draft.focus == draft.other_row() => KeyContext::Other,
            (_, Some((question, _))) if question.is_multi_select() => KeyContext::Multi,
            (_, Some(_)) => KeyContext::Single,
        }
    }

    /// The page after question `from`: the next one without an answer, else the review, or the end of a single question.
    pub(super) fn next_page(&self, from: usize) -> Page {
        let count = self.drafts.len();
        let open = (0..count).map(|step| (from + step) % count).find(|&i| self.answer(i).is_none());
        match open {
            Some(i) => Page::Question(i),
            None if count == 1 => Page::Question(0),
            None => Page::Review,
        }
    }

    /// Whether an escape byte may count as Esc before it is known that nothing follows it. It may be the first half of
    /// another key that a slow link has split: here neither Esc nor the other half could end or send anything.
    pub fn is_esc_harmless(&self) -> bool {
        match self.mode {
            InputMode::Help => true,
            InputMode::Leaving => false,
            // With something to lose, Esc asks first; while a list is searched, it only ends the search.
            InputMode::Choosing => self.has_something_to_lose() && !self.is_searching(),
            InputMode::Typing(TextField::Other) if self.form() == Some(Form::Input) => self.has_something_to_lose(),
            // On the row of Other, the Enter of Alt-Enter begins to type again, unless what was typed is ticked.
            InputMode::Typing(TextField::Other) => self
                .current()
                .is_none_or(|(question, draft)| !(question.is_multi_select() && draft.is_picked(draft.other_row()))),
            // On another row it would choose.
            InputMode::Typing(_) => false,
        }
    }

    /// Whether closing now would lose something the person did.
    pub(super) fn has_something_to_lose(&self) -> bool {
        let is_empty =
            self.drafts.iter().all(AnswerDraft::is_empty) && self.discuss.is_blank() && self.decline.is_blank();
        debug_assert_eq!(is_empty, self.unsent().is_empty());
        !is_empty
    }
}
