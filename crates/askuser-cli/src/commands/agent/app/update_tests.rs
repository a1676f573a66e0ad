use super::*;
use crate::commands::agent::app::agent_thread::SessionInfo;
use crate::commands::agent::app::state::Motion;
use crate::commands::agent::app::test_fixtures::request;
use crate::commands::agent::app::tool_calls::CallStatus;
use askuser::{Context, Purpose, Request};
use askuser_agent::{ATTACHED, AgentEvent, Failure, FailureKind, PermissionMode, ToolResult};
use askuser_terminal::Theme;
use serde_json::json;
use std::sync::Arc;

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn session(mode: PermissionMode) -> SessionInfo {
    SessionInfo { id: "s1".into(), model: "a/b".into(), mode, cwd: "/work".into(), no_sandbox: None, context: None }
}

/// Returns the state of an app that waits for the person, with two earlier messages.
fn ready() -> State {
    let mut state = State::new(Presentation::Screen, Motion::Full, vec!["first".into(), "second".into()]);
    state.step(Event::SessionOpened(session(PermissionMode::Ask), Vec::new()), Duration::ZERO);
    state.step(Event::CommandDone, Duration::ZERO);
    state
}

fn press(state: &mut State, key: impl Into<Key>, now: u64) -> Vec<Effect> {
    state.step(Event::Key(key.into()), at(now))
}

fn write(state: &mut State, text: &str, now: u64) -> Vec<Effect> {
    text.chars().flat_map(|c| press(state, KeyCode::Char(c), now)).collect()
}

fn agent_event(state: &mut State, event: AgentEvent, now: u64) -> Vec<Effect> {
    state.step(Event::Agent(event), at(now))
}

/// Returns the state of an app whose agent works on a message.
fn working() -> State {
    let mut state = ready();
    write(&mut state, "go", 0);
    press(&mut state, KeyCode::Enter, 0);
    state
}

fn error(kind: FailureKind) -> AgentEvent {
    AgentEvent::Error { error: Failure::new(kind, "no network") }
}

fn waiting(context: Option<&str>) -> Arc<Request> {
    request("Which?", Purpose::Question, context.map(|diff| Context::Diff(diff.into())))
}

fn ask() -> Effect {
    Effect::Ask(waiting(None))
}

fn printed(effects: &[Effect]) -> Vec<&Item> {
    let mut items = Vec::new();
    for effect in effects {
        match effect {
            Effect::Print(item) if *item != Item::Gap => items.push(item),
            _ => {}
        }
    }
    items
}

// ---- sending ----

#[test]
fn enter_sends_and_remembers() {
    let mut state = ready();
    write(&mut state, "go", 0);
    let effects = press(&mut state, KeyCode::Enter, 0);
    let expected = [
        Effect::SaveHistory("go".into()),
        Effect::Print(Item::Gap),
        Effect::Print(Item::UserMessage("go".into())),
        Effect::Command(AgentCommand::Send("go".into())),
    ];
    assert_eq!(effects, expected);
    assert!(state.turn.running.is_some() && state.composer.draft.text().is_empty());
}

#[test]
fn blank_lines_are_not_sent() {
    let mut state = ready();
    write(&mut state, "  ", 0);
    assert_eq!(press(&mut state, KeyCode::Enter, 0), []);
}

#[test]
fn what_waited_comes_back_when_the_turn_is_stopped() {
    let mut state = working();
    write(&mut state, "/undo", 10);
    press(&mut state, KeyCode::Enter, 10);
    assert_eq!(state.composer.waiting, ["/undo"]);
    write(&mut state, "draft", 20);
    assert_eq!(press(&mut state, KeyCode::Esc, 30), [Effect::Command(AgentCommand::Stop)]);
    agent_event(&mut state, error(FailureKind::Interrupted), 40);
    state.step(Event::CommandDone, at(40));
    assert_eq!((state.composer.draft.as_str(), state.composer.waiting.len()), ("/undo\ndraft", 0));
}

#[test]
fn what_waited_for_a_command_is_sent_though_an_earlier_turn_was_stopped() {
    let mut state = working();
    agent_event(&mut state, error(FailureKind::Interrupted), 10);
    state.step(Event::CommandDone, at(10));
    write(&mut state, "/plan", 20);
    press(&mut state, KeyCode::Enter, 20);
    write(&mut state, "next", 20);
    press(&mut state, KeyCode::Enter, 20);
    let effects = state.step(Event::CommandDone, at(30));
    assert!(effects.contains(&Effect::Command(AgentCommand::Send("next".into()))), "{effects:?}");
}

#[test]
fn enter_during_a_turn_sends_a_message_that_the_model_reads_before_its_next_step() {
    let mut state = working();
    write(&mut state, "only tests", 10);
    let sent = [Effect::SaveHistory("only tests".into()), Effect::Command(AgentCommand::Say("only tests".into()))];
    assert_eq!(press(&mut state, KeyCode::Enter, 10), sent);
    assert_eq!((state.composer.said.len(), state.composer.waiting.len()), (1, 0));
    let text = format!("only tests{ATTACHED}a.txt]\n1\tone\n[End of a.txt]");
    let heard = agent_event(&mut state, AgentEvent::User { text }, 20);
    assert_eq!(printed(&heard), [&Item::UserMessage("only tests".into())]);
    assert!(state.composer.said.is_empty());
}

#[test]
fn what_was_sent_and_not_read_comes_back_with_up_and_when_the_turn_is_stopped() {
    let mut state = working();
    for text in ["one", "two"] {
        write(&mut state, text, 10);
        press(&mut state, KeyCode::Enter, 10);
    }
    assert_eq!(press(&mut state, KeyCode::Up, 20), [Effect::Command(AgentCommand::TakeBack(1))]);
    state.step(Event::TakenBack(vec!["two".into()]), at(20));
    assert_eq!((state.composer.draft.as_str(), state.composer.said.len()), ("two", 1));
    let stopped = [AgentCommand::TakeBack(usize::MAX), AgentCommand::Stop].map(Effect::Command);
    assert_eq!(press(&mut state, KeyCode::Esc, 30), stopped);
    state.step(Event::TakenBack(vec!["one".into()]), at(30));
    agent_event(&mut state, error(FailureKind::Interrupted), 40);
    (0..3).for_each(|_| drop(state.step(Event::CommandDone, at(40))));
    assert_eq!((state.composer.draft.as_str(), state.composer.said.len()), ("one\ntwo", 0));
}

