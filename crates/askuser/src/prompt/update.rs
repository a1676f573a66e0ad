//! The transitions of a prompt.
//!
//! Two rules hold throughout: only the person deletes their text, and a key chooses only rows on the screen.

use super::answer_draft::AnswerDraft;
use super::keymap::{Action, KeyContext, SideText, action};
use super::state::{Arming, InputMode, Notice, NoticeKind, Page, Prompt, ReadState, TextField, Trigger};
use super::viewport::{AgreedText, Scroll, Viewport};
use super::{Effect, Event};
use crate::key::{Key, KeyCode};
use crate::outcome::{Answer, Outcome, Status};
use crate::rules::Form;
use crate::text::{Edit, Fit, Text};
use std::time::Duration;

/// The time for which a rejected key shows as a red border.
const FLASH: Duration = Duration::from_millis(400);

/// The pause in typing after which keys count. It is long enough for a slow typist.
const REST: Duration = Duration::from_millis(700);

/// The notice for a key that came too early. It disappears once keys count.
const TOO_EARLY: &str = "Not taken: keys count once you stop typing for a moment";

/// The notice for a choice before the text was read. Space scrolls and Enter chooses, so that a held key does not do
/// both.
const READ_ON: &str = "Read it to its end first: Space";

/// The notice for a choice in an empty list.
const NO_MATCH: &str = "Nothing matches; Esc clears the search";

impl Prompt {
    /// Handles an event. `now` is the time since the first frame.
    pub fn update(&mut self, event: Event, now: Duration) -> Effect {
        self.now = now;
        self.held |= matches!(event, Event::Key(_) | Event::Paste(_) | Event::Act(_));
        match event {
            Event::Tick => self.tick(),
            Event::Key(key) => self.press(key),
            Event::Paste(text) => self.paste(text),
            Event::Act(action) => self.act_by_name(action),
            Event::Edited(text) => self.edited(&text),
        }
    }

    fn tick(&mut self) -> Effect {
        match self.time_left() {
            Some(Duration::ZERO) => self.finish(Status::TimedOut, self.partial_answers()),
            _ => Effect::Continue,
        }
    }

    fn press(&mut self, key: Key) -> Effect {
        if key == Key::ctrl('c') {
            return self.interrupt();
        }
        if self.is_arming() {
            self.put_off();
            if self.has_to_wait(key) {
                return self.refuse_early();
            }
        }
        self.notice = None;
        match self.mode {
            InputMode::Help => self.read_help(key),
            InputMode::Leaving if key == Key::plain(KeyCode::Esc) => return self.leave(),
            InputMode::Leaving => self.mode = self.resting_mode(),
            InputMode::Choosing | InputMode::Typing(_) => {
                let action = action(key, self.context()).filter(|action| self.takes(action));
                return action.map_or(Effect::Continue, |action| self.act(action));
            }
        }
        Effect::Continue
    }

    /// Whether an action is possible here. A `confirm` at its own program takes no discussion and no refusal. The
    /// person who started the program is there to answer.
    pub(super) fn takes(&self, action: &Action) -> bool {
        match action {
            Action::Note => self.form().is_some_and(Form::takes_notes),
            Action::Discuss | Action::Decline => self.form() != Some(Form::Confirm) || self.trigger != Trigger::Inline,
            _ => true,
        }
    }

    fn act_by_name(&mut self, action: Action) -> Effect {
        self.notice = None;
        match self.mode {
            InputMode::Choosing | InputMode::Typing(_) if !self.is_arming() && self.takes(&action) => self.act(action),
            InputMode::Choosing | InputMode::Typing(_) | InputMode::Leaving | InputMode::Help => Effect::Continue,
        }
    }

    /// Whether the person has hardly seen the prompt, so that keys must wait. Keys in a text field that the person
    /// opened do not wait. Keys in a text field that is the whole prompt do.
    fn is_arming(&self) -> bool {
        self.now < self.armed_at && (!matches!(self.mode, InputMode::Typing(_)) || self.is_unseen(self.now))
    }

    /// Whether the current input was meant for another program, because the person has hardly seen the prompt.
    pub fn is_unseen(&self, now: Duration) -> bool {
        let is_asked_for = matches!(self.mode, InputMode::Typing(_)) && self.mode != self.resting_mode();
        self.arming == Arming::UntilRest && now < self.armed_at && !is_asked_for
    }

