//! Filters and pages of questions.

use super::{Principal, QuestionId, StoredQuestion};
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A selection of questions, in the order of asking. A list of ended questions only is in the order of ending. Pending
/// questions for the reader precede those for others.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only pending ones, or only ended ones.
    pub pending: Option<bool>,
    /// Only those asked at or after this time, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only those whose agent's name contains this text, in any case.
    pub from: Option<String>,
    /// Only those whose text contains each of these words, in any order and case.
    pub containing: Option<String>,
    /// Only those that are for the reader, alone or among others.
    pub mine: bool,
    /// The latest first instead of the earliest.
    pub latest_first: bool,
    /// Only those behind this cursor.
    pub after: Option<Cursor>,
    /// The maximum number.
    pub limit: Option<u32>,
}

impl Filter {
    /// Pending questions.
    pub fn pending() -> Filter {
        Filter { pending: Some(true), ..Filter::default() }
    }

    /// Ended questions.
    pub fn ended() -> Filter {
        Filter { pending: Some(false), ..Filter::default() }
    }

    /// The search words in lower case.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.containing.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase)
    }

    /// The page behind this cursor.
    pub fn after(self, cursor: Cursor) -> Filter {
        Filter { after: Some(cursor), ..self }
    }

    /// Sets the maximum number.
    pub fn at_most(self, limit: u32) -> Filter {
        Filter { limit: Some(limit), ..self }
    }

    /// Pending questions for the reader.
    pub fn mine() -> Filter {
        Filter { mine: true, ..Filter::pending() }
    }

    /// The sections of the list that a principal reads, in order, each with its filter. Within a section, the cursor is
    /// the number of the question in the store.
    pub fn parts(&self, by: &Principal) -> Vec<(ListSection, Filter)> {
        if !by.is_a_person() || !(self.mine || self.pending == Some(true)) {
            return vec![(ListSection::All, self.clone())];
        }
        let mut parts = match self.is_history() {
            true => vec![ListSection::Mine, ListSection::Others],
            false => vec![ListSection::Mine, ListSection::InBackground, ListSection::Others],
        };
        if self.latest_first {
            parts.reverse();
        }
        parts.retain(|part| !self.mine || *part != ListSection::Others);
        let part_of = |place: Cursor| match place.rank {
            IN_BACKGROUND if !self.is_history() => ListSection::InBackground,
            OTHERS if !self.is_history() => ListSection::Others,
            _ => ListSection::Mine,
        };
        if let Some(place) = self.after {
            let read = parts.iter().position(|part| *part == part_of(place)).unwrap_or(parts.len());
            parts.drain(..read);
        }
        let after = |part| self.after.filter(|place| part_of(*place) == part);
        parts.into_iter().map(|part| (part, Filter { after: after(part), ..self.clone() })).collect()
    }

    /// Whether the list is in the order of ending.
    pub fn is_history(&self) -> bool {
        self.pending == Some(false)
    }

    /// The cursor of a question in a section: its number in the store; in a history the time of ending first.
    pub fn place(&self, part: ListSection, n: u64, ended_ms: Option<u64>) -> Cursor {
        let rank = match part {
            _ if self.is_history() => ended_ms.unwrap_or_default(),
            ListSection::InBackground => IN_BACKGROUND,
            ListSection::Others => OTHERS,
            ListSection::All | ListSection::Mine => 0,
        };
        Cursor { rank, n }
    }

    /// The same questions in the other order.
    pub fn reversed(self) -> Filter {
        Filter { latest_first: !self.latest_first, ..self }
    }
}

/// A section of a list: questions for the reader precede those for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSection {
    /// A list without sections.
    All,
    /// Questions for the reader.
    Mine,
    /// Pending questions for the reader whose asker works on.
    InBackground,
    /// What is for others.
    Others,
}

/// The ranks of what follows the first part of a list.
const IN_BACKGROUND: u64 = 1;
const OTHERS: u64 = 2;

/// A position in a list, as text `RANK-NUMBER`. It stays valid while other questions come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Cursor {
    /// The section of the list; in a history the time of ending, in milliseconds since 1970.
    pub rank: u64,
    /// The number of the question in its store.
    pub n: u64,
}

impl Cursor {
    /// Reads the text of a cursor.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (rank, n) = text.split_once('-')?;
        Some(Cursor { rank: rank.parse().ok()?, n: n.parse().ok()? })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rank, self.n)
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> String {
        cursor.to_string()
    }
}

impl TryFrom<String> for Cursor {
    type Error = String;

    fn try_from(text: String) -> Result<Cursor, String> {
        Cursor::parse(&text).ok_or_else(|| format!("{text:?} is no cursor"))
    }
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The questions in the order of the filter.
    pub questions: Vec<StoredQuestion>,
    /// The unreadable questions of the page: damaged, or written by a later version.
    pub unreadable: Vec<QuestionId>,
    /// The start of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

/// The searchable text of a question in lower case: everything that a person reads of it, and its asker.
pub fn words(request: &Request) -> String {
    let mut words = String::new();
    let mut add = |text: &str| {
        words.push_str(&text.to_lowercase());
        words.push('\n');
    };
    let origin = request.origin();
    [&origin.agent_name(), &origin.task, &origin.folder, &origin.host].into_iter().flatten().for_each(|name| add(name));
    for question in request.set().questions() {
        add(question.header());
        add(question.text());
        for option in question.options() {
            add(option.label_verbatim());
            add(option.description());
            add(option.preview().unwrap_or_default());
        }
    }
    if let Some(context) = request.context() {
        add(&context.text());
    }
    add(request.why().unwrap_or_default());
    words
}
