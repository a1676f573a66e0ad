//! One call: from what the model sent to what it reads.

use crate::client::Patience;
use crate::dialog::Dialog;
use crate::form::{Choices, is_short};
use crate::rounds::Next;
use crate::server::Server;
use crate::{key, results};
use askuser::store::StoreError;
use askuser::{
    AskError, Asker, Context, Decision, Delivery, Origin, Purpose, QuestionSet, Request, Via, report, sanitize,
};
use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, ErrorData, InputResponses, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::RequestContext;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, sleep_until};

/// How often a client hears that somebody is still waited for.
const PROGRESS: Duration = Duration::from_secs(15);

/// What a client that does not say its name is called.
const NAMELESS: &str = "an MCP client";

/// What waiting came to.
pub(crate) enum Waited {
    /// There is a resolution.
    Resolved(Delivery),
    /// Nobody has answered before the client gives up.
    NotYet(String),
    /// A person has withdrawn the question.
    Withdrawn,
    /// The client has stopped waiting, and the question stays open; nobody reads what is returned.
    Left,
    /// It could not be asked.
    Failed(String),
}

impl Server {
    /// `AskUserQuestion`.
    pub(crate) async fn ask(
        &self,
        arguments: Value,
        responses: Option<InputResponses>,
        state: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let set = match QuestionSet::parse(arguments, &self.options.rules) {
            Ok(set) => set,
            Err(violations) => return Ok(results::refused(report::rejection(&violations)).into()),
        };
        let resumed = self.resumed(&set, responses, state.as_deref(), context).await;
        let (request, round) = match resumed {
            Some((request, round)) => (request, Some(round)),
            None => match self.request(set, None, Purpose::Question, context).await {
                Ok(request) => (request, None),
                Err(error) => return Ok(could_not_ask(&error.chain()).into()),
            },
        };
        let request = match self.inbox.asker(None).decide(&request) {
            Decision::Settled(resolution) => return Ok(results::resolved(request.set(), &resolution).into()),
            // Answers that do not fit a question are no answers to it.
            Decision::Ask(known) => request.clone().with_known(known).unwrap_or(request),
        };
        if let (Some(choices), true, Some(codec)) =
            (self.choices(&request, context), is_stateless(context), &self.codec)
        {
            return match self.round(&request, choices, codec, round, context).await {
                Next::Show(forms) => Ok(forms.into()),
                Next::Waited(waited) => self.reply(&request, waited, context),
            };
        }
        let waited = self.wait_beside_dialog(&request, context).await;
        self.reply(&request, waited, context)
    }

    /// `AskUserQuestionResult`: a ticket is the id of a question of this very client in this very folder.
    pub(crate) async fn redeem(
        &self,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(ticket) = arguments["ticket"].as_str().map(|ticket| ticket.trim().to_owned()) else {
            return Ok(results::refused("ticket: missing, must be the ticket that AskUserQuestion returned").into());
        };
        let session = key::session(&self.origin(context));
        let (store, id) = (self.inbox.store(), ticket.clone());
        let found = blocking(move || store.get(&id)).await;
        let question = match found {
            Ok(question) if question.id == ticket && question.request.key().session() == session => question,
            Ok(_) | Err(StoreError::NoSuchQuestion(_) | StoreError::Ambiguous { .. }) => {
                let why = format!("ticket: {:?} is none of yours; call AskUserQuestion", sanitize::line(&ticket));
                return Ok(results::refused(why).into());
            }
            Err(error) => return Ok(could_not_ask(&error.chain()).into()),
        };
        let waited = self.wait_beside_dialog(&question.request, context).await;
        self.reply(&question.request, waited, context)
    }

    /// A question as a record: new, or the one that the same client has asked in the same folder and not heard about.
    pub(crate) async fn request(
        &self,
        set: QuestionSet,
        about: Option<Context>,
        purpose: Purpose,
        context: &RequestContext<RoleServer>,
    ) -> Result<Request, StoreError> {
        let (store, origin, deadline) = (self.inbox.store(), self.origin(context), self.options.deadline);
        blocking(move || {
            let key = key::key(&*store, &key::session(&origin), &set, about.as_ref(), purpose, now_ms())?;
            Ok(Request::new(key, set).with_origin(origin).with_context(about).with_deadline(deadline))
        })
        .await
    }

    /// Asks through the inbox, and in the client's dialog if it has one.
    pub(crate) async fn wait_beside_dialog(&self, request: &Request, context: &RequestContext<RoleServer>) -> Waited {
        match self.choices(request, context).filter(|_| !is_stateless(context)) {
            None => self.wait(request, None, None, context).await,
            Some(choices) => {
                let dialog = Arc::new(Dialog::new(context.peer.clone(), choices, self.inbox.store()));
                self.wait(request, Some(dialog.clone()), Some(&dialog), context).await
            }
        }
    }

