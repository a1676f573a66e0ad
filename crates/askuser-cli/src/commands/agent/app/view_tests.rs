use super::*;
use crate::commands::agent::app::agent_thread::SessionInfo;
use crate::commands::agent::app::state::{Event, Motion, Notice};
use crate::commands::agent::app::test_fixtures::request;
use askuser_agent::AgentEvent;
use askuser_terminal::Presentation;
use askuser_terminal::markdown::Stream;
use serde_json::json;

fn session(mode: PermissionMode) -> SessionInfo {
    SessionInfo {
        id: "0199-1".into(),
        model: "anthropic/some-model".into(),
        mode,
        cwd: "/home/ada/notes".into(),
        no_sandbox: None,
        context: None,
    }
}

fn idle() -> State {
    let mut state = State::new(Presentation::Screen, Motion::Full, Vec::new());
    state.step(Event::SessionOpened(session(PermissionMode::Ask), Vec::new()), Duration::ZERO);
    state.step(Event::CommandDone, Duration::ZERO);
    state
}

const NOW: Duration = Duration::from_millis(12_400);

/// Returns a state with text, calls, a queue, a question, and a draft of several lines.
fn busy() -> State {
    let mut state = idle();
    assert_eq!(state.composer.draft.set("Set up storage"), askuser::Fit::Kept);
    state.step(Event::Key(askuser::KeyCode::Enter.into()), Duration::ZERO);
    let start = |id: &str, name: &str, input| AgentEvent::ToolStart { id: id.into(), name: name.into(), input };
    let command =
        json!({"command": "cargo test --workspace --all-features -- --include-ignored some_test_with_a_long_name"});
    let task = AgentEvent::Task {
        id: "2".into(),
        description: "audit deps".into(),
        event: Box::new(start("3", "Read", json!({"path": "Cargo.lock"}))),
    };
    let events = [
        AgentEvent::Usage { usage: Usage::new(3_120, 245) },
        start("1", "Bash", command),
        task,
        AgentEvent::TextDelta {
            text: "I'll **look** at the project first. It has some folders and a manifest.".into(),
        },
    ];
    for event in events {
        state.step(Event::Agent(event), Duration::from_secs(2));
    }
    state.composer.waiting.extend(["/undo".to_owned(), "/diff".to_owned()]);
    state.activity.last_key = Some(NOW);
    state.questions.pending.push_back(request("Which?", askuser::Purpose::Question, None));
    assert_eq!(state.composer.draft.set("a draft of\nseveral lines, 漢字 included"), askuser::Fit::Kept);
    state
}

