use super::*;
use crate::commands::agent::app::agent_thread::SessionInfo;
use crate::commands::agent::app::state::{Motion, QuestionEnd};
use crate::commands::agent::app::test_fixtures::request;
use crate::commands::agent::app::tool_calls::CallSummary as Row;
use askuser::Context;
use askuser::Origin;
use askuser_terminal::Theme;
use serde_json::json;

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns the state of an agent at work while no person types.
fn working() -> State {
    let mut state = State::new(Presentation::Screen, Motion::Full, Vec::new());
    let session = SessionInfo {
        id: "s1".into(),
        model: "a/b".into(),
        mode: PermissionMode::Ask,
        cwd: "/work".into(),
        no_sandbox: None,
        context: None,
    };
    state.step(Event::SessionOpened(session, Vec::new()), at(0));
    state.step(Event::TurnStarted, at(0));
    state
}

fn agent_event(state: &mut State, event: AgentEvent, now: u64) -> Vec<Item> {
    printed(state.step(Event::Agent(event), at(now)))
}

fn printed(effects: Vec<Effect>) -> Vec<Item> {
    let items = effects.into_iter().filter_map(|effect| match effect {
        Effect::Print(item) => Some(item),
        _ => None,
    });
    items.filter(|item| *item != Item::Gap).collect()
}

fn start(id: &str, name: &str, input: Value) -> AgentEvent {
    AgentEvent::ToolStart { id: id.into(), name: name.into(), input }
}

fn result(id: &str, name: &str, result: ToolResult) -> AgentEvent {
    AgentEvent::ToolResult { id: id.into(), name: name.into(), result }
}

fn of_task(event: AgentEvent) -> AgentEvent {
    AgentEvent::Task { id: "t".into(), description: "audit deps".into(), event: Box::new(event) }
}

/// Delivers a question of call "1", opens it, and returns the effects.
fn open(
    state: &mut State,
    text: &str,
    purpose: Purpose,
    task: Option<&str>,
    context: Option<Context>,
    now: u64,
) -> Vec<Item> {
    let waiting = request(text, purpose, context);
    let waiting = task.map_or_else(|| Request::clone(&waiting), |task| in_task(&waiting, task, "t"));
    printed(state.step(Event::QuestionArrived(waiting.into()), at(now)))
}

/// Returns the same question from a subagent that the call `id` started.
fn in_task(request: &Request, task: &str, id: &str) -> Request {
    let asked = Request::new(request.key().clone().in_tasks([id]), request.set().clone());
    let asked = request.context().into_iter().fold(asked, |asked, context| asked.with_context(context.clone()));
    asked.with_origin(Origin::default().with_task(task))
}

/// Returns the event that the person chose this label when asked whether call "1" may run.
fn permitted(tasks: &[&str], label: &str) -> AgentEvent {
    let key = askuser::RequestKey::new("s1", "1").for_purpose(Purpose::Permission).in_tasks(tasks.iter().copied());
    let answer = json!({"question": "Run?", "header": "Bash", "selectedOptions": [label]});
    let outcome = json!({"status": "answered", "answers": [answer], "via": "terminal"});
    AgentEvent::QuestionEnded { id: key.id_in_session(), key, outcome: serde_json::from_value(outcome).unwrap() }
}

fn asking(name: &str, about: &str, task: Option<&str>) -> Item {
    let task = task.map(str::to_owned);
    Item::Call(Row {
        name: name.into(),
        about: about.into(),
        task,
        status: CallStatus::Asking,
        ending: None,
        permission: None,
        was_asked: false,
        took: None,
        facts: Vec::new(),
    })
}

