//! The options of a request besides its conversation. They contain the person's choices and the features that the model
//! accepts.
//!
//! Models of one provider differ in the options they accept, and new models appear often. So the client learns from
//! errors. If an error names an optional feature, this and later requests leave the feature out.

use super::api_error::ApiError;
use super::error_limits;
use crate::event::FailureKind;

/// The effort that a model puts into reasoning before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// The model reasons as little as possible.
    Low,
    /// The model reasons as much as the task needs.
    Medium,
    /// The model reasons as much as still helps.
    High,
    /// The model reasons more than with [`Effort::High`], if it supports that.
    XHigh,
    /// The model reasons as much as it can.
    Max,
}

impl Effort {
    /// Returns the name of the effort, which is the same for every provider.
    pub fn as_str(self) -> &'static str {
        match self {
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }
    }

    /// Returns the next lower effort for a model that rejects this one; `None` if every model accepts it.
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
    /// The effort of reasoning. `None` leaves it to the provider.
    pub(super) effort: Option<Effort>,
    /// The flag that the request asks for reasoning text.
    pub(super) thoughts: Requested,
    /// The flag that the request asks for the model's opaque data, which is then sent back.
    pub(super) own_data: Requested,
    /// The flag that the request asks for token counts at the end of a stream, as some servers require.
    pub(super) stream_options: Requested,
    /// The flag that the request asks for a streamed response.
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

    /// Returns the options without the feature that the error rejects, or with the limit that it states. `None` if the
    /// options would stay the same.
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
            // Stream options are valid only in a request for a stream.
            RejectedOption::Stream => RequestOptions { stream: Requested::No, stream_options: Requested::No, ..self },
        };
        (options != self).then_some(options)
    }

    /// Returns the options for a conversation that leaves less room for a response than requested. `None` if the
    /// remaining room is too small.
    pub(super) fn in_remaining_tokens(self, error: &ApiError) -> Option<RequestOptions> {
        let remaining = error_limits::remaining_tokens(&error.message)?;
        self.with_at_most(remaining).filter(|_| remaining >= MIN_RESPONSE_TOKENS)
    }

    fn with_at_most(self, max_tokens: u32) -> Option<RequestOptions> {
        let is_less = self.max_tokens.is_none_or(|asked| max_tokens < asked);
        is_less.then_some(RequestOptions { max_tokens: Some(max_tokens), ..self })
    }
}

/// The minimum number of tokens left for a response. With fewer tokens, the request is not made.
const MIN_RESPONSE_TOKENS: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RejectedOption {
    Effort,
    Thoughts,
    /// The effort and the reasoning text.
    Thinking,
    OwnData,
    StreamOptions,
    Stream,
}
