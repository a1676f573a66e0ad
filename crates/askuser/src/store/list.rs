//! Filters and pages of questions.

use super::{Principal, QuestionId, StoredQuestion};
use crate::request::Request;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A selection of questions in the order of asking. A list of only ended questions is in the order of ending. Pending
/// questions for the reader precede those for others.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The kind of the questions: `true` for pending ones, `false` for ended ones, `None` for both.
    pub pending: Option<bool>,
    /// The earliest time of asking, in milliseconds since 1970; `None` for no bound.
    pub since_ms: Option<u64>,
    /// The text that the agent's name must contain, in any case; `None` for any agent.
    pub from: Option<String>,
    /// The words that the text of a question must contain, in any order and case; `None` for any text.
    pub containing: Option<String>,
    /// Whether only questions for the reader are selected, for the reader alone or among others.
    pub mine: bool,
    /// Whether the latest question comes first instead of the earliest.
    pub latest_first: bool,
    /// The cursor after which the list starts; `None` for the beginning.
    pub after: Option<Cursor>,
    /// The maximum number of questions; `None` for all.
    pub limit: Option<u32>,
}

impl Filter {
    /// Selects the pending questions.
    pub fn pending() -> Filter {
        Filter { pending: Some(true), ..Filter::default() }
    }

    /// Selects the ended questions.
    pub fn ended() -> Filter {
        Filter { pending: Some(false), ..Filter::default() }
    }

    /// The search words in lower case.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.containing.iter().flat_map(|text| text.split_whitespace()).map(str::to_lowercase)
    }

    /// Starts the list after this cursor.
    pub fn after(self, cursor: Cursor) -> Filter {
        Filter { after: Some(cursor), ..self }
    }

    /// Sets the maximum number of questions.
    pub fn at_most(self, limit: u32) -> Filter {
        Filter { limit: Some(limit), ..self }
    }

    /// Selects the pending questions for the reader.
    pub fn mine() -> Filter {
        Filter { mine: true, ..Filter::pending() }
    }

    /// Returns the sections of the list that a principal reads, in order, each with its filter. Within a section, a
    /// cursor holds the number of the question in the store.
    pub fn parts(&self, by: &Principal) -> Vec<(ListSection, Filter)> {
        if !by.is_a_person() || !(self.mine || self.pending == Some(true)) {
            return vec![(ListSection::All, self.clone())];
        }
        let mut parts = if self.is_history() {
            vec![ListSection::Mine, ListSection::Others]
        } else {
            vec![ListSection::Mine, ListSection::InBackground, ListSection::Others]
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

    /// Whether the list is in the order of ending, because it contains only ended questions.
    pub fn is_history(&self) -> bool {
        self.pending == Some(false)
    }

    /// Returns the cursor of a question in a section, with the number of the question in the store. In a list of ended
    /// questions, the time of ending comes first.
    pub fn place(&self, part: ListSection, n: u64, ended_ms: Option<u64>) -> Cursor {
        let rank = match part {
            _ if self.is_history() => ended_ms.unwrap_or_default(),
            ListSection::InBackground => IN_BACKGROUND,
            ListSection::Others => OTHERS,
            ListSection::All | ListSection::Mine => 0,
        };
        Cursor { rank, n }
    }

    /// Reverses the order.
    pub fn reversed(self) -> Filter {
        Filter { latest_first: !self.latest_first, ..self }
    }
}

/// A section of a list. Questions for the reader precede those for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListSection {
    /// A list without sections.
    All,
    /// The questions for the reader.
    Mine,
    /// The pending questions for the reader whose asker continues its work.
    InBackground,
    /// The questions for others.
    Others,
}

/// The ranks of the sections after the first one.
const IN_BACKGROUND: u64 = 1;
const OTHERS: u64 = 2;

/// A position in a list, with the text form `RANK-NUMBER`. It stays valid while other questions come and go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
pub struct Cursor {
    /// The rank of the section. In a list of ended questions it is the time of ending, in milliseconds since 1970.
    pub rank: u64,
    /// The number of the question in its store.
    pub n: u64,
}

impl Cursor {
    /// Parses the text of a cursor; `None` if the text is invalid.
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
    /// The ids of the unreadable questions of the page, which are damaged or written by a later version.
    pub unreadable: Vec<QuestionId>,
    /// The cursor of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

/// Returns the searchable text of a question in lower case: its asker, and all text that a person reads in it.
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