#[test]
fn enter_tries_a_broken_turn_again() {
    let mut state = working();
    let effects = agent_event(&mut state, error(FailureKind::Network), 10);
    let note = Item::Note(Role::Danger, "no network. Press Enter to try again.".into());
    assert_eq!(printed(&effects), [&note]);
    state.step(Event::CommandDone, at(10));
    assert_eq!(press(&mut state, KeyCode::Enter, 20), [Effect::Command(AgentCommand::Resume)]);
}

#[test]
fn alt_enter_begins_a_new_line() {
    let mut state = ready();
    write(&mut state, "a", 0);
    press(&mut state, Key::alt(KeyCode::Enter), 0);
    press(&mut state, Key::ctrl('j'), 0);
    write(&mut state, "b", 0);
    assert_eq!(state.composer.draft.as_str(), "a\n\nb");
}

#[test]
fn a_message_that_is_too_long_is_refused_whole_and_said_so() {
    let mut state = ready();
    write(&mut state, "kept", 0);
    state.step(Event::Paste("x".repeat(LIMIT)), at(0));
    assert_eq!(state.composer.draft.as_str(), "kept");
    assert!(state.notice.is_some_and(|notice| notice.text.contains("50000")));
}

// ---- naming files ----

#[test]
fn files_are_looked_for_when_a_path_is_begun_and_tab_takes_the_likeliest() {
    let mut state = ready();
    assert_eq!(write(&mut state, "see @", 0), [Effect::ListFiles]);
    state.step(Event::Files(vec!["docs/my notes.md".into(), "src/main.rs".into()]), at(1));
    assert_eq!(write(&mut state, "ma", 2), []);
    let names = |state: &State| state.offers().into_iter().map(|offer| offer.name).collect::<Vec<_>>();
    assert_eq!(names(&state), ["@src/main.rs"]);
    press(&mut state, KeyCode::Tab, 3);
    assert_eq!((state.composer.draft.as_str(), names(&state).len()), ("see @src/main.rs ", 0));
    assert_eq!(write(&mut state, "@no", 4), [Effect::ListFiles]);
    press(&mut state, KeyCode::Tab, 5);
    assert_eq!(state.composer.draft.as_str(), "see @src/main.rs @\"docs/my notes.md\" ");
}

#[test]
fn the_arrows_move_in_a_menu_and_enter_takes_what_is_marked() {
    let mut state = ready();
    write(&mut state, "/c", 0);
    assert_eq!(state.offers().len(), 2);
    let cleared = press(&mut state, KeyCode::Enter, 1);
    assert!(cleared.contains(&Effect::Command(AgentCommand::Clear)), "{cleared:?}");
    for moves in [&[KeyCode::Down][..], &[KeyCode::Up, KeyCode::Up, KeyCode::Up]] {
        let _ = state.composer.draft.set("/c");
        moves.iter().for_each(|code| drop(press(&mut state, *code, 2)));
        assert_eq!(press(&mut state, KeyCode::Enter, 3), []);
        assert_eq!(state.composer.draft.as_str(), "/compact ", "something may follow");
    }
    for (moves, expected) in [(0, "see @a.rs "), (1, "see @b.rs ")] {
        let _ = state.composer.draft.set("");
        write(&mut state, "see @", 6);
        state.step(Event::Files(vec!["a.rs".into(), "b.rs".into()]), at(6));
        (0..moves).for_each(|_| drop(press(&mut state, KeyCode::Down, 7)));
        assert_eq!(press(&mut state, KeyCode::Enter, 7), []);
        assert_eq!(state.composer.draft.as_str(), expected);
    }
    // An earlier message that is a command shows no menu, so the arrows still move in the history.
    let _ = state.composer.draft.set("");
    press(&mut state, KeyCode::Up, 8);
    assert_eq!((state.composer.draft.as_str(), state.offers().len()), ("/clear", 0));
    press(&mut state, KeyCode::Down, 8);
    assert_eq!(state.composer.draft.as_str(), "");
}

#[test]
fn enter_runs_a_command_and_sends_a_path_that_is_written_out() {
    let mut state = ready();
    write(&mut state, "/compact", 0);
    let effects = press(&mut state, KeyCode::Enter, 1);
    assert!(effects.contains(&Effect::Command(AgentCommand::Compact(None))), "{effects:?}");
    let mut state = ready();
    write(&mut state, "see @a.rs", 0);
    state.step(Event::Files(vec!["a.rs".into(), "aa.rs".into()]), at(0));
    let effects = press(&mut state, KeyCode::Enter, 1);
    assert!(effects.contains(&Effect::Command(AgentCommand::Send("see @a.rs".into()))), "{effects:?}");
}

#[test]
fn tab_takes_the_first_command_also_during_a_turn() {
    let mut state = working();
    write(&mut state, "/c", 0);
    press(&mut state, KeyCode::Tab, 0);
    press(&mut state, KeyCode::Tab, 0);
    assert_eq!((state.composer.draft.as_str(), state.composer.waiting.len()), ("/clear", 0));
}

#[test]
fn help_is_printed() {
    let mut state = ready();
    write(&mut state, "/help", 0);
    assert!(printed(&press(&mut state, KeyCode::Enter, 0)).contains(&&Item::Help(Presentation::Screen)));
}

#[test]
fn tab_over_a_path_opens_a_question_that_waits() {
    let mut state = working();
    write(&mut state, "@m", 1_000);
    state.step(Event::Files(vec!["main.rs".into()]), at(1_000));
    state.step(Event::QuestionArrived(waiting(None)), at(1_100));
    assert_eq!(press(&mut state, KeyCode::Tab, 1_200), [ask()]);
}

#[test]
fn a_long_paste_is_sent_in_full_and_remembered() {
    let mut state = ready();
    let text: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    state.step(Event::Paste(text.clone()), at(0));
    assert_eq!(state.composer.draft.as_str(), "[pasted 40 lines]");
    let effects = press(&mut state, KeyCode::Enter, 1);
    assert_eq!(effects.first(), Some(&Effect::SaveHistory(text.clone())));
    assert_eq!(effects.last(), Some(&Effect::Command(AgentCommand::Send(text.trim_end().into()))));
}