    /// Whether a key must wait until the person can have seen the prompt. Such a key answers, cancels, or opens a text
    /// field.
    fn has_to_wait(&self, key: Key) -> bool {
        match action(key, self.context()) {
            // After a refused key, the rest of the input would have another meaning.
            _ if self.is_refusing => true,
            // A search only filters the visible list, so its keys need not wait.
            Some(Action::Edit(_)) => self.form() != Some(Form::Pick) || self.arming == Arming::UntilRest,
            _ => matches!(
                key.code,
                KeyCode::Enter | KeyCode::Esc | KeyCode::Char(' ' | '0'..='9' | 'c' | 'd' | 'n' | 'y')
            ),
        }
    }

    fn put_off(&mut self) {
        if self.arming == Arming::UntilRest {
            self.armed_at = self.armed_at.max(self.now + REST);
        }
    }

    /// Refuses a key and the input typed with it, with a notice.
    fn refuse_early(&mut self) -> Effect {
        self.arming = Arming::UntilRest;
        self.is_refusing = true;
        self.put_off();
        let text = TOO_EARLY.to_owned();
        self.notice = Some(Notice { text, kind: NoticeKind::TooEarly, flash_until: Duration::ZERO });
        Effect::Continue
    }

    fn act(&mut self, action: Action) -> Effect {
        match (self.mode, action) {
            (_, Action::Interrupt) => return self.interrupt(),
            (_, Action::KeepOther) => self.keep_other(),
            (_, Action::KeepMine) => self.rival = None,
            (InputMode::Typing(field), Action::Enter) => return self.finish_typing(field),
            (InputMode::Typing(_), Action::Escape) if self.mode != self.resting_mode() => self.stop_typing(),
            (InputMode::Typing(field), Action::Edit(edit)) => self.edit(field, edit),
            (InputMode::Typing(field), Action::Editor) => return Effect::Edit(self.field(field).as_str().to_owned()),
            (_, Action::Enter) => return self.enter(),
            (_, Action::Mark) => return self.mark(),
            (_, Action::Number(n)) => return self.number(n),
            (_, Action::Yes) => return self.number(1),
            (_, Action::No) => return self.number(2),
            (_, Action::Up) => self.up(),
            (_, Action::Down) => self.down(),
            (_, Action::PageUp) => self.turn_pages(-1),
            (_, Action::PageDown) => self.turn_pages(1),
            (_, Action::Previous) => self.go_to_page(-1),
            (_, Action::Next) => self.go_to_page(1),
            (_, Action::Note) => {
                let row = self.current().map_or(0, |(_, draft)| draft.focus);
                return self.type_into(TextField::Note(row));
            }
            (_, Action::Open(text)) => self.show_beside(Some(text).filter(|text| self.opened != Some(*text))),
            (_, Action::Discuss) => return self.type_into(TextField::Discuss),
            (_, Action::Decline) => return self.type_into(TextField::Decline),
            (_, Action::Help) => {
                self.mode = InputMode::Help;
                self.scroll = Scroll::At(0);
            }
            (_, Action::Editor) => return self.edit_other(),
            (_, Action::Escape) if self.opened.is_some() => self.show_beside(None),
            (_, Action::Escape) if self.is_searching() => self.search(Edit::KillToStart),
            // A prompt closed by Later keeps its draft.
            (_, Action::Escape) if self.trigger == Trigger::Inline && self.has_something_to_lose() => {
                self.mode = InputMode::Leaving;
            }
            (_, Action::Escape) => return self.leave(),
            // On the row of Other, a character starts the text.
            (_, Action::Edit(edit @ Edit::Insert(_))) if self.context() == KeyContext::Other => {
                self.type_into(TextField::Other);
                self.edit(TextField::Other, edit);
            }
            (_, Action::Edit(edit)) if self.form() == Some(Form::Pick) => self.search(edit),
            (_, Action::Edit(_)) => {}
        }
        Effect::Continue
    }

    // ---- choosing ----

    fn enter(&mut self) -> Effect {
        let Page::Question(i) = self.page else { return self.enter_on_review() };
        let draft = &self.drafts[i];
        let multi = self.set.questions()[i].is_multi_select();
        let focus = draft.focus;
        if !draft.is_listed(focus) {
            return self.reject(NO_MATCH.into());
        }
        if focus == draft.other_row() && !(multi && draft.is_picked(focus)) {
            return self.type_into(TextField::Other);
        }
        if self.is_unread() && focus < draft.other_row() {
            return self.reject(READ_ON.into());
        }
        if !self.is_seen(focus) {
            return self.show_first();
        }
        if !multi {
            self.drafts[i].pick_only(focus);
        } else if !self.drafts[i].is_touched() {
            // A single key must not send an answer that the person has not chosen.
            self.drafts[i].picked[focus] = true;
            return self.advise("Selected. Enter again to continue".to_owned());
        }
        self.go_on(i)
    }

