//! The data that frames share: the texts beside the options, and the parts of a page that a key does not change. The
//! texts may be long files.

use super::frame_line::SharedLine;
use super::prompt_lines::{Hint, shared};
use super::side_text::side_text_lines;
use super::{PromptPhase, Role, Theme, quoted, read_context};
use crate::markdown;
use askuser::prompt::{Page, SideText, TextMode};
use askuser::{Context, QuestionSet};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;
use std::sync::Arc;

/// A text of a prompt that is laid out once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text<'a> {
    Context(Cow<'a, Context>),
    Side(SideText, Cow<'a, str>),
    Preview(Cow<'a, str>),
}

/// The rows of a text, and the index of the first row that a diff changes.
pub(super) type Rows = Arc<(Vec<Line<'static>>, usize)>;

/// The data of the last frame. Each text is stored with all inputs of its layout, so that no text is stale.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaidOut {
    texts: Vec<(Text<'static>, Theme, u16, Rows)>,
    /// The number of texts that this frame has used. The used texts come first.
    used: usize,
    /// The parts of the last page in each style. A frame that does not fit in one style is composed in the other.
    pages: [Option<Box<PageParts>>; 2],
}

/// The inputs of the parts of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageOf {
    pub(super) set: QuestionSet,
    pub(super) origin: Option<String>,
    pub(super) page: Page,
    pub(super) wording: TextMode,
    pub(super) theme: Theme,
    pub(super) phase: PromptPhase,
    pub(super) border: Role,
    pub(super) columns: usize,
    pub(super) text_columns: usize,
}

/// The parts of a page that are composed once.
#[derive(Clone, Debug)]
pub(super) struct PageParts {
    of: PageOf,
    /// The style of each role, by its index.
    pub(super) styles: [Style; Role::ALL.len()],
    /// The width of the numbers before the options in columns. It is 0 if a label would wrap because of the numbers.
    pub(super) number_column: usize,
    /// The column of descriptions beside the labels; `None` if they do not stand there.
    pub(super) beside: Option<usize>,
    /// Whether every option name fits in its row.
    pub(super) names_fit: bool,
    /// The lines above a page without tabs, and whether they name the asker. `None` until they are composed.
    pub(super) head: Option<(Vec<SharedLine>, bool)>,
    blocks: Vec<Option<(Block, Vec<SharedLine>, usize)>>,
    /// The last line of each kind, and its inputs.
    last: [Option<(LastLine, SharedLine)>; 2],
}

/// A group of lines in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Question,
    /// An option's row, with its description.
    Row {
        row: usize,
        is_focused: bool,
        is_picked: bool,
        is_described: bool,
    },
}

/// The inputs of a line below a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LastLine {
    /// The bottom border: its width, and its countdown.
    Border { columns: usize, time: Span<'static> },
    /// The key hints: the key to read on if there is one, all keys, and the status before them.
    Hints { read_on: Option<&'static str>, hints: Vec<Hint>, status: Vec<Span<'static>> },
}

impl PageParts {
    /// The maximum number of stored blocks. A long list has more blocks, but few of them are on the screen.
    const MOST: usize = 256;

    fn slot(block: Block) -> usize {
        match block {
            Block::Question => 0,
            Block::Row { row, is_focused, is_picked, .. } => {
                1 + (4 * row + 2 * usize::from(is_focused) + usize::from(is_picked)) % (Self::MOST - 1)
            }
        }
    }

    /// Returns the lines of a block, and the number of lines before its description. `None` if the block is not stored.
    pub(super) fn block(&self, block: Block) -> Option<(&[SharedLine], usize)> {
        let (kept, lines, label) = self.blocks.get(Self::slot(block))?.as_ref()?;
        (*kept == block).then_some((lines, *label))
    }

    /// Returns a line below a page. The line is composed again if its inputs have changed.
    pub(super) fn last_line(&mut self, of: LastLine, compose: impl FnOnce(LastLine) -> Line<'static>) -> SharedLine {
        let last = &mut self.last[usize::from(matches!(of, LastLine::Hints { .. }))];
        last.take_if(|(kept, _)| *kept != of);
        last.get_or_insert_with(|| (of.clone(), shared(compose(of)))).1.clone()
    }

    pub(super) fn keep(&mut self, block: Block, lines: &[SharedLine], label: usize) {
        let slot = Self::slot(block);
        self.blocks.resize((slot + 1).max(self.blocks.len()), None);
        self.blocks[slot] = Some((block, lines.to_vec(), label));
    }
}

impl LaidOut {
    /// Returns the stored parts of this page. Parts of another page are dropped.
    pub(super) fn parts(&mut self, of: PageOf) -> &mut PageParts {
        let page = &mut self.pages[of.theme.prompt_style as usize];
        page.take_if(|parts| parts.of != of);
        page.get_or_insert_with(|| {
            let styles = Role::ALL.map(|role| of.theme.style(role));
            Box::new(PageParts {
                of,
                styles,
                number_column: 0,
                beside: None,
                names_fit: false,
                head: None,
                blocks: Vec::new(),
                last: [None, None],
            })
        })
    }

    /// Drops the texts that the last frame did not use.
    pub(super) fn begin_frame(&mut self) {
        self.texts.truncate(self.used);
        self.used = 0;
    }

    /// Returns the rows of a text in this many columns.
    pub(super) fn rows(&mut self, text: Text<'_>, theme: &Theme, columns: u16) -> Rows {
        let is_it = |(kept, of, width, _): &(Text<'static>, Theme, u16, Rows)| {
            *width == columns && of == theme && *kept == text
        };
        let found = self.texts.iter().position(is_it).unwrap_or_else(|| {
            let (text, rows) = text.lay_out(theme, columns);
            self.texts.push((text, *theme, columns, rows.into()));
            self.texts.len() - 1
        });
        let rows = self.texts[found].3.clone();
        if found >= self.used {
            self.texts.swap(found, self.used);
            self.used += 1;
        }
        rows
    }
}

impl Text<'_> {
    fn lay_out(self, theme: &Theme, columns: u16) -> (Text<'static>, (Vec<Line<'static>>, usize)) {
        let width = usize::from(columns);
        match self {
            Text::Context(context) => {
                let rows = read_context(&context, theme, columns);
                (Text::Context(Cow::Owned(context.into_owned())), rows)
            }
            Text::Side(kind, text) => {
                let rows = side_text_lines(kind, &text, theme, width);
                (Text::Side(kind, text.into_owned().into()), (rows, 0))
            }
            Text::Preview(text) => {
                let rows = quoted::prose(&markdown::rows(&text), theme, width, Style::new());
                (Text::Preview(text.into_owned().into()), (rows, 0))
            }
        }
    }
}
