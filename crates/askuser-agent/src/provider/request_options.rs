//! How a request is made besides its conversation: what the person chose, and what the model has turned out to accept.
//!
//! Models of one provider differ in what they accept, and new ones appear all the time. A table cannot know them all, so
//! an error that names something optional is learned from: the request is made again without it, and so are later ones.

use super::api_error::ApiError;
use super::error_limits;
use crate::event::FailureKind;

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// As little as possible.
    Low,
    /// What the task needs.
    Medium,
    /// As much as helps.
    High,
    /// More than that, where a model knows it.
    XHigh,
    /// As much as it can.
    Max,
}

impl Effort {
    /// Its name, the same with every provider.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// The next lower one, for a model that does not know it; not every model knows more than the first three.
    fn lowered(self) -> Option<Effort> {
        match self {
            Effort::Max => Some(Effort::XHigh),
            Effort::XHigh => Some(Effort::High),
            Effort::Low | Effort::Medium | Effort::High => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestOptions {
    pub(super) max_tokens: Option<u32>,
    /// `None` leaves it to the provider.
    pub(super) effort: Option<Effort>,
    /// Whether thoughts are asked for in words.
    pub(super) thoughts: Requested,
    /// Whether the model's own data is asked for and sent back.
    pub(super) own_data: Requested,
    /// Whether tokens are counted at the end of a stream, where that has to be asked for.
    pub(super) stream_options: Requested,
    /// The option that asks for the response in parts.
    pub(super) stream: Requested,
}

/// Whether something optional is part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    Yes,
    No,
}

impl RequestOptions {
    pub(super) fn new(max_tokens: Option<u32>, effort: Option<Effort>) -> RequestOptions {
        let yes = Requested::Yes;
        RequestOptions { max_tokens, effort, thoughts: yes, own_data: yes, stream_options: yes, stream: yes }
    }

    /// The options without what the error says the model does not accept, and with the limit that it allows; `None` if
    /// that changes nothing.
    pub(super) fn corrected(self, error: &ApiError) -> Option<RequestOptions> {
        if error.kind() != FailureKind::Rejected {
            return None;
        }
        if let Some(max_tokens) = error_limits::max_tokens(&error.message) {
            return self.with_at_most(max_tokens);
        }
        let options = match error.rejected_option()? {
            RejectedOption::Effort => RequestOptions { effort: self.effort.and_then(Effort::lowered), ..self },
            RejectedOption::Thoughts => RequestOptions { thoughts: Requested::No, ..self },
            RejectedOption::Thinking => RequestOptions { effort: None, thoughts: Requested::No, ..self },
            RejectedOption::OwnData => RequestOptions { own_data: Requested::No, ..self },
            RejectedOption::StreamOptions => RequestOptions { stream_options: Requested::No, ..self },
            // Stream options are valid only with a stream.
            RejectedOption::Stream => RequestOptions { stream: Requested::No, stream_options: Requested::No, ..self },
        };
        (options != self).then_some(options)
    }

    /// The options for a conversation that leaves less room for a response than was asked for; `None` if it leaves none.
    pub(super) fn in_remaining_tokens(self, error: &ApiError) -> Option<RequestOptions> {
        let remaining = error_limits::remaining_tokens(&error.message)?;
        self.with_at_most(remaining).filter(|_| remaining >= MIN_RESPONSE_TOKENS)
    }

    fn with_at_most(self, max_tokens: u32) -> Option<RequestOptions> {
        let is_less = self.max_tokens.is_none_or(|asked| max_tokens < asked);
        is_less.then_some(RequestOptions { max_tokens: Some(max_tokens), ..self })
    }
}

/// A response in less room than this is not worth it.
const MIN_RESPONSE_TOKENS: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectedOption {
    Effort,
    Thoughts,
    /// Both of these.
    Thinking,
    OwnData,
    StreamOptions,
    Stream,
}