// ---- stopping and leaving ----

#[test]
fn escape_does_nothing_where_nothing_runs() {
    assert_eq!(press(&mut ready(), KeyCode::Esc, 0), []);
}

#[test]
fn control_c_twice_quits_and_once_does_not() {
    let mut state = ready();
    assert_eq!(press(&mut state, Key::ctrl('c'), 0), []);
    assert_eq!(press(&mut state, Key::ctrl('c'), 1_900), [Effect::Quit]);
    let mut slow = ready();
    press(&mut slow, Key::ctrl('c'), 0);
    assert_eq!(press(&mut slow, Key::ctrl('c'), 2_100), []);
}

#[test]
fn control_c_at_a_question_and_once_more_quits() {
    let mut state = working();
    state.step(Event::QuestionArrived(waiting(None)), at(5_000));
    let effects = state.step(Event::QuestionClosed(QuestionEnd::Interrupted, at(500)), at(5_500));
    assert_eq!(effects, [Effect::ClearAnnouncement]);
    assert_eq!(state.notice.as_ref().map(|notice| notice.text.as_str()), Some("Press Ctrl-C again to quit."));
    assert_eq!(press(&mut state, Key::ctrl('c'), 7_400), [Effect::Quit]);
}

#[test]
fn control_c_puts_the_draft_aside_and_up_brings_it_back() {
    let mut state = ready();
    write(&mut state, "half a thought", 0);
    assert_eq!(press(&mut state, Key::ctrl('c'), 0), [Effect::SaveHistory("half a thought".into())]);
    assert_eq!(state.composer.draft.as_str(), "");
    press(&mut state, KeyCode::Up, 10);
    assert_eq!(state.composer.draft.as_str(), "half a thought");
}

#[test]
fn control_c_stops_the_turn_and_leaves_the_draft() {
    let mut state = working();
    write(&mut state, "draft", 0);
    assert_eq!(press(&mut state, Key::ctrl('c'), 0), [Effect::Command(AgentCommand::Stop)]);
    assert_eq!(state.composer.draft.as_str(), "draft");
}

#[test]
fn control_d_quits_only_with_nothing_typed() {
    let mut state = ready();
    write(&mut state, "x", 0);
    assert_eq!(press(&mut state, Key::ctrl('d'), 0), []);
    press(&mut state, KeyCode::Backspace, 0);
    assert_eq!(press(&mut state, Key::ctrl('d'), 0), [Effect::Quit]);
}

// ---- questions ----

#[test]
fn a_question_opens_at_once_where_nobody_types() {
    let mut state = working();
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(5_000));
    let announce = Effect::Announce { header: "Database".into(), may_be_away: true };
    assert_eq!(effects, [announce, ask()]);
}

#[test]
fn a_question_that_comes_while_a_person_types_waits_until_they_pause() {
    let mut state = working();
    press(&mut state, KeyCode::Left, 1_000);
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(1_100));
    assert_eq!(effects, [Effect::Announce { header: "Database".into(), may_be_away: false }]);
    assert_eq!(state.next_change(at(1_640)), Some(at(1_700)));
    // Another key delays the question further.
    assert_eq!(press(&mut state, KeyCode::Left, 1_650), []);
    assert_eq!(state.step(Event::Tick, at(1_800)), []);
    assert_eq!(state.step(Event::Tick, at(2_350)), [ask()]);
}

/// Returns the state after a question has arrived while a person writes.
fn half_written() -> State {
    let mut state = working();
    write(&mut state, "please use version ", 1_000);
    let announce = Effect::Announce { header: "Database".into(), may_be_away: false };
    assert_eq!(state.step(Event::QuestionArrived(waiting(None)), at(1_100)), [announce]);
    state
}

#[test]
fn a_question_does_not_open_while_a_person_pauses_over_a_half_written_text() {
    let mut state = half_written();
    assert_eq!(state.step(Event::Tick, at(4_000)), []);
    assert_eq!(write(&mut state, "2 of the library", 4_100), []);
    assert_eq!(state.step(Event::Tick, at(9_000)), []);
    assert_eq!(
        (state.composer.draft.as_str(), state.questions.pending.len()),
        ("please use version 2 of the library", 1)
    );
}

#[test]
fn tab_opens_a_question_over_a_half_written_text_which_stays() {
    let mut state = half_written();
    assert_eq!(press(&mut state, KeyCode::Tab, 1_200), [ask()]);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(500)), at(1_800));
    assert_eq!((state.composer.draft.as_str(), state.questions.pending.len()), ("please use version ", 0));
}

#[test]
fn tab_opens_a_question_also_over_half_a_command() {
    let mut state = working();
    write(&mut state, "/m", 1_000);
    state.step(Event::QuestionArrived(waiting(None)), at(1_100));
    assert_eq!(press(&mut state, KeyCode::Tab, 1_200), [ask()]);
    assert_eq!(state.composer.draft.as_str(), "/m");
}

#[test]
fn sending_the_text_opens_the_question_once_the_keyboard_rests() {
    let mut state = half_written();
    let sent = Effect::Command(AgentCommand::Say("please use version".into()));
    assert_eq!(press(&mut state, KeyCode::Enter, 1_200), [Effect::SaveHistory("please use version ".into()), sent]);
    assert_eq!(state.next_change(at(1_890)), Some(at(1_900)));
    assert_eq!(state.step(Event::Tick, at(1_900)), [ask()]);
}

#[test]
fn clearing_the_text_opens_the_question_once_the_keyboard_rests() {
    let mut state = half_written();
    assert_eq!(press(&mut state, Key::ctrl('u'), 1_200), []);
    assert_eq!(state.step(Event::Tick, at(1_900)), [ask()]);
}

#[test]
fn who_leaves_a_half_written_text_alone_is_called_to_the_question_once() {
    let mut state = half_written();
    state.motion = Motion::Reduced;
    assert_eq!(state.next_change(at(5_999)), Some(at(6_000)));
    let announce = Effect::Announce { header: "Database".into(), may_be_away: true };
    assert_eq!(state.step(Event::Tick, at(6_000)), [announce]);
    assert_eq!(state.step(Event::Tick, at(60_000)), []);
    // A paused agent has no spinner, so the screen needs no redraws.
    assert_eq!(state.next_change(at(60_000)), None);
}

