//! The size of a popup for a question.

use crate::paint::Painter;
use crate::session::PromptSession;
use crate::view::{ORIGIN_GAP, Theme, spans_width, width};
use askuser::prompt::{Action, Event, Trigger};
use askuser::{Prompt, Request};
use ratatui_core::text::Span;
use std::time::Duration;

/// The least number of columns. In fewer columns the messages of a prompt wrap.
const LEAST_COLUMNS: u16 = 48;
/// The number of rows reserved for a text field or a message, which are shown only at times.
const SPARE_ROWS: u16 = 2;

/// Returns the columns and rows that the pages of a request need, limited to `most`. In fewer rows a prompt scrolls.
pub fn popup_size(request: &Request, theme: Theme, most: (u16, u16)) -> (u16, u16) {
    let room = Painter::room(most);
    let prompt = Prompt::of(request, Duration::ZERO).on(Trigger::Popup);
    let context = request.context().cloned();
    let mut session = PromptSession { context, ..PromptSession::from_prompt(prompt, theme) };
    let mut columns = LEAST_COLUMNS;
    let mut rows = 0;
    // The review is an additional page.
    for _ in 0..=request.set().questions().len() {
        let lines = session.view(room.0, u16::MAX).lines;
        // The gap before the asker, at the end of the title, may shrink.
        let near = |span: &Span<'_>| {
            if span.content.trim().is_empty() { width(&span.content).min(ORIGIN_GAP) } else { width(&span.content) }
        };
        let title = lines.first().map_or(0, |title| title.spans.iter().map(near).sum());
        let others = lines.iter().skip(1).map(|line| spans_width(&line.spans));
        let widest = others.fold(title, usize::max);
        columns = columns.max(u16::try_from(widest).unwrap_or(u16::MAX));
        rows = rows.max(u16::try_from(lines.len()).unwrap_or(u16::MAX));
        session.prompt.update(Event::Act(Action::Next), Duration::MAX);
    }
    // A frame leaves one column and one row free.
    let with_margin = |size: u16, most: u16| size.saturating_add(1).min(most);
    (with_margin(columns, most.0), with_margin(rows.saturating_add(SPARE_ROWS), most.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::input::QuestionInput;
    use askuser::{QuestionSet, RequestKey, Rules};

    fn request(description: &str) -> Request {
        let question = QuestionInput::new("Which database?", "Database").option("A", description).option("B", "b");
        let set = QuestionSet::new([question], &Rules::strict()).unwrap();
        Request::new(RequestKey::new("session", "call"), set)
    }

    #[test]
    fn a_popup_is_as_large_as_its_question_and_never_larger_than_the_client() {
        let size = |description: &str, most| popup_size(&request(description), Theme::default(), most);
        let short = size("a", (200, 60));
        let long = size(&"word ".repeat(30), (200, 60));
        assert!(short.0 <= long.0 && short.1 <= long.1 && long.0 <= 102, "{short:?} {long:?}");
        let narrow = size(&"word ".repeat(30), (60, 60));
        assert!(narrow.0 <= 60 && narrow.1 > long.1, "{narrow:?} {long:?}");
        assert_eq!(size(&"word ".repeat(30), (40, 8)), (40, 8));
    }
}
