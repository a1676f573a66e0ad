//! From what happens to what is done about it: the person's side. What the agent tells is in `telling`.

use super::commands::{self, Command};
use super::draft::{LIMIT, Moved};
use super::item::Item;
use super::state::{
    AGAIN, Above, Away, Called, Detail, Effect, Ended, Event, Notice, Opens, STRAY, Settled, State, Stopping, Turn,
};
use super::worker::Order;
use askuser::prompt::{Action, KeyContext, action};
use askuser::sanitize::is_blank;
use askuser::{Edit, Fit, Key, KeyCode};
use askuser_agent::PermissionMode;
use askuser_terminal::{Focus, Manner, Role};
use std::time::Duration;

/// How much of a result is shown in full.
pub(super) const FULL: usize = 400;

impl State {
    /// Takes what happened at `now` and says what to do about it.
    pub(crate) fn update(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        let mut out = Vec::new();
        match event {
            Event::Key(key) => self.key(key, now, &mut out),
            Event::Paste(text) => {
                self.touched(now);
                self.edit(Edit::Paste(text), &mut out);
            }
            // Enter and nothing else: the text stays for later.
            Event::Line(line) if self.opens() == Opens::OnWish && !self.waiting.is_empty() && is_blank(&line) => {
                self.open_question(&mut out);
            }
            // One Enter too many after an answer sends nothing.
            Event::Line(line) if is_blank(&line) && self.stray_until.is_some_and(|until| now < until) => {}
            Event::Line(line) => self.line(&line, now, &mut out),
            Event::Typed { lines, rest } => {
                lines.iter().filter(|line| !is_blank(line)).for_each(|line| self.line(line, now, &mut out));
                let _ = self.begin_line(&rest, &mut out);
                return out;
            }
            Event::Focus(focus) => self.focus = Some(focus),
            Event::Edited(Ok(text)) => {
                if self.draft.set(&text) == Fit::Refused {
                    self.refuse(&mut out);
                }
            }
            Event::Edited(Err(error)) => self.warn(Role::Danger, error, &mut out),
            Event::Tick => {}
            Event::Asked(waiting) => {
                self.waiting.push_back(waiting);
                if self.waiting.len() == 1 {
                    self.announce(now, &mut out);
                }
            }
            Event::Withdrawn(place) => {
                self.waiting.remove(place);
                self.hush(now, &mut out);
            }
            Event::Settled(settled, took) => {
                self.asked += took;
                self.calls.iter_mut().for_each(|call| call.has_asked(now));
                self.stray_until = Some(now + STRAY);
                self.above = Above::Other;
                // Who answers is there; a terminal that tells so may not tell it again.
                match settled {
                    Settled::Answered | Settled::Interrupted => {
                        self.last_seen = Some(now);
                        self.focus = self.focus.map(|_| Focus::Gained);
                    }
                    Settled::Otherwise => self.focus = None,
                }
                if settled == Settled::Interrupted {
                    self.offer_to_quit(now, &mut out);
                }
                self.hush(now, &mut out);
            }
            Event::Session(..)
            | Event::Changed(_)
            | Event::Cleared
            | Event::Failed(_)
            | Event::Begins
            | Event::Finished
            | Event::Agent(_) => self.told(event, now, &mut out),
        }
        self.pass_time(now);
        if self.is_quiet(now) {
            self.open_question(&mut out);
        } else if self.called == Called::No && self.away(now) == Away::Perhaps {
            // They have left their half-written text alone, and may not know that it is waited for them.
            self.announce(now, &mut out);
        }
        out
    }

    /// What is over by itself.
    fn pass_time(&mut self, now: Duration) {
        if self.quits_until.is_some_and(|until| now >= until) {
            self.quits_until = None;
        }
        if self.notice.as_ref().and_then(|notice| notice.until).is_some_and(|until| now >= until) {
            self.notice = None;
        }
    }

