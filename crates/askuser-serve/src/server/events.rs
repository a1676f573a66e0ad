//! Streams events as server-sent events.
//!
//! One watch of the store serves all streams, and exists as long as there are streams. The events of a question go to
//! people and to the streams of its asker's credential. Other streams are not woken. A stream that is too slow for its
//! queue gets a gap. A stream ends with the server, with the revocation of its credential, and after a time limit.
//! Event numbers make reconnecting cheap.

use super::call::{Call, Participant};
use super::reply::{Reply, ok, raw};
use super::{Body, Caller, Response, Server};
use crate::api::{After, Code, Events, Problem};
use askuser::Via;
use askuser::store::{Change, CredentialScope, Principal, QuestionId, Scope, StoreError, StoreEvent, Watch, Watched};
use bytes::Bytes;
use futures_util::future::try_join_all;
use futures_util::stream::{self, FuturesOrdered, StreamExt};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde_json::json;
use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The queue lengths for slow streams: of all events, and of the events for one credential.
const QUEUE: usize = 1024;
const OWN_QUEUE: usize = 64;
/// The number of events replayed to a returning stream. More events become a gap.
const REPLAYED: u32 = 1000;

/// A message to all streams.
#[derive(Clone)]
enum StreamMessage {
    /// An event of a question.
    Event(Arc<QuestionEvent>),
    /// The watch of the store has lagged.
    Gap,
    Heartbeat,
}

struct QuestionEvent {
    seq: u64,
    /// The credential that asked. Its streams and those of all people get the event.
    asker: Option<String>,
    frame: Bytes,
}

#[derive(Default)]
pub(super) struct Channels {
    /// The senders, by the credential whose questions they report; `None` for all questions.
    to: HashMap<Option<String>, broadcast::WeakSender<StreamMessage>>,
    /// The revocations that a task waits for, by the id of their credential.
    revocations: HashMap<String, Weak<CancellationToken>>,
    /// Whether a task sends to the channels.
    is_pumped: bool,
}

impl Channels {
    fn sender(&self, of: &Option<String>) -> Option<broadcast::Sender<StreamMessage>> {
        self.to.get(of).and_then(broadcast::WeakSender::upgrade)
    }

    /// Sends a message to the streams that it concerns. Returns whether any streams are left.
    fn tell(&mut self, told: &StreamMessage) -> bool {
        if let StreamMessage::Event(heard) = told {
            let of_asker = heard.asker.as_ref().and_then(|_| self.sender(&heard.asker));
            for sender in self.sender(&None).into_iter().chain(of_asker) {
                let _ = sender.send(told.clone());
            }
            return true;
        }
        self.to.retain(|_, sender| match sender.upgrade() {
            Some(sender) => {
                let _ = sender.send(told.clone());
                true
            }
            None => false,
        });
        self.revocations.retain(|_, revocation| revocation.strong_count() > 0);
        self.is_pumped = !(self.to.is_empty() && self.revocations.is_empty());
        self.is_pumped
    }

    /// Revokes all credentials except these.
    fn revoke_others(&mut self, live: &HashSet<String>) {
        for (id, revocation) in &self.revocations {
            if let Some(revocation) = revocation.upgrade().filter(|_| !live.contains(id)) {
                revocation.cancel();
            }
        }
    }
}

/// Returns the credential whose questions a caller may follow; `None` for all questions.
fn heard_by(caller: &Caller) -> Option<String> {
    (caller.scope() == CredentialScope::Ask).then(|| caller.name().to_owned())
}

/// Returns a principal that follows all events.
fn follower() -> Principal {
    Principal::person("askuser serve", Via::Web)
}

/// Returns a principal that reads all questions.
fn reader() -> Principal {
    Principal::person("", Via::Policy)
}

impl Server {
    /// Subscribes to the questions of this credential, or to all questions. The streams hold the sender, so the watch
    /// ends with the last stream.
    async fn subscribe(
        self: &Arc<Server>,
        of: Option<String>,
    ) -> Result<(Arc<broadcast::Sender<StreamMessage>>, broadcast::Receiver<StreamMessage>), StoreError> {
        let mut channels = self.channels.lock().await;
        if let Some(sender) = channels.sender(&of).filter(|_| channels.is_pumped) {
            let receiver = sender.subscribe();
            return Ok((Arc::new(sender), receiver));
        }
        self.start_pump(&mut channels).await?;
        let (sender, receiver) = broadcast::channel(if of.is_some() { OWN_QUEUE } else { QUEUE });
        channels.to.insert(of, sender.downgrade());
        Ok((Arc::new(sender), receiver))
    }

