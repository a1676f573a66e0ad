//! Handles events from the person: keys, pastes, lines, and the opening and closing of questions. `agent_events`
//! handles those from the agent.

use super::agent_thread::AgentCommand;
use super::composed_text::LIMIT;
use super::scrollback::Item;
use super::state::{Effect, Event, LastPrinted, Notice, QUIT_WINDOW, QuestionEnd, STRAY_KEY_WINDOW, State};
use askuser::prompt::{Action, KeyContext, action};
use askuser::sanitize::is_blank;
use askuser::{Edit, Fit, Key, KeyCode, Purpose};
use askuser_terminal::{Focus, Presentation, Role, Theme};
use std::sync::Arc;
use std::time::Duration;

impl State {
    /// Applies an event that happened at `now`. The resulting tasks of the driver are in `effects`.
    pub(crate) fn update(&mut self, event: Event, now: Duration) {
        match event {
            Event::Key(key) => {
                self.key(key, now);
                if self.composer.begins_path() && self.presentation == Presentation::Screen {
                    self.effects.push_back(Effect::ListFiles);
                }
            }
            Event::Paste(text) => {
                self.key_pressed(now);
                self.edit(Edit::Paste(text));
            }
            // An empty line opens the pending question. The draft stays.
            Event::Line(line) if !self.opens_when_idle() && !self.questions.pending.is_empty() && is_blank(&line) => {
                self.open_question();
            }
            // A second Enter right after an answer is ignored.
            Event::Line(line) if is_blank(&line) && self.composer.is_stray(now) => {}
            Event::Line(line) => self.line(&line, now),
            Event::TypeAhead { lines, rest } => {
                lines.iter().filter(|line| !is_blank(line)).for_each(|line| self.line(line, now));
                let _ = self.begin_line(&rest);
                return;
            }
            Event::Focus(focus) => self.activity.focus = Some(focus),
            Event::Edited(Ok(text)) => {
                if self.composer.draft.set(&text) == Fit::Refused {
                    self.reject_too_long();
                }
            }
            Event::Edited(Err(error)) => self.warn(Role::Danger, error),
            // The driver ends the app.
            Event::Tick | Event::AgentDied => {}
            Event::Files(files) => self.composer.files = files,
            Event::QuestionArrived(waiting) => {
                self.ask_user(&waiting, now);
                self.questions.pending.push_back(waiting);
                if self.questions.pending.len() == 1 {
                    self.announce(now);
                }
            }
            Event::QuestionGone(gone) => {
                // The open question is not in the list, because it closes by itself.
                if let Some(index) = self.questions.pending.iter().position(|request| Arc::ptr_eq(request, &gone)) {
                    self.questions.pending.remove(index);
                    self.question_gone(now);
                }
            }
            Event::QuestionClosed(end, took) => {
                self.questions.time_open += took;
                self.turn.calls.iter_mut().for_each(|call| call.question_closed(now));
                self.composer.stray_until = Some(now + STRAY_KEY_WINDOW);
                // The line of the call shows the decision about its permission.
                let is_told_later = self.questions.asked_for.take() == Some(Purpose::Permission);
                let on_screen = self.presentation == Presentation::Screen;
                self.last_printed = if is_told_later && on_screen { LastPrinted::Blank } else { LastPrinted::Other };
                // An answer shows that the person is present. A change of focus while the question was open was not
                // read.
                match end {
                    QuestionEnd::Answered | QuestionEnd::Interrupted => {
                        self.activity.last_seen = Some(now);
                        self.activity.focus = self.activity.focus.map(|_| Focus::Gained);
                    }
                    QuestionEnd::Unanswered => self.activity.focus = None,
                }
                if end == QuestionEnd::Interrupted {
                    self.offer_to_quit(now);
                }
                self.question_gone(now);
            }
            event => self.agent_update(event, now),
        }
        self.pass_time(now);
        if self.is_quiet(now) {
            self.open_question();
        } else if self.questions.notify_later && self.may_be_away(now) {
            // The person left a draft some time ago and may not know about the pending question.
            self.announce(now);
        }
    }

    fn pass_time(&mut self, now: Duration) {
        if self.quit_armed_until.is_some_and(|until| now >= until) {
            self.quit_armed_until = None;
        }
        if self.notice.as_ref().and_then(|notice| notice.until).is_some_and(|until| now >= until) {
            self.notice = None;
        }
    }

