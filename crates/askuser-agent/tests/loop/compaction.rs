//! A conversation that fills the model's context continues from a summary. No message or answer of the person is lost,
//! and no question or action is repeated.

use crate::support::{
    Log, Part, Person, Played, acts, ask, calls, collect, ends, finish, pick, registry, says, script, short, watched,
};
use askuser::{Asker, Asking, Outcome, Request, Via};
use askuser_agent::{
    Agent, AgentEvent, Block, FailureKind, Message, Model, ModelError, ModelEvent, ModelRequest, PermissionMode,
    Permissions, ResponseStream, ToolCall, Transcript, Usage, tools,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A model with a small context window. Its response follows from the last message alone, so the test can kill the
/// agent.
struct Small {
    /// The window in tokens of three bytes.
    window: usize,
    /// Whether the model states its window before a request exceeds it.
    tells: bool,
    /// The person's answers so far. The model must read all of them in every request.
    answers: Arc<Mutex<Vec<String>>>,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    summaries: usize,
    rejected: usize,
}

fn size(messages: &[Message]) -> usize {
    messages
        .iter()
        .map(|message| match message {
            Message::User { text } => text.len(),
            Message::Assistant { content } => content
                .iter()
                .map(|block| match block {
                    Block::Text { text } => text.len(),
                    Block::Call(call) => call.input.to_string().len(),
                    Block::Opaque { .. } => 0,
                })
                .sum(),
            Message::Results { results } => results.iter().map(|result| result.output.len()).sum(),
        })
        .sum()
}

fn whole(messages: &[Message]) -> String {
    let texts = messages.iter().map(|message| match message {
        Message::User { text } => text.clone(),
        Message::Assistant { .. } => message.text(),
        Message::Results { results } => results.iter().map(|result| result.output.as_str()).collect(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn is_for_a_summary(request: &ModelRequest<'_>) -> bool {
    request.system.starts_with("You summarise a conversation")
}

impl Small {
    fn new(window: usize, tells: bool) -> Small {
        Small { window, tells, answers: Arc::default(), counts: Mutex::default() }
    }

    fn events(&self, request: &ModelRequest<'_>) -> Vec<Result<ModelEvent, ModelError>> {
        let tokens = size(request.messages) / 3;
        if tokens > self.window {
            self.counts.lock().unwrap().rejected += 1;
            let mut error = ModelError::new(FailureKind::ContextTooLong, "prompt is too long");
            error.context_window = tokens.is_multiple_of(2).then_some(self.window as u64);
            return vec![Err(error)];
        }
        if is_for_a_summary(request) {
            self.counts.lock().unwrap().summaries += 1;
            return vec![Ok(ModelEvent::Text("Task: go on. State: all is well.".into()))];
        }
        let conversation = whole(request.messages);
        for answer in self.answers.lock().unwrap().iter() {
            assert!(conversation.contains(answer), "the model does not read {answer:?} any more");
        }
        let call = |name: &str, input: Value| {
            ModelEvent::Call(ToolCall { id: "call".into(), name: name.into(), input, extra: None })
        };
        let event = match request.messages.last().unwrap() {
            Message::User { text } => {
                let turn = text.trim_start_matches("turn ");
                match turn.parse::<usize>().expect(text) % 25 {
                    0 => call("AskUserQuestion", ask(&format!("Go on after turn {turn}?"))["input"].clone()),
                    1 => call("Act", json!({"at": turn})),
                    _ => call("Long", json!({})),
                }
            }
            _ => ModelEvent::Text("done".into()),
        };
        let usage = Usage::new(tokens as u64, 1);
        vec![Ok(event), Ok(ModelEvent::Usage(usage))]
    }
}

impl Model for Small {
    fn name(&self) -> String {
        "small".into()
    }

    fn context_window(&self) -> Option<u64> {
        self.tells.then_some(self.window as u64)
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        let events = self.events(&request);
        Box::pin(stream::iter(events).then(|event| async move {
            tokio::task::yield_now().await;
            event
        }))
    }
}

/// Answers in free text and records the answers.
struct Talkative(Arc<Mutex<Vec<String>>>, Log);

impl Asker for Talkative {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            let question = &request.set().questions()[0];
            let words = format!("my answer to {}", question.text());
            self.1.add(format!("asked {}", question.text()));
            let answer = question.answer(&[], Some(words.clone()), None).unwrap();
            self.0.lock().unwrap().push(words);
            Ok(Outcome::answered(request.set(), vec![answer]).unwrap().through(Via::Terminal).into())
        })
    }
}

mod long {
    use askuser_agent::{Access, Running, Tool, ToolCall, ToolContext, ToolDefinition, ToolResult};
    use serde_json::json;

    /// A tool with a long result, like that of reading a file.
    pub(super) struct Long(pub(super) usize);

    impl Tool for Long {
        fn definition(&self) -> ToolDefinition {
            let schema = json!({"type": "object"});
            ToolDefinition::new("Long", "For tests", schema)
        }

        fn access(&self) -> Access {
            Access::Read
        }

        fn run<'a>(&'a self, _: &'a ToolCall, _: &'a ToolContext) -> Running<'a> {
            Box::pin(async move { Ok(ToolResult::ok("x".repeat(self.0))) })
        }
    }
}
use long::Long;

