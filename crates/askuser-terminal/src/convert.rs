//! Converts input from crossterm, for programs that already read the terminal with it.

use askuser::{Key, KeyCode, Mods};
use crossterm::event::{Event, KeyCode as Code, KeyEvent, KeyEventKind, KeyModifiers};

use crate::decode::{Focus, TerminalInput};

/// Converts a crossterm event. Returns `None` for events that a prompt does not use.
///
/// ```
/// use askuser::KeyCode;
/// use askuser_terminal::{TerminalInput, from_crossterm};
/// use crossterm::event::{Event, KeyCode as Code, KeyModifiers};
///
/// let event = Event::Key(crossterm::event::KeyEvent::new(Code::Enter, KeyModifiers::NONE));
/// assert_eq!(from_crossterm(&event), Some(TerminalInput::Key(KeyCode::Enter.into())));
/// assert_eq!(from_crossterm(&Event::Resize(80, 24)), None);
/// ```
pub fn from_crossterm(event: &Event) -> Option<TerminalInput> {
    match event {
        Event::Key(event) => key(event).map(TerminalInput::Key),
        Event::Paste(text) => Some(TerminalInput::Paste(text.clone())),
        Event::FocusGained => Some(TerminalInput::Focus(Focus::Gained)),
        Event::FocusLost => Some(TerminalInput::Focus(Focus::Lost)),
        _ => None,
    }
}

fn key(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let held = |modifier| event.modifiers.contains(modifier);
    let mut mods = Mods {
        ctrl: held(KeyModifiers::CONTROL),
        alt: held(KeyModifiers::ALT) || held(KeyModifiers::META),
        shift: held(KeyModifiers::SHIFT),
    };
    let code = match event.code {
        Code::Enter => KeyCode::Enter,
        Code::Esc => KeyCode::Esc,
        Code::Tab if !mods.shift => KeyCode::Tab,
        Code::Tab | Code::BackTab => {
            mods.shift = false;
            KeyCode::BackTab
        }
        Code::Backspace => KeyCode::Backspace,
        Code::Delete => KeyCode::Delete,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        Code::Null => return Some(Key::ctrl(' ')),
        // Shortcuts with Super or Hyper belong to the window manager or the terminal.
        Code::Char(c) if c.is_control() || held(KeyModifiers::SUPER) || held(KeyModifiers::HYPER) => return None,
        Code::Char(c) => {
            mods.shift = false;
            KeyCode::Char(if mods.ctrl { c.to_ascii_lowercase() } else { c })
        }
        _ => return None,
    };
    Some(Key { code, mods })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: Code, modifiers: KeyModifiers, expected: Option<Key>) {
        assert_eq!(from_crossterm(&Event::Key(KeyEvent::new(code, modifiers))), expected.map(TerminalInput::Key));
    }

    #[test]
    fn characters_carry_no_shift_and_control_is_in_lower_case() {
        check(Code::Char('A'), KeyModifiers::SHIFT, Some(KeyCode::Char('A').into()));
        check(Code::Char('C'), KeyModifiers::CONTROL | KeyModifiers::SHIFT, Some(Key::ctrl('c')));
        check(Code::Char('x'), KeyModifiers::ALT, Some(Key::alt(KeyCode::Char('x'))));
    }

    #[test]
    fn shift_tab_is_one_key_however_it_is_reported() {
        check(Code::BackTab, KeyModifiers::SHIFT, Some(KeyCode::BackTab.into()));
        check(Code::Tab, KeyModifiers::SHIFT, Some(KeyCode::BackTab.into()));
    }

    #[test]
    fn other_keys_keep_their_modifiers() {
        check(Code::Enter, KeyModifiers::ALT, Some(Key::alt(KeyCode::Enter)));
        check(Code::Up, KeyModifiers::SHIFT, Some(Key { code: KeyCode::Up, mods: Mods::SHIFT }));
    }

    #[test]
    fn keys_without_a_meaning_here_are_nothing() {
        check(Code::F(1), KeyModifiers::NONE, None);
        check(Code::Char('c'), KeyModifiers::SUPER, None);
    }

    #[test]
    fn letting_go_of_a_key_is_nothing() {
        let release = KeyEvent::new_with_kind(Code::Char('a'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(from_crossterm(&Event::Key(release)), None);
    }

    #[test]
    fn focus_is_told() {
        assert_eq!(from_crossterm(&Event::FocusGained), Some(TerminalInput::Focus(Focus::Gained)));
        assert_eq!(from_crossterm(&Event::FocusLost), Some(TerminalInput::Focus(Focus::Lost)));
    }

    #[test]
    fn a_paste_is_a_paste() {
        assert_eq!(from_crossterm(&Event::Paste("a\nb".into())), Some(TerminalInput::Paste("a\nb".into())));
    }
}