    /// Opens the first pending question, if there is one. The caller ensures that no key meant for the draft can answer
    /// it.
    fn open_question(&mut self) {
        if let Some(waiting) = self.questions.pending.pop_front() {
            self.questions.notify_later = false;
            self.questions.asked_for = Some(waiting.key().purpose);
            self.effects.push_back(Effect::Ask(waiting));
        }
    }

    /// Updates the announcement after a question was closed or withdrawn.
    fn question_gone(&mut self, now: Duration) {
        self.questions.notify_later = false;
        if self.questions.pending.is_empty() {
            self.effects.push_back(Effect::ClearAnnouncement);
        } else {
            self.announce(now);
        }
    }

    fn announce(&mut self, now: Duration) {
        if let Some(waiting) = self.questions.pending.front() {
            let may_be_away = self.may_be_away(now);
            self.questions.notify_later = !may_be_away;
            let header = waiting.set().questions()[0].header().to_owned();
            let note =
                format!("A question waits: {header}. Enter asks it and keeps your text; or finish your line first.");
            self.effects.push_back(Effect::Announce { header, may_be_away });
            // On a screen the live region shows the question.
            if self.presentation == Presentation::Line && !self.opens_when_idle() {
                self.note(Role::Warning, note);
            }
        }
    }

    /// Prints an item into the scrollback. A blank line separates it from an unrelated item above.
    pub(super) fn print(&mut self, item: Item) {
        let is_apart = matches!(self.last_printed, LastPrinted::Nothing | LastPrinted::Blank);
        let (last_printed, with_gap) = match &item {
            Item::ModelText(_) => (LastPrinted::Text, self.begins_text()),
            // The prompt has already left a blank line.
            Item::Call(call) if call.was_asked => (LastPrinted::Call, !is_apart),
            // The output or the changes of a call stand directly below it.
            Item::Call(_) | Item::Output { .. } | Item::Diff { .. } => {
                (LastPrinted::Call, !is_apart && self.last_printed != LastPrinted::Call)
            }
            Item::Gap | Item::Header(_) | Item::Closing(_) | Item::UserMessage(_) | Item::Note(..) | Item::Help(_) => {
                (LastPrinted::Other, !is_apart)
            }
        };
        if with_gap {
            self.effects.push_back(Effect::Print(Item::Gap));
        }
        self.last_printed = last_printed;
        self.effects.push_back(Effect::Print(item));
    }

    pub(super) fn note(&mut self, role: Role, text: impl Into<String>) {
        self.print(Item::Note(role, text.into()));
    }

    /// Shows a message that is not part of the conversation. On a screen the next key removes it.
    pub(super) fn warn(&mut self, role: Role, text: impl Into<String>) {
        match self.presentation {
            Presentation::Screen => self.notice = Some(Notice { role, text: text.into(), until: None }),
            Presentation::Line => self.note(role, text),
        }
    }

    fn reject_too_long(&mut self) {
        self.warn(Role::Danger, format!("A message has at most {LIMIT} characters; this was not taken."));
    }

    // ---- lines ----

    fn line(&mut self, line: &str, now: Duration) {
        if self.begin_line(line) == Fit::Kept {
            self.submit(now);
        }
    }

    fn begin_line(&mut self, text: &str) -> Fit {
        let fit = self.composer.draft.set(&format!("{}{text}", self.composer.draft.as_str()));
        if fit == Fit::Refused {
            self.reject_too_long();
        }
        fit
    }

    // ---- keys ----

    fn key_pressed(&mut self, now: Duration) {
        self.activity.last_key = Some(now);
        self.notice = None;
    }