    async fn start_pump(self: &Arc<Server>, channels: &mut Channels) -> Result<(), StoreError> {
        if !channels.is_pumped {
            let watch = self.store.watch(&follower(), &Watched::All).await?;
            let revocations = self.credentials.watch_revocations().await?;
            channels.is_pumped = true;
            tokio::spawn(self.clone().pump(watch, revocations));
        }
        Ok(())
    }

    /// Returns a token that is cancelled when the credential is revoked; `None` if the credential is revoked already.
    pub(super) async fn revocation(self: &Arc<Server>, id: &str) -> Result<Option<Arc<CancellationToken>>, StoreError> {
        let revocation = {
            let mut channels = self.channels.lock().await;
            self.start_pump(&mut channels).await?;
            let known = channels.revocations.get(id).and_then(Weak::upgrade);
            let revocation = known.unwrap_or_default();
            channels.revocations.insert(id.to_owned(), Arc::downgrade(&revocation));
            revocation
        };
        // The credential may have been revoked before.
        Ok(self.credentials.credential(id).await?.map(|_| revocation))
    }

    /// Completes when a credential is revoked, or immediately if it is revoked already.
    pub(super) async fn until_revoked(self: &Arc<Server>, id: &str) {
        loop {
            match self.revocation(id).await {
                Ok(Some(revocation)) => return revocation.cancelled().await,
                Ok(None) => return,
                Err(_) => tokio::time::sleep(self.options.heartbeat).await,
            }
        }
    }

    /// Sends messages to the streams as long as there are any.
    async fn pump(self: Arc<Server>, mut watch: Watch, mut revocations: Watch) {
        let mut heartbeat = tokio::time::interval(self.options.heartbeat);
        heartbeat.tick().await;
        // The events whose questions are being read. The reads are concurrent, so that a busy store delays none of
        // them. The streams get the events in order.
        let mut read = FuturesOrdered::<Pin<Box<dyn Future<Output = Option<StreamMessage>> + Send>>>::new();
        loop {
            let told = tokio::select! {
                change = watch.next(), if read.len() < QUEUE => {
                    match change {
                        Change::Event(event) => {
                            let question = self.store.get(&reader(), &(&event.id).into());
                            read.push_back(Box::pin(async move {
                                match question.await {
                                    Ok(question) => {
                                        let asker = question.request.origin().credential.clone();
                                        let heard = QuestionEvent { seq: event.seq, asker, frame: event_frame(&event) };
                                        Some(StreamMessage::Event(Arc::new(heard)))
                                    }
                                    Err(StoreError::NotFound(_)) => None,
                                    // The question's owner cannot be read, so the clients of all streams must read all
                                    // questions again.
                                    Err(_) => Some(StreamMessage::Gap),
                                }
                            }));
                        }
                        Change::Lagged => read.push_back(Box::pin(std::future::ready(Some(StreamMessage::Gap)))),
                        Change::Disconnected(_) => break,
                    }
                    continue;
                }
                Some(read) = read.next() => match read {
                    Some(told) => told,
                    None => continue,
                },
                // If the credentials cannot be read, all streams end. Their clients reconnect with their tokens.
                _ = revocations.next() => {
                    let live = self.live().await.unwrap_or_default();
                    self.channels.lock().await.revoke_others(&live);
                    continue;
                }
                _ = heartbeat.tick() => StreamMessage::Heartbeat,
            };
            if !self.channels.lock().await.tell(&told) {
                return;
            }
        }
        // The store is closed. The streams end, and their clients learn the reason when they reconnect.
        let mut channels = self.channels.lock().await;
        channels.revoke_others(&HashSet::new());
        *channels = Channels::default();
    }

    async fn live(&self) -> Option<HashSet<String>> {
        Some(self.credentials.credentials().await.ok()?.into_iter().map(|known| known.made.id).collect())
    }

