//! A [`Model`] reached over HTTP. It encodes the request for its protocol and decodes the response while it arrives.

use super::catalog::Protocol;
use super::endpoint::{Endpoint, FailedRequest, ResponseBody, transport_error};
use super::protocol::{Output, ResponseReader};
use super::request_options::RequestOptions;
use super::target::Target;
use super::{anthropic, context_windows, gemini, openai_chat, openai_responses};
use crate::event::FailureKind;
use crate::model::{Model, ModelError, ModelEvent, ModelRequest, RecordedModel, ResponseStream};
use askuser_sys::sse::Parser;
use futures_util::stream;
use reqwest::Response;
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct HttpModel {
    protocol: Protocol,
    endpoint: Endpoint,
    /// The endpoint of chat completions, if the server may lack the Responses protocol; `None` otherwise.
    chat: Option<Endpoint>,
    known: Mutex<Known>,
}

/// The known facts about a model. Errors of the model add facts.
#[derive(Clone, Copy)]
struct Known {
    options: RequestOptions,
    /// Whether the server has shown that it lacks the Responses protocol.
    lacks_responses: bool,
    /// The maximum number of tokens of a conversation; `None` until an error states it.
    context_window: Option<u64>,
}

impl HttpModel {
    pub(super) fn new(
        protocol: Protocol,
        endpoint: Endpoint,
        chat: Option<Endpoint>,
        options: RequestOptions,
    ) -> HttpModel {
        let known = Mutex::new(Known { options, lacks_responses: false, context_window: None });
        HttpModel { protocol, endpoint, chat, known }
    }

    fn target(&self) -> &Arc<Target> {
        &self.endpoint.target
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the protocol and the endpoint for the next request.
    fn endpoint(&self) -> (Protocol, &Endpoint) {
        match &self.chat {
            Some(chat) if self.known().lacks_responses => (Protocol::OpenAiChat, chat),
            _ => (self.protocol, &self.endpoint),
        }
    }

    fn body(&self, protocol: Protocol, request: &ModelRequest<'_>, options: RequestOptions) -> Value {
        match protocol {
            Protocol::Anthropic => anthropic::body(request, self.target(), options),
            Protocol::OpenAiResponses => openai_responses::body(request, self.target(), options),
            Protocol::OpenAiChat => openai_chat::body(request, self.target(), options),
            Protocol::Gemini => gemini::body(request, self.target(), options),
        }
    }

    /// Learns from an error. Returns the options for another attempt; `None` if another attempt cannot succeed.
    fn learn(&self, protocol: Protocol, failed: &FailedRequest, options: RequestOptions) -> Option<RequestOptions> {
        let api_error = failed.api_error.as_ref()?;
        let mut known = self.known();
        known.context_window = api_error.context_window().or(known.context_window);
        let has_path = !matches!(api_error.status, Some(404 | 405 | 501));
        if protocol == Protocol::OpenAiResponses && self.chat.is_some() && !has_path {
            known.lacks_responses = true;
            return Some(options);
        }
        if let Some(corrected) = options.corrected(api_error) {
            known.options = corrected;
            return Some(corrected);
        }
        // The remaining room differs between conversations, so the limit is not remembered.
        options.in_remaining_tokens(api_error)
    }
}

impl Model for HttpModel {
    fn name(&self) -> String {
        format!("{}/{}", self.target().provider, self.target().model)
    }

    fn recorded(&self) -> Option<RecordedModel> {
        Some(RecordedModel { name: self.name(), at_custom_address: self.target().is_custom })
    }

    fn context_window(&self) -> Option<u64> {
        let Target { provider, model, .. } = &**self.target();
        self.known().context_window.or_else(|| context_windows::context_window(provider, model))
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let response = InFlight {
            connection: Connection::Unsent { model: self, request, options: self.known().options },
            sse: Parser::default(),
            reader: response_reader(self.protocol),
            output: Output::new(self.target().clone()),
            error: None,
        };
        Box::pin(stream::unfold(response, |mut response| async move { Some((response.next().await?, response)) }))
    }
}

fn response_reader(protocol: Protocol) -> Box<dyn ResponseReader> {
    match protocol {
        Protocol::Anthropic => Box::<anthropic::AnthropicReader>::default(),
        Protocol::OpenAiResponses => Box::<openai_responses::ResponsesReader>::default(),
        Protocol::OpenAiChat => Box::<openai_chat::ChatReader>::default(),
        Protocol::Gemini => Box::<gemini::GeminiReader>::default(),
    }
}

/// A request, and the part of its response that was read so far.
struct InFlight<'a> {
    connection: Connection<'a>,
    sse: Parser,
    reader: Box<dyn ResponseReader>,
    output: Output,
    /// The error to return after the remaining output; `None` without an error.
    error: Option<ModelError>,
}

