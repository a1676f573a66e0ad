//! Helpers for the tests. All helpers write to one [`Log`], so that a test can compare the whole order of events.

use askuser::{AskError, Asker, Asking, Delivery, Outcome, Purpose, Request, RequestKey, Resolution, Status, Via};
use askuser_agent::{
    Access, Agent, AgentEvent, Message, Model, ModelError, ModelEvent, ModelRequest, Registry, ResponseStream, Run,
    Running, Script, Tool, ToolCall, ToolContext, ToolDefinition, ToolResult, tools,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The events of a test in order, one line each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|other| *other == line).count()
    }
}

// ---- the person ----

/// A function that replies to a question as the person.
pub(crate) type Reply = Box<dyn Fn(&Request) -> Result<Delivery, AskError> + Send + Sync>;

/// A person who answers from a list, in order. A further question fails the test.
pub(crate) struct Person {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Request>>,
    log: Log,
    turn: tokio::sync::Mutex<()>,
}

impl Person {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Arc<Person> {
        Person::logging(&Log::default(), replies)
    }

    pub(crate) fn logging(log: &Log, replies: impl IntoIterator<Item = Reply>) -> Arc<Person> {
        let replies = Mutex::new(replies.into_iter().collect());
        Arc::new(Person { replies, asked: Mutex::default(), log: log.clone(), turn: tokio::sync::Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn log(&self) -> Log {
        self.log.clone()
    }

    /// Returns the first line of each question that was asked.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.asked().iter().map(|request| text_of(request).to_owned()).collect()
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            self.log.add(format!("asked {}", text_of(request)));
            self.asked.lock().unwrap().push(request.clone());
            pause().await;
            let reply = self.replies.lock().unwrap().pop_front().expect("asked more often than expected");
            let outcome = reply(request);
            self.log.add(format!("replied {}", text_of(request)));
            outcome
        })
    }
}

/// Returns a key in the form `TASK/CALL:purpose`.
pub(crate) fn name_of(key: &RequestKey) -> String {
    let tasks: String = key.tasks.iter().map(|task| format!("{task}/")).collect();
    let purpose = match key.purpose {
        Purpose::Question => String::new(),
        purpose => format!(":{purpose:?}").to_lowercase(),
    };
    format!("{tasks}{}{purpose}", key.call)
}

fn text_of(request: &Request) -> &str {
    request.set().questions()[0].text().lines().next().unwrap_or_default()
}

/// Yields often enough for all other tasks to proceed.
pub(crate) async fn pause() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

pub(crate) fn pick(label: &'static str) -> Reply {
    reply(Some(label), None, None)
}

pub(crate) fn pick_and_note(label: &'static str, note: &'static str) -> Reply {
    reply(Some(label), None, Some(note))
}

pub(crate) fn other(text: &'static str) -> Reply {
    reply(None, Some(text), None)
}

fn reply(label: Option<&'static str>, custom: Option<&'static str>, note: Option<&'static str>) -> Reply {
    Box::new(move |request| {
        let answers = request.set().questions().iter().map(|question| {
            let is_it = |name: &str| question.options().iter().position(|option| option.name() == name);
            let picks: Vec<usize> = label.map(|label| is_it(label).expect(label)).into_iter().collect();
            question.answer(&picks, custom.map(str::to_owned), note.map(str::to_owned)).unwrap()
        });
        Ok(Outcome::answered(request.set(), answers.collect()).unwrap().through(Via::Terminal).into())
    })
}

pub(crate) fn ends(outcome: Outcome) -> Reply {
    Box::new(move |_| {
        Ok(match outcome.status() {
            Status::Unavailable { reason } => Resolution::unavailable(reason),
            _ => outcome.clone().through(Via::Terminal),
        }
        .into())
    })
}

pub(crate) fn interrupts() -> Reply {
    Box::new(|_| Err(AskError::Interrupted))
}