    pub(super) async fn events(self: Arc<Server>, caller: Participant, call: Call<After>) -> Reply<Events> {
        let no_number = |id: &str| Problem::new(Code::BadRequest, format!("Last-Event-ID: {id:?} is no number"));
        let last = call.header("last-event-id").map(|id| id.parse().map_err(|_| no_number(id))).transpose()?;
        let after = last.or(call.query.after);
        let is_stream = call.header(ACCEPT).is_some_and(|kinds| kinds.contains("text/event-stream"));
        if !is_stream {
            return self.list_events(&caller, after.unwrap_or_default(), call.query.limit).await;
        }
        // The subscription begins before the past is read, so that no event is lost in between.
        let (sender, receiver) = self.subscribe(heard_by(&caller)).await?;
        let stretch = self.store.events(&follower(), after.unwrap_or(u64::MAX), REPLAYED).await?;
        let is_cut = stretch.events.last().is_some_and(|event| event.seq < stretch.last);
        let is_gap = after.is_some() && (stretch.gap || is_cut);
        let first = if is_gap { "gap" } else { "resumed" };
        let mut frames = VecDeque::from([Bytes::from_static(b"retry: 1000\n")]);
        let begins = if is_gap || after.is_none() { stretch.last } else { after.unwrap_or_default() };
        frames.push_back(frame(None, first, &json!({ "seq": begins }).to_string()));
        if after.is_some() && !is_gap {
            let theirs = self.theirs(&caller, stretch.events).await?;
            frames.extend(theirs.iter().map(event_frame));
        }
        let stream = Stream {
            frames,
            receiver: Some(receiver),
            _sender: sender,
            told: stretch.last,
            until: Instant::now() + self.options.stream,
            end: self.end.clone(),
        };
        let mut reply = Response::new(Body::new(StreamBody::new(stream::unfold(stream, Stream::next))));
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        // A proxy that buffers replies would hold events back.
        reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        raw(reply)
    }

    /// Returns the events that a caller may see. A person sees all events. For an agent, the questions are read
    /// concurrently, and each of them once. An unreadable question is an error, so that it does not pass for another
    /// asker's.
    async fn theirs(&self, caller: &Caller, events: Vec<StoreEvent>) -> Result<Vec<StoreEvent>, StoreError> {
        let principal = caller.principal();
        if matches!(principal.scope(), Scope::Everything | Scope::Person(_)) {
            return Ok(events);
        }
        let ids: HashSet<QuestionId> = events.iter().map(|event| event.id.clone()).collect();
        let reads = ids.into_iter().map(|id| {
            let read = self.store.get(&principal, &(&id).into());
            async move {
                match read.await {
                    Ok(_) => Ok(Some(id)),
                    Err(StoreError::NotFound(_) | StoreError::Forbidden(_)) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        });
        let theirs: HashSet<QuestionId> = try_join_all(reads).await?.into_iter().flatten().collect();
        Ok(events.into_iter().filter(|event| theirs.contains(&event.id)).collect())
    }

    async fn list_events(&self, caller: &Caller, after: u64, limit: Option<u32>) -> Reply<Events> {
        let stretch = self.store.events(&follower(), after, limit.unwrap_or(REPLAYED).min(REPLAYED)).await?;
        // The events of other askers are left out. The next page still begins after them.
        let next = stretch.events.last().map_or(after, |event| event.seq);
        let events = self.theirs(caller, stretch.events).await?;
        ok(Events { events, gap: stretch.gap, next, last: stretch.last })
    }
}

/// A stream to one client.
struct Stream {
    /// The frames to send first.
    frames: VecDeque<Bytes>,
    /// The receiver of messages; `None` once the stream has sent its last event.
    receiver: Option<broadcast::Receiver<StreamMessage>>,
    _sender: Arc<broadcast::Sender<StreamMessage>>,
    /// The number of the last event that was sent or is older than the stream.
    told: u64,
    until: Instant,
    end: CancellationToken,
}

impl Stream {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, Infallible>, Stream)> {
        if let Some(frame) = self.frames.pop_front() {
            return Some((Ok(Frame::data(frame)), self));
        }
        let receiver = self.receiver.as_mut()?;
        let frame = loop {
            let told = tokio::select! {
                biased;
                () = self.end.cancelled() => break self.bye("shutdown"),
                told = receiver.recv() => told,
            };
            match told {
                Ok(StreamMessage::Event(heard)) => {
                    if heard.seq > self.told {
                        self.told = heard.seq;
                        break heard.frame.clone();
                    }
                }
                Ok(StreamMessage::Gap) | Err(RecvError::Lagged(_)) => break frame(None, "gap", "{}"),
                Ok(StreamMessage::Heartbeat) if Instant::now() >= self.until => break self.bye("time"),
                Ok(StreamMessage::Heartbeat) => break Bytes::from_static(b": heartbeat\n\n"),
                Err(RecvError::Closed) => return None,
            }
        };
        Some((Ok(Frame::data(frame)), self))
    }

    fn bye(&mut self, why: &str) -> Bytes {
        self.receiver = None;
        bye(why)
    }
}

/// Returns the last event of a stream.
pub(super) fn bye(why: &str) -> Bytes {
    frame(None, "bye", &json!({ "why": why }).to_string())
}

fn event_frame(event: &StoreEvent) -> Bytes {
    frame(Some(event.seq), "question", &json!(event).to_string())
}

fn frame(id: Option<u64>, event: &str, data: &str) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {event}\ndata: {data}\n\n").into()
}