    /// Asks, and waits for as long as the client does.
    pub(crate) async fn wait(
        &self,
        request: &Request,
        beside: Option<Arc<dyn Asker>>,
        dialog: Option<&Dialog>,
        context: &RequestContext<RoleServer>,
    ) -> Waited {
        let asker = self.inbox.asker(beside);
        let version = context.client_info().map(|client| client.version.clone()).unwrap_or_default();
        let patience = Patience::with(self.options.limit, &client_name(context), &version);
        let token = context.meta.get_progress_token();
        let started = Instant::now();
        let mut asking = asker.ask(request);
        let mut told = 0_u32;
        loop {
            let has_dialog = dialog.is_some_and(Dialog::is_open);
            let limit = started + patience.limit(token.is_some(), has_dialog);
            let next_word = started + PROGRESS * (told + 1);
            tokio::select! {
                answered = &mut asking => {
                    let (request, seconds) = (&context.id, started.elapsed().as_secs());
                    return match answered {
                        Ok(delivery) => {
                            // What was said is nobody's business here.
                            let resolution = delivery.resolution();
                            let (status, via) = (resolution.outcome().status().name(), resolution.via().map(Via::name));
                            tracing::info!(%request, seconds, status, via, "has an end");
                            Waited::Resolved(delivery)
                        }
                        Err(AskError::Withdrawn) => {
                            tracing::info!(%request, seconds, "was withdrawn");
                            Waited::Withdrawn
                        }
                        Err(error) => {
                            tracing::error!(%request, error = error.chain(), "could not be asked");
                            Waited::Failed(error.chain())
                        }
                    };
                }
                () = context.ct.cancelled() => {
                    tracing::info!(request = %context.id, "the client has stopped waiting");
                    drop(asking);
                    return self.leave(request).await;
                }
                () = self.closed.cancelled() => {
                    tracing::info!(request = %context.id, "the client is gone");
                    drop(asking);
                    return self.leave(request).await;
                }
                () = sleep_until(limit) => {
                    // A dialog may have opened since.
                    if Instant::now() >= started + patience.limit(token.is_some(), dialog.is_some_and(Dialog::is_open)) {
                        break;
                    }
                }
                () = sleep_until(next_word), if token.is_some() => {
                    told += 1;
                    if let Some(token) = token.clone() {
                        let words = self.still_waiting(request).await;
                        let progress = ProgressNotificationParam::new(token, f64::from(told)).with_message(words);
                        // A client that does not listen learns it from the result.
                        let _ = context.peer.notify_progress(progress).await;
                    }
                }
            }
        }
        // Detached before the client hears of it: it may be back at once.
        drop(asking);
        tracing::info!(request = %context.id, seconds = started.elapsed().as_secs(), "returns before the client gives up");
        match self.id(request).await {
            Some(id) => Waited::NotYet(id),
            None => Waited::Failed("it could not be kept in time".into()),
        }
    }

    /// The client waits no longer. Its question stays open, also if it left before that was kept: it may come back for the answer.
    async fn leave(&self, request: &Request) -> Waited {
        if self.id(request).await.is_some() {
            return Waited::Left;
        }
        let (inbox, request) = (self.inbox.clone(), request.clone());
        let kept = blocking(move || {
            let question = inbox.put(&request)?;
            match question.ending {
                None => inbox.store().detach(&question.id),
                Some(_) => Ok(()),
            }
        });
        match kept.await {
            Ok(()) => Waited::Left,
            Err(error) => Waited::Failed(error.chain()),
        }
    }

    /// What the model reads. An answer counts as delivered once it is on its way.
    pub(crate) fn reply(
        &self,
        request: &Request,
        waited: Waited,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match waited {
            Waited::Resolved(delivery) => {
                let result = results::resolved(request.set(), delivery.resolution());
                self.deliveries.leaving(&context.id, delivery);
                result
            }
            Waited::NotYet(id) => results::not_yet(&id),
            Waited::Withdrawn => results::withdrawn(),
            Waited::Failed(why) => could_not_ask(&why),
            Waited::Left => return Err(ErrorData::internal_error("stopped waiting; the question stays open", None)),
        };
        Ok(result.into())
    }

    /// Who asks, and where.
    pub(crate) fn origin(&self, context: &RequestContext<RoleServer>) -> Origin {
        self.options.origin.clone().with_agent(client_name(context))
    }

    /// How a client can show a question by itself, if it can.
    fn choices(&self, request: &Request, context: &RequestContext<RoleServer>) -> Option<Choices> {
        let (capabilities, version) = (context.client_capabilities(), context.protocol_version());
        let choices = Choices::of(&client_name(context), capabilities.as_ref(), version.as_ref(), request.set());
        choices.filter(|_| is_short(request))
    }

    pub(crate) async fn id(&self, request: &Request) -> Option<String> {
        let (store, key) = (self.inbox.store(), request.key().clone());
        blocking(move || store.id_of(&key)).await.ok().flatten()
    }

    async fn still_waiting(&self, request: &Request) -> String {
        match self.id(request).await {
            Some(id) => format!("Waiting for the user: `{}`", results::how_to_answer(&id)),
            None => "Waiting for the user: `askuser inbox`".into(),
        }
    }
}

pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn could_not_ask(why: &str) -> rmcp::model::CallToolResult {
    results::refused(format!("The user could not be asked: {why}. Do not assume an answer."))
}

/// Whether the client is asked by results rather than by requests of ours.
fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

fn client_name(context: &RequestContext<RoleServer>) -> String {
    let name = context.client_info().map(|client| sanitize::line(&client.name).trim().to_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| NAMELESS.into())
}

/// What takes as long as a disk does, away from the thread that reads and writes.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(StoreError::broken("cannot use the inbox", error.to_string())))
}