    fn enter_on_review(&mut self) -> Effect {
        if self.review_row == self.drafts.len() {
            return self.submit();
        }
        self.open(Page::Question(self.review_row));
        Effect::Continue
    }

    fn mark(&mut self) -> Effect {
        match self.page {
            Page::Review => Effect::Continue,
            Page::Question(_) if self.is_unread() => self.read_on(),
            Page::Question(_) if self.form() == Some(Form::Confirm) => Effect::Continue,
            Page::Question(i) if !self.drafts[i].is_listed(self.drafts[i].focus) => self.reject(NO_MATCH.into()),
            Page::Question(i) => self.toggle(i, self.drafts[i].focus),
        }
    }

    /// Shows this text instead of the context, or the context for `None`. Either starts at its first row.
    fn show_beside(&mut self, text: Option<SideText>) {
        if text.is_none_or(|text| self.side_text(text).is_some()) {
            self.opened = text;
            self.context_offset = None;
            // The drawn rows belong to the text shown before.
            self.looked = None;
        }
    }

    /// Scrolls to the next row that was not drawn, with one row of overlap. After the last row, scrolling continues at
    /// the first.
    fn read_on(&mut self) -> Effect {
        if self.opened.is_some() {
            self.show_beside(None);
        }
        if let (ReadState::Unread { source, drawn }, Some(looked)) = (&self.reading, &self.looked) {
            let shown = looked.agreed(*source);
            let mut rest = (shown.end()..shown.total).chain(0..shown.offset);
            let next = rest.find(|&row| !drawn[row]).unwrap_or(shown.offset);
            let start = next.saturating_sub(usize::from(shown.height > 1));
            match source {
                AgreedText::Context => self.context_offset = Some(start),
                AgreedText::Question => self.scroll = Scroll::At(start),
            }
        }
        Effect::Continue
    }

    /// Picks a row. In a multi-select question, picking the row again unpicks it.
    fn toggle(&mut self, i: usize, row: usize) -> Effect {
        if row == self.drafts[i].other_row() && self.drafts[i].other.is_blank() {
            return self.type_into(TextField::Other);
        }
        if self.is_unread() {
            return self.reject(READ_ON.into());
        }
        if !self.is_seen(row) {
            return self.show_first();
        }
        let draft = &mut self.drafts[i];
        if self.set.questions()[i].is_multi_select() {
            draft.picked[row] = !draft.picked[row]
        } else {
            draft.pick_only(row)
        }
        Effect::Continue
    }

    fn number(&mut self, n: usize) -> Effect {
        let Page::Question(i) = self.page else {
            if !(1..=self.drafts.len()).contains(&n) {
                return self.reject(format!("There are {} questions", self.drafts.len()));
            }
            self.open(Page::Question(n - 1));
            return Effect::Continue;
        };
        let rows = self.drafts[i].rows();
        if !(1..=rows).contains(&n) {
            // On the row of Other, the digit starts a text, such as "5 days".
            if let (KeyContext::Other, Some(digit)) = (self.context(), char::from_digit(n as u32, 10)) {
                return self.act(Action::Edit(Edit::Insert(digit)));
            }
            return self.reject(format!("Choose 1 to {rows}"));
        }
        self.drafts[i].focus = n - 1;
        if self.trigger == Trigger::Popup {
            Effect::Continue
        } else if self.set.questions()[i].is_multi_select() {
            self.toggle(i, n - 1)
        } else {
            self.enter()
        }
    }

    /// Continues after the answer to question `i`, at the next page or with the end.
    fn go_on(&mut self, i: usize) -> Effect {
        if self.drafts.len() == 1 {
            return self.submit();
        }
        self.open(self.next_page(i));
        self.answered_until = self.now + self.success_flash;
        Effect::Continue
    }

    fn submit(&mut self) -> Effect {
        // A draft, a known answer or another surface may have picked an option before the text was read.
        let has_pick = |draft: &AnswerDraft| draft.picked[..draft.other_row()].contains(&true);
        if let Some(unread) = self.drafts.iter().position(has_pick).filter(|_| self.is_unread()) {
            self.open(Page::Question(unread));
            return self.reject(READ_ON.into());
        }
        match (0..self.drafts.len()).find(|&i| self.answer(i).is_none()) {
            None => self.finish(Status::Answered, self.answers()),
            Some(open) => {
                self.open(Page::Question(open));
                self.reject(format!("Question {} has no answer yet", open + 1))
            }
        }
    }

