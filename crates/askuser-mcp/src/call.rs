//! A call of a tool, from the model's input to the result for the model.

use crate::client::ClientFacts;
use crate::dialog::Dialog;
use crate::exchange::Exchange;
use crate::form::{Choices, is_short};
use crate::results;
use crate::rounds::Next;
use crate::series::{series, session};
use crate::server::{PROBE_CLIENT, Server, random_id};
use askuser::permission::reject_imitation;
use askuser::store::{Ending, Handle, Principal, Put, QuestionId, Series, StoreError, StoredQuestion};
use askuser::{
    AskError, Asker, Context, Decision, Delivery, Origin, Purpose, QuestionSet, Request, RequestKey, Via, report,
    sanitize,
};
use futures_util::future::OptionFuture;
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult, InputResponses, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep_until};

/// The interval of progress messages to a client while its call waits for a person.
const PROGRESS: Duration = Duration::from_secs(15);

/// The name of a client that sends no name.
const NAMELESS: &str = "an MCP client";

/// The end of a call without an answer.
pub(crate) enum Unanswered {
    /// The call was refused. The model reads this result.
    Refused(Box<CallToolResult>),
    /// No person answered before the client would give up.
    NotYet(QuestionId),
    /// A person has withdrawn the question, or the question could not be asked.
    Failed(AskError),
    /// The client has stopped waiting, and the question stays open.
    Left,
}

impl Unanswered {
    pub(crate) fn refused(result: CallToolResult) -> Unanswered {
        Unanswered::Refused(Box::new(result))
    }
}

/// A call of a client.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) context: &'a RequestContext<RoleServer>,
    /// The asker of the call's question.
    pub(crate) origin: Origin,
}