    /// Opens the first question, if one waits. That is done where nothing that was typed for something else can answer it.
    fn open_question(&mut self, out: &mut Vec<Effect>) {
        if let Some(waiting) = self.waiting.pop_front() {
            self.called = Called::Yes;
            if let Some(context) = waiting.context {
                self.show_context(context, out);
            }
            out.push(Effect::Ask);
        }
    }

    /// A question is over: the next one is announced, if one waits.
    fn hush(&mut self, now: Duration, out: &mut Vec<Effect>) {
        self.called = Called::Yes;
        if self.waiting.is_empty() {
            out.push(Effect::Quiet);
        } else {
            self.announce(now, out);
        }
    }

    /// Tells that the first question waits.
    fn announce(&mut self, now: Duration, out: &mut Vec<Effect>) {
        if let Some(waiting) = self.waiting.front() {
            let away = self.away(now);
            self.called = if away == Away::Perhaps { Called::Yes } else { Called::No };
            let header = waiting.header.clone();
            let note =
                format!("A question waits: {header}. Enter asks it and keeps your text; or finish your line first.");
            out.push(Effect::Announce { header, away });
            // On a screen the live region says so.
            if self.manner == Manner::Line && self.opens() == Opens::OnWish {
                self.print(Item::Note(Role::Warning, note), out);
            }
        }
    }

    /// Puts something into the scrollback, apart from what it does not belong to.
    pub(super) fn print(&mut self, item: Item, out: &mut Vec<Effect>) {
        let (above, apart) = match &item {
            Item::Rows(_) => (Above::Text, self.begins_text()),
            Item::Call(_) => (Above::Call, !matches!(self.above, Above::Call | Above::Nothing)),
            // These go with the call they are about.
            Item::Output { .. } | Item::Diff { .. } => {
                (Above::Call, !matches!(self.above, Above::Call | Above::Nothing))
            }
            Item::Gap | Item::Header(_) | Item::Said(_) | Item::Note(..) | Item::Help(_) => {
                (Above::Other, self.above != Above::Nothing)
            }
        };
        if apart {
            out.push(Effect::Print(Item::Gap));
        }
        self.above = above;
        out.push(Effect::Print(item));
    }

    /// Says something that is not part of the conversation; on a screen it goes with the next key.
    pub(super) fn warn(&mut self, role: Role, text: impl Into<String>, out: &mut Vec<Effect>) {
        match self.manner {
            Manner::Screen => self.notice = Some(Notice { role, text: text.into(), until: None }),
            Manner::Line => self.print(Item::Note(role, text.into()), out),
        }
    }

    fn refuse(&mut self, out: &mut Vec<Effect>) {
        self.warn(Role::Danger, format!("A message has at most {LIMIT} characters; this was not taken."), out);
    }

    // ---- lines ----

    fn line(&mut self, line: &str, now: Duration, out: &mut Vec<Effect>) {
        if self.begin_line(line, out) == Fit::Kept {
            self.submit(now, out);
        }
    }

    fn begin_line(&mut self, text: &str, out: &mut Vec<Effect>) -> Fit {
        let fit = self.draft.set(&format!("{}{text}", self.draft.as_str()));
        if fit == Fit::Refused {
            self.refuse(out);
        }
        fit
    }

    // ---- keys ----

    fn touched(&mut self, now: Duration) {
        self.last_key = Some(now);
        self.notice = None;
    }