#[test]
fn what_a_question_is_about_is_shown_by_its_prompt() {
    let mut state = working();
    let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n";
    let effects = state.step(Event::QuestionArrived(waiting(Some(diff))), at(5_000));
    assert_eq!(printed(&effects), Vec::<&Item>::new());
    assert_eq!(effects.last(), Some(&Effect::Ask(waiting(Some(diff)))));
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(900)), at(6_000));
}

#[test]
fn one_enter_too_many_after_an_answer_sends_no_half_draft_and_stops_nothing() {
    let mut state = working();
    write(&mut state, "half a dra", 1_000);
    state.step(Event::QuestionArrived(waiting(None)), at(1_000));
    press(&mut state, KeyCode::Tab, 2_000);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(1_000)), at(3_000));
    assert_eq!(press(&mut state, KeyCode::Enter, 3_100), []);
    assert_eq!(press(&mut state, KeyCode::Esc, 3_200), []);
    // A held key repeats after half a second.
    assert_eq!(press(&mut state, KeyCode::Enter, 3_700), []);
    assert_eq!(press(&mut state, KeyCode::Enter, 3_740), []);
    write(&mut state, "ft", 3_800);
    let sent = Effect::Command(AgentCommand::Say("half a draft".into()));
    assert_eq!(press(&mut state, KeyCode::Enter, 3_900), [Effect::SaveHistory("half a draft".into()), sent]);
}

#[test]
fn a_question_that_was_withdrawn_does_not_open() {
    let mut state = working();
    write(&mut state, "x", 1_000);
    let question = waiting(None);
    state.step(Event::QuestionArrived(question.clone()), at(1_100));
    // Another question with the same key is still pending.
    assert_eq!(state.step(Event::QuestionGone(waiting(None)), at(1_150)), []);
    assert_eq!(state.step(Event::QuestionGone(question), at(1_200)), [Effect::ClearAnnouncement]);
    assert_eq!(state.step(Event::Tick, at(9_000)), []);
}

#[test]
fn who_looks_at_the_terminal_is_not_called() {
    let mut state = working();
    state.step(Event::Focus(Focus::Gained), at(10));
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(90_000));
    assert_eq!(effects[0], Effect::Announce { header: "Database".into(), may_be_away: false });
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(10)), at(90_010));
    state.step(Event::Focus(Focus::Lost), at(90_020));
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(90_030));
    assert_eq!(effects[0], Effect::Announce { header: "Database".into(), may_be_away: true });
}

#[test]
fn who_has_just_answered_is_not_called_to_the_next_question() {
    let mut state = working();
    state.step(Event::QuestionArrived(waiting(None)), at(60_000));
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(30_000)), at(90_000));
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(91_000));
    // A change of focus is no typing, so the question opens at once.
    assert_eq!(effects, [Effect::Announce { header: "Database".into(), may_be_away: false }, ask()]);
    state.step(Event::QuestionClosed(QuestionEnd::Unanswered, at(10)), at(91_010));
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(96_000));
    assert_eq!(effects[0], Effect::Announce { header: "Database".into(), may_be_away: true });
}

#[test]
fn nothing_wakes_in_vain_over_a_half_written_text_after_an_answer() {
    let mut state = half_written();
    state.motion = Motion::Reduced;
    press(&mut state, KeyCode::Tab, 1_200);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(2_000)), at(3_500));
    state.step(Event::QuestionArrived(waiting(None)), at(3_600));
    assert_eq!(state.next_change(at(8_100)), Some(at(8_500)));
    assert!(matches!(state.step(Event::Tick, at(8_500))[..], [Effect::Announce { may_be_away: true, .. }]));
}

// ---- an idle screen ----

#[test]
fn nothing_wakes_an_idle_screen() {
    assert_eq!(ready().next_change(at(123)), None);
}

#[test]
fn a_working_screen_is_drawn_eight_times_a_second_or_once_where_motion_is_unwanted() {
    let mut state = working();
    assert_eq!(state.next_change(at(1_010)), Some(at(1_125)));
    state.motion = Motion::Reduced;
    assert_eq!(state.next_change(at(1_010)), Some(at(2_000)));
    state.presentation = Presentation::Line;
    assert_eq!(state.next_change(at(1_010)), None);
}

#[test]
fn a_hint_goes_by_itself() {
    let mut state = ready();
    press(&mut state, Key::ctrl('c'), 0);
    assert_eq!(state.next_change(at(10)), Some(at(2_000)));
    state.step(Event::Tick, at(2_000));
    assert_eq!((state.notice.as_ref(), state.next_change(at(2_000))), (None, None));
}

// ---- what the agent tells ----

#[test]
fn text_is_printed_block_by_block_and_once() {
    let mut state = working();
    let delta = |text: &str| AgentEvent::TextDelta { text: text.into() };
    assert_eq!(agent_event(&mut state, delta("one\n\ntw"), 1).len(), 2);
    assert_eq!(agent_event(&mut state, delta("o"), 2), []);
    let last = agent_event(&mut state, AgentEvent::TextEnd, 3);
    let [Item::ModelText(rows)] = printed(&last)[..] else { panic!("{last:?}") };
    assert_eq!(rows[1..], askuser_terminal::markdown::rows("two"));
    // Another text begins before either complete text has arrived.
    agent_event(&mut state, delta("three"), 3);
    agent_event(&mut state, AgentEvent::TextEnd, 3);
    for text in ["one\n\ntwo", "three"] {
        assert_eq!(agent_event(&mut state, AgentEvent::Text { text: text.into() }, 3), []);
    }
    assert_eq!(agent_event(&mut state, AgentEvent::Done { text: "one\n\ntwo".into() }, 4), []);
}

fn start(state: &mut State, name: &str, input: serde_json::Value) {
    agent_event(state, AgentEvent::ToolStart { id: "1".into(), name: name.into(), input }, 0);
}

fn result(result: ToolResult) -> AgentEvent {
    AgentEvent::ToolResult { id: "1".into(), name: "Bash".into(), result }
}

