//! The parameters of a path and a query.

use askuser::RequestKey;
use askuser::store::{Cursor, Filter, QuestionId, QuestionRef};
use serde::{Deserialize, Serialize};

/// The id in a path that stands for a question named by its key.
const BY_KEY: &str = "-";

wire! {
    /// The value of a flag that is set. A flag that is not set is missing.
    #[derive(Clone, Copy)]
    pub(crate) enum One {
        #[serde(rename = "1")]
        One,
    }

    /// The reader for which a question is formatted.
    #[derive(Clone, Copy)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum View {
        Page,
    }

    /// The key of a question, as JSON in a text.
    #[derive(Clone)]
    #[serde(try_from = "String", into = "String")]
    pub(crate) struct KeyText(RequestKey);

    /// The states of the questions in a list.
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

    /// A time in a query, in milliseconds since 1970.
    #[serde(deny_unknown_fields)]
    pub(crate) struct Before {
        pub(crate) before: u64,
    }
}

sent! {
    /// The form in which a question is returned.
    pub(crate) struct Form {
        /// The flag to return the whole record, too.
        pub(crate) whole: Option<One>,
    }

    /// The key of a question if its path has no id, and the form of the reply.
    pub(crate) struct About {
        /// The question's key, if the id in the path is `-`.
        pub(crate) key: Option<KeyText>,
        /// The flag to return the whole record, too.
        pub(crate) whole: Option<One>,
        pub(crate) view: Option<View>,
        /// The number of seconds to wait for the end, at most 60. Missing for no waiting.
        pub(crate) wait: Option<u64>,
    }

    /// The selection of questions for a list.
    pub(crate) struct List {
        pub(crate) state: Option<ListState>,
        /// The words that a question must contain, if any.
        pub(crate) q: Option<String>,
        /// The text that the agent's name must contain, if any.
        pub(crate) from: Option<String>,
        /// The earliest time of asking, in milliseconds since 1970. Missing for no bound.
        pub(crate) since: Option<u64>,
        /// The cursor after which the page begins. Missing for the first page.
        pub(crate) cursor: Option<Cursor>,
        /// The maximum number of questions on a page: 100 if missing, at most 500.
        pub(crate) limit: Option<u32>,
        pub(crate) order: Option<Order>,
        /// The flag to list only questions for the person who reads.
        pub(crate) mine: Option<One>,
        /// The flag to return the whole records, too.
        pub(crate) whole: Option<One>,
        pub(crate) view: Option<View>,
    }

    /// The beginning of the ids to list.
    pub(crate) struct Begin {
        pub(crate) begin: String,
    }

    /// The selection of events for a page.
    pub(crate) struct After {
        /// The number after which the page begins. Missing for the first page.
        pub(crate) after: Option<u64>,
        /// The maximum number of events on a page. Missing for the server's own limit.
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
    /// Returns the id for the path of a question, and the parameters for its query.
    pub(crate) fn new(which: &QuestionRef, is_whole: bool) -> (String, About) {
        let (id, key) = match which {
            QuestionRef::Id(id) => (id.to_string(), None),
            QuestionRef::Key(key) => (BY_KEY.to_owned(), Some(KeyText(key.clone()))),
        };
        (id, About { key, whole: is_whole.then_some(One::One), ..About::default() })
    }

    /// Returns the question that an id in a path and these parameters name; `None` if they name none.
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

    /// Returns the filter of this list or of the log. By default, the log has all questions, latest first.
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
