//! The table of keys. The effects of keys, the footer and the help page come from it.

use crate::key::{Key, KeyCode, Mods};
use crate::text::Edit;

/// The state of the prompt, as far as keys depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyContext {
    /// The options of a single-select question.
    Single,
    /// The options of a multi-select question.
    Multi,
    /// The row of Other, where a printable character starts the text.
    Other,
    /// The review page.
    Review,
    /// A text field.
    Typing,
    /// A yes-or-no question.
    Confirm,
    /// A searched list, where a printable character goes into the search.
    Search,
    /// A searched list in which several rows may be chosen.
    SearchMulti,
}

/// The effect of a key on the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Mark,
    Number(usize),
    Yes,
    No,
    Previous,
    Next,
    Note,
    /// Opens or closes a text beside the question.
    Open(SideText),
    Discuss,
    Decline,
    Escape,
    Editor,
    Help,
    /// Replaces the draft of this prompt by the one from another surface.
    KeepOther,
    /// Keeps the draft of this prompt and drops the one from another surface.
    KeepMine,
    Interrupt,
    Edit(Edit),
}

/// A text beside the question, which a key shows instead of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideText {
    /// The model's own words from just before it asked.
    Why,
    /// The input of a tool as JSON.
    Input,
}

/// A row of the key table.
pub struct Binding {
    /// The keys of the action.
    pub keys: &'static [Key],
    /// The contexts in which the keys apply.
    pub on: &'static [KeyContext],
    /// The action of the keys.
    pub action: Action,
    /// The keys as the help page spells them; empty if another row covers them.
    pub spelled: &'static str,
    /// The effect as the help page describes it.
    pub does: &'static str,
    /// The key and the word of the footer, such as `("↑↓", "navigate")`; `None` if the footer omits the row. The prompt
    /// fills in the effect of Enter and the number of digits.
    pub hint: Option<(&'static str, &'static str)>,
}

use KeyCode::{BackTab, Backspace, Char, Delete, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up};
use KeyContext::{Confirm, Multi, Other, Review, Search, SearchMulti, Single, Typing};

/// The contexts with a list of options.
const LIST: &[KeyContext] = &[Single, Multi];
const QUESTIONS: &[KeyContext] = &[Single, Multi, Confirm];
const LETTERS: &[KeyContext] = &[Single, Multi, Review, Confirm];
const PAGES: &[KeyContext] = &[Single, Multi, Other, Review, Confirm];
const ROWS: &[KeyContext] = &[Single, Multi, Other, Review, Confirm, Search, SearchMulti];
const TEXT: &[KeyContext] = &[Typing, Search, SearchMulti];
const ALL: &[KeyContext] = &[Single, Multi, Other, Review, Typing, Confirm, Search, SearchMulti];

const fn key(code: KeyCode) -> Key {
    Key::plain(code)
}

const fn shift(code: KeyCode) -> Key {
    Key { code, mods: Mods::SHIFT }
}

const fn ctrl(code: KeyCode) -> Key {
    Key { code, mods: Mods::CTRL }
}

const fn row(
    keys: &'static [Key],
    on: &'static [KeyContext],
    action: Action,
    spelled: &'static str,
    does: &'static str,
    hint: Option<(&'static str, &'static str)>,
) -> Binding {
    Binding { keys, on, action, spelled, does, hint }
}

/// Returns the row of Enter. The prompt fills in the word of its hint.
const fn enter(on: &'static [KeyContext], does: &'static str) -> Binding {
    const ENTER: &[Key] = &[key(Enter)];
    row(ENTER, on, Action::Enter, "Enter", does, Some(("enter", "")))
}

/// Returns the row of the digits. The pressed key determines the number.
const fn digits(on: &'static [KeyContext], does: &'static str, hint: &'static str) -> Binding {
    row(DIGITS, on, Action::Number(0), "1–9", does, Some(("1-9", hint)))
}

/// Returns the row of an editing key, which works in all text fields and is not on the help page.
const fn edit(keys: &'static [Key], edit: Edit) -> Binding {
    row(keys, &[Typing], Action::Edit(edit), "", "", None)
}

/// Returns the row of an editing key that also works in a search field.
const fn edit_search(keys: &'static [Key], edit: Edit) -> Binding {
    row(keys, TEXT, Action::Edit(edit), "", "", None)
}

/// The digit keys. A digit out of range gets a message, too, because a dead key would look like a hanging prompt.
#[rustfmt::skip]
const DIGITS: &[Key] = &[
    key(Char('0')), key(Char('1')), key(Char('2')), key(Char('3')), key(Char('4')),
    key(Char('5')), key(Char('6')), key(Char('7')), key(Char('8')), key(Char('9')),
];

