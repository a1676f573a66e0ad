//! Runs of text between marks: bold, italics, code, links.

use super::{Look, Piece};
use askuser::sanitize;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use ratatui_core::style::Modifier;
use std::ops::Range;

/// The bold and the code of a text; all else in it is as it was written. `None` if nothing in it is marked, which most
/// texts are spared to be read for.
pub(crate) fn inline(text: &str) -> Option<Vec<Piece>> {
    if !text.contains("**") && !text.contains('`') {
        return None;
    }
    let mut pieces = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            push(&mut pieces, "\n", Look::default());
        }
        // A word before it keeps a line from being anything but a paragraph.
        let source = format!("{OPENING}{line}");
        let mut runs = Runs::new(&source, Markup::BoldAndCode);
        for (event, range) in Parser::new_ext(&source, OPTIONS).into_offset_iter() {
            if range.start < OPENING.len() && range.end <= OPENING.len() {
                continue;
            }
            runs.read(&event, range.start.max(OPENING.len())..range.end);
        }
        for piece in runs.take() {
            push(&mut pieces, &piece.text, piece.look);
        }
        // Blanks at the end are no mark, and are not for the parser to drop.
        push(&mut pieces, &line[line.trim_end_matches(' ').len()..], Look::default());
    }
    Some(pieces)
}

/// Begins a paragraph, and is not shown.
pub(super) const OPENING: &str = "x ";

pub(super) const OPTIONS: Options = Options::ENABLE_STRIKETHROUGH.union(Options::ENABLE_TASKLISTS);

/// What is marked up in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// Bold and code; links, escapes and single asterisks are as written.
    BoldAndCode,
    /// Everything; a link is shown as `name (target)`.
    All,
}

/// Collects the runs of a paragraph from its events.
pub(super) struct Runs<'s> {
    source: &'s str,
    markup: Markup,
    pieces: Vec<Piece>,
    look: Look,
    /// What each open mark found, and what it shows when it closes.
    open: Vec<(Look, String)>,
    /// Up to where the source is shown already.
    shown: usize,
    /// Where the last text ended.
    text_end: usize,
}

impl<'s> Runs<'s> {
    pub(super) fn new(source: &'s str, markup: Markup) -> Runs<'s> {
        Runs { source, markup, pieces: Vec::new(), look: Look::default(), open: Vec::new(), shown: 0, text_end: 0 }
    }

    /// The runs read so far.
    pub(super) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Whether a mark is open.
    pub(super) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Reads an event inside a paragraph.
    pub(super) fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        if range.end <= self.shown {
            return;
        }
        match event {
            // The source and not the text: an entity stays as it was written.
            Event::Text(_) | Event::Html(_) | Event::InlineHtml(_) => {
                let escape = self.text_end.max(OPENING.len())..range.start;
                if self.markup == Markup::BoldAndCode && self.source.get(escape) == Some("\\") {
                    self.add("\\");
                }
                self.text_end = range.end;
                self.add(&self.source[range]);
            }
            Event::Code(code) => {
                let look = Look { code: true, ..self.look };
                push(&mut self.pieces, code, look);
            }
            Event::Start(tag) => self.start(tag, range),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image) => {
                if let Some((look, closing)) = self.open.pop() {
                    match closing.starts_with(" (") {
                        true => push(&mut self.pieces, &closing, Look { target: true, ..look }),
                        false => push(&mut self.pieces, &closing, look),
                    }
                    self.look = look;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let (source, all) = (&self.source[range.clone()], self.markup == Markup::All);
        let (look, mark) = match tag {
            Tag::Strong if source.starts_with('*') => (self.look.with(Modifier::BOLD), ""),
            Tag::Emphasis if all && source.starts_with('*') => (self.look.with(Modifier::ITALIC), ""),
            Tag::Strikethrough if all && source.starts_with("~~") => (self.look.with(Modifier::DIM), ""),
            Tag::Emphasis => (self.look, &source[..1]),
            Tag::Strong => (self.look, "__"),
            Tag::Strikethrough if source.starts_with("~~") => (self.look, "~~"),
            Tag::Strikethrough => (self.look, "~"),
            Tag::Link { .. } | Tag::Image { .. } if self.markup == Markup::BoldAndCode => {
                self.add(source);
                self.shown = range.end;
                return;
            }
            Tag::Link { link_type, dest_url, title, .. } | Tag::Image { link_type, dest_url, title, .. } => {
                let underlined = self.look.with(Modifier::UNDERLINED);
                let target = match link_type {
                    LinkType::Autolink | LinkType::Email => String::new(),
                    _ if title.is_empty() => format!(" ({})", sanitize::line(dest_url)),
                    _ => format!(" ({} \"{}\")", sanitize::line(dest_url), sanitize::line(title)),
                };
                self.open.push((self.look, target));
                self.look = underlined;
                return;
            }
            _ => return,
        };
        self.text_end = range.start + mark.len();
        self.add(mark);
        self.open.push((self.look, mark.to_owned()));
        self.look = look;
    }

    fn add(&mut self, text: &str) {
        push(&mut self.pieces, text, self.look);
    }
}

/// Adds a run, to the last one if it looks the same.
fn push(pieces: &mut Vec<Piece>, text: &str, look: Look) {
    // A combining character stood on a mark that is not shown: it has nothing to stand on any more.
    let text = &*sanitize::block(text);
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.look == look => last.text.push_str(text),
        _ => pieces.push(Piece { text: text.to_owned(), look }),
    }
}
