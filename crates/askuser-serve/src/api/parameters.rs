//! The parameters of a path and a query.

use askuser::RequestKey;
use askuser::store::{Cursor, Filter, QuestionId, QuestionRef};
use serde::{Deserialize, Serialize};

/// The id that stands for a question named by its key.
const BY_KEY: &str = "-";

wire! {
    /// `1`, or missing.
    #[derive(Clone, Copy)]
    pub(crate) enum One {
        #[serde(rename = "1")]
        One,
    }

    /// The reader that a question is drawn for.
    #[derive(Clone, Copy)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum View {
        Page,
    }

    /// The key of a question, as JSON in a text.
    #[derive(Clone)]
    #[serde(try_from = "String", into = "String")]
    pub(crate) struct KeyText(RequestKey);

    /// The states of a list.
    #[derive(Clone, Copy, PartialEq, Eq)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum ListState {
        Pending,
        Ended,
        All,
    }

    /// The order of a list.
    #[derive(Clone, Copy, PartialEq, Eq)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum Order {
        Latest,
        Earliest,
    }

    /// A time, in milliseconds since 1970.
    #[serde(deny_unknown_fields)]
    pub(crate) struct Before {
        pub(crate) before: u64,
    }
}

sent! {
    /// The form in which a question is returned.
    pub(crate) struct Form {
        /// Returns the whole record too.
        pub(crate) whole: Option<One>,
    }

    /// The question that a route with an id is about.
    pub(crate) struct About {
        /// The question's key, with the id `-`.
        pub(crate) key: Option<KeyText>,
        /// Returns the whole record too.
        pub(crate) whole: Option<One>,
        pub(crate) view: Option<View>,
        /// The number of seconds to wait for the end, at most 60.
        pub(crate) wait: Option<u64>,
    }

    /// The questions of a list.
    pub(crate) struct List {
        pub(crate) state: Option<ListState>,
        /// Words that a question contains.
        pub(crate) q: Option<String>,
        /// Text in the name of the agent.
        pub(crate) from: Option<String>,
        /// The earliest time of asking, in milliseconds since 1970.
        pub(crate) since: Option<u64>,
        /// The place where the page begins.
        pub(crate) cursor: Option<Cursor>,
        /// The most questions of a page: 100 if missing, at most 500.
        pub(crate) limit: Option<u32>,
        pub(crate) order: Option<Order>,
        /// Only questions for the person who reads.
        pub(crate) mine: Option<One>,
        /// Returns the whole records too.
        pub(crate) whole: Option<One>,
        pub(crate) view: Option<View>,
    }

    /// The beginning of an id.
    pub(crate) struct Begin {
        pub(crate) begin: String,
    }

    /// A stretch of events.
    pub(crate) struct After {
        /// The number to continue after.
        pub(crate) after: Option<u64>,
        /// The most events of a list.
        pub(crate) limit: Option<u32>,
    }
}

impl TryFrom<String> for KeyText {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<KeyText, serde_json::Error> {
        serde_json::from_str(&text).map(KeyText)
    }
}

impl From<KeyText> for String {
    fn from(key: KeyText) -> String {
        serde_json::json!(key.0).to_string()
    }
}

impl About {
    /// The id in the path of a question, and the parameters beside it.
    pub(crate) fn new(which: &QuestionRef, is_whole: bool) -> (String, About) {
        let (id, key) = match which {
            QuestionRef::Id(id) => (id.to_string(), None),
            QuestionRef::Key(key) => (BY_KEY.to_owned(), Some(KeyText(key.clone()))),
        };
        (id, About { key, whole: is_whole.then_some(One::One), ..About::default() })
    }

    /// The inverse. `None` for a path that names no question.
    pub(crate) fn which(&self, id: &str) -> Option<QuestionRef> {
        match (id, &self.key) {
            (BY_KEY, key) => key.as_ref().map(|key| QuestionRef::Key(key.0.clone())),
            (id, _) => QuestionId::parse(id).map(QuestionRef::Id),
        }
    }
}

impl From<&Filter> for List {
    fn from(filter: &Filter) -> List {
        let state = filter.pending.map(|pending| if pending { ListState::Pending } else { ListState::Ended });
        List {
            state: state.or(Some(ListState::All)),
            q: filter.containing.clone(),
            from: filter.from.clone(),
            since: filter.since_ms,
            cursor: filter.after,
            limit: filter.limit,
            order: Some(if filter.latest_first { Order::Latest } else { Order::Earliest }),
            mine: filter.mine.then_some(One::One),
            whole: Some(One::One),
            view: None,
        }
    }
}

impl List {
    const LIMIT: u32 = 100;
    const MAX_LIMIT: u32 = 500;

    /// The filter of this list, or of the log: every question, the latest first, unless the query says otherwise.
    pub(crate) fn filter(&self, is_log: bool) -> Filter {
        let state = self.state.unwrap_or(if is_log { ListState::All } else { ListState::Pending });
        let is_latest_first = is_log || state == ListState::Ended;
        Filter {
            pending: (state != ListState::All).then_some(state == ListState::Pending),
            latest_first: self.order.map_or(is_latest_first, |order| order == Order::Latest),
            mine: self.mine.is_some(),
            since_ms: self.since,
            from: self.from.clone(),
            containing: self.q.clone(),
            after: self.cursor,
            limit: Some(self.limit.unwrap_or(List::LIMIT).min(List::MAX_LIMIT)),
        }
    }
}