#[test]
fn a_failed_command_shows_its_exit_code_first_and_the_end_of_its_output() {
    let mut state = working();
    start(&mut state, "Bash", json!({"command": "make"}));
    let output: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let failed = ToolResult::error(format!("Exit code 2\n\n{output}")).with_details(json!({"exit_code": 2}));
    let effects = agent_event(&mut state, result(failed), 1);
    let [Item::Call(ended), shown @ Item::Output { role: Role::Danger, .. }] = printed(&effects)[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((ended.status, ended.ending.as_deref()), (CallStatus::Failed, Some("exit code 2")));
    let lines = crate::commands::agent::app::scrollback::lines(shown, &askuser_terminal::Theme::default(), 80);
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(lines[0], "… 55 earlier lines, Ctrl-O or /output shows all");
    assert_eq!((lines.len(), lines[5].as_str()), (6, "    line 60"));
}

#[test]
fn what_a_running_call_writes_is_kept_until_it_is_read() {
    let mut state = working();
    start(&mut state, "Bash", json!({"command": "make"}));
    for part in ["one\n", "two\n"] {
        assert_eq!(agent_event(&mut state, AgentEvent::ToolOutput { id: "1".into(), text: part.into() }, 1), []);
    }
    let output = state.turn.calls[0].output.expect("an output");
    let shown = |state: &State| state.outputs.get(output).map(|output| output.shown(&Theme::default()));
    assert_eq!(shown(&state).as_deref(), Some("one\ntwo"));
    agent_event(&mut state, result(ToolResult::ok("one\n…")), 2);
    assert_eq!(state.outputs.last(), Some(output));
    assert_eq!(shown(&state).as_deref(), Some("one\ntwo"));
}

#[test]
fn control_o_reads_the_outputs_and_keeps_the_draft() {
    let mut state = working();
    assert_eq!(press(&mut state, Key::ctrl('o'), 1), []);
    assert!(state.notice.is_some());
    agent_event(&mut state, result(ToolResult::ok("a\nb")), 1);
    write(&mut state, "draft", 1);
    assert_eq!(press(&mut state, Key::ctrl('o'), 2), [Effect::ReadOutputs]);
    assert_eq!(state.composer.draft.as_str(), "draft");
}

#[test]
fn thoughts_are_folded_and_can_be_read_in_full() {
    let mut state = working();
    let thought = |text: &str| AgentEvent::ThoughtDelta { text: text.into() };
    assert_eq!(agent_event(&mut state, thought("First I look. "), 1_000), []);
    assert_eq!(agent_event(&mut state, thought("Then I leap."), 3_000), []);
    assert!(state.turn.thought.is_some());
    let effects = agent_event(&mut state, AgentEvent::TextDelta { text: "Hm".into() }, 7_000);
    assert_eq!(printed(&effects), [&Item::Gap; 0]);
    let shown = state.outputs.text(&Theme::default(), |_| None);
    assert_eq!(shown, "Thought for 6.0s\n\n  First I look. Then I leap.\n");
}

#[test]
fn a_subagents_thoughts_are_not_shown() {
    let mut state = working();
    let event = Box::new(AgentEvent::ThoughtDelta { text: "hm".into() });
    agent_event(&mut state, AgentEvent::Task { id: "t".into(), description: "audit".into(), event }, 1);
    assert_eq!((state.turn.thought, state.outputs.last()), (None, None));
}

#[test]
fn a_text_that_is_made_again_is_said_not_to_count() {
    let mut state = working();
    agent_event(&mut state, AgentEvent::TextDelta { text: "half an ans".into() }, 1);
    let error = Failure::new(FailureKind::Overloaded, "overloaded");
    let effects = agent_event(&mut state, AgentEvent::Retry { error, after_ms: 2_000 }, 2);
    let note = "overloaded; trying again in 2.0s. The unfinished answer above does not count.";
    assert_eq!(printed(&effects).last(), Some(&&Item::Note(Role::Warning, note.into())));
}

#[test]
fn a_subagents_calls_are_shown_with_its_name() {
    let mut state = working();
    let task = |event| AgentEvent::Task { id: "t".into(), description: "audit deps".into(), event: Box::new(event) };
    let input = json!({"path": "Cargo.toml"});
    agent_event(&mut state, task(AgentEvent::ToolStart { id: "1".into(), name: "Read".into(), input }), 1);
    assert_eq!(agent_event(&mut state, task(AgentEvent::Text { text: "hm".into() }), 2), []);
    let result = ToolResult::ok("x");
    let effects =
        agent_event(&mut state, task(AgentEvent::ToolResult { id: "1".into(), name: "Read".into(), result }), 3);
    let [Item::Call(ended)] = printed(&effects)[..] else { panic!("{effects:?}") };
    assert_eq!((ended.task.as_deref(), ended.about.as_str()), (Some("audit deps"), "Cargo.toml"));
}

/// Returns the text that is printed of a resumed conversation.
fn recalled(events: Vec<AgentEvent>) -> Vec<String> {
    let mut state = State::new(Presentation::Screen, Motion::Full, Vec::new());
    let effects = state.step(Event::SessionOpened(session(PermissionMode::Ask), events), at(0));
    assert_eq!((state.turn.calls.len(), state.session.spent), (0, askuser_agent::Usage::default()));
    let theme = askuser_terminal::Theme::default();
    let items = printed(&effects).into_iter().skip(1);
    let lines = items.flat_map(|item| crate::commands::agent::app::scrollback::lines(item, &theme, 80));
    lines.map(|line| line.to_string().trim_end().to_owned()).collect()
}

fn user(text: &str) -> AgentEvent {
    AgentEvent::User { text: text.into() }
}

fn called(id: &str, name: &str, input: serde_json::Value, result: ToolResult) -> [AgentEvent; 2] {
    let id = id.to_owned();
    let name = name.to_owned();
    [AgentEvent::ToolStart { id: id.clone(), name: name.clone(), input }, AgentEvent::ToolResult { id, name, result }]
}

#[test]
fn a_conversation_that_is_taken_up_looks_as_it_did() {
    let answer = |label: &str| json!({"question": "Which?", "header": "Database", "selectedOptions": [label]});
    let answered = json!({"status": "answered", "answers": [answer("SQLite")], "via": "terminal"});
    let question = ToolResult::ok("User answered the following questions: …").with_details(answered);
    let planned = json!({"status": "answered", "via": "terminal", "answers": [
        {"question": "Go ahead with this plan?", "header": "Plan", "selectedOptions": ["Go ahead, accept edits"], "note": "soon"}]});
    let planned = ToolResult::ok("The user approved the plan.").with_details(planned);
    let failed = ToolResult::error("Exit code 2\n\nno rule").with_details(json!({"exit_code": 2}));
    let mut events = vec![user("look"), AgentEvent::Text { text: "I look.".into() }];
    let option = |label: &str| json!({"label": label, "description": "x"});
    let options = [option("PostgreSQL"), option("SQLite")];
    let asked =
        json!({"questions": [{"question": "Which?", "header": "Database", "multiSelect": false, "options": options}]});
    events.extend(called("1", "AskUserQuestion", asked, question));
    events.extend(called("2", "Bash", json!({"command": "make"}), failed));
    events.extend(called("3", "ExitPlanMode", json!({"plan": "# Leap"}), planned));
    events.push(AgentEvent::Usage { usage: askuser_agent::Usage::new(5, 5) });
    events.push(AgentEvent::ToolStart { id: "4".into(), name: "Bash".into(), input: json!({}) });
    let expected = [
        "> look",
        "  I look.",
        "✔ Database: SQLite",
        "● Bash make  ✘ exit code 2",
        "    no rule",
        "┃ Leap",
        "✔ Plan: Go ahead, accept edits (note: soon)",
    ];
    assert_eq!(recalled(events), expected);
}

#[test]
fn a_question_that_was_not_answered_is_recalled_as_that() {
    for (details, shown) in [
        (json!({"status": "cancelled", "answers": [], "via": "terminal"}), "✘ Cancelled: Database"),
        (json!({"status": "declined", "reason": "not now", "answers": [], "via": "terminal"}), "✘ Declined: not now"),
    ] {
        let result = ToolResult::ok("…").with_details(details);
        let option = |label: &str| json!({"label": label, "description": "x"});
        let question = json!({"question": "Which?", "header": "Database", "multiSelect": false, "options": [option("A"), option("B")]});
        let events = called("1", "AskUserQuestion", json!({"questions": [question]}), result).to_vec();
        assert_eq!(recalled(events), [shown]);
    }
}

#[test]
fn several_answers_are_recalled_and_what_cannot_be_read_is_shown_as_the_model_read_it() {
    let option = |label: &str| json!({"label": label, "description": "x"});
    let options = |labels: &[&str]| labels.iter().map(|label| option(label)).collect::<Vec<_>>();
    let input = json!({"questions": [
        {"question": "Which ones?", "header": "Checks", "multiSelect": true, "options": options(&["A", "Lint", "Tests"])},
        {"question": "Where?", "header": "Place", "multiSelect": false, "options": options(&["A", "B"])},
    ]});
    let answers = json!([
        {"question": "Which ones?", "header": "Checks", "selectedOptions": ["A", "Lint", "Tests"], "customInput": "more"},
        {"question": "Where?", "header": "Place", "selectedOptions": [], "customInput": "here"},
    ]);
    let result = ToolResult::ok("x").with_details(json!({"status": "answered", "answers": answers, "via": "terminal"}));
    let events = called("1", "AskUserQuestion", input, result).to_vec();
    assert_eq!(recalled(events), ["✔ Checks: A, Lint, Tests, more", "✔ Place: here"]);
    let events = called("1", "AskUserQuestion", json!({}), ToolResult::ok("You said: yes")).to_vec();
    assert_eq!(recalled(events), ["    You said: yes"]);
}

#[test]
fn of_a_long_conversation_the_last_turns_are_shown() {
    let mut events = Vec::new();
    for n in 0..200 {
        events.push(user(&format!("message {n}")));
        events.extend(called("1", "Read", json!({"path": "x"}), ToolResult::ok("x")));
    }
    let shown = recalled(events);
    assert_eq!(shown[..3], ["• 67 earlier messages of yours", "> message 67", "● Read x  ✔"]);
    assert_eq!(shown.len(), 267);
}

#[test]
fn calls_that_run_beside_each_other_are_shown_in_the_order_they_were_made() {
    let mut state = working();
    let begin = |id: &str| AgentEvent::ToolStart { id: id.into(), name: "Read".into(), input: json!({"path": id}) };
    let end = |id: &str| AgentEvent::ToolResult { id: id.into(), name: "Read".into(), result: ToolResult::ok("x") };
    for id in ["a", "b", "c"] {
        agent_event(&mut state, begin(id), 1);
    }
    assert_eq!(agent_event(&mut state, end("c"), 2), []);
    assert_eq!(agent_event(&mut state, end("b"), 3), []);
    let shown = agent_event(&mut state, end("a"), 4);
    let about = |item: &&Item| match item {
        Item::Call(call) => call.about.clone(),
        other => panic!("{other:?}"),
    };
    let shown: Vec<_> = printed(&shown).iter().map(about).collect();
    assert_eq!(shown, ["a", "b", "c"]);
}

#[test]
fn what_has_ended_is_shown_though_the_turn_is_stopped_before_an_earlier_call_has() {
    let mut state = working();
    for id in ["a", "b"] {
        let input = json!({"path": id});
        agent_event(&mut state, AgentEvent::ToolStart { id: id.into(), name: "Read".into(), input }, 1);
    }
    let result = ToolResult::ok("x");
    agent_event(&mut state, AgentEvent::ToolResult { id: "b".into(), name: "Read".into(), result }, 2);
    let effects = agent_event(&mut state, error(FailureKind::Interrupted), 3);
    assert!(matches!(printed(&effects)[..], [Item::Call(_), Item::Note(..)]), "{effects:?}");
}

// ---- commands ----

fn command(state: &mut State, line: &str) -> Vec<Effect> {
    write(state, line, 0);
    let mut effects = press(state, KeyCode::Enter, 0);
    effects.retain(|effect| !matches!(effect, Effect::SaveHistory(_)));
    effects
}

#[test]
fn shift_tab_goes_through_the_modes_and_never_to_the_one_that_asks_nothing() {
    let mut state = ready();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let effects = press(&mut state, KeyCode::BackTab, 0);
        assert_eq!(effects, [Effect::Command(AgentCommand::SetMode(state.mode()))]);
        seen.push(state.mode());
    }
    use PermissionMode::{AcceptEdits, Allow, Ask, Plan, Sandbox};
    assert_eq!(seen, [AcceptEdits, Sandbox, Plan, Ask]);
    let mut state = ready();
    let no_sandbox = Some("bwrap is not installed".to_owned());
    state.step(Event::SessionChanged(SessionInfo { no_sandbox, ..session(AcceptEdits) }), at(0));
    press(&mut state, KeyCode::BackTab, 0);
    assert_eq!(state.mode(), Plan, "there is none");
    let mut state = ready();
    state.step(Event::SessionChanged(session(Allow)), at(0));
    press(&mut state, KeyCode::BackTab, 0);
    assert_eq!(state.mode(), Ask);
}