enum Connection<'a> {
    Unsent { model: &'a HttpModel, request: ModelRequest<'a>, options: RequestOptions },
    Streaming(Response),
    Finished,
}

impl InFlight<'_> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.output.events.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                self.connection = Connection::Finished;
                return Some(Err(error));
            }
            match &mut self.connection {
                Connection::Unsent { model, request, options } => {
                    let (protocol, endpoint) = model.endpoint();
                    self.reader = response_reader(protocol);
                    match endpoint.post(&model.body(protocol, request, *options)).await {
                        Ok(ResponseBody::Stream(response)) => self.connection = Connection::Streaming(response),
                        Ok(ResponseBody::Json(json, not_a_response)) => self.read_json(json, not_a_response),
                        // The request is retried immediately with fewer options. Options run out, so the retries end.
                        Err(failed) => match model.learn(protocol, &failed, *options) {
                            Some(other) => *options = other,
                            None => self.error = Some(failed.error),
                        },
                    }
                }
                Connection::Streaming(response) => match response.chunk().await {
                    Ok(Some(bytes)) => self.read_chunk(&bytes),
                    Ok(None) => self.end_of_stream("the connection was closed before the response was complete"),
                    Err(error) => self.end_of_stream(&transport_error(error)),
                },
                Connection::Finished => return None,
            }
        }
    }

    fn read_chunk(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let malformed = self.sse.push(bytes, &mut events).err();
        for event in &events {
            match self.read_event(&event.data) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    // Data after the end of the response is ignored.
                    self.sse = Parser::default();
                    return self.end_of_stream("it ended before the response was complete");
                }
                Err(error) => return self.error = Some(error),
            }
        }
        self.error = malformed.map(|malformed| self.output.target.protocol_error(malformed));
    }

    fn read_event(&mut self, data: &str) -> Result<ControlFlow<()>, ModelError> {
        if data.trim().is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        if data.trim() == "[DONE]" {
            self.reader.done();
            return Ok(ControlFlow::Break(()));
        }
        let not_json = |error| self.output.target.protocol_error(format_args!("an event is not JSON: {error}"));
        self.read_value(&serde_json::from_str(data).map_err(not_json)?)
    }

    fn read_value(&mut self, event: &Value) -> Result<ControlFlow<()>, ModelError> {
        self.output.check(event)?;
        self.reader.read(event, &mut self.output)
    }

    /// Reads a response without streaming. It is one event, or an array with one event per element.
    fn read_json(&mut self, json: Value, not_a_response: ModelError) {
        self.connection = Connection::Finished;
        let parts = json.as_array().map_or(std::slice::from_ref(&json), Vec::as_slice);
        match parts.iter().try_for_each(|part| self.read_value(part).map(drop)) {
            Ok(()) => self.finish(not_a_response),
            Err(error) => self.error = Some(error),
        }
    }

    fn end_of_stream(&mut self, why: &str) {
        self.connection = Connection::Finished;
        let interrupted = self.output.target.interrupted(why);
        match self.sse.end().map(|event| self.read_event(&event.data)) {
            // A truncated event cannot be parsed; the interruption is the cause.
            Some(Err(error)) if error.kind == FailureKind::Protocol => self.error = Some(interrupted),
            Some(Err(error)) => self.error = Some(error),
            _ => self.finish(interrupted),
        }
    }

    fn finish(&mut self, unfinished: ModelError) {
        let completion = self.reader.end(&mut self.output);
        self.error = completion.and_then(|completion| self.output.end(completion, unfinished)).err();
    }
}