    fn key(&mut self, key: Key, now: Duration) {
        self.key_pressed(now);
        if key == Key::ctrl('c') {
            return self.interrupt(now);
        }
        self.quit_armed_until = None;
        // The key was probably meant for the question that has just closed. In the composer it would send half a draft,
        // stop the turn or change the mode.
        let stray = self.composer.is_stray(now);
        if stray && matches!(key.code, KeyCode::Enter | KeyCode::Esc | KeyCode::BackTab) {
            // A held key repeats, so it is ignored until it is released.
            self.composer.stray_until = Some(now + STRAY_KEY_WINDOW);
            return;
        }
        self.composer.stray_until = None;
        let chosen = std::mem::take(&mut self.composer.chosen);
        let offers = self.offers();
        let offer = offers.get(chosen);
        let moves = offers.len() > 1;
        match key {
            Key { code: KeyCode::Enter, mods } if mods == Key::plain(KeyCode::Enter).mods => match offer {
                Some(offer) if !self.composer.has_typed(offer) => {
                    self.composer.accept(offer);
                    // Otherwise an argument follows, or the name is a file in a message.
                    if !self.composer.draft.as_str().ends_with(' ') {
                        self.submit(now);
                    }
                }
                _ => self.submit(now),
            },
            Key { code: KeyCode::Up, .. } if moves => {
                self.composer.chosen = (chosen + offers.len() - 1) % offers.len();
            }
            Key { code: KeyCode::Down, .. } if moves => {
                self.composer.chosen = (chosen + 1) % offers.len();
            }
            Key { code: KeyCode::Esc, .. } => self.stop(),
            _ if key == Key::ctrl('d') && self.composer.draft.text().is_empty() => self.effects.push_back(Effect::Quit),
            _ if key == Key::ctrl('o') => self.read_outputs(),
            _ if key == Key::ctrl('g') => self.effects.push_back(Effect::Edit(self.composer.draft.expanded())),
            _ if key == Key::ctrl('l') => self.effects.push_back(Effect::Redraw),
            Key { code: KeyCode::BackTab, .. } => self.next_mode(),
            Key { code: KeyCode::Tab, .. } if !self.questions.pending.is_empty() => self.open_question(),
            Key { code: KeyCode::Tab, .. } if !offers.is_empty() => {
                offer.into_iter().for_each(|offer| self.composer.accept(offer))
            }
            _ => match action(key, KeyContext::Typing) {
                // The last unread message returns to the composer first.
                Some(Action::Edit(Edit::Up)) if self.composer.draft.is_blank() && !self.composer.said.is_empty() => {
                    self.effects.push_back(Effect::Command(AgentCommand::TakeBack(1)));
                }
                Some(Action::Edit(Edit::Up)) => self.composer.up(),
                Some(Action::Edit(Edit::Down)) => self.composer.down(),
                Some(Action::Edit(edit)) => self.edit(edit),
                _ => {}
            },
        }
    }

    fn edit(&mut self, edit: Edit) {
        if self.composer.draft.edit(edit.clone()) == Fit::Refused {
            let why = self.composer.draft.text().why_refused(&edit);
            self.warn(Role::Warning, why);
        }
    }

    pub(super) fn read_outputs(&mut self) {
        match (self.outputs.last(), self.presentation) {
            (Some(_), Presentation::Screen) => self.effects.push_back(Effect::ReadOutputs),
            // Line mode prints the output instead of opening a pager.
            (Some(last), Presentation::Line) => {
                let text = self.outputs.get(last).map(|output| output.shown(&Theme::default())).unwrap_or_default();
                self.print(Item::Output { text, role: Role::Secondary, max_lines: usize::MAX });
            }
            (None, _) => self.warn(Role::Muted, "There is no output to read yet."),
        }
    }

    // ---- stopping ----

    pub(super) fn stop(&mut self) {
        if let Some(turn) = &mut self.turn.running
            && !turn.is_stopping
        {
            turn.is_stopping = true;
            if !self.composer.said.is_empty() {
                self.effects.push_back(Effect::Command(AgentCommand::TakeBack(usize::MAX)));
            }
            self.effects.push_back(Effect::Command(AgentCommand::Stop));
        }
    }

    fn interrupt(&mut self, now: Duration) {
        if self.quit_armed_until.is_some_and(|until| now < until) {
            return self.effects.push_back(Effect::Quit);
        }
        if self.turn.running.is_some() {
            self.stop();
        } else if !self.composer.draft.is_blank() {
            // Up restores the cleared draft.
            self.effects.push_back(Effect::SaveHistory(self.composer.draft.take()));
        }
        self.offer_to_quit(now);
    }

    /// Handles a first Ctrl-C: a second one within the time limit quits.
    fn offer_to_quit(&mut self, now: Duration) {
        self.quit_armed_until = Some(now + QUIT_WINDOW);
        let text = "Press Ctrl-C again to quit.".to_owned();
        match self.presentation {
            Presentation::Screen => {
                self.notice = Some(Notice { role: Role::Warning, text, until: self.quit_armed_until })
            }
            Presentation::Line => self.note(Role::Muted, text),
        }
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