pub(crate) fn fails(error: fn() -> AskError) -> Reply {
    Box::new(move |_| Err(error()))
}

/// Never answers, and logs when a question is withdrawn.
pub(crate) struct Silent(pub(crate) Log);

struct Withdrawn<'a>(&'a Log);

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        self.0.add("withdrawn");
    }
}

impl Asker for Silent {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let _withdrawn = Withdrawn(&self.0);
            self.0.add("asked");
            std::future::pending().await
        })
    }
}

// ---- the model ----

/// A request as the model received it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<String>,
    pub(crate) task: Option<String>,
}

/// A model whose requests are recorded.
pub(crate) struct Watched<M> {
    model: M,
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Clone)]
pub(crate) struct Requests(Arc<Mutex<Vec<Seen>>>);

impl Requests {
    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the results in the last request: the call, the text, and whether it is an error.
    pub(crate) fn last_results(&self) -> Vec<(String, String, bool)> {
        let all = self.all();
        let Some(Message::Results { results }) = all.last().and_then(|seen| seen.messages.last()) else {
            panic!("the last request does not end in results: {all:#?}");
        };
        results.iter().map(|result| (result.id.clone(), result.output.clone(), result.is_error)).collect()
    }

    pub(crate) fn last_result(&self) -> (String, bool) {
        let [(_, output, is_error)] = &self.last_results()[..] else { panic!("not one result") };
        (output.clone(), *is_error)
    }
}

pub(crate) fn watched<M: Model>(model: M) -> (Watched<M>, Requests) {
    let seen = Arc::<Mutex<Vec<Seen>>>::default();
    (Watched { model, seen: seen.clone() }, Requests(seen))
}

impl<M: Model> Model for Watched<M> {
    fn name(&self) -> String {
        self.model.name()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        self.seen.lock().unwrap().push(Seen {
            system: request.system.to_owned(),
            messages: request.messages.to_vec(),
            tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
            task: request.task.map(str::to_owned),
        });
        self.model.respond(request)
    }
}

/// A part of a response; `None` makes the response hang.
pub(crate) type Part = Option<Result<ModelEvent, ModelError>>;

/// A model that plays prepared responses, one list of parts for each request.
pub(crate) struct Played(Mutex<VecDeque<Vec<Part>>>);

impl Played {
    pub(crate) fn new(answers: Vec<Vec<Part>>) -> Played {
        Played(Mutex::new(answers.into()))
    }
}

pub(crate) fn says(text: &str) -> Part {
    Some(Ok(ModelEvent::Text(text.into())))
}

pub(crate) fn calls(id: &str, name: &str, input: Value) -> Part {
    Some(Ok(ModelEvent::Call(ToolCall { id: id.into(), name: name.into(), input, extra: None })))
}

impl Model for Played {
    fn name(&self) -> String {
        "played".into()
    }

    fn respond<'a>(&'a self, _: ModelRequest<'a>) -> ResponseStream<'a> {
        let answer = self.0.lock().unwrap().pop_front().expect("more requests than expected");
        Box::pin(stream::iter(answer).then(|event| async move {
            match event {
                Some(event) => event,
                None => std::future::pending().await,
            }
        }))
    }
}

pub(crate) fn script(value: Value) -> Script {
    Script::parse(&value.to_string()).unwrap()
}

/// Returns a script with one list of calls per turn and a final text "done".
pub(crate) fn calling<const N: usize>(turns: [Value; N]) -> Script {
    let mut turns: Vec<Value> = turns.into_iter().map(|calls| json!({ "calls": calls })).collect();
    turns.push(json!({"text": "done"}));
    script(json!({ "turns": turns }))
}

pub(crate) fn ask(question: &str) -> Value {
    json!({"name": "AskUserQuestion", "input": questions(question)})
}

pub(crate) fn questions(question: &str) -> Value {
    json!({"questions": [{
        "question": question, "header": "Database", "multiSelect": false, "options": [
            {"label": "PostgreSQL", "description": "Relational"}, {"label": "SQLite", "description": "A file"},
        ],
    }]})
}