    fn key(&mut self, key: Key, now: Duration, out: &mut Vec<Effect>) {
        self.touched(now);
        if key == Key::ctrl('c') {
            return self.interrupt(now, out);
        }
        self.quits_until = None;
        // It would send half a draft, or stop the turn that was just answered.
        let stray = self.stray_until.is_some_and(|until| now < until);
        if stray && matches!(key.code, KeyCode::Enter | KeyCode::Esc) {
            // A key that is held goes on until it is let go.
            self.stray_until = Some(now + STRAY);
            return;
        }
        self.stray_until = None;
        match key {
            Key { code: KeyCode::Enter, mods } if mods == Key::plain(KeyCode::Enter).mods => self.submit(now, out),
            Key { code: KeyCode::Esc, .. } => self.stop(out),
            _ if key == Key::ctrl('d') && self.draft.text().is_empty() => out.push(Effect::Quit),
            _ if key == Key::ctrl('o') => self.toggle_detail(out),
            _ if key == Key::ctrl('g') => out.push(Effect::Edit(self.draft.as_str().to_owned())),
            _ if key == Key::ctrl('l') => out.push(Effect::Redraw),
            Key { code: KeyCode::Tab, .. } if !self.waiting.is_empty() => self.open_question(out),
            Key { code: KeyCode::Tab, .. } => {
                if let Some(completed) = commands::complete(self.draft.as_str()) {
                    let _ = self.draft.set(&completed);
                }
            }
            _ => match action(key, KeyContext::Typing) {
                Some(Action::Edit(Edit::Up)) => self.up(),
                Some(Action::Edit(Edit::Down)) => self.down(),
                Some(Action::Edit(edit)) => self.edit(edit, out),
                _ => {}
            },
        }
    }

    fn edit(&mut self, edit: Edit, out: &mut Vec<Effect>) {
        let grows = matches!(edit, Edit::Insert(_) | Edit::Paste(_) | Edit::Newline);
        if self.draft.edit(edit) == Fit::Refused && grows {
            // What cannot be seen is refused as well; there is nothing to say about that.
            if self.draft.text().chars() + 1 >= LIMIT {
                self.refuse(out);
            } else {
                self.warn(Role::Warning, format!("Not taken: invisible, or over {LIMIT} characters."), out);
            }
        }
    }

    /// In the first row: back in time. A message that waits comes back before older ones do.
    fn up(&mut self) {
        if self.draft.up(self.room) == Moved::Yes {
            return;
        }
        if self.draft.is_blank()
            && let Some(text) = self.queue.pop_back()
        {
            let _ = self.draft.set(&text);
        } else if self.draft.older() == Moved::No {
            let _ = self.draft.edit(Edit::Start);
        }
    }

    /// In the last row: forward in time.
    fn down(&mut self) {
        if self.draft.down(self.room) == Moved::No && self.draft.newer() == Moved::No {
            let _ = self.draft.edit(Edit::Finish);
        }
    }

    fn toggle_detail(&mut self, out: &mut Vec<Effect>) {
        self.detail = match self.detail {
            Detail::Short => Detail::Full,
            Detail::Full => Detail::Short,
        };
        match (self.detail, self.last_output.clone()) {
            (Detail::Full, Some((call, text))) => {
                self.print(Item::Call(call), out);
                self.print(Item::Output { text, role: Role::Secondary, most: FULL }, out);
                self.warn(Role::Muted, "Results are shown in full; Ctrl-O shortens them again.", out);
            }
            (Detail::Full, None) => self.warn(Role::Muted, "Results will be shown in full.", out),
            (Detail::Short, _) => self.warn(Role::Muted, "Results are shown in a line again.", out),
        }
    }

    // ---- stopping ----

    /// Stops the turn, if there is one.
    pub(super) fn stop(&mut self, out: &mut Vec<Effect>) {
        if let Some(turn) = &mut self.turn
            && turn.stopping == Stopping::No
        {
            turn.stopping = Stopping::Yes;
            out.push(Effect::Order(Order::Stop));
            if self.queue.len() > 1 {
                let text = format!("Your {} queued messages come back as one text.", self.queue.len());
                self.warn(Role::Muted, text, out);
            }
        }
    }

    fn interrupt(&mut self, now: Duration, out: &mut Vec<Effect>) {
        if self.quits_until.is_some_and(|until| now < until) {
            return out.push(Effect::Quit);
        }
        if self.turn.is_some() {
            self.stop(out);
        } else if !self.draft.is_blank() {
            // Cleared, not lost: Up brings it back.
            out.push(Effect::Keep(self.draft.take()));
        }
        self.offer_to_quit(now, out);
    }