    /// Returns the effect of leaving without an answer. A stored question is put aside, any other question is
    /// cancelled.
    pub fn leave(&mut self) -> Effect {
        match self.trigger {
            Trigger::Inline => self.finish(Status::Cancelled, self.partial_answers()),
            Trigger::Opened | Trigger::Popup => Effect::PutAside(self.unsent()),
        }
    }

    /// Interrupts the turn if the asker waits right here. A stored question is put aside instead.
    fn interrupt(&mut self) -> Effect {
        match self.trigger {
            Trigger::Inline => Effect::Interrupt,
            Trigger::Opened | Trigger::Popup => self.leave(),
        }
    }

    /// Ends the prompt with these answers. If an answer did not fit its question, the prompt would stay open.
    fn finish(&mut self, status: Status, answers: Vec<Answer>) -> Effect {
        match Outcome::new(&self.set, status, answers) {
            Ok(outcome) => Effect::Finish(outcome),
            Err(violations) => self.reject(violations.to_string()),
        }
    }

    fn go_to_page(&mut self, step: isize) {
        let last = self.drafts.len();
        let here = match self.page {
            Page::Question(i) => i,
            Page::Review => last,
        };
        let there = here.saturating_add_signed(step).min(last);
        if there == here || last == 1 {
            return;
        }
        self.open(if there == last { Page::Review } else { Page::Question(there) });
    }

    fn open(&mut self, page: Page) {
        self.stop_typing();
        self.page = page;
        self.mode = self.resting_mode();
        self.review_row = self.drafts.len();
        self.scroll = Scroll::At(0);
        self.preview_offset = None;
        // The next page's lines are unknown until it is laid out.
        (self.viewport, self.looked) = (None, None);
    }

    // ---- moving ----

    fn up(&mut self) {
        let focus = self.place();
        if let Some(viewport) = &self.viewport
            && let Some(row) = viewport.rows.get(focus)
        {
            if row.start < viewport.page.offset && row.end > viewport.page.offset {
                // The row begins above: scroll back to its beginning before leaving it.
                self.scroll = Scroll::At(viewport.page.offset.saturating_sub(viewport.page.step()).max(row.start));
                return;
            }
            if row.start >= viewport.page.end() {
                return self.focus_or_scroll((0..focus).rev().find(|&row| viewport.shows(row)), -1);
            }
        }
        self.focus_or_scroll(focus.checked_sub(1), -1);
    }

    fn down(&mut self) {
        let focus = self.place();
        let last = self.places().saturating_sub(1);
        if let Some(viewport) = &self.viewport
            && let Some(row) = viewport.rows.get(focus)
        {
            if row.end > viewport.page.end() {
                // The row ends below, or begins there. The page scrolls to its end before the cursor leaves the row, so
                // that no part is skipped.
                let whole = row.end.saturating_sub(viewport.page.height);
                let goal = if viewport.page.offset < row.start { whole.min(row.start) } else { whole };
                self.scroll = Scroll::At((viewport.page.offset + viewport.page.step()).min(goal));
                return;
            }
            if row.end <= viewport.page.offset {
                return self.focus_or_scroll((focus..=last).find(|&row| viewport.shows(row)), 1);
            }
        }
        self.focus_or_scroll(Some(focus + 1).filter(|_| focus < last), 1);
    }

    /// Moves the cursor to this position in the list, or scrolls the page if there is none.
    fn focus_or_scroll(&mut self, place: Option<usize>, pages: isize) {
        match place {
            Some(place) => self.focus_at(place),
            None => self.scroll_by_page(pages),
        }
    }

    /// Moves the cursor to a position in the list.
    fn focus_at(&mut self, place: usize) {
        let row = match self.page {
            Page::Review => Some(place),
            Page::Question(i) => self.drafts[i].listed_from(place).next(),
        };
        if let Some(row) = row {
            self.focus_on(row);
        }
    }

    /// Moves the cursor by a screenful through a long list.
    fn leaf(&mut self, pages: isize) {
        let step = self.viewport.as_ref().map_or(1, |viewport| viewport.page.step());
        let place = self.place().saturating_add_signed(pages * step as isize);
        self.focus_at(place.min(self.places().saturating_sub(1)));
    }

