//! The lines that stay in the scrollback after a prompt.

use super::prompt_lines::TIMED_OUT;
use super::quoted::{self, bar};
use super::theme::{Role, Theme};
use super::wrap::{spans_width, width, wrap_styled};
use askuser::store::Draft;
use askuser::store::Ending;
use askuser::{Answer, Outcome, QuestionSet, Status, report, sanitize};
use ratatui_core::text::{Line, Span};

/// The kind of confirmation that stays after a prompt has closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confirm {
    /// One line with the headers, such as `✔ Database: PostgreSQL`.
    #[default]
    Inline,
    /// One line with the question, such as `✔ Which database? PostgreSQL`, for a question with the default header.
    Asked,
    /// A box with the answers.
    Boxed,
    /// The text of each question, and a line such as `✔ Database: PostgreSQL` below it.
    Full,
    /// No confirmation.
    None,
    /// No confirmation, because the caller shows the outcome itself.
    Elsewhere,
}

/// Returns the lines that show an outcome after its prompt, within `columns`. Print them into the scrollback, or show
/// them in a conversation. [`PromptSession`](crate::PromptSession) has an example.
pub fn closing_lines(
    set: &QuestionSet,
    outcome: &Outcome,
    confirm: Confirm,
    theme: &Theme,
    columns: u16,
) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if matches!(confirm, Confirm::None | Confirm::Elsewhere) {
        return lines;
    }
    let columns = usize::from(columns);
    // Only submitted answers get a tick.
    let mark = match outcome.status() {
        Status::Answered => (theme.signs.done, Role::Success),
        _ => (theme.signs.bullet, Role::Muted),
    };
    if confirm == Confirm::Full {
        for question in set.questions() {
            // The text is shown exactly, because it may contain a command. Without a bar, a row could pass for a
            // confirmation.
            lines.extend(quoted::exactly(question.text(), &[], theme, columns, |_, _| theme.style(Role::Muted)));
            let mut answers = outcome.answers().iter();
            if let Some(answer) = answers.find(|answer| answer.question == question.text_verbatim()) {
                lines.extend(inline(&format!("{}:", question.header()), answer, mark, theme, columns));
            }
        }
    } else {
        for answer in outcome.answers() {
            let question = set.questions().iter().find(|question| question.text_verbatim() == answer.question);
            let header = question
                .map_or_else(|| sanitize::line(&answer.header).into_owned(), |question| question.header().to_owned());
            match (confirm, question) {
                (Confirm::Boxed, _) => {
                    lines.extend((!lines.is_empty()).then(Line::default));
                    lines.extend(boxed(&header, answer, mark, theme, columns));
                }
                (Confirm::Asked, Some(question)) => {
                    lines.extend(inline(&sanitize::line(question.text()), answer, mark, theme, columns));
                }
                _ => lines.extend(inline(&format!("{header}:"), answer, mark, theme, columns)),
            }
        }
    }
    let (sign, role, words) = match outcome.status() {
        Status::Answered => return lines,
        Status::Cancelled => (theme.signs.not_done, Role::Muted, format!("Cancelled: {}", names(set, confirm))),
        Status::Declined { reason } => (theme.signs.not_done, Role::Muted, with_words("Declined", reason.as_deref())),
        Status::Discuss { message } => {
            (theme.signs.bullet, Role::Primary, with_words("Discuss first", message.as_deref()))
        }
        Status::TimedOut => (theme.signs.warning, Role::Warning, TIMED_OUT.to_owned()),
        Status::Unavailable { reason } => (theme.signs.warning, Role::Warning, reason.clone()),
    };
    lines.extend(sentence(sign, role, &words, theme, columns));
    lines
}