const TURNS: usize = 2_000;

#[tokio::test]
async fn two_thousand_turns_killed_at_random_keep_every_answer_and_do_nothing_twice() {
    let counts = many_turns(true).await;
    assert!(counts.summaries > 40 && counts.rejected == 0, "a window that is known is never exceeded: {counts:?}");
}

#[tokio::test]
async fn two_thousand_turns_with_a_window_that_is_learned_from_errors() {
    let counts = many_turns(false).await;
    assert!(counts.summaries > 40 && counts.rejected > 0, "{counts:?}");
}

async fn many_turns(tells: bool) -> Counts {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let log = Log::default();
    let model = Arc::new(Small::new(40_000, tells));
    let agent = |transcript: Transcript| {
        Agent::new(model.clone())
            .with_tools(tools::talking().with(acts(&log)).with(Long(4_000)))
            .with_permissions(Permissions::new(PermissionMode::Allow))
            .with_asker(Arc::new(Talkative(model.answers.clone(), log.clone())))
            .with_transcript(transcript)
    };
    let mut current = agent(Transcript::create(folder.path(), Path::new("/")).unwrap());
    let id = current.transcript().id();
    // The sequence is the same in every run, so that a failure can be reproduced.
    let mut chance = 12_345_u64;
    let mut turn = 0;
    while turn < TURNS {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // About one turn in thirty ends early, at any event.
        let patience = if (chance >> 33).is_multiple_of(30) { (chance >> 40) as usize % 12 } else { usize::MAX };
        let mut run = current.run(format!("turn {turn}"));
        let mut seen = 0;
        let killed = loop {
            match run.next().await {
                None => break false,
                Some(AgentEvent::Error { error }) => panic!("turn {turn}: {error:?}"),
                Some(_) if seen >= patience => break true,
                Some(_) => seen += 1,
            }
        };
        drop(run);
        turn += 1;
        if !killed {
            continue;
        }
        drop(current);
        let mut file = OpenOptions::new().append(true).open(folder.path().join(format!("{id}.jsonl"))).unwrap();
        file.write_all(br#"{"at":12,"ty"#).unwrap();
        drop(file);
        current = agent(Transcript::open(folder.path(), &id).unwrap());
        if let Some(run) = current.resume() {
            let events = collect(run).await;
            assert!(matches!(events.last(), Some(AgentEvent::Done { .. })), "turn {turn}: {:?}", events.last());
        }
    }
    for turn in 0..TURNS {
        let asked = format!("asked Go on after turn {turn}?");
        let acted = format!("end Act {turn}");
        assert_eq!(log.count(&asked), usize::from(turn % 25 == 0), "{asked}");
        assert!(log.count(&acted) <= usize::from(turn % 25 == 1), "{acted} twice");
    }
    // A later session reads the same conversation.
    drop(current);
    let back = agent(Transcript::open(folder.path(), &id).unwrap());
    let conversation = whole(back.messages());
    for answer in model.answers.lock().unwrap().iter() {
        assert!(conversation.contains(answer), "{answer:?} is lost");
    }
    *model.counts.lock().unwrap()
}

fn too_long(window: Option<u64>) -> Part {
    let mut error = ModelError::new(FailureKind::ContextTooLong, "prompt is too long");
    error.context_window = window;
    Some(Err(error))
}

fn first(messages: &[Message]) -> &str {
    match messages.first() {
        Some(Message::User { text }) => text,
        other => panic!("does not begin with words: {other:?}"),
    }
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_summarised_and_the_turn_goes_on() {
    let (model, requests) = watched(Played::new(vec![
        vec![calls("a", "AskUserQuestion", ask("Which database?")["input"].clone())],
        vec![calls("b", "Look", json!({"at": "x"}))],
        vec![too_long(Some(100_000))],
        vec![says("Task: a database.")],
        vec![says("All done.")],
    ]));
    let log = Log::default();
    let person = Person::new([pick("SQLite")]);
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(person);
    let events = collect(agent.run("Set up storage, and never touch main.rs")).await;
    let seen: Vec<String> =
        short(&events).into_iter().filter(|event| event.starts_with("com") || event.starts_with("done")).collect();
    assert_eq!(seen, ["compacting", "compacted", "done All done."]);
    let all = requests.all();
    let summary = &all[3];
    let last = &all[4];
    assert!(summary.tools.is_empty() && whole(&summary.messages).contains("Call of AskUserQuestion"));
    let [Message::User { text }, Message::Assistant { .. }, Message::Results { results }] = &last.messages[..] else {
        panic!("{:#?}", last.messages)
    };
    assert_eq!(results[0].output, "Look x: ok", "the work goes on where it was");
    assert!(
        text.contains("Task: a database.") && text.contains("User: Set up storage, and never touch main.rs"),
        "{text}"
    );
    assert!(text.contains("Which database?") && text.contains("Selected: SQLite"), "{text}");
}

#[tokio::test]
async fn what_was_not_allowed_is_kept_word_for_word() {
    let (model, requests) = watched(script(json!({"turns": [
        {"calls": [{"name": "Look", "input": {"at": "the weather"}}, {"name": "Act", "input": {"at": "drop the table"}}]},
        {"text": "Well."}, {"text": "Then not."},
    ]})));
    let log = Log::default();
    let declined = Outcome::declined(Some("never drop a table".into()));
    let mut agent = Agent::new(model).with_tools(registry(&log)).with_asker(Person::new([ends(declined)]));
    finish(&mut agent, "Clean up").await;
    assert_eq!(short(&collect(agent.compact(None)).await), ["compacting", "compacted", "done "]);
    assert_eq!(finish(&mut agent, "And now?").await, "Then not.");
    let all = requests.all();
    let text = first(&all.last().unwrap().messages);
    assert!(text.contains("drop the table") && text.contains("never drop a table"), "{text}");
    assert!(!text.contains("the weather"), "what was not asked is summarised: {text}");
}

#[tokio::test]
async fn a_second_summary_is_made_from_the_first_and_repeats_nothing() {
    let turns = ["One.", "Task: one.", "Two.", "Task: two."];
    let (model, requests) = watched(Played::new(turns.map(|text| vec![says(text)]).to_vec()));
    let mut agent = Agent::new(model);
    finish(&mut agent, "Say one").await;
    collect(agent.compact(None)).await;
    let again = collect(agent.compact(None)).await;
    assert_eq!(short(&again), ["broke ContextTooLong"], "to summarise a summary gains nothing");
    finish(&mut agent, "Say two").await;
    collect(agent.compact(None)).await;
    let all = requests.all();
    let told = first(&all[3].messages);
    let begin = "The conversation:\n\nWhat came before, as it was summarised then:\nTask: one.\n\nAgent:\nOne.\n";
    assert!(told.starts_with(begin), "{told}");
    let text = first(agent.messages());
    assert!(text.contains("Task: two.") && !text.contains("Task: one."), "{text}");
    for prompt in ["Say one", "Say two"] {
        assert_eq!(text.matches(prompt).count(), 1, "{text}");
    }
}

#[tokio::test]
async fn summarising_on_request_leaves_it_the_persons_turn_and_minds_their_wish() {
    let (model, requests) =
        watched(Played::new(vec![vec![says("One.")], vec![says("Task: one.")], vec![says("Two.")]]));
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), Path::new("/")).unwrap();
    let id = transcript.id();
    let mut agent = Agent::new(model).with_transcript(transcript);
    let nothing = collect(agent.compact(None)).await;
    assert_eq!(short(&nothing), ["broke ContextTooLong"], "there is nothing to summarise yet");
    finish(&mut agent, "Say one").await;
    collect(agent.compact(Some("keep the numbers".into()))).await;
    assert!(agent.resume().is_none(), "nothing was said that the model has to answer");
    assert!(whole(&requests.all()[1].messages).ends_with("The user asks you to mind this: keep the numbers"));
    assert_eq!(finish(&mut agent, "Say two").await, "Two.");
    let before = agent.messages().to_vec();
    drop(agent);
    let back = Agent::new(script(json!({"turns": []}))).with_transcript(Transcript::open(folder.path(), &id).unwrap());
    assert_eq!(back.messages(), before, "a later session reads the same");
    assert!(first(&before).contains("Task: one."));
}