    /// Ctrl-C was pressed once.
    fn offer_to_quit(&mut self, now: Duration, out: &mut Vec<Effect>) {
        self.quits_until = Some(now + AGAIN);
        let text = "Press Ctrl-C again to quit.".to_owned();
        match self.manner {
            Manner::Screen => self.notice = Some(Notice { role: Role::Warning, text, until: self.quits_until }),
            Manner::Line => self.print(Item::Note(Role::Muted, text), out),
        }
    }

    // ---- sending ----

    fn submit(&mut self, now: Duration, out: &mut Vec<Effect>) {
        if self.draft.is_blank() {
            if self.ended == Ended::Broken && self.orders == 0 {
                self.order(Order::GoOn, out);
            }
            return;
        }
        let command = commands::read(self.draft.as_str());
        if let Some(Err(message)) = command {
            self.warn(Role::Danger, message, out);
            // A line that has been entered is gone; a draft can be mended.
            if self.manner == Manner::Line {
                let _ = self.draft.set("");
            }
            return;
        }
        let text = self.draft.take();
        out.push(Effect::Keep(text.clone()));
        let at_once = matches!(command, Some(Ok(Command::Help | Command::Quit | Command::Model(None))));
        if self.orders > 0 && !at_once {
            self.queue.push_back(text);
            match command {
                // It looks as if it were a switch.
                Some(Ok(Command::Plan)) => {
                    self.warn(
                        Role::Warning,
                        "From the next turn on: plan mode is switched when this turn is over.",
                        out,
                    );
                }
                _ if self.manner == Manner::Line => {
                    self.print(Item::Note(Role::Muted, "Sent when the agent is done.".into()), out);
                }
                _ => {}
            }
        } else {
            self.send(&text, now, out);
        }
    }

    /// Carries out a command, or says something to the agent.
    pub(super) fn send(&mut self, text: &str, now: Duration, out: &mut Vec<Effect>) {
        let command = match commands::read(text) {
            Some(Ok(command)) => command,
            Some(Err(message)) => return self.warn(Role::Danger, message, out),
            None => {
                let text = text.trim_end().to_owned();
                // In line mode it stands there already, as the person typed it.
                match self.manner {
                    Manner::Screen => self.print(Item::Said(text.clone()), out),
                    Manner::Line => self.above = Above::Other,
                }
                self.said += 1;
                self.begin_turn(now);
                return self.order(Order::Say(text), out);
            }
        };
        match command {
            Command::Help => self.print(Item::Help(self.manner), out),
            Command::Quit => out.push(Effect::Quit),
            Command::Clear => self.order(Order::Clear, out),
            Command::Model(Some(name)) => self.order(Order::Model(name), out),
            Command::Model(None) => {
                let model = self.session.as_ref().map(|session| session.model.clone()).unwrap_or_default();
                self.print(Item::Note(Role::Muted, format!("The model is {model}.")), out);
            }
            Command::Plan => {
                let mode = self.mode();
                let next = if mode == PermissionMode::Plan { self.before_plan } else { PermissionMode::Plan };
                if mode != PermissionMode::Plan {
                    self.before_plan = mode;
                }
                self.order(Order::Mode(next), out);
            }
            Command::Resume(None) => out.push(Effect::ChooseSession),
            Command::Resume(Some(id)) => self.resume(id, out),
        }
    }

    /// Goes on with another session.
    pub(crate) fn resume(&mut self, id: String, out: &mut Vec<Effect>) {
        if self.session.as_ref().is_some_and(|session| session.id == id) {
            return self.print(Item::Note(Role::Muted, "This is that session.".into()), out);
        }
        self.order(Order::Open(id), out);
    }

    pub(super) fn begin_turn(&mut self, now: Duration) {
        self.turn = Some(Turn { since: self.clock(now), stopping: Stopping::No });
        self.usage = Default::default();
        self.ended = Ended::Well;
    }

    fn order(&mut self, order: Order, out: &mut Vec<Effect>) {
        self.orders += 1;
        out.push(Effect::Order(order));
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