    /// Edits the search text of a list.
    fn search(&mut self, edit: Edit) {
        let Page::Question(i) = self.page else { return };
        let draft = &mut self.drafts[i];
        if draft.search.apply(edit.clone()) == Fit::Refused {
            let why = draft.search.why_refused(&edit);
            self.reject(why);
            return;
        }
        draft.list_matches(&self.set.questions()[i]);
        // The list has changed, so the positions of its rows are unknown.
        (self.viewport, self.looked) = (None, None);
        self.reveal();
    }

    fn focus_on(&mut self, row: usize) {
        let seen = self.is_seen(row);
        match self.page {
            Page::Review => self.review_row = row,
            Page::Question(i) => {
                let question = &self.set.questions()[i];
                let draft = &mut self.drafts[i];
                draft.focus = row;
                // Enter sends the marked row. On the row of an empty Other, Enter starts typing instead, so the mark
                // stays. A row off the screen is marked by Enter itself.
                let sends = row < draft.other_row() || !draft.other.is_blank();
                if !question.is_multi_select() && draft.is_touched() && sends && seen {
                    draft.pick_only(row);
                }
            }
        }
        self.reveal();
    }

    /// Scrolls forward through the preview, then the context, then the page. Backward, the page comes before the
    /// context.
    fn turn_pages(&mut self, pages: isize) {
        if self.form() == Some(Form::Pick) {
            return self.leaf(pages);
        }
        let Some(viewport) = &self.viewport else { return };
        let context = viewport.context.paged(pages).filter(|_| pages > 0 || viewport.page.offset == 0);
        match (viewport.preview.paged(pages), context) {
            (Some(offset), _) => self.preview_offset = Some((self.focus(), offset)),
            (None, Some(offset)) => self.context_offset = Some(offset),
            (None, None) => self.scroll_by_page(pages),
        }
    }

    fn scroll_by_page(&mut self, pages: isize) {
        let Some(viewport) = &self.viewport else { return };
        self.scroll = Scroll::At(viewport.page.paged(pages).unwrap_or(viewport.page.offset));
    }

    /// Scrolls to the row that a key would choose, instead of choosing it. Typing chooses no row, so this does not
    /// apply to Other.
    fn show_first(&mut self) -> Effect {
        self.reveal();
        let is_ticked = self.current().is_some_and(|(question, _)| question.is_multi_select());
        self.advise(format!("Press again to {}", if is_ticked { "tick" } else { "choose" }))
    }

    fn reveal(&mut self) {
        self.scroll = Scroll::Reveal(self.viewport.as_ref().map_or(0, |viewport| viewport.page.offset));
    }

    /// Whether a row may be chosen: it is visible, and the text to agree to was read.
    fn is_seen(&self, row: usize) -> bool {
        let place = self.current().map_or(row, |(_, draft)| draft.place_of(row));
        let is_shown = |viewport: &Option<Viewport>| viewport.as_ref().is_none_or(|viewport| viewport.shows(place));
        let is_read = match self.reading {
            ReadState::NotNeeded => true,
            ReadState::Unread { .. } => false,
            // The row itself must have been drawn, too.
            ReadState::Done => is_shown(&self.looked),
        };
        is_shown(&self.viewport) && is_read
    }

    /// Closes the help page on any key, except for keys that scroll a page longer than the screen.
    fn read_help(&mut self, key: Key) {
        let long = self.viewport.as_ref().is_some_and(|viewport| viewport.page.total > viewport.page.height);
        match action(key, KeyContext::Review) {
            Some(Action::PageUp | Action::Up) if long => self.scroll_by_page(-1),
            Some(Action::PageDown | Action::Down) if long => self.scroll_by_page(1),
            _ => {
                self.mode = self.resting_mode();
                self.scroll = Scroll::Reveal(0);
            }
        }
    }

    // ---- typing ----

    fn type_into(&mut self, field: TextField) -> Effect {
        if field == TextField::Other
            && let Page::Question(i) = self.page
        {
            self.drafts[i].focus = self.drafts[i].other_row();
        }
        self.mode = InputMode::Typing(field);
        self.reveal();
        Effect::Continue
    }

    fn stop_typing(&mut self) {
        if let Page::Question(i) = self.page {
            // Other without a text is no choice.
            let other = self.drafts[i].other_row();
            self.drafts[i].picked[other] = self.drafts[i].is_picked(other);
        }
        self.mode = self.resting_mode();
        self.reveal();
    }