#[tokio::test]
async fn a_summary_that_fails_is_said_and_the_turn_goes_on() {
    let failed = ModelError::new(FailureKind::Rejected, "no");
    let model = Played::new(vec![vec![says(&"word ".repeat(500))], vec![Some(Err(failed))], vec![says("Two.")]]);
    let mut agent = Agent::new(model).with_context_window(Some(900));
    finish(&mut agent, "Say one").await;
    let events = short(&collect(agent.run("Say two")).await);
    assert_eq!(
        events,
        [
            "compacting",
            "notice the conversation could not be summarised (no); it continues as it is",
            "text Two.",
            "done Two."
        ]
    );
}

#[tokio::test]
async fn a_summary_that_fails_is_not_tried_again_before_every_request() {
    let failed = || vec![Some(Err(ModelError::new(FailureKind::Rejected, "no")))];
    let look = |id: &str| vec![calls(id, "Look", json!({}))];
    let long = vec![says(&"word ".repeat(500))];
    let model = Played::new(vec![long, failed(), look("a"), look("b"), vec![says("Two.")]]);
    let mut agent = Agent::new(model).with_tools(registry(&Log::default())).with_context_window(Some(900));
    finish(&mut agent, "Say one").await;
    let events = short(&collect(agent.run("Say two")).await);
    assert_eq!(events.iter().filter(|event| *event == "compacting").count(), 1, "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("done Two."));
}

/// Anthropic reports usage at the beginning and at the end, and Gemini with every chunk. Only the last report counts.
#[tokio::test]
async fn the_usage_of_a_summary_is_counted_once() {
    let used = |input, output| Some(Ok(ModelEvent::Usage(Usage::new(input, output))));
    let summary = vec![used(100, 1), says("Task:"), used(100, 2), says(" one."), used(100, 3)];
    let model = Played::new(vec![vec![says(&"word ".repeat(500))], summary, vec![says("Two.")]]);
    let mut agent = Agent::new(model).with_context_window(Some(900));
    finish(&mut agent, "Say one").await;
    let events = collect(agent.run("Say two")).await;
    let counted = |event: &AgentEvent| matches!(event, AgentEvent::Usage { usage } if usage.input_tokens > 0);
    let counted: Vec<&AgentEvent> = events.iter().filter(|event| counted(event)).collect();
    assert_eq!(counted, [&AgentEvent::Usage { usage: Usage::new(100, 3) }]);
}

#[tokio::test]
async fn a_summary_that_is_too_long_itself_is_made_from_less() {
    let model =
        Played::new(vec![vec![says("One.")], vec![too_long(None)], vec![too_long(None)], vec![says("Task: one.")]]);
    let (model, requests) = watched(model);
    let mut agent = Agent::new(model).with_context_window(Some(1_000));
    finish(&mut agent, &"word ".repeat(300)).await;
    let events = short(&collect(agent.compact(None)).await);
    assert_eq!(events, ["compacting", "compacted", "done "]);
    let sizes: Vec<usize> = requests.all()[1..].iter().map(|seen| size(&seen.messages)).collect();
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
}

#[tokio::test]
async fn a_message_that_never_fits_ends_the_turn_with_advice_and_can_be_tried_again() {
    let model = Played::new(vec![vec![too_long(Some(100))], vec![says("It fits now.")]]);
    let mut agent = Agent::new(model);
    let events = collect(agent.run("far too long")).await;
    let Some(AgentEvent::Error { error }) = events.last() else { panic!("{events:?}") };
    assert!(error.message.contains("say it in less, or in parts"), "{}", error.message);
    assert_eq!(short(&collect(agent.resume().unwrap()).await), ["text It fits now.", "done It fits now."]);
}

#[tokio::test]
async fn a_summary_that_is_interrupted_changes_nothing() {
    let mut agent = Agent::new(Played::new(vec![vec![says("One.")], vec![None], vec![says("Two.")]]));
    finish(&mut agent, "Say one").await;
    let before = agent.messages().to_vec();
    let mut run = agent.compact(None);
    assert_eq!(run.next().await, Some(AgentEvent::Compacting));
    run.stopper().cancel();
    assert_eq!(short(&collect(run).await), ["broke Interrupted"]);
    assert_eq!(agent.messages(), before);
    assert_eq!(finish(&mut agent, "Say two").await, "Two.");
}

#[tokio::test]
async fn words_that_are_too_long_to_be_repeated_are_shortened_and_that_is_said() {
    let (model, requests) = watched(Played::new(vec![
        vec![says("One.")],
        vec![says("Two.")],
        vec![says("Task: pastes.")],
        vec![says("Three.")],
    ]));
    let mut agent = Agent::new(model).with_context_window(Some(4_000));
    finish(&mut agent, &format!("Begin {} end", "word ".repeat(300))).await;
    finish(&mut agent, "Mind the gap").await;
    let events = collect(agent.compact(None)).await;
    let told = events.iter().find_map(|event| match event {
        AgentEvent::Compacted { before_tokens, after_tokens, left_out } => {
            Some((after_tokens < before_tokens, *left_out))
        }
        _ => None,
    });
    assert_eq!(told, Some((true, 1)), "it is shorter, and one text is not whole");
    finish(&mut agent, "And?").await;
    let all = requests.all();
    let text = first(&all.last().unwrap().messages);
    assert!(text.contains("User: Begin word") && text.contains(" […] ") && text.contains("word  end"), "{text}");
    assert!(text.contains("[1 of them shortened or left out]") && text.contains("User: Mind the gap"), "{text}");
}
