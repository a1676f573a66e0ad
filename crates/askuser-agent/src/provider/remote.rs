//! A model behind HTTP: the request in its protocol's shape goes out, the answer comes back as it is written.

use super::choice::Protocol;
use super::complaint::Addressee;
use super::endpoint::{Endpoint, Reply, Whole, reason};
use super::sse::{Event, Parser};
use super::wire::{Flow, Reader, Status};
use super::{anthropic, gemini, openai};
use crate::model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Responding};
use futures_util::stream;
use reqwest::Response;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;

/// A model behind HTTP.
pub(super) struct Remote {
    pub(super) protocol: Protocol,
    pub(super) endpoint: Endpoint,
    pub(super) max_tokens: Option<u32>,
}

impl Remote {
    fn addressee(&self) -> &Arc<Addressee> {
        &self.endpoint.addressee
    }

    fn body(&self, request: &ModelRequest<'_>) -> Value {
        match self.protocol {
            Protocol::Anthropic => anthropic::body(request, self.addressee(), self.max_tokens),
            Protocol::OpenAi => openai::body(request, self.addressee(), self.max_tokens),
            Protocol::Gemini => gemini::body(request, self.addressee(), self.max_tokens),
        }
    }

    fn reader(&self) -> Box<dyn Reader> {
        match self.protocol {
            Protocol::Anthropic => Box::new(anthropic::Answer::new(self.addressee().clone())),
            Protocol::OpenAi => Box::new(openai::Answer::new(self.addressee().clone())),
            Protocol::Gemini => Box::new(gemini::Answer::new(self.addressee().clone())),
        }
    }
}

impl Model for Remote {
    fn name(&self) -> String {
        format!("{}/{}", self.addressee().provider, self.addressee().model)
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> Responding<'a> {
        let body = self.body(&request);
        let answer = Answering {
            source: Source::Unsent(&self.endpoint, body),
            addressee: self.addressee(),
            parser: Parser::default(),
            reader: self.reader(),
            told: VecDeque::new(),
            failed: None,
        };
        Box::pin(stream::unfold(answer, |mut answer| async move { Some((answer.next().await?, answer)) }))
    }
}

/// An answer that is being read.
struct Answering<'a> {
    source: Source<'a>,
    addressee: &'a Addressee,
    parser: Parser,
    reader: Box<dyn Reader>,
    /// What was read and not yet told.
    told: VecDeque<ModelEvent>,
    /// What comes after that.
    failed: Option<ModelError>,
}

enum Source<'a> {
    Unsent(&'a Endpoint, Value),
    Open(Response),
    Over,
}

impl Answering<'_> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            if let Some(event) = self.told.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.source = Source::Over;
                return Some(Err(error));
            }
            match &mut self.source {
                Source::Unsent(endpoint, body) => match endpoint.post(body).await {
                    Ok(Reply::Events(response)) => self.source = Source::Open(response),
                    Ok(Reply::Whole(answer)) => self.take_whole(answer),
                    Err(error) => self.failed = Some(error),
                },
                Source::Open(response) => match response.chunk().await {
                    Ok(Some(bytes)) => self.take(&bytes),
                    Ok(None) => self.end("the connection was closed before the answer was finished"),
                    Err(error) => self.end(&reason(error)),
                },
                Source::Over => return None,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let malformed = self.parser.push(bytes, &mut events).err();
        for event in &events {
            match self.read(event) {
                Ok(Flow::More) => {}
                Ok(Flow::Over) => {
                    // Whatever follows is no part of the answer.
                    self.parser = Parser::default();
                    return self.end("it ended in the middle");
                }
                Err(error) => return self.failed = Some(error),
            }
        }
        self.failed = malformed.map(|malformed| self.addressee.misunderstood(malformed));
    }

    /// Everything came at once.
    fn take_whole(&mut self, Whole { json, no_answer }: Whole) {
        self.source = Source::Over;
        match self.read(&Event { name: String::new(), data: json }) {
            Ok(_) => self.finish(no_answer),
            Err(error) => self.failed = Some(error),
        }
    }

    fn read(&mut self, event: &Event) -> Result<Flow, ModelError> {
        let mut told = Vec::new();
        let flow = self.reader.read(event, &mut told);
        self.told.extend(told);
        flow
    }

    /// Nothing more comes.
    fn end(&mut self, why: &str) {
        self.source = Source::Over;
        if let Some(event) = self.parser.end()
            && let Err(error) = self.read(&event)
        {
            // An event that the end has cut cannot be understood; that it was cut is what matters.
            let is_cut = error.kind == ModelErrorKind::Protocol;
            self.failed = Some(if is_cut { self.addressee.cut_off(why) } else { error });
            return;
        }
        self.finish(self.addressee.cut_off(why));
    }

    /// Tells what was held back, and fails if the provider has not finished.
    fn finish(&mut self, unfinished: ModelError) {
        let mut told = Vec::new();
        let ending = self.reader.end(&mut told);
        self.told.extend(told);
        match ending {
            Ok(Status::Whole) => {}
            Ok(Status::AtLimit) => self.told.push_back(ModelEvent::Cut),
            Ok(Status::Unfinished) => self.failed = Some(unfinished),
            Err(error) => self.failed = Some(error),
        }
    }
}
