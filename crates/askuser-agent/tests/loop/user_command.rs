//! A command that the person typed runs without permission. The model reads its output with the person's next message.

use crate::support::*;
use askuser_agent::{Agent, AgentEvent, Message, Script, Secrets, ToolResult, Transcript, tools};
use futures_util::StreamExt;

fn agent() -> Agent {
    let script = Script::parse(r#"{"turns": [{"text": "I see."}]}"#).unwrap();
    Agent::new(script).with_tools(tools::all())
}

fn texts(agent: &Agent) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { text } => text.clone(),
        other => other.text(),
    };
    agent.messages().iter().map(text).collect()
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn the_model_reads_the_output_with_the_next_words_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let mut talking = agent().with_transcript(transcript);
    let events = collect(talking.run_command("echo out; echo err >&2; exit 3")).await;
    let told: String = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolOutput { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(told, "out\nerr\n");
    assert_eq!(events.last(), Some(&AgentEvent::Done { text: String::new() }));
    assert_eq!(texts(&talking), Vec::<String>::new());
    assert!(talking.resume().is_none(), "it is not the model's turn");
    // The command survives the end of the process.
    drop(talking);
    let mut resumed = agent().with_transcript(Transcript::open(folder.path(), &id).unwrap());
    finish(&mut resumed, "what does that mean?").await;
    let ran = "[The user ran a command of their own: echo out; echo err >&2; exit 3]\n\nExit code 3\n\nout\nerr";
    assert_eq!(texts(&resumed), [ran, "what does that mean?", "I see."]);
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn a_command_that_is_stopped_keeps_what_it_wrote() {
    let mut agent = agent();
    let mut run = agent.run_command("echo before; sleep 1000");
    let stopper = run.stopper();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        if matches!(event, AgentEvent::ToolOutput { .. }) {
            stopper.cancel();
        }
        events.push(event);
    }
    drop(run);
    assert_eq!(short(&events).last().unwrap(), "broke Interrupted");
    finish(&mut agent, "go").await;
    let ran = "[The user ran a command of their own: echo before; sleep 1000]\n\nThe user stopped it. It may have taken effect \
               in part.\n\nbefore";
    assert_eq!(texts(&agent)[0], ran);
}

#[tokio::test]
#[cfg_attr(windows, ignore = "the command is for a shell that Windows does not have")]
async fn it_gets_no_keys_and_shows_none() {
    let environment = |_: &str| Some("sk-secret-1".to_owned());
    let secrets = Secrets::in_variables(["PATH_OF_A_KEY"], [], environment, &[]);
    let mut agent = agent().with_secrets(secrets);
    collect(agent.run_command("echo ${PATH_OF_A_KEY-none} sk-secret-1")).await;
    finish(&mut agent, "go").await;
    assert!(texts(&agent)[0].ends_with("\n\nnone [key removed]"), "{:?}", texts(&agent));
    assert!(!texts(&agent)[0].contains("sk-secret-1"), "nor in the command as it was typed");
}

#[tokio::test]
async fn a_front_end_that_comes_back_is_told_what_the_person_did() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let id = transcript.id();
    let mut talking = agent().with_transcript(transcript);
    collect(talking.run_command("echo out")).await;
    drop(talking);
    let replayed = Transcript::open(folder.path(), &id).unwrap().replay();
    assert_eq!(short(&replayed), ["start ! !", "result !"]);
    let is_its_output = |result: &ToolResult| result.output == "out";
    assert!(matches!(&replayed[1], AgentEvent::ToolResult { result, .. } if is_its_output(result)), "{replayed:?}");
}

#[tokio::test]
async fn what_was_cut_off_is_still_taken_up_after_it() {
    let log = Log::default();
    let mut agent = Agent::new(calling([serde_json::json!([{"name": "Act", "input": {"at": "it"}}])]))
        .with_tools(registry(&log))
        .with_asker(Person::new([pick("Allow once")]));
    let mut run = agent.run("go");
    // The run is dropped at the question.
    while !matches!(run.next().await, Some(AgentEvent::ToolStart { .. })) {}
    drop(run);
    collect(agent.run_command("true")).await;
    let events = collect(agent.resume().unwrap()).await;
    assert!(matches!(events.last(), Some(AgentEvent::Done { .. })), "{events:?}");
    assert_eq!(log.count("end Act it"), 1);
}

#[tokio::test]
async fn a_summary_keeps_what_the_person_ran_and_not_all_that_it_wrote() {
    let script = Script::parse(r#"{"turns": [{"text": "I see."}, {"text": "The summary."}]}"#).unwrap();
    let mut agent = Agent::new(script).with_tools(tools::all());
    collect(agent.run_command("seq 1 3000")).await;
    finish(&mut agent, "look").await;
    collect(agent.compact(None)).await;
    let read = texts(&agent).join("\n");
    assert!(read.contains("[The user ran a command of their own: seq 1 3000]") && read.contains("look"), "{read}");
    assert!(!read.contains("\n2999\n"), "{read}");
}