/// All keys of the prompt. Footer hints appear in this order.
pub static TABLE: &[Binding] = &[
    row(
        &[Key::ctrl('t')],
        ALL,
        Action::KeepOther,
        "Ctrl-T",
        "keep what was typed elsewhere",
        Some(("ctrl-t", "keep it")),
    ),
    row(&[Key::ctrl('r')], ALL, Action::KeepMine, "Ctrl-R", "use what is typed here", Some(("ctrl-r", "use mine"))),
    row(&[key(Up), Key::ctrl('p')], ROWS, Action::Up, "↑ ↓  k j  Ctrl-P Ctrl-N", "move", Some(("↑↓", "navigate"))),
    row(&[key(Down), Key::ctrl('n')], ROWS, Action::Down, "", "", None),
    row(&[key(Char('k'))], LETTERS, Action::Up, "", "", None),
    row(&[key(Char('j'))], LETTERS, Action::Down, "", "", None),
    row(&[key(Char(' ')), key(Tab)], &[SearchMulti], Action::Mark, "Space Tab", "toggle", Some(("space", "toggle"))),
    row(&[key(Char(' '))], &[Multi], Action::Mark, "Space", "toggle", Some(("space", "toggle"))),
    enter(&[Single], "choose and continue; on Other: type"),
    enter(&[Multi], "continue; with nothing ticked: select; on Other: type"),
    enter(&[Other], "type"),
    enter(&[Review], "send, or change the answer"),
    enter(&[Typing], "finish typing"),
    enter(&[Confirm, Search], "choose"),
    enter(&[SearchMulti], "send; with nothing ticked: select"),
    row(&[key(Char('y'))], &[Confirm], Action::Yes, "y n", "answer yes or no", Some(("y/n", "answer"))),
    row(&[key(Char('n'))], &[Confirm], Action::No, "", "", None),
    row(&[key(Char(' '))], &[Single], Action::Mark, "Space", "mark without going on", None),
    row(&[key(Char(' '))], &[Other], Action::Mark, "Space", "mark what was typed", None),
    // At a yes-or-no question, Space only scrolls.
    row(&[key(Char(' '))], &[Confirm], Action::Mark, "", "", None),
    digits(&[Single], "choose and continue; the last number is Other", "choose"),
    digits(&[Multi], "toggle; the last number is Other", "choose"),
    digits(&[Other], "choose that one; the last number is Other", "choose"),
    row(DIGITS, &[Confirm], Action::Number(0), "", "", None),
    digits(&[Review], "change that answer", "change"),
    row(
        &[key(Left), key(BackTab), shift(Tab)],
        PAGES,
        Action::Previous,
        "← →  Tab Shift-Tab",
        "earlier and later question",
        Some(("←→", "questions")),
    ),
    row(&[key(Right), key(Tab)], PAGES, Action::Next, "", "", None),
    row(&[key(Tab)], &[Typing], Action::Next, "Tab Shift-Tab", "later and earlier question, text kept", None),
    row(&[key(BackTab), shift(Tab)], &[Typing], Action::Previous, "", "", None),
    row(
        &[key(PageUp), Key::ctrl('b')],
        ROWS,
        Action::PageUp,
        "PgUp PgDn",
        "scroll the preview, what is decided, the page",
        None,
    ),
    row(&[key(PageDown), Key::ctrl('f')], ROWS, Action::PageDown, "", "", None),
    row(&[key(PageUp)], &[Typing], Action::PageUp, "", "", None),
    row(&[key(PageDown)], &[Typing], Action::PageDown, "", "", None),
    row(&[key(Char('n'))], LIST, Action::Note, "n", "add a note to the option", Some(("n", "note"))),
    row(
        &[key(Char('o'))],
        QUESTIONS,
        Action::Open(SideText::Why),
        "o",
        "what the agent said before it asked",
        Some(("o", "why")),
    ),
    row(&[key(Char('v'))], QUESTIONS, Action::Open(SideText::Input), "v", "the input as JSON", Some(("v", "input"))),
    row(&[key(Char('c'))], LETTERS, Action::Discuss, "c", "discuss it first", Some(("c", "discuss"))),
    row(&[key(Char('d'))], LETTERS, Action::Decline, "d", "decline, with a reason if you like", Some(("d", "decline"))),
    row(&[key(Esc)], ROWS, Action::Escape, "Esc", "cancel", Some(("esc", "cancel"))),
    row(&[key(Esc)], &[Typing], Action::Escape, "Esc", "back to the options, text kept", Some(("esc", "back"))),
    row(
        &[Key::alt(Enter), Key::ctrl('j'), shift(Enter)],
        &[Typing],
        Action::Edit(Edit::Newline),
        "Ctrl-J",
        "new line",
        Some(("ctrl-j", "new line")),
    ),
    row(
        &[Key::ctrl('g')],
        &[Single, Multi, Other, Typing],
        Action::Editor,
        "Ctrl-G",
        "edit the text in $VISUAL or $EDITOR",
        Some(("ctrl-g", "editor")),
    ),
    row(&[key(Char('?'))], LETTERS, Action::Help, "?", "all keys", Some(("?", "keys"))),
    row(&[Key::ctrl('c')], ALL, Action::Interrupt, "Ctrl-C", "interrupt", None),
    edit_search(&[key(Backspace), shift(Backspace)], Edit::Backspace),
    edit(&[key(Delete), Key::ctrl('d')], Edit::Delete),
    edit(&[key(Left), Key::ctrl('b')], Edit::Left),
    edit(&[key(Right), Key::ctrl('f')], Edit::Right),
    edit(&[key(Up), Key::ctrl('p')], Edit::Up),
    edit(&[key(Down), Key::ctrl('n')], Edit::Down),
    edit(&[key(Home), Key::ctrl('a')], Edit::Home),
    edit(&[key(End), Key::ctrl('e')], Edit::End),
    edit(&[ctrl(Home)], Edit::Start),
    edit(&[ctrl(End)], Edit::Finish),
    edit(&[ctrl(Left), Key::alt(Left), Key::alt(Char('b'))], Edit::WordLeft),
    edit(&[ctrl(Right), Key::alt(Right), Key::alt(Char('f'))], Edit::WordRight),
    edit_search(&[Key::ctrl('w'), Key::alt(Backspace), ctrl(Backspace)], Edit::DeleteWordLeft),
    edit(&[Key::alt(Char('d')), ctrl(Delete)], Edit::DeleteWordRight),
    edit(&[Key::ctrl('k')], Edit::KillToEnd),
    edit_search(&[Key::ctrl('u')], Edit::KillToStart),
];

