//! Which questions to list, page by page.

use super::StoredQuestion;
use crate::request::Request;
use serde::{Deserialize, Serialize};

/// Which questions to list. They come in the order they were asked, unless the filter says otherwise.
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

    /// The same questions in the other order.
    pub fn reversed(self) -> Filter {
        Filter { latest_first: !self.latest_first, ..self }
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
        add(context.text());
    }
    words
}