/// Returns the name of a set of questions: its headers, or the text of the first question for [`Confirm::Asked`].
fn names(set: &QuestionSet, confirm: Confirm) -> String {
    match confirm {
        Confirm::Asked => sanitize::line(set.questions()[0].text()).into_owned(),
        _ => set.questions().iter().map(|question| question.header()).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the lines that stay after a prompt was closed from elsewhere.
pub(crate) fn closed_lines(ending: &Ending, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    let (sign, role) = match ending {
        Ending::Resolved(_) => (theme.signs.done, Role::Success),
        _ => (theme.signs.not_done, Role::Muted),
    };
    sentence(sign, role, &sanitize::line(&ending.words()), theme, usize::from(columns))
}

/// Returns the lines of a permission with a note, whose action has not run.
pub(crate) fn not_run_lines(note: &str, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    let words = format!("Not run: {}", sanitize::line(note));
    sentence(theme.signs.not_done, Role::Muted, &words, theme, usize::from(columns))
}

/// Returns the lines with the error of an answer or a draft that could not be stored.
pub(crate) fn failed_lines(why: &str, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    sentence(theme.signs.warning, Role::Warning, &sanitize::line(why), theme, usize::from(columns))
}

/// Returns the lines with the unsent text of a prompt, to be copied.
pub(crate) fn unsent_lines(draft: &Draft, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    let lines = |words: String| {
        sentence(theme.signs.bullet, Role::Muted, &format!("Not sent: {words}"), theme, usize::from(columns))
    };
    draft.words().into_iter().flat_map(lines).collect()
}

/// Returns words after a sign. Continuations have a bar, so that no row can pass for another confirmation.
fn sentence(sign: &str, role: Role, words: &str, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let lead = [Span::styled(format!("{sign} "), theme.style(role))];
    wrap_styled([(words, theme.style(Role::Text))], &lead, &[Span::raw("  "), bar(theme)], columns)
}

fn with_words(what: &str, words: Option<&str>) -> String {
    words.map_or_else(|| what.to_owned(), |words| format!("{what}: {words}"))
}

fn inline(
    about: &str,
    answer: &Answer,
    (sign, role): (&str, Role),
    theme: &Theme,
    columns: usize,
) -> Vec<Line<'static>> {
    let lead = [Span::styled(format!("{sign} "), theme.style(role))];
    let chosen = report::chosen_with_note(answer);
    let words = [(format!("{about} "), theme.style(Role::Secondary)), (chosen, theme.style(Role::Text))];
    wrap_styled(words, &lead, &[Span::raw("  "), bar(theme)], columns)
}

fn boxed(
    header: &str,
    answer: &Answer,
    (sign, role): (&'static str, Role),
    theme: &Theme,
    columns: usize,
) -> Vec<Line<'static>> {
    let signs = theme.signs;
    let edge = theme.style(Role::Primary);
    let wall = [Span::styled(format!("{} ", signs.vertical), edge)];
    let notes = answer.note.iter().map(|note| (" ", Role::Muted, format!("Note: {note}")));
    let values = report::names(answer).chain(answer.custom_input.clone()).map(|value| (sign, role, value));
    let mut rows = Vec::new();
    for (sign, role, value) in values.chain(notes) {
        let lead = [&wall[..], &[Span::styled(format!("{sign} "), theme.style(role))]].concat();
        let further = [&wall[..], &[Span::raw(" ".repeat(width(sign) + 1))]].concat();
        rows.extend(wrap_styled([(value.as_str(), theme.style(Role::Text))], &lead, &further, columns));
    }
    // The top border is as wide as the chip, as in the proposals. Answers may extend past the corner.
    let chip = [
        Span::styled(signs.chip_left, edge),
        Span::styled(format!(" {header} "), theme.style(Role::Chip)),
        Span::styled(signs.chip_right, edge),
    ];
    let bottom = width(signs.box_bottom_left) + width(signs.box_bottom_right);
    let rule = signs.horizontal.repeat(spans_width(&chip).saturating_sub(bottom));
    let mut lines = vec![Line::from_iter(chip)];
    lines.extend(rows);
    lines.push(Line::styled(format!("{}{rule}{}", signs.box_bottom_left, signs.box_bottom_right), edge));
    lines
}
