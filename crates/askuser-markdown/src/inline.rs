//! Runs of text between marks: bold, italics, code, links.

use crate::{Look, Piece, Token};
use askuser::sanitize;
use pulldown_cmark::{Event, LinkType, Options, Tag, TagEnd};
use std::ops::Range;

/// A prefix that begins a paragraph and is not drawn.
pub(crate) const OPENING: &str = "x ";

pub(crate) const OPTIONS: Options =
    Options::ENABLE_STRIKETHROUGH.union(Options::ENABLE_TASKLISTS).union(Options::ENABLE_TABLES);

/// Collects the runs of a paragraph from its events.
pub(crate) struct Runs<'s> {
    source: &'s str,
    pieces: Vec<Piece>,
    look: Look,
    /// The look before each open mark, and the text to show when it closes.
    open: Vec<(Look, String)>,
}

impl<'s> Runs<'s> {
    pub(crate) fn new(source: &'s str) -> Runs<'s> {
        Runs { source, pieces: Vec::new(), look: Look::default(), open: Vec::new() }
    }

    /// Removes and returns the runs read so far.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Returns whether a mark is open.
    pub(crate) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Adds the runs of an event inside a paragraph.
    pub(crate) fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            // The source is added instead of the parsed text, so an entity stays as written.
            Event::Text(_) | Event::Html(_) | Event::InlineHtml(_) => {
                self.add(&self.source[range]);
            }
            Event::Code(code) => {
                let look = Look { token: Token::Code, ..self.look };
                push(&mut self.pieces, code, look);
            }
            Event::Start(tag) => self.start(tag, range),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image) => {
                if let Some((look, closing)) = self.open.pop() {
                    let token = if closing.starts_with(" (") { Token::Target } else { look.token };
                    push(&mut self.pieces, &closing, Look { token, ..look });
                    self.look = look;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let source = &self.source[range];
        let plain = |mark: &'s str| (self.look, mark, mark.to_owned());
        let emphasised = |look: Look| (look, "", String::new());
        let (look, opening, closing) = match tag {
            Tag::Strong if source.starts_with('*') => emphasised(Look { bold: true, ..self.look }),
            Tag::Emphasis if source.starts_with('*') => emphasised(Look { italic: true, ..self.look }),
            Tag::Strikethrough if source.starts_with("~~") => emphasised(Look { struck: true, ..self.look }),
            Tag::Emphasis => plain(&source[..1]),
            Tag::Strong => plain("__"),
            Tag::Strikethrough => plain("~"),
            Tag::Link { link_type, dest_url, title, id } | Tag::Image { link_type, dest_url, title, id } => {
                let target = if title.is_empty() {
                    format!(" ({})", sanitize::line(dest_url))
                } else {
                    format!(" ({} \"{}\")", sanitize::line(dest_url), sanitize::line(title))
                };
                let bracket = if source.starts_with('!') { "![" } else { "[" };
                // The target stands in its definition, so the link does not repeat it.
                let (opening, closing) = match link_type {
                    LinkType::Shortcut => (bracket, "]".to_owned()),
                    LinkType::Collapsed => (bracket, "][]".to_owned()),
                    LinkType::Reference => (bracket, format!("][{}]", sanitize::line(id))),
                    LinkType::Autolink | LinkType::Email => ("", String::new()),
                    _ => ("", target),
                };
                (Look { link: true, ..self.look }, opening, closing)
            }
            _ => return,
        };
        self.add(opening);
        self.open.push((self.look, closing));
        self.look = look;
    }

    fn add(&mut self, text: &str) {
        push(&mut self.pieces, text, self.look);
    }
}

/// Adds a run. A run that looks like the last one is appended to it.
pub(crate) fn push(pieces: &mut Vec<Piece>, text: &str, look: Look) {
    // A combining character after a hidden mark has lost its base character.
    let text = &*sanitize::block(text);
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.look == look => last.text.push_str(text),
        _ => pieces.push(Piece { text: text.to_owned(), look }),
    }
}