impl Call<'_> {
    /// Handles a call of `AskUserQuestion`.
    pub(crate) async fn ask(
        &self,
        mut arguments: Value,
        responses: Option<InputResponses>,
        state: Option<String>,
    ) -> Result<CallToolResponse, Unanswered> {
        let is_background = self.take_background(&mut arguments)?;
        let set = QuestionSet::parse(arguments, &self.server.options.rules)
            .and_then(|set| reject_imitation(set, []))
            .map_err(|violations| Unanswered::refused(results::refused(report::rejection(&violations))))?;
        let called = Instant::now();
        let (put, round) = match self.resumed(&set, responses, state.as_deref()).await {
            Some((put, round)) => (put, Some(round)),
            None => {
                let request = self.request(set, None, Purpose::Question);
                let request = if is_background { request.in_background() } else { request };
                let request = match self.server.options.chain.decide(&request) {
                    Decision::Settled(resolution) => {
                        return Ok(results::resolved(request.set(), &resolution, None).into());
                    }
                    // Prepared answers that do not fit the question are ignored.
                    Decision::Ask(known) => request.clone().with_known(known).unwrap_or(request),
                };
                (self.keep(request).await.map_err(not_asked)?, None)
            }
        };
        let question = put.question.clone();
        if is_background && question.ending.is_none() {
            return Ok(self.leave(put).await.into());
        }
        let delivery = match (self.choices(&question.request), is_stateless(self.context), &self.server.codec) {
            (Some(choices), true, Some(codec)) if choices != Choices::Elsewhere => {
                match self.round(put, choices, codec, round).await? {
                    Next::Show(forms) => return Ok(forms.into()),
                    Next::Answered(delivery) => delivery,
                }
            }
            _ => self.wait_with_dialog(put).await?,
        };
        if self.client().silent_after.is_some_and(|after| called.elapsed() >= after) {
            self.server.conversation.perhaps_missed(self.series(&question.request).name, &question.id);
        }
        Ok(self.reply(&question, delivery))
    }

    /// Handles a call of `AskUserQuestionResult`. A ticket is the id of a question of this client in this folder.
    /// Without a ticket, the call lists the questions of this conversation.
    pub(crate) async fn redeem(&self, arguments: &Value) -> Result<CallToolResponse, Unanswered> {
        let refused = |why: String| Err(Unanswered::refused(results::refused(why)));
        let withdraws = match &arguments["withdraw"] {
            Value::Null => false,
            Value::Bool(withdraws) => *withdraws,
            other => return refused(format!("withdraw: {other}, must be true or false")),
        };
        let ticket = match &arguments["ticket"] {
            Value::String(ticket) => ticket.trim(),
            Value::Null if withdraws => return refused("ticket: missing, must name the question to withdraw".into()),
            Value::Null => return Ok(self.list().await.into()),
            other => return refused(format!("ticket: {other}, must be a text that AskUserQuestion returned")),
        };
        let unknown = || {
            Unanswered::refused(results::refused(format!(
                "unknown ticket {:?}; call AskUserQuestion",
                sanitize::line(ticket)
            )))
        };
        let id = QuestionId::parse(ticket).ok_or_else(unknown)?;
        let find = async || {
            self.store().get(&id).await.map_err(|error| match error {
                StoreError::NotFound(_) | StoreError::Forbidden(_) => unknown(),
                error => not_asked(error),
            })
        };
        let mut question = find().await?;
        let key = question.request.key();
        // A permission counts only for the call that asked for it.
        if key.session != session(&self.origin) || key.purpose != Purpose::Question {
            return Err(unknown());
        }
        if withdraws {
            if let Some(result) = self.take_back(&id).await? {
                return Ok(result.into());
            }
            question = find().await?;
        }
        let put = self.attached(question.clone()).await.map_err(not_asked)?;
        let delivery = self.wait_with_dialog(put).await?;
        Ok(self.reply(&question, delivery))
    }

    /// Creates the request of a question.
    pub(crate) fn request(&self, set: QuestionSet, about: Option<Context>, purpose: Purpose) -> Request {
        let key = RequestKey::new(session(&self.origin), random_id()).for_purpose(purpose);
        let is_probe = self.context.client_info().is_some_and(|client| client.name == PROBE_CLIENT);
        let deadline = if is_probe { Some(Duration::ZERO) } else { self.server.options.deadline };
        Request::new(key, set).with_origin(self.origin.clone()).with_context(about).with_deadline(deadline)
    }

    /// Stores a question, or attaches to the open question of its series. A client that may have given up and asks the
    /// same again gets the answer that it missed.
    pub(crate) async fn keep(&self, request: Request) -> Result<Put, StoreError> {
        let series = self.series(&request);
        let put = match (self.server.conversation.missed(&series.name), self.asked_already(&request).await) {
            (Some(id), _) => self.attached(self.store().get(&id).await?).await,
            (None, Some(question)) => self.attached(question).await,
            (None, None) => self.server.inbox.keep(&request, Some(&series)).await,
        }?;
        self.server.conversation.asked.note(&put.question.id);
        Ok(put)
    }

    fn series(&self, request: &Request) -> Series {
        series(&self.origin, &self.server.conversation.id, request)
    }

    /// Attaches the call to a stored question.
    pub(crate) async fn attached(&self, question: StoredQuestion) -> Result<Put, StoreError> {
        let attachment = self.store().attach(&question.id).await?;
        Ok(Put { is_new: false, question, attachment })
    }

    /// Returns the store as this client uses it.
    pub(crate) fn store(&self) -> Handle {
        self.server.inbox.handle(Principal::agent(&self.origin))
    }

    /// Returns the store as the person at the client's dialog uses it.
    pub(crate) fn person(&self) -> Handle {
        let inbox = &self.server.inbox;
        inbox.handle(Principal::person(inbox.person(), Via::Elicitation))
    }

    /// Waits for the answer from the inbox, and from the client's dialog if the client has one.
    pub(crate) async fn wait_with_dialog(&self, put: Put) -> Result<Delivery, Unanswered> {
        let choices = self.choices(&put.question.request).filter(|_| !is_stateless(self.context));
        let dialog = choices.map(|choices| Dialog::new(self, choices, put.question.id.clone()));
        self.wait(put, dialog.as_ref()).await
    }

    /// Waits for the answer for as long as the client does.
    pub(crate) async fn wait(&self, put: Put, dialog: Option<&Dialog>) -> Result<Delivery, Unanswered> {
        let context = self.context;
        let id = put.question.id.clone();
        let request = put.question.request.clone();
        let version = context.client_info().map(|client| client.version.clone()).unwrap_or_default();
        let timeout = self.client().timeout(self.server.options.limit, &version);
        let token = context.meta.get_progress_token();
        let started = Instant::now();
        let mut asking = self.server.inbox.wait(put, &request, dialog.map(|dialog| dialog as &dyn Asker));
        let exchange = Exchange::of(context);
        let mut told = 0_u32;
        loop {
            let limit = || {
                let (is_open, uncounted) = dialog.map(Dialog::open_time).unwrap_or_default();
                started + uncounted + timeout.limit(token.is_some(), is_open)
            };
            let next_word = started + PROGRESS * told;
            tokio::select! {
                // A finished call needs no progress message.
                biased;
                answered = &mut asking => {
                    let request = &context.id;
                    let seconds = started.elapsed().as_secs();
                    let is_read = exchange.is_read().await;
                    return match answered {
                        Ok(delivery) if !is_read => {
                            // The answer stays stored for the next call.
                            drop(delivery);
                            Err(gone(context))
                        }
                        Ok(delivery) => {
                            // The log contains no answers.
                            let resolution = delivery.resolution();
                            let status = resolution.outcome().status().name();
                            let via = resolution.via().map(Via::name);
                            tracing::info!(%request, seconds, status, via, "has an end");
                            Ok(delivery)
                        }
                        Err(error) => {
                            match &error {
                                AskError::Withdrawn => tracing::info!(%request, seconds, "was withdrawn"),
                                _ => tracing::error!(%request, error = error.chain(), "could not be asked"),
                            }
                            Err(Unanswered::Failed(error))
                        }
                    };
                }
                () = context.ct.cancelled() => {
                    tracing::info!(request = %context.id, "the client has stopped waiting");
                    return Err(Unanswered::Left);
                }
                () = self.server.closed.cancelled() => return Err(gone(context)),
                () = exchange.gone() => return Err(gone(context)),
                // The closed form has changed the limit.
                Some(()) = OptionFuture::from(dialog.map(Dialog::closed)) => {}
                () = sleep_until(limit()) => {
                    // A dialog may have opened since the limit was computed.
                    if Instant::now() >= limit() {
                        break;
                    }
                }
                () = sleep_until(next_word), if token.is_some() => {
                    told += 1;
                    if let Some(token) = token.clone() {
                        let words = results::where_to_answer(&id);
                        let progress = ProgressNotificationParam::new(token, f64::from(told)).with_message(words);
                        if context.peer.notify_progress(progress).await.is_err() {
                            return Err(gone(context));
                        }
                    }
                }
            }
        }
        // The call detaches before the client gets the reply, because the client may call again immediately.
        drop(asking);
        tracing::info!(request = %context.id, seconds = started.elapsed().as_secs(), "returns before the client gives up");
        Err(Unanswered::NotYet(id))
    }

    /// Returns the result for the model, and attaches the delivery of the answer to it.
    fn reply(&self, question: &StoredQuestion, delivery: Delivery) -> CallToolResponse {
        let mut result = results::resolved(question.request.set(), delivery.resolution(), self.age(question));
        if question.request.is_in_background() {
            self.send(question, &mut result, delivery);
        } else {
            Exchange::of(self.context).leaving(delivery);
        }
        result.into()
    }

    /// Returns the client's way to show a question itself; `None` if the client has none.
    fn choices(&self, request: &Request) -> Option<Choices> {
        let capabilities = self.context.client_capabilities();
        let version = self.context.protocol_version();
        let dialogs = self.client().dialogs;
        let choices = Choices::of(dialogs, capabilities.as_ref(), version.as_ref(), request.set());
        choices.filter(|_| self.server.options.dialogs && is_short(request))
    }

    /// Returns the known facts about the client.
    fn client(&self) -> ClientFacts {
        ClientFacts::of(&client_name(self.context))
    }

    /// Returns the age of an earlier answer, and whether it is from before this conversation or from an earlier call.
    /// Returns `None` if the answer is for this call alone.
    fn age(&self, question: &StoredQuestion) -> Option<(Duration, &'static str)> {
        let ended = question.ending.as_ref().and_then(Ending::at_ms)?;
        let age = Duration::from_millis(question.read_ms.checked_sub(ended)?);
        if age > self.server.conversation.began.elapsed() {
            return Some((age, "before this conversation began"));
        }
        question.delivered_ms.map(|_| (age, "to an earlier call"))
    }
}

fn gone(context: &RequestContext<RoleServer>) -> Unanswered {
    tracing::info!(request = %context.id, "the client is gone");
    Unanswered::Left
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

pub(crate) fn not_asked(error: StoreError) -> Unanswered {
    Unanswered::refused(results::not_asked(&error.chain()))
}

/// Whether the client gets its dialogs in results, rather than in requests from the server.
pub(crate) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> String {
    let name = context.client_info().map(|client| sanitize::line(&client.name).trim().to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.into())
}