/// The action of a key in a context; `None` for an unused key.
pub fn action(key: Key, context: KeyContext) -> Option<Action> {
    let bound = TABLE.iter().find(|binding| binding.on.contains(&context) && binding.keys.contains(&key));
    match (bound.map(|binding| &binding.action), key) {
        (Some(Action::Number(_)), Key { code: Char(c), .. }) => c.to_digit(10).map(|n| Action::Number(n as usize)),
        (Some(action), _) => Some(action.clone()),
        (None, Key { code: Char(c), mods: Mods { ctrl: false, alt: false, .. } })
            if matches!(context, Typing | Other | Search | SearchMulti) =>
        {
            Some(Action::Edit(Edit::Insert(c)))
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_place() {
        for (i, a) in TABLE.iter().enumerate() {
            for b in &TABLE[i + 1..] {
                for context in a.on.iter().filter(|context| b.on.contains(context)) {
                    for key in a.keys {
                        assert!(!b.keys.contains(key), "{key:?} is bound twice on {context:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_key_of_the_design_means_something_among_options() {
        let keys = [key(Up), key(Down), key(Char('k')), key(Char('j')), Key::ctrl('p'), Key::ctrl('n'), key(Enter)];
        let more = [key(Char(' ')), key(Left), key(Right), key(Tab), key(BackTab), key(Esc), Key::ctrl('c')];
        let letters = "ncd?12345".chars().map(|c| key(Char(c)));
        for key in keys.into_iter().chain(more).chain(letters) {
            for context in [Single, Multi] {
                assert!(action(key, context).is_some(), "{key:?} on {context:?}");
            }
        }
        for key in [Key::ctrl('g'), Key::alt(Enter), Key::ctrl('j'), key(Esc)] {
            assert!(action(key, Typing).is_some(), "{key:?} while typing");
        }
    }

    #[test]
    fn letters_on_the_row_of_other_are_text_and_digits_are_not() {
        for c in "kjncd?xé".chars() {
            assert_eq!(action(key(Char(c)), Other), Some(Action::Edit(Edit::Insert(c))));
        }
        assert_eq!(action(key(Char('2')), Other), Some(Action::Number(2)));
        assert_eq!(action(key(Char(' ')), Other), Some(Action::Mark));
    }

    #[test]
    fn a_letter_without_a_meaning_is_no_text_where_there_is_no_text() {
        for context in [Single, Multi, Review] {
            assert_eq!(action(key(Char('x')), context), None, "{context:?}");
        }
    }

    #[test]
    fn letters_and_digits_are_text_while_typing() {
        for c in "kjncd?15 ".chars() {
            assert_eq!(action(key(Char(c)), Typing), Some(Action::Edit(Edit::Insert(c))));
        }
    }
}