#[test]
fn a_permission_and_what_came_of_the_call_are_one_line() {
    let mut state = working();
    agent_event(&mut state, of_task(start("1", "Bash", json!({"command": "rm -r build"}))), 1);
    let told = open(&mut state, "Run this command?", Purpose::Permission, Some("audit deps"), None, 1);
    assert_eq!(told, []);
    agent_event(&mut state, of_task(permitted(&["t"], "Allow once")), 1);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1)), at(2));
    let shown = agent_event(&mut state, of_task(result("1", "Bash", ToolResult::ok("x"))), 3);
    let [Item::Call(call)] = &shown[..] else { panic!("{shown:?}") };
    let told = (call.about.as_str(), call.task.as_deref(), call.permission.as_deref());
    assert_eq!(told, ("rm -r build", Some("audit deps"), Some("Allow once")));
}

#[test]
fn a_permitted_call_stands_one_line_below_what_was_before() {
    let mut state = working();
    agent_event(&mut state, start("1", "Bash", json!({"command": "ls"})), 1);
    open(&mut state, "Run?", Purpose::Permission, None, None, 1);
    // The prompt has already left a blank line.
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1)), at(2));
    let effects = state.step(Event::Agent(result("1", "Bash", ToolResult::ok("x"))), at(3));
    assert!(matches!(effects[..], [Effect::Print(Item::Call(_))]), "{effects:?}");
}

#[test]
fn a_refusal_is_told_once() {
    let mut state = working();
    agent_event(&mut state, start("1", "Write", json!({"path": "a"})), 1);
    open(&mut state, "Run?", Purpose::Permission, None, None, 1);
    agent_event(&mut state, permitted(&[], "Don't run it"), 1);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1)), at(2));
    let refused = ToolResult::error("The user did not allow this.")
        .with_title("Write", "Not allowed")
        .with_details(json!({"permission": {}}));
    let shown = agent_event(&mut state, result("1", "Write", refused), 3);
    let [Item::Call(call)] = &shown[..] else { panic!("what the model reads reached the person: {shown:?}") };
    assert_eq!((&call.permission, call.ending.as_deref(), call.facts.len()), (&None, Some("not allowed"), 0));
}

#[test]
fn a_yes_with_a_note_is_told_as_what_it_came_to() {
    let mut state = working();
    agent_event(&mut state, start("1", "Write", json!({"path": "a"})), 1);
    open(&mut state, "Run?", Purpose::Permission, None, None, 1);
    agent_event(&mut state, permitted(&[], "Allow once"), 1);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1)), at(2));
    let noted = ToolResult::error("Not run: the user would allow this, and noted: x")
        .with_title("Write", "Not run yet")
        .with_details(json!({"permission": {"answers": [{"note": "in a branch"}]}}));
    let shown = agent_event(&mut state, result("1", "Write", noted), 3);
    let [Item::Call(call), Item::Output { text, .. }] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!(text, "in a branch");
    assert_eq!((&call.permission, call.ending.as_deref(), call.facts.len()), (&None, Some("not run yet"), 0));
}

#[test]
fn a_subagents_question_is_told_with_whose_it_is() {
    let mut state = working();
    agent_event(&mut state, of_task(start("1", "AskUserQuestion", json!({"questions": []}))), 1);
    let told = open(&mut state, "Which database?", Purpose::Question, Some("audit deps"), None, 1);
    assert_eq!(told, [asking("Question", "Which database?", Some("audit deps"))]);
}

#[test]
fn the_agents_own_question_is_not_told_twice() {
    let mut state = working();
    agent_event(&mut state, start("1", "AskUserQuestion", json!({"questions": []})), 1);
    assert_eq!(open(&mut state, "Which database?", Purpose::Question, None, None, 1), []);
}

#[test]
fn a_command_of_several_lines_that_was_agreed_to_is_shown_whole() {
    for (is_asked, expected) in [(true, 2), (false, 1)] {
        let mut state = working();
        agent_event(&mut state, start("1", "Bash", json!({"command": "cd a\nmake"})), 1);
        if is_asked {
            agent_event(&mut state, permitted(&[], "Allow once"), 1);
        }
        let shown = agent_event(&mut state, result("1", "Bash", ToolResult::ok("")), 2);
        assert_eq!(shown.len(), expected, "{shown:?}");
        assert!(!is_asked || matches!(&shown[1], Item::Output { text, .. } if text == "cd a\nmake"), "{shown:?}");
    }
}