/// Returns the live region as text, with the caret marked.
fn show(state: &State, theme: &Theme, columns: u16, rows: u16) -> String {
    let (lines, caret) = live(state, theme, (columns, rows), NOW);
    assert!(lines.len() < usize::from(rows).max(2), "{} lines in {rows} rows", lines.len());
    let mut out = String::new();
    for (y, line) in lines.iter().enumerate() {
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        assert!(width(&text) < usize::from(columns), "{} columns in {columns}: {text}", width(&text));
        let mut x = 0;
        for c in text.trim_end().chars().chain(std::iter::repeat_n(' ', 3)) {
            if (x, y) == (usize::from(caret.x), usize::from(caret.y)) {
                out.push('█');
            }
            out.push(c);
            x += width(&c.to_string());
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

fn check(name: &str, state: &State) {
    let theme = Theme::default();
    let screens = [(40, 12), (80, 24), (200, 60)]
        .map(|(columns, rows)| format!("{columns}x{rows}\n{}", show(state, &theme, columns, rows)));
    insta::assert_snapshot!(name, screens.join("\n"));
}

#[test]
fn idle_screens() {
    check("idle", &idle());
}

#[test]
fn busy_screens() {
    check("busy", &busy());
}

#[test]
fn screens_in_plan_mode_with_a_command_begun() {
    let mut state = idle();
    state.session.about = Some(session(PermissionMode::Plan));
    assert_eq!(state.composer.draft.set("/re"), askuser::Fit::Kept);
    check("plan_mode_command", &state);
    assert_eq!(state.composer.draft.set("/"), askuser::Fit::Kept);
    check("plan_mode_commands", &state);
}

#[test]
fn screens_with_a_notice_and_a_long_draft() {
    let mut state = idle();
    let notice = "There is no command /x. The commands are /help /plan /model /clear /resume /quit.";
    state.notice = Some(Notice { role: Role::Danger, text: notice.into(), until: None });
    let long: Vec<String> = (1..=30).map(|i| format!("line {i} of a draft that is longer than the box")).collect();
    assert_eq!(state.composer.draft.set(&long.join("\n")), askuser::Fit::Kept);
    check("notice_long_draft", &state);
}

#[test]
fn a_busy_screen_in_ascii() {
    let theme = Theme { signs: Signs::ASCII, ..Theme::default() };
    insta::assert_snapshot!(show(&busy(), &theme, 80, 24));
}

#[test]
fn what_is_typed_is_seen_on_any_screen() {
    for (columns, rows) in [(6, 2), (10, 3), (15, 5), (16, 6), (30, 4), (300, 2)] {
        let shown = show(&busy(), &Theme::default(), columns, rows);
        assert!(shown.contains('█'), "{columns}x{rows}:\n{shown}");
    }
}

#[test]
fn the_end_of_a_long_unfinished_line_is_seen() {
    let mut state = idle();
    state.turn.stream = Stream::default();
    let words: Vec<String> = (0..400).map(|i| format!("w{i}")).collect();
    state.turn.stream.push(&words.join(" "));
    let shown = show(&state, &Theme::default(), 80, 24);
    assert!(shown.contains("w399") && !shown.contains("w0 "), "{shown}");
}

#[test]
fn text_that_is_being_written_takes_a_third_of_the_screen_at_most() {
    let mut state = idle();
    let words: Vec<String> = (0..400).map(|i| format!("w{i}")).collect();
    state.turn.stream.push(&words.join(" "));
    for (rows, max_lines) in [(12, 3), (24, 7), (60, 19)] {
        let shown = show(&state, &Theme::default(), 40, rows);
        assert_eq!(shown.lines().filter(|line| line.starts_with("  w")).count(), max_lines, "{shown}");
    }
}

#[test]
fn screens_with_a_command_that_writes() {
    let mut state = idle();
    state.step(Event::TurnStarted, Duration::ZERO);
    let input = json!({"command": "cargo test"});
    let lines: String = (1..=30).map(|n| format!("test case_{n} ... ok, and what it was about at length\n")).collect();
    let text = format!("{lines}\u{1b}[31mred\u{1b}[m 漢字 {}\r\nlast", "x".repeat(300));
    for event in [
        AgentEvent::ToolStart { id: "1".into(), name: "Bash".into(), input },
        AgentEvent::ToolOutput { id: "1".into(), text },
    ] {
        state.step(Event::Agent(event), Duration::from_secs(2));
    }
    check("running_output", &state);
}

#[test]
fn screens_of_a_model_that_thinks() {
    let mut state = idle();
    state.step(Event::TurnStarted, Duration::ZERO);
    let words: Vec<String> = (1..=40).map(|n| format!("word{n}")).collect();
    let text = format!("An earlier paragraph.\n\n{}", words.join(" "));
    state.step(Event::Agent(AgentEvent::ThoughtDelta { text }), Duration::from_secs(2));
    check("thinking", &state);
}

#[test]
fn how_full_the_context_is_and_what_it_cost_stand_under_the_box() {
    let mut state = idle();
    let usage = Usage::new(12_300, 1_200);
    state.step(Event::Agent(AgentEvent::Usage { usage }), NOW);
    state.step(Event::Agent(AgentEvent::Context { tokens: 84_000, window: Some(200_000) }), NOW);
    assert!(show(&state, &Theme::default(), 120, 24).contains("context 42% · last turn ↑ 12.3k ↓ 1.2k tokens"));
    state.session.price = Some(Price { input: 3.0, output: 15.0 });
    let shown = show(&state, &Theme::default(), 120, 24);
    let words = "asks first (Shift-Tab) · anthropic/some-model · context 42% · $0.05";
    assert!(shown.contains(words), "{shown}");
    state.session.price = Some(Price { input: 0.1, output: 0.1 });
    assert!(show(&state, &Theme::default(), 120, 24).contains("<$0.01"));
    state.session.price = Some(Price { input: 0.0, output: 0.0 });
    assert!(!show(&state, &Theme::default(), 120, 24).contains('$'));
}

#[test]
fn screens_with_files_offered() {
    let mut state = idle();
    let long = format!("src/{}.rs", "a_long_name_".repeat(10));
    state.composer.files = ["src/main.rs", "src/lib.rs", &long].map(str::to_owned).to_vec();
    assert_eq!(state.composer.draft.set("look at @src/"), askuser::Fit::Kept);
    check("files", &state);
}