    fn finish_typing(&mut self, field: TextField) -> Effect {
        match (field, self.page) {
            (TextField::Discuss, _) => {
                self.finish(Status::Discuss { message: self.discuss.written() }, self.partial_answers())
            }
            (TextField::Decline, _) => {
                self.finish(Status::Declined { reason: self.decline.written() }, self.partial_answers())
            }
            (TextField::Other, Page::Question(i)) => {
                if self.drafts[i].other.is_blank() {
                    let back = if self.form() == Some(Form::Input) { "cancel" } else { "go back" };
                    return self.reject(format!("Type an answer, or press Esc to {back}"));
                }
                let row = self.drafts[i].other_row();
                if self.set.questions()[i].is_multi_select() {
                    // As with a note, the first Enter ends the text, and the second Enter confirms the question.
                    self.drafts[i].picked[row] = true;
                    self.stop_typing();
                    return Effect::Continue;
                }
                self.drafts[i].pick_only(row);
                self.mode = InputMode::Choosing;
                self.go_on(i)
            }
            (TextField::Note(_), _) | (_, Page::Review) => {
                self.stop_typing();
                Effect::Continue
            }
        }
    }

    fn edit(&mut self, field: TextField, edit: Edit) {
        if self.field_mut(field).apply(edit.clone()) == Fit::Refused {
            let why = self.field(field).why_refused(&edit);
            self.reject(why);
        }
        self.reveal();
    }

    fn paste(&mut self, text: String) -> Effect {
        if self.is_arming() {
            self.put_off();
            return self.refuse_early();
        }
        self.notice = None;
        match self.mode {
            InputMode::Typing(field) => self.edit(field, Edit::Paste(text)),
            InputMode::Choosing if self.context() == KeyContext::Other => {
                self.type_into(TextField::Other);
                self.edit(TextField::Other, Edit::Paste(text));
            }
            InputMode::Choosing if self.form() == Some(Form::Pick) => {
                let line = text.lines().next().unwrap_or_default().to_owned();
                self.search(Edit::Paste(line));
            }
            // Pasted text is never a choice, unlike its characters as keys.
            InputMode::Choosing | InputMode::Leaving | InputMode::Help => {
                return self.reject("Choose Other or press n before pasting".into());
            }
        }
        Effect::Continue
    }

    /// Replaces the draft by the one from another surface.
    fn keep_other(&mut self) {
        let Some(rival) = self.rival.take() else { return };
        let limit = self.discuss.limit();
        self.drafts = self.set.questions().iter().map(|question| AnswerDraft::new(question, limit)).collect();
        self.discuss = Text::new(limit);
        self.decline = Text::new(limit);
        *self = self.clone().resuming(&rival.draft);
        self.mode = self.resting_mode();
    }

    fn edit_other(&mut self) -> Effect {
        match self.current() {
            Some((_, draft)) if draft.focus == draft.other_row() => {
                self.type_into(TextField::Other);
                Effect::Edit(self.field(TextField::Other).as_str().to_owned())
            }
            _ => self.reject("Choose Other or press n to have a text to edit".into()),
        }
    }

    fn edited(&mut self, text: &str) -> Effect {
        if let InputMode::Typing(field) = self.mode {
            // Editors add a final newline.
            if self.field_mut(field).set(text.trim_end_matches(['\n', '\r'])) == Fit::Refused {
                let limit = self.field(field).limit();
                self.reject(format!("{} characters, at most {limit}", text.chars().count()));
            }
            self.reveal();
        }
        Effect::Continue
    }

    fn field_mut(&mut self, field: TextField) -> &mut Text {
        match (field, self.page) {
            (TextField::Other, Page::Question(i)) => &mut self.drafts[i].other,
            (TextField::Note(row), Page::Question(i)) => &mut self.drafts[i].notes[row],
            (TextField::Decline, _) => &mut self.decline,
            (TextField::Discuss, _) | (_, Page::Review) => &mut self.discuss,
        }
    }

    /// Shows an error of the surface to the person.
    pub fn warn(&mut self, text: String) {
        self.reject(text);
    }

    fn reject(&mut self, text: String) -> Effect {
        self.notice = Some(Notice { text, kind: NoticeKind::Rejected, flash_until: self.now + FLASH });
        Effect::Continue
    }

    fn advise(&mut self, text: String) -> Effect {
        self.notice = Some(Notice { text, kind: NoticeKind::Advice, flash_until: self.now });
        Effect::Continue
    }
}
