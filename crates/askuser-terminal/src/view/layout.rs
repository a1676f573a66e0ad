//! Distributes the rows of a screen: head, context, question and options, preview, border, footer.
//!
//! Text for the decision precedes decoration. If rows are short, the prompt first becomes compact, then drops the
//! descriptions of unfocused options. After that, context, options and preview scroll separately.

use super::frame_line::SharedLine;
use super::laid_out::{LaidOut, LastLine, Rows, Text};
use super::preview::{Place, Preview, preview};
use super::prompt_lines::{Composer, EDGE, FooterKind, PromptLines, footer_hints, shared};
use super::scroll_area::{Begin, Claim, Pane};
use super::side_text;
use super::{PromptPhase, PromptStyle, Theme, View, border};
use askuser::prompt::{InputMode, Page, Scroll, SideText, Viewport, Window};
use askuser::{Context, Prompt};
use ratatui_core::layout::Position;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum width of a prompt without a preview. Longer lines are hard to read.
const MAX_COLUMNS: u16 = 100;
/// The number of columns reserved for the number of hidden lines, in its shortest form.
const ROOM_FOR_STATUS: usize = 16;
/// The maximum number of rows for the model's reason above the question.
const MOST_OF_WHY: usize = 2;
/// The least number of rows in which one row shows the reason, if the prompt does not fit.
const ROOM_FOR_WHY: usize = 12;

/// The prompt to lay out, and the available size.
pub(super) struct Layout<'a, 'b> {
    pub(super) prompt: &'a Prompt,
    pub(super) theme: &'b Theme,
    pub(super) phase: PromptPhase,
    pub(super) columns: u16,
    pub(super) rows: usize,
}

impl Layout<'_, '_> {
    pub(super) fn view(mut self, context: Option<&Context>, laid_out: &mut LaidOut) -> View {
        let on_question = matches!(self.prompt.page(), Page::Question(_)) && self.prompt.mode() != InputMode::Help;
        let preview = if on_question { preview(self.prompt, self.theme, self.columns, EDGE, laid_out) } else { None };
        self.columns = preview.as_ref().map_or(self.columns.min(MAX_COLUMNS), |preview| preview.columns);
        let inside = self.columns.saturating_sub(EDGE);
        let text = |kind| self.prompt.side_text(kind).filter(|_| on_question);
        let opened = self.prompt.opened().and_then(|kind| Some((kind, text(kind)?)));
        let above = match (opened, context.filter(|_| on_question)) {
            (Some((kind, text)), _) => Some(Text::Side(kind, text.into())),
            (None, context) => context.map(|context| Text::Context(Cow::Borrowed(context))),
        };
        let context = above.map(|text| laid_out.rows(text, self.theme, inside)).unwrap_or_default();
        let context_rows = context.0.len();
        let why = text(SideText::Why).filter(|_| self.prompt.opened() != Some(SideText::Why));
        let list = match &preview {
            // A column between the options and the preview stays free.
            Some(Preview { place: Place::Beside(list), .. }) => list.saturating_sub(1),
            _ => self.columns,
        };
        let below = preview.as_ref().map_or(0, Preview::rows_below);
        let fits = |content: &PromptLines, style: PromptStyle| {
            let others = context_rows + below + usize::from(style == PromptStyle::Proposal);
            content.head.len() + content.height() + content.footer.len() + others <= self.rows
        };
        let mut compose = |style: PromptStyle, most: usize| {
            let first = why.map(|why| side_text::first_rows(why, self.theme, inside.into(), most));
            let (rows, is_whole) = first.unwrap_or((Vec::new(), true));
            let theme = Theme { prompt_style: style, ..*self.theme };
            let columns = self.columns.into();
            let list = list.into();
            let composer = Composer::new(self.prompt, &theme, self.phase, columns, list, laid_out);
            let mut content = composer.compose(is_whole);
            let blank = content.blank.clone();
            let is_above_context = !rows.is_empty() && context_rows > 0;
            content.head.extend(rows.into_iter().map(|row| bordered(&blank, row, style)));
            content.head.extend(is_above_context.then_some(blank));
            content
        };
        let is_long = on_question && self.prompt.current().is_some_and(|(_, draft)| draft.listed().len() > self.rows);
        let mut style = if is_long { PromptStyle::Compact } else { self.theme.prompt_style };
        let mut content = compose(style, MOST_OF_WHY);
        if !fits(&content, style) && style != PromptStyle::Compact {
            style = PromptStyle::Compact;
            content = compose(style, MOST_OF_WHY);
        }
        if why.is_some() && !fits(&content, style) {
            content = compose(style, usize::from(self.rows >= ROOM_FOR_WHY));
        }
        if !fits(&content, style) {
            content.leave_out_descriptions();
        }
        let theme = Theme { prompt_style: style, ..*self.theme };
        let layout = Layout { theme: &theme, ..self };
        let (content, has_border) = layout.yield_to_question(content, usize::from(context_rows > 0));
        let begin = self.prompt.context_offset().map_or(Begin::For(context.1), Begin::At);
        layout.fit(content, has_border, (context, begin), preview, laid_out)
    }