// ---- tools ----

/// A tool that logs its begin and its end. It yields in between.
pub(crate) struct Own {
    name: &'static str,
    access: Access,
    log: Log,
}

pub(crate) fn looks(log: &Log) -> Own {
    Own { name: "Look", access: Access::Read, log: log.clone() }
}

pub(crate) fn acts(log: &Log) -> Own {
    Own { name: "Act", access: Access::Act, log: log.clone() }
}

impl Tool for Own {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(self.name, "For tests", json!({"type": "object"}))
    }

    fn access(&self) -> Access {
        self.access
    }

    fn run<'a>(&'a self, call: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let what = format!("{} {}", self.name, call.input["at"].as_str().unwrap_or("it"));
            self.log.add(format!("begin {what}"));
            pause().await;
            if call.input["forever"] == true {
                std::future::pending::<()>().await;
            }
            self.log.add(format!("end {what}"));
            Ok(ToolResult::ok(format!("{what}: ok")))
        })
    }
}

pub(crate) fn registry(log: &Log) -> Registry {
    tools::talking().with(looks(log)).with(acts(log))
}

// ---- running ----

pub(crate) async fn collect(mut run: Run<'_>) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}

/// Runs the agent to the end of the turn. Returns the final text.
pub(crate) async fn finish(agent: &mut Agent, prompt: &str) -> String {
    last_words(&collect(agent.run(prompt)).await)
}

pub(crate) fn last_words(events: &[AgentEvent]) -> String {
    match events.last() {
        Some(AgentEvent::Done { text }) => text.clone(),
        last => panic!("not done: {last:?}"),
    }
}

/// Returns a short text for each event that matters to the tests.
pub(crate) fn short(events: &[AgentEvent]) -> Vec<String> {
    let short = |event: &AgentEvent| match event {
        AgentEvent::User { text } => Some(format!("user {text}")),
        AgentEvent::Compacting => Some("compacting".into()),
        AgentEvent::Compacted { .. } => Some("compacted".into()),
        AgentEvent::Text { text } => Some(format!("text {text}")),
        AgentEvent::ToolStart { id, name, .. } => Some(format!("start {id} {name}")),
        AgentEvent::ToolResult { id, result, .. } => {
            Some(format!("{} {id}", if result.success { "result" } else { "error" }))
        }
        AgentEvent::AskUser { request, .. } => Some(format!("ask {}", name_of(request.key()))),
        AgentEvent::QuestionEnded { key, outcome, .. } => {
            Some(format!("ended {} {}", name_of(key), outcome.status.name()))
        }
        AgentEvent::Done { text } => Some(format!("done {text}")),
        AgentEvent::Error { error } => Some(format!("broke {:?}", error.kind)),
        AgentEvent::Retry { error, .. } => Some(format!("retry {:?}", error.kind)),
        AgentEvent::Notice { message } => Some(format!("notice {message}")),
        AgentEvent::Mode { mode } => Some(format!("mode {mode:?}")),
        AgentEvent::Task { id, description, event } => {
            self::short(std::slice::from_ref(event)).pop().map(|event| format!("{id} '{description}': {event}"))
        }
        _ => None,
    };
    events.iter().filter_map(short).collect()
}

/// Polls a run until the log has this line, so that the event of the line is under way.
pub(crate) async fn until(run: &mut Run<'_>, log: &Log, line: &str) {
    until_count(run, log, line, 1).await;
}

pub(crate) async fn until_again(run: &mut Run<'_>, log: &Log, line: &str) {
    until_count(run, log, line, 2).await;
}

async fn until_count(run: &mut Run<'_>, log: &Log, line: &str, count: usize) {
    while log.count(line) < count {
        tokio::select! {
            biased;
            event = run.next() => assert!(event.is_some(), "it ended before {line:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
}
