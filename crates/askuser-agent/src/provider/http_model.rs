//! A [`Model`] reached over HTTP: encodes the request for its protocol, and decodes the response while it is streamed.

use super::catalog::Protocol;
use super::endpoint::{Endpoint, JsonBody, ResponseBody, transport_error};
use super::protocol::{Completion, Flow, ResponseReader};
use super::sse::{Parser, SseEvent};
use super::target::Target;
use super::{anthropic, gemini, openai};
use crate::event::FailureKind;
use crate::model::{Model, ModelError, ModelEvent, ModelRequest, ResponseStream};
use futures_util::stream;
use reqwest::Response;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// A model reached over HTTP.
pub(super) struct HttpModel {
    pub(super) protocol: Protocol,
    pub(super) endpoint: Endpoint,
    pub(super) max_tokens: Option<u32>,
}

impl HttpModel {
    fn target(&self) -> &Arc<Target> {
        &self.endpoint.target
    }

    fn body(&self, request: &ModelRequest<'_>) -> Value {
        match self.protocol {
            Protocol::Anthropic => anthropic::body(request, self.target(), self.max_tokens),
            Protocol::OpenAi => openai::body(request, self.target(), self.max_tokens),
            Protocol::Gemini => gemini::body(request, self.target(), self.max_tokens),
        }
    }

    fn response_reader(&self) -> Box<dyn ResponseReader> {
        let target = self.target().clone();
        match self.protocol {
            Protocol::Anthropic => Box::new(anthropic::AnthropicReader::new(target)),
            Protocol::OpenAi => Box::new(openai::OpenAiReader::new(target)),
            Protocol::Gemini => Box::new(gemini::GeminiReader::new(target)),
        }
    }
}

impl Model for HttpModel {
    fn name(&self) -> String {
        format!("{}/{}", self.target().provider, self.target().model)
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let body = self.body(&request);
        let response = InFlight {
            connection: Connection::Unsent(&self.endpoint, body),
            target: self.target(),
            sse: Parser::default(),
            reader: self.response_reader(),
            queue: VecDeque::new(),
            error: None,
        };
        Box::pin(stream::unfold(response, |mut response| async move { Some((response.next().await?, response)) }))
    }
}

/// A request and its response, as far as it has been read.
struct InFlight<'a> {
    connection: Connection<'a>,
    target: &'a Target,
    sse: Parser,
    reader: Box<dyn ResponseReader>,
    /// Events that have been read but not yet returned.
    queue: VecDeque<ModelEvent>,
    /// The error to return once the queue is empty.
    error: Option<ModelError>,
}

enum Connection<'a> {
    Unsent(&'a Endpoint, Value),
    Streaming(Response),
    Finished,
}

impl InFlight<'_> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.error.take() {
                self.connection = Connection::Finished;
                return Some(Err(error));
            }
            match &mut self.connection {
                Connection::Unsent(endpoint, body) => match endpoint.post(body).await {
                    Ok(ResponseBody::Stream(response)) => self.connection = Connection::Streaming(response),
                    Ok(ResponseBody::Json(body)) => self.read_json(body),
                    Err(error) => self.error = Some(error),
                },
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
            match self.read_event(event) {
                Ok(Flow::Continue) => {}
                Ok(Flow::Done) => {
                    // Ignore whatever follows.
                    self.sse = Parser::default();
                    return self.end_of_stream("it ended before the response was complete");
                }
                Err(error) => return self.error = Some(error),
            }
        }
        self.error = malformed.map(|malformed| self.target.protocol_error(malformed));
    }

    /// A response that did not stream is read as one event.
    fn read_json(&mut self, JsonBody { json, not_a_response }: JsonBody) {
        self.connection = Connection::Finished;
        match self.read_event(&SseEvent { name: String::new(), data: json }) {
            Ok(_) => self.finish(not_a_response),
            Err(error) => self.error = Some(error),
        }
    }

    fn read_event(&mut self, event: &SseEvent) -> Result<Flow, ModelError> {
        let mut output = Vec::new();
        let flow = self.reader.read(event, &mut output);
        self.queue.extend(output);
        flow
    }

    fn end_of_stream(&mut self, why: &str) {
        self.connection = Connection::Finished;
        if let Some(event) = self.sse.end()
            && let Err(error) = self.read_event(&event)
        {
            // A truncated event cannot be parsed; the interruption is what matters.
            let is_truncated = error.kind == FailureKind::Protocol;
            self.error = Some(if is_truncated { self.target.interrupted(why) } else { error });
            return;
        }
        self.finish(self.target.interrupted(why));
    }

    /// Queues what the reader held back, or `unfinished` if the provider has not completed the response.
    fn finish(&mut self, unfinished: ModelError) {
        let mut output = Vec::new();
        let completion = self.reader.end(&mut output);
        self.queue.extend(output);
        match completion {
            Ok(Completion::Complete) => {}
            Ok(Completion::TokenLimit) => self.queue.push_back(ModelEvent::Truncated),
            Ok(Completion::Unfinished) => self.error = Some(unfinished),
            Err(error) => self.error = Some(error),
        }
    }
}