#[test]
fn what_the_model_reads_of_a_call_that_did_not_run_is_not_shown() {
    let mut state = working();
    agent_event(&mut state, start("1", "Bash", json!({"command": "make"})), 1);
    let not_run = ToolResult::error("Not run: read why, then decide anew.").with_details(json!({"ending": "not run"}));
    let shown = agent_event(&mut state, result("1", "Bash", not_run), 2);
    let [Item::Call(call)] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((call.status, call.ending.as_deref()), (CallStatus::Failed, Some("not run")));
}

#[test]
fn a_diff_stands_below_its_call() {
    let mut state = working();
    agent_event(&mut state, of_task(start("2", "Read", json!({"path": "b"}))), 1);
    agent_event(&mut state, start("1", "Write", json!({"path": "a"})), 1);
    open(&mut state, "Write a?", Purpose::Permission, None, Some(Context::Diff("+x".into())), 1);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1)), at(2));
    agent_event(&mut state, of_task(result("2", "Read", ToolResult::ok("x"))), 3);
    let written = ToolResult::ok("Written.").with_details(json!({"diff": "+x"}));
    let shown = agent_event(&mut state, result("1", "Write", written), 4);
    assert!(matches!(&shown[..], [Item::Call(_), Item::Diff { text, .. }] if text == "+x"), "{shown:?}");
}

#[test]
fn every_output_and_every_difference_can_be_read_in_full() {
    let long = "x\n".repeat(60);
    let failed = ToolResult::error(&*long);
    let changed = ToolResult::ok("Written.").with_details(json!({"diff": long}));
    for outcome in [ToolResult::ok(&*long), failed, changed] {
        let mut state = working();
        agent_event(&mut state, start("1", "Write", json!({"path": "a"})), 1);
        agent_event(&mut state, result("1", "Write", outcome), 1);
        let text = state.outputs.text(&Theme::default(), |_| None);
        assert_eq!(text.lines().filter(|line| line.trim() == "x").count(), 60, "{text}");
    }
}

#[test]
fn a_call_that_was_stopped_is_said_to_be_above_its_output() {
    let mut state = working();
    agent_event(&mut state, start("1", "Bash", json!({"command": "make"})), 1);
    agent_event(&mut state, AgentEvent::ToolOutput { id: "1".into(), text: "so far".into() }, 1);
    state.step(Event::CommandDone, at(2));
    let last = state.outputs.last().and_then(|last| state.outputs.get(last)).expect("an output");
    let Heading::Call(call) = &last.heading else { panic!("{last:?}") };
    assert_eq!((call.status, call.ending.as_deref()), (CallStatus::Failed, Some("stopped")));
    assert_eq!(last.shown(&Theme::default()), "so far");
}

#[test]
fn two_subagents_with_one_task_keep_their_choices_apart() {
    let mut state = working();
    let of =
        |id: &str, event| AgentEvent::Task { id: id.into(), description: "audit deps".into(), event: Box::new(event) };
    for id in ["t1", "t2"] {
        agent_event(&mut state, of(id, start("1", "Bash", json!({"command": id}))), 1);
    }
    for (id, choice) in [("t2", "Always allow"), ("t1", "Allow once")] {
        agent_event(&mut state, of(id, permitted(&[id], choice)), 1);
    }
    for (id, choice) in [("t1", "Allow once"), ("t2", "Always allow")] {
        let shown = agent_event(&mut state, of(id, result("1", "Bash", ToolResult::ok("x"))), 2);
        let [Item::Call(call)] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((call.about.as_str(), call.permission.as_deref()), (id, Some(choice)));
    }
}