#[test]
fn shift_tab_that_was_meant_for_a_question_changes_no_mode() {
    let mut state = working();
    state.step(Event::QuestionArrived(waiting(None)), at(5_000));
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(500)), at(5_500));
    assert_eq!(press(&mut state, KeyCode::BackTab, 5_600), []);
    assert_eq!(state.mode(), PermissionMode::Ask);
}

#[test]
fn a_mode_that_could_not_be_changed_is_shown_as_it_is() {
    let mut state = working();
    press(&mut state, KeyCode::BackTab, 0);
    state.step(Event::failed("the disk is full"), at(1));
    agent_event(&mut state, AgentEvent::Mode { mode: PermissionMode::Ask }, 1);
    assert_eq!(state.mode(), PermissionMode::Ask);
}

#[test]
fn plan_mode_goes_on_and_off_to_where_it_was_also_during_a_turn() {
    for mut state in [ready(), working()] {
        state.step(Event::SessionChanged(session(PermissionMode::AcceptEdits)), at(0));
        let effects = command(&mut state, "/plan");
        assert_eq!(effects.first(), Some(&Effect::Command(AgentCommand::SetMode(PermissionMode::Plan))));
        assert!(state.notice.as_ref().is_some_and(|notice| notice.text.starts_with("Plan mode")), "{effects:?}");
        assert_eq!((state.mode(), state.composer.waiting.len()), (PermissionMode::Plan, 0));
        state.step(Event::CommandDone, at(0));
        let effects = command(&mut state, "/plan");
        assert_eq!(effects.first(), Some(&Effect::Command(AgentCommand::SetMode(PermissionMode::AcceptEdits))));
    }
}

