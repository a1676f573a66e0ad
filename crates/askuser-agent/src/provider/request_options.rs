//! The options of a request besides its conversation: the person's choices, and what the model has accepted so far.
//!
//! Models of one provider differ in the options they accept, and new ones appear often. So the client learns from
//! errors: if an error names an optional feature, this and later requests leave it out.

use super::api_error::ApiError;
use super::error_limits;
use crate::event::FailureKind;

/// The effort of a model before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// As little as possible.
    Low,
    /// The amount that the task needs.
    Medium,
    /// The amount that still helps.
    High,
    /// More than that, if the model supports it.
    XHigh,
    /// The maximum.
    Max,
}

impl Effort {
    /// The name, the same with every provider.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// The next lower effort, for a model that rejects this one. Some models know only the first three.
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
    /// The request for reasoning text.
    pub(super) thoughts: Requested,
    /// The request for the model's opaque data, which is then sent back.
    pub(super) own_data: Requested,
    /// The request for token counts at the end of a stream, for servers that need one.
    pub(super) stream_options: Requested,
    /// The request for a streamed response.
    pub(super) stream: Requested,
}

/// The presence of an optional feature in a request.
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

    /// The options without the feature that the error rejects, and with the limit that it allows. `None` if that
    /// changes the request in no way.
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

    /// The options for a conversation that leaves less room for a response than requested; `None` if it leaves too
    /// little.
    pub(super) fn in_remaining_tokens(self, error: &ApiError) -> Option<RequestOptions> {
        let remaining = error_limits::remaining_tokens(&error.message)?;
        self.with_at_most(remaining).filter(|_| remaining >= MIN_RESPONSE_TOKENS)
    }

    fn with_at_most(self, max_tokens: u32) -> Option<RequestOptions> {
        let is_less = self.max_tokens.is_none_or(|asked| max_tokens < asked);
        is_less.then_some(RequestOptions { max_tokens: Some(max_tokens), ..self })
    }
}

/// The minimum room for a response. With less, a request is not worth it.
const MIN_RESPONSE_TOKENS: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectedOption {
    Effort,
    Thoughts,
    /// The effort and the thoughts.
    Thinking,
    OwnData,
    StreamOptions,
    Stream,
}
