use super::*;
use crate::fixtures::{ARMED, database};
use askuser::{Key, KeyCode, ToolUse};

const AREA: Rect = Rect::new(0, 0, 60, 24);

fn session(options: PromptOptions) -> PromptSession {
    let prompt = Prompt::new(database(), options);
    let context = Some(Context::Prose("The plan:\n1. look".into()));
    PromptSession { context, ..PromptSession::from_prompt(prompt, Theme::default()) }
}

fn draw(session: &mut PromptSession, now: Instant) -> String {
    let mut buffer = Buffer::empty(AREA);
    session.render(AREA, &mut buffer, now);
    let row = |cells: &[ratatui_core::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    buffer.content.chunks(usize::from(AREA.width)).map(|cells| row(cells) + "\n").collect()
}

fn key(code: KeyCode) -> TerminalInput {
    TerminalInput::Key(Key::plain(code))
}

#[test]
fn the_clock_starts_with_the_first_frame() {
    let mut session = session(PromptOptions { deadline: Some(Duration::from_secs(30)), ..ARMED });
    let built = Instant::now();
    assert_eq!((session.next_wake(), session.tick(built + Duration::from_secs(60))), (None, Effect::Continue));
    let shown = built + Duration::from_secs(100);
    draw(&mut session, shown);
    assert_eq!(session.next_wake(), Some(shown + Duration::from_secs(1)));
    assert_eq!(session.tick(shown + Duration::from_secs(29)), Effect::Continue);
    let Effect::Finish(outcome) = session.tick(shown + Duration::from_secs(30)) else { panic!("the time is up") };
    assert_eq!(outcome.status(), &Status::TimedOut);
    assert!(draw(&mut session, shown).contains("Timed out"));
}

#[test]
fn a_key_holds_the_deadline_and_nothing_is_due_any_more() {
    let mut session = session(PromptOptions { deadline: Some(Duration::from_secs(30)), ..ARMED });
    let start = Instant::now();
    draw(&mut session, start);
    assert_eq!(session.handle(key(KeyCode::Down), start), Effect::Continue);
    assert_eq!((session.next_wake(), session.tick(start + Duration::from_secs(60))), (None, Effect::Continue));
}

#[test]
fn keys_before_the_arming_delay_answer_nothing() {
    let mut session = session(PromptOptions { key_delay: Duration::from_millis(250), deadline: None });
    let start = Instant::now();
    draw(&mut session, start);
    assert_eq!(session.handle(key(KeyCode::Enter), start + Duration::from_millis(100)), Effect::Continue);
    // The rest of the keys that were typed at once is ignored, too.
    assert_eq!(session.handle(key(KeyCode::Enter), start + Duration::from_millis(300)), Effect::Continue);
    let effect = session.handle(key(KeyCode::Enter), start + Duration::from_millis(1_100));
    assert!(matches!(effect, Effect::Finish(_)), "{effect:?}");
}

#[test]
fn the_context_stands_above_the_question() {
    let screen = draw(&mut session(ARMED), Instant::now());
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words} in\n{screen}"));
    assert!(at("Database") < at("The plan:") && at("1. look") < at("Which database"), "{screen}");
}

#[test]
fn what_the_editor_could_not_do_is_said_and_the_text_is_kept() {
    let mut session = session(ARMED);
    let now = Instant::now();
    draw(&mut session, now);
    session.handle(key(KeyCode::Char('4')), now);
    session.handle(TerminalInput::Paste("bun".into()), now);
    let effect = session.handle(TerminalInput::Key(Key::ctrl('g')), now);
    assert_eq!(effect, Effect::Edit("bun".into()));
    session.finish_edit(Err(io::Error::other("no vi here")), now);
    let screen = draw(&mut session, now);
    assert!(screen.contains("no vi here") && screen.contains("Please specify: bun"), "{screen}");
}

#[test]
fn a_permission_with_a_note_closes_as_not_run() {
    use askuser::permission::Permission;
    use askuser::{Purpose, RequestKey};
    let set = Permission::to_use(&ToolUse::new("Bash", Default::default())).question_set().unwrap();
    let key = RequestKey::new("s", "c").for_purpose(Purpose::Permission);
    let session = PromptSession::new(&Request::new(key, set.clone()), Theme::default());
    let closed = |note: Option<&str>| {
        let answer = set.questions()[0].answer(&[0], None, note.map(str::to_owned)).unwrap();
        let outcome = Outcome::answered(&set, vec![answer]).unwrap();
        session.closing_lines(&outcome, Confirm::Inline, 60).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!([closed(Some("in a branch")), closed(None)], [["✘ Not run: in a branch"], ["✔ Bash: Allow once"]]);
}