    /// Drops footer hints, border and head if the question, `context` rows of the context and the notices would not
    /// fit. Returns the content, and whether the bottom border stays.
    fn yield_to_question(&self, mut content: PromptLines, context: usize) -> (PromptLines, bool) {
        let mut has_border = self.theme.prompt_style == PromptStyle::Proposal;
        let notice = if content.footer_kind == FooterKind::Notice { content.footer.len() } else { 0 };
        while content.head.len() + usize::from(has_border) + content.footer.len() + 2 + context > self.rows {
            if content.footer.len() > notice {
                content.footer.pop();
            } else if has_border {
                has_border = false;
            } else if content.head.pop().is_none() {
                break;
            }
        }
        // A notice is truncated so that one row remains for the question.
        content.footer.truncate(self.rows.saturating_sub(1));
        (content, has_border)
    }

    fn fit(
        self,
        mut content: PromptLines,
        has_border: bool,
        (context, begin): (Rows, Begin),
        preview: Option<Preview>,
        laid_out: &mut LaidOut,
    ) -> View {
        let room = self.rows - content.head.len() - usize::from(has_border) - content.footer.len();
        let below = preview.as_ref().map_or(0, Preview::rows_below);
        // If there is room, the frame keeps its height while the cursor moves to a longer description or preview.
        let wanted = (content.height() + content.spare).max(preview.as_ref().map_or(0, Preview::rows_beside));
        let wanted = wanted.min(room.saturating_sub(context.0.len() + below));
        let missing = wanted.saturating_sub(content.height());
        content.body.extend(std::iter::repeat_n(content.blank.clone(), missing));
        let total = content.height();
        let context_rows = context.0.len();
        // All options are shown before any preview, until the person reads the preview.
        let preview_offset = self.prompt.preview_offset();
        let claim = if preview_offset.is_some() { Claim::Read } else { Claim::Offered };
        let least_below = below.min(claim.rows());
        let context = Pane::sharing(context, context_rows, room, total + least_below, Claim::Read, begin);
        let room = room - context.height;
        let preview_begin = Begin::At(preview_offset.unwrap_or(0));
        let (list, preview) = match preview {
            Some(Preview { place: Place::Beside(list), rows, .. }) => {
                (Some(list), Pane::new(rows, room.min(total), preview_begin))
            }
            Some(Preview { rows, tallest, .. }) => {
                (None, Pane::sharing(rows, tallest, room, total, claim, preview_begin))
            }
            None => (None, Pane::new(Rows::default(), 0, Begin::At(0))),
        };
        let height = if list.is_some() { room } else { room - preview.height }.min(total);
        let offset = offset(self.prompt, &content, height);
        let viewport = Viewport {
            page: Window { offset, height, total },
            rows: std::mem::take(&mut content.rows),
            context: context.window,
            preview: preview.window,
        };
        let columns = usize::from(self.columns);
        let text_columns = list.map_or(columns, |list| usize::from(list).saturating_sub(1));
        let mut composer = Composer::new(self.prompt, self.theme, self.phase, columns, text_columns, laid_out);
        if content.footer_kind == FooterKind::Hints && !content.footer.is_empty() {
            // Enter chooses only visible options, after the text was read. The footer offers Enter only then.
            let is_choosing = self.prompt.mode() == InputMode::Choosing && self.prompt.current().is_some();
            let key = if is_choosing && self.prompt.is_unread_after(&viewport) {
                Some("space")
            } else {
                (is_choosing && self.is_below(&viewport)).then_some(self.theme.signs.down)
            };
            let most = [usize::from(self.columns / 2), ROOM_FOR_STATUS];
            let status = if has_border {
                Vec::new()
            } else {
                border::status(self.prompt, self.theme, self.phase, viewport.page, most)
            };
            let hints = footer_hints(key, self.prompt, content.is_why_whole);
            content.footer = vec![composer.last_line(LastLine::Hints { read_on: key, hints, status })];
        }
        let above = content.head.len() + context.height;
        let shown = offset..offset + height;
        content.body = content.shown(shown.clone(), |list| composer.list_lines(&viewport.rows, list));
        let in_body = content.caret.filter(|(line, _)| shown.contains(line));
        let in_head = content.head_caret.filter(|(line, _)| *line < content.head.len());
        let caret = in_body.map(|(line, column)| (above + line - offset, column)).or(in_head).map(|(line, column)| {
            let column = (column as u16).min(self.columns.saturating_sub(1));
            Position::new(column, line as u16)
        });
        let lines = self.assemble(content, has_border, context, preview, list, composer);
        View { lines, viewport, caret, columns: self.columns }
    }