#[test]
fn a_summary_that_fails_leaves_nothing_to_try_again() {
    let mut state = ready();
    command(&mut state, "/compact");
    let effects = agent_event(&mut state, error(FailureKind::Network), 0);
    assert_eq!(printed(&effects), [&Item::Note(Role::Danger, "no network".into())]);
    state.step(Event::CommandDone, at(0));
    assert_eq!(press(&mut state, KeyCode::Enter, 0), []);
}

#[test]
fn in_line_mode_the_last_output_is_printed_in_full() {
    let mut state = ready();
    state.presentation = Presentation::Line;
    let text: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    agent_event(&mut state, result(ToolResult::error(&*text)), 1);
    let effects = state.step(Event::Line("/output".into()), at(2));
    let expected = Item::Output { text: text.trim_end().into(), role: Role::Secondary, max_lines: usize::MAX };
    assert_eq!(printed(&effects), [&expected]);
}

#[test]
fn an_unknown_command_is_an_error_and_can_be_mended() {
    let mut state = ready();
    assert_eq!(command(&mut state, "/plam"), []);
    assert_eq!(state.composer.draft.as_str(), "/plam");
    assert!(state.notice.is_some_and(|notice| notice.text.starts_with("There is no command /plam.")));
}

#[test]
fn a_command_waits_for_the_turn_to_end_unless_it_changes_nothing() {
    let mut state = working();
    assert_eq!(command(&mut state, "/clear"), []);
    assert_eq!(state.composer.waiting, ["/clear"]);
    assert_eq!(printed(&command(&mut state, "/help")), [&Item::Help(Presentation::Screen)]);
    assert_eq!(command(&mut state, "/quit"), [Effect::Quit]);
}

#[test]
fn commands_are_completed() {
    let mut state = ready();
    write(&mut state, "/m", 0);
    press(&mut state, KeyCode::Tab, 0);
    assert_eq!(state.composer.draft.as_str(), "/model ");
}

#[test]
fn a_model_is_named_or_chosen_from_what_the_provider_has() {
    use crate::commands::agent::models::Offered;
    let listing = Effect::Command(AgentCommand::ListModels);
    let mut state = ready();
    assert_eq!(command(&mut state, "/model").last(), Some(&listing));
    assert!(!command(&mut working(), "/model").contains(&listing), "nothing to choose while a turn runs");
    assert_eq!(command(&mut ready(), "/model a/b"), [Effect::Command(AgentCommand::SetModel("a/b".into()))]);
    let offered = Offered { provider: &askuser_agent::provider::PROVIDERS[0], models: Vec::new() };
    let choice = Effect::ChooseModel(offered.clone());
    assert!(state.step(Event::ModelsListed(offered.clone()), at(0)).contains(&choice));
    write(&mut state, "meanwhile", 0);
    assert!(
        !state.step(Event::ModelsListed(offered), at(0)).contains(&choice),
        "a person who writes is not interrupted"
    );
}

#[test]
fn sessions_are_resumed_by_id_or_by_choice() {
    assert_eq!(command(&mut ready(), "/resume"), [Effect::ChooseSession]);
    assert_eq!(command(&mut ready(), "/resume x1"), [Effect::Command(AgentCommand::OpenSession("x1".into()))]);
    assert!(matches!(printed(&command(&mut ready(), "/resume s1"))[..], [Item::Note(..)]));
}

// ---- line mode ----

#[test]
fn in_line_mode_a_line_is_sent_and_not_repeated() {
    let mut state = ready();
    state.presentation = Presentation::Line;
    let effects = state.step(Event::Line("go".into()), at(0));
    assert_eq!(effects, [Effect::SaveHistory("go".into()), Effect::Command(AgentCommand::Send("go".into()))]);
}

