//! Which questions to list, page by page.

use super::{Principal, QuestionId, StoredQuestion};
use crate::request::Request;
use serde::{Deserialize, Serialize};

/// Which questions to list. They come in the order they were asked, unless the filter says otherwise; what waits for a person
/// before what waits for others.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those that wait, or only those that do not.
    pub pending: Option<bool>,
    /// Only those asked at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only those whose agent's name contains this, in any case.
    pub from: Option<String>,
    /// Only those whose words contain this, in any case.
    pub containing: Option<String>,
    /// Only those that are for the person who reads.
    pub mine: bool,
    /// The latest first, instead of the earliest.
    pub latest_first: bool,
    /// Only those behind this place.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: Option<u32>,
}

impl Filter {
    /// What waits.
    pub fn pending() -> Filter {
        Filter { pending: Some(true), ..Filter::default() }
    }

    /// What has ended.
    pub fn ended() -> Filter {
        Filter { pending: Some(false), ..Filter::default() }
    }

    /// The page behind this place.
    pub fn after(self, cursor: Cursor) -> Filter {
        Filter { after: Some(cursor), ..self }
    }

    /// At most so many.
    pub fn at_most(self, limit: u32) -> Filter {
        Filter { limit: Some(limit), ..self }
    }

    /// What waits for the person who reads.
    pub fn mine() -> Filter {
        Filter { mine: true, ..Filter::pending() }
    }

    /// The parts of the list that a principal reads, in their order, each with the filter for it: places are numbers of the
    /// store there.
    pub fn parts(&self, by: &Principal) -> Vec<(Part, Filter)> {
        if !by.is_a_person() || !(self.mine || self.pending == Some(true)) {
            return vec![(Part::All, self.clone())];
        }
        let mut parts = vec![Part::Mine, Part::Others];
        if self.latest_first {
            parts.reverse();
        }
        parts.retain(|part| !self.mine || *part == Part::Mine);
        let at = self.after.map(|Cursor(at)| match at.checked_sub(OTHERS) {
            Some(n) => (Part::Others, n),
            None => (Part::Mine, at),
        });
        if let Some((part, _)) = at {
            let read = parts.iter().position(|other| *other == part).unwrap_or(parts.len());
            parts.drain(..read);
        }
        let after = |part| at.filter(|(of, _)| *of == part).map(|(_, n)| Cursor(n));
        parts.into_iter().map(|part| (part, Filter { after: after(part), ..self.clone() })).collect()
    }

    /// The same questions in the other order.
    pub fn reversed(self) -> Filter {
        Filter { latest_first: !self.latest_first, ..self }
    }
}

/// A part of a list: a person reads what waits for them before what waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It has no parts.
    All,
    /// What is for the reader.
    Mine,
    /// What is for others.
    Others,
}

/// What is for others is behind every place of a reader's own. A page reads numbers up to twice as large.
const OTHERS: u64 = 1 << 52;

impl Part {
    /// The place of a question that has this number in its store.
    pub fn place(self, n: u64) -> Cursor {
        Cursor(if self == Part::Others { n.saturating_add(OTHERS) } else { n })
    }
}

/// A place in a list. It stays where it is, whatever comes and goes around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub u64);

/// Some of a list.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// In the order of the filter.
    pub questions: Vec<StoredQuestion>,
    /// The questions of the page that cannot be read here: damaged, or written by a later version.
    pub unreadable: Vec<QuestionId>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Cursor>,
}

/// The words of a question to search by, in lower case: everything that a person reads of it, and who asks where.
pub fn words(request: &Request) -> String {
    let mut words = String::new();
    let mut add = |text: &str| {
        words.push_str(&text.to_lowercase());
        words.push('\n');
    };
    let origin = request.origin();
    [&origin.agent, &origin.task, &origin.folder, &origin.host].into_iter().flatten().for_each(|name| add(name));
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