    /// Returns whether the focused row, or its end, is below the screen. Other counts only with its first row, because
    /// typing is no choice.
    fn is_below(&self, viewport: &Viewport) -> bool {
        let Some((_, draft)) = self.prompt.current() else { return false };
        let place = self.prompt.place();
        let is_other = self.prompt.focus() == draft.other_row();
        viewport.rows.get(place).is_some_and(|row| {
            if is_other {
                row.start >= viewport.page.end()
            } else {
                row.start >= viewport.page.offset && !viewport.shows(place)
            }
        })
    }

    /// Returns the visible lines, from top to bottom. The body in `content` holds only its visible lines. `list` is the
    /// column of a preview beside the options.
    fn assemble(
        &self,
        content: PromptLines,
        has_border: bool,
        context: Pane,
        preview: Pane,
        list: Option<u16>,
        mut composer: Composer<'_, '_>,
    ) -> Vec<SharedLine> {
        let Layout { theme, phase, .. } = *self;
        let columns = usize::from(self.columns);
        let blank = content.blank;
        let style = theme.prompt_style;
        let bordered = |row| bordered(&blank, row, style);
        let mut lines = content.head;
        lines.extend(context.lines(theme, phase, columns).into_iter().map(bordered));
        let body = content.body.into_iter();
        match list.map(usize::from) {
            Some(column) => {
                let preview = preview.lines(theme, phase, columns.saturating_sub(column));
                lines.extend(body.zip(preview).map(|(row, preview)| beside_each_other(row, preview, column)));
            }
            None => {
                lines.extend(body);
                lines.extend(preview.lines(theme, phase, columns).into_iter().map(bordered));
            }
        }
        if has_border {
            lines.push(composer.border(&lines));
        }
        let edge = blank.spans.first().map_or(Style::new(), |edge| edge.style);
        let mut footer = content.footer;
        if style == PromptStyle::Compact {
            // The footer's margin leaves room for the border.
            let last = footer.len().saturating_sub(1);
            for (i, line) in footer.iter_mut().enumerate() {
                let sign = if i == last { theme.signs.box_bottom_left } else { theme.signs.vertical };
                begin_with(line, Span::styled(format!("{sign} "), edge));
            }
            if let Some(first) = lines.first_mut() {
                let style = first.spans.first().map_or(edge, |span| span.style);
                begin_with(first, Span::styled(theme.signs.box_top_left, style));
            }
        }
        lines.extend(footer);
        lines
    }
}

/// Replaces the first span of a line.
fn begin_with(line: &mut SharedLine, span: Span<'static>) {
    if line.spans.first().is_some_and(|first| *first != span) {
        Arc::make_mut(line).begin_with(span);
    }
}

/// Returns a row of the body with the border before it.
fn bordered(blank: &SharedLine, row: Line<'static>, style: PromptStyle) -> SharedLine {
    let edge = blank.spans.iter().cloned().chain([Span::raw(&"  "[..style.indent()])]);
    shared(Line::from_iter(edge.chain(row.spans)))
}

/// Returns a row of the options with a row of the preview to its right, in this column.
fn beside_each_other(mut row: SharedLine, preview: Line<'static>, column: usize) -> SharedLine {
    let gap = Span::raw(" ".repeat(column.saturating_sub(row.columns())));
    Arc::make_mut(&mut row).extend([gap].into_iter().chain(preview.spans));
    row
}

/// Returns the index of the first visible line of the body.
fn offset(prompt: &Prompt, content: &PromptLines, height: usize) -> usize {
    let end = content.height() - height;
    let target = match content.caret {
        Some((line, _)) => line..line + 1,
        None => content.rows.get(prompt.place()).cloned().unwrap_or(0..0),
    };
    let offset = match prompt.scroll() {
        Scroll::At(line) => line,
        Scroll::Reveal(line) => {
            let lowest = if target.len() > height { target.start } else { target.end.saturating_sub(height) };
            line.max(lowest).min(target.start)
        }
    };
    offset.min(end)
}