#[test]
fn in_line_mode_a_question_waits_for_the_end_of_a_line_that_was_begun() {
    let mut state = working();
    state.presentation = Presentation::Line;
    assert_eq!(state.step(Event::TypeAhead { lines: Vec::new(), rest: "use version ".into() }, at(5_000)), []);
    let effects = state.step(Event::QuestionArrived(waiting(None)), at(5_000));
    let note = "A question waits: Database. Enter asks it and keeps your text; or finish your line first.";
    assert_eq!(printed(&effects), [&Item::Note(Role::Warning, note.into())]);
    assert!(!effects.contains(&ask()), "{effects:?}");
    let effects = state.step(Event::Line("2".into()), at(6_000));
    assert_eq!((effects.first(), effects.last()), (Some(&Effect::SaveHistory("use version 2".into())), Some(&ask())));
    assert_eq!(state.composer.said, ["use version 2"]);
}

#[test]
fn in_line_mode_enter_alone_asks_and_the_line_that_was_begun_goes_on_afterwards() {
    let mut state = working();
    state.presentation = Presentation::Line;
    state.step(Event::TypeAhead { lines: vec!["first".into()], rest: "use version ".into() }, at(5_000));
    state.step(Event::QuestionArrived(waiting(None)), at(5_000));
    assert_eq!(state.step(Event::Line(String::new()), at(6_000)), [ask()]);
    state.step(Event::QuestionClosed(QuestionEnd::Answered, at(500)), at(6_500));
    state.step(Event::Line("2".into()), at(7_000));
    assert_eq!(state.composer.said, ["first", "use version 2"]);
}

#[test]
fn in_line_mode_what_is_wrong_is_printed() {
    let mut state = ready();
    state.presentation = Presentation::Line;
    let effects = state.step(Event::Line("/x".into()), at(0));
    assert!(matches!(printed(&effects)[..], [Item::Note(Role::Danger, _)]), "{effects:?}");
    assert_eq!(state.composer.draft.as_str(), "");
}

#[test]
fn the_conversation_is_summarised_on_request_and_the_context_is_known() {
    let mut state = ready();
    let context = |state: &mut State| {
        write(state, "/status", 0);
        let effects = press(state, KeyCode::Enter, 0);
        match printed(&effects)[..] {
            [Item::Note(_, words)] => words.lines().last().unwrap_or_default().to_owned(),
            ref other => panic!("{other:?}"),
        }
    };
    assert_eq!(context(&mut state), "The conversation is empty.");
    agent_event(&mut state, AgentEvent::Context { tokens: 84_000, window: Some(200_000) }, 0);
    let words = "The context has about 84.0k of 200.0k tokens (42%). It is summarised at 80%; /compact does it now.";
    assert_eq!(context(&mut state), words);
    write(&mut state, "/compact the tests", 0);
    let effects = press(&mut state, KeyCode::Enter, 0);
    assert!(effects.contains(&Effect::Command(AgentCommand::Compact(Some("the tests".into())))), "{effects:?}");
    assert!(state.turn.running.is_some(), "Esc stops it");
    let compacted = AgentEvent::Compacted { before_tokens: 84_000, after_tokens: 9_000, left_out: 0 };
    let effects = agent_event(&mut state, compacted, 0);
    let words = "The conversation was summarised: about 84.0k tokens before, 9.0k now. Your messages and answers are kept word \
                 for word.";
    assert_eq!(printed(&effects), [&Item::Note(Role::Muted, words.into())]);
    agent_event(&mut state, AgentEvent::Context { tokens: 9_000, window: None }, 0);
    assert!(context(&mut state).starts_with("The context has about 9.0k tokens. How many the model takes is unknown"));
}

// ---- commands of the person's own, permissions, undo ----

#[test]
fn a_line_that_begins_with_an_exclamation_mark_is_a_command_of_the_persons_own() {
    let mut state = ready();
    write(&mut state, "! git status", 0);
    let effects = press(&mut state, KeyCode::Enter, 0);
    let expected =
        [Effect::SaveHistory("! git status".into()), Effect::Command(AgentCommand::RunCommand("git status".into()))];
    assert_eq!(effects, expected);
    assert!(state.turn.running.is_some(), "Esc stops it");
    let started = AgentEvent::ToolStart { id: "!".into(), name: "!".into(), input: json!({"command": "git status"}) };
    agent_event(&mut state, started, 0);
    let result = ToolResult::error("Exit code 1\n\nno repository");
    let effects = agent_event(&mut state, AgentEvent::ToolResult { id: "!".into(), name: "!".into(), result }, 10);
    let output = Item::Output { text: "Exit code 1\n\nno repository".into(), role: Role::Danger, max_lines: 400 };
    assert_eq!(printed(&effects).last(), Some(&&output));
}

#[test]
fn an_exclamation_mark_alone_runs_nothing() {
    let mut state = ready();
    write(&mut state, "! ", 0);
    assert_eq!(press(&mut state, KeyCode::Enter, 0), []);
    assert_eq!(state.notice.unwrap().text, "Write a command after the !, as in !git status");
}

#[test]
fn a_command_typed_during_a_turn_waits_for_its_end() {
    let mut state = working();
    write(&mut state, "!ls", 10);
    assert_eq!(press(&mut state, KeyCode::Enter, 10), [Effect::SaveHistory("!ls".into())]);
    agent_event(&mut state, AgentEvent::Done { text: "ok".into() }, 20);
    let effects = state.step(Event::CommandDone, at(20));
    assert!(effects.contains(&Effect::Command(AgentCommand::RunCommand("ls".into()))), "{effects:?}");
}

#[test]
fn permissions_are_changed_during_a_turn_and_edits_taken_back_after_it() {
    let mut state = working();
    write(&mut state, "/permissions remove 1", 10);
    let effects = press(&mut state, KeyCode::Enter, 10);
    assert!(effects.contains(&Effect::Command(AgentCommand::Permissions("remove 1".into()))), "{effects:?}");
    state.step(Event::CommandDone, at(15));
    assert!(state.turn.running.is_some());
    write(&mut state, "/undo", 20);
    press(&mut state, KeyCode::Enter, 20);
    assert_eq!(state.composer.waiting, ["/undo"]);
}

#[test]
fn what_the_person_did_beside_the_conversation_is_recalled_as_it_was_shown() {
    let undone = AgentEvent::Notice { message: "a.txt is as it was before its last edit.".into() };
    let ran = called("!", "!", json!({"command": "ls"}), ToolResult::ok("a\nb"));
    let shown = recalled([undone].into_iter().chain(ran).collect());
    assert_eq!(shown, ["• a.txt is as it was before its last edit.", "● ! ls  ✔ 2 lines", "    a", "    b"]);
}
