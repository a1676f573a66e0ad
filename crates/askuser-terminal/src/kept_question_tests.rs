use super::*;
use crate::fixtures::database;
use askuser::prompt::{Action, Event, Trigger};
use askuser::store::{Principal, Store};
use askuser::{Key, KeyCode, Origin, RequestKey, Via};
use askuser_conformance::MemoryStore;
use std::sync::Arc;

fn request() -> Request {
    Request::new(RequestKey::new("session", "call"), database()).with_origin(Origin::default().with_agent("tester"))
}

/// Stores the question.
fn put(store: &MemoryStore) {
    let put = store.put(&Principal::agent(request().origin()), &request(), None);
    drop(pollster::block_on(put).expect("it is kept"));
}

fn handle(store: &MemoryStore) -> Handle {
    Handle::new(Arc::new(store.clone()), Principal::person("ada", Via::Terminal))
}

/// Returns a store with the question in it, another handle to that store, and the prompt's handle.
fn kept() -> (MemoryStore, MemoryStore, Handle) {
    let store = MemoryStore::new();
    put(&store);
    let here = store.other();
    let handle = handle(&here);
    (store, here, handle)
}

fn prompt() -> Prompt {
    Prompt::of(&request(), Duration::ZERO).on(Trigger::Opened)
}

fn type_into(prompt: &mut Prompt, text: &str) {
    for c in text.chars() {
        prompt.update(Event::Key(Key::plain(KeyCode::Char(c))), Duration::from_secs(1));
    }
}

/// Returns the draft that another surface of the same person finds.
fn found(store: &MemoryStore) -> String {
    pollster::block_on(handle(store).draft(request().key())).expect("a draft").words().join("\n")
}

#[test]
fn a_change_is_saved_within_a_second_also_while_typing_goes_on_and_else_nothing_is_due() {
    let (store, _, handle) = kept();
    let request = request();
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    let start = Instant::now();
    let at = |ms| start + Duration::from_millis(ms);
    assert_eq!((kept.look(&mut prompt, at(0)), kept.next_look(at(0))), (None, None));
    type_into(&mut prompt, "4my");
    assert_eq!((kept.look(&mut prompt, at(100)), kept.next_look(at(100))), (None, Some(at(1_100))));
    type_into(&mut prompt, " own");
    assert_eq!((kept.look(&mut prompt, at(1_099)), kept.next_look(at(1_099))), (None, Some(at(1_100))));
    assert_eq!(found(&store), "");
    assert_eq!((kept.look(&mut prompt, at(1_100)), kept.next_look(at(1_100))), (None, None));
    assert_eq!(found(&store), "Database: my own");
}

#[test]
fn a_save_that_takes_long_is_looked_at_again_and_none_is_repeated() {
    let store = MemoryStore::late();
    put(&store);
    let request = request();
    let handle = handle(&store);
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    let mut now = Instant::now();
    let mut looks = 0;
    while let (None, Some(next)) = (kept.look(&mut prompt, now), kept.next_look(now)) {
        (now, looks) = (next, looks + 1);
        std::thread::yield_now();
    }
    assert!(looks > 0 && kept.is_saved);
    assert_eq!(found(&store), "Database: own");
}

#[test]
fn what_cannot_be_saved_is_said_and_only_who_wants_to_leave_twice_leaves() {
    let (_, here, handle) = kept();
    let request = request();
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    let (mut emptied, mut empty) = KeptQuestion::open(&request, Some(&handle), self::prompt());
    type_into(&mut empty, "4x");
    assert_eq!(emptied.save_now(&empty), Ok(()));
    empty.update(Event::Key(Key::plain(KeyCode::Backspace)), Duration::from_secs(1));
    here.die();
    let start = Instant::now();
    type_into(&mut prompt, "4own");
    assert_eq!(kept.look(&mut prompt, start), None);
    let why = "What you typed is not saved: this process has died";
    assert_eq!(kept.look(&mut prompt, start + SOON).as_deref(), Some(why));
    assert_eq!(kept.next_look(start + SOON), None, "it is tried again with the next change");
    let stays = Err(format!("{why}; leave again to give it up"));
    assert_eq!(kept.leave(&prompt), stays);
    type_into(&mut prompt, " words");
    assert_eq!(kept.leave(&prompt), stays, "these are others");
    assert_eq!(kept.leave(&prompt), Ok(()));
    // Without unsent text the person can leave.
    assert_eq!(emptied.leave(&empty), Ok(()));
}

#[test]
fn a_draft_that_cannot_be_read_is_not_written_over_and_the_person_is_told() {
    let (_, _, handle) = kept();
    let request = request();
    let unread = Draft { discuss: Some("unread".into()), ..Draft::default() };
    pollster::block_on(handle.save_draft(request.key(), &unread.clone().into())).expect("a draft");
    let line = Line(handle, true.into());
    let (mut kept, mut prompt) = KeptQuestion::open(&request, Some(&line), prompt());
    let told = prompt.notice().map(|notice| notice.text.clone());
    assert_eq!(told.as_deref(), Some("What you typed is not saved: offline"));
    type_into(&mut prompt, "4own");
    line.1.store(false, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(kept.save_now(&prompt), Ok(()));
    assert_eq!(kept.look(&mut prompt, Instant::now()), None);
    assert_eq!(prompt.rival().map(|rival| &rival.draft), Some(&unread));
}

#[test]
fn a_question_of_which_the_store_knows_nothing_is_not_kept() {
    let (_, _, handle) = kept();
    let other = Request::new(RequestKey::new("session", "choice"), database());
    let (mut kept, mut prompt) = KeptQuestion::open(&other, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    assert_eq!((kept.look(&mut prompt, Instant::now()), kept.next_look(Instant::now())), (None, None));
    assert_eq!((prompt.notice(), kept.leave(&prompt)), (None, Ok(())));
}

#[test]
fn what_was_typed_here_is_kept_though_the_prompt_that_answered_has_forgotten_it() {
    let (store, _, handle) = kept();
    let request = request();
    let (mut here, mut prompt) = KeptQuestion::open(&request, Some(&handle), prompt());
    type_into(&mut prompt, "4own");
    assert_eq!(here.save_now(&prompt), Ok(()));
    let (mut there, at_another) = KeptQuestion::open(&request, Some(&handle), self::prompt());
    assert_eq!(at_another.unsent(), prompt.unsent());
    there.sent(&Outcome::timed_out());
    assert_eq!(found(&store), "Database: own", "nothing was sent");
    there.sent(&Outcome::cancelled());
    assert_eq!(found(&store), "");
    assert_eq!(here.end(&prompt).map(Draft::words), Some(vec!["Database: own".to_owned()]));
    assert_eq!(found(&store), "Database: own");
    assert_eq!(there.end(&at_another), None, "it was not typed there");
}

/// Two prompts of one person, which share the drafts of a question.
struct TwoPrompts {
    store: MemoryStore,
    handles: [Handle; 2],
}

impl TwoPrompts {
    fn new() -> TwoPrompts {
        let store = MemoryStore::new();
        put(&store);
        let at = |device: &str| Principal::person("ada", Via::Web).on_device(device);
        let handles = ["desk", "phone"].map(|device| Handle::new(Arc::new(store.other()), at(device)));
        TwoPrompts { store, handles }
    }

    fn texts(&self) -> Vec<String> {
        let drafts = pollster::block_on(self.handles[0].drafts(request().key())).expect("drafts");
        drafts.iter().map(|saved| saved.draft.words().join("")).collect()
    }
}

#[test]
fn a_prompt_that_was_only_opened_changes_no_draft() {
    let two = TwoPrompts::new();
    let request = request();
    let (mut phone, empty) = KeptQuestion::open(&request, Some(&two.handles[1]), prompt());
    let (mut desk, mut typed) = KeptQuestion::open(&request, Some(&two.handles[0]), prompt());
    type_into(&mut typed, "4my own");
    assert_eq!(desk.save_now(&typed), Ok(()));
    assert_eq!(phone.leave(&empty), Ok(()));
    assert_eq!(two.texts(), ["Database: my own"]);
}

#[test]
fn text_of_two_devices_is_kept_and_the_person_chooses() {
    for (choice, expected) in [('t', "Database: at the phone"), ('r', "Database: at the desk")] {
        let two = TwoPrompts::new();
        let request = request();
        let (mut desk, mut at_desk) = KeptQuestion::open(&request, Some(&two.handles[0]), prompt());
        let (mut phone, mut at_phone) = KeptQuestion::open(&request, Some(&two.handles[1]), prompt());
        type_into(&mut at_phone, "4at the phone");
        assert_eq!(phone.save_now(&at_phone), Ok(()));
        two.store.advance(SOON);
        type_into(&mut at_desk, "4at the desk");
        let now = Instant::now();
        assert_eq!((desk.look(&mut at_desk, now), desk.look(&mut at_desk, now + SOON)), (None, None));
        assert_eq!(two.texts(), ["Database: at the desk", "Database: at the phone"], "both are saved");
        let summary = at_desk.rival().map(|rival| rival.summary.clone()).expect("it is offered");
        assert!(summary.starts_with("Typed on phone ") && summary.ends_with(": Database: at the phone"), "{summary}");
        at_desk.update(Event::Key(Key::ctrl(choice)), Duration::from_secs(1));
        assert_eq!(desk.look(&mut at_desk, now + SOON), None);
        assert_eq!(desk.look(&mut at_desk, now + 2 * SOON), None);
        assert_eq!((two.texts(), at_desk.rival()), (vec![expected.to_owned()], None));
    }
}

#[test]
fn text_that_a_signal_set_aside_is_offered_at_the_next_opening() {
    let two = TwoPrompts::new();
    let request = request();
    let (mut desk, mut at_desk) = KeptQuestion::open(&request, Some(&two.handles[0]), prompt());
    let (mut phone, mut at_phone) = KeptQuestion::open(&request, Some(&two.handles[1]), prompt());
    type_into(&mut at_phone, "4at the phone");
    type_into(&mut at_desk, "4at the desk");
    assert_eq!((phone.save_now(&at_phone), desk.save_now(&at_desk)), (Ok(()), Ok(())));
    drop((desk, phone));
    let (mut next, mut opened) = KeptQuestion::open(&request, Some(&two.handles[0]), prompt());
    let shown = [opened.unsent().words().concat(), opened.rival().expect("it is offered").draft.words().concat()];
    assert!(shown.contains(&"Database: at the desk".into()) && shown.contains(&"Database: at the phone".into()));
    // An answer with one draft does not delete the other one.
    assert_eq!(next.look(&mut opened, Instant::now()), None);
    next.sent(&Outcome::cancelled());
    assert_eq!(two.texts(), [shown[1].clone()]);
}

/// A store, and whether the device is offline and cannot reach it.
#[derive(Debug)]
struct Line(Handle, std::sync::atomic::AtomicBool);

impl Line {
    fn is_offline(&self) -> bool {
        self.1.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn unreachable<T: Send + 'static>() -> Call<T> {
    Box::pin(std::future::ready(Err(StoreError::unavailable("cannot save", "offline"))))
}

impl DraftStore for Line {
    fn drafts(&self, key: &RequestKey) -> Call<Vec<SavedDraft>> {
        if self.is_offline() { unreachable() } else { self.0.drafts(key) }
    }

    fn save_draft(&self, key: &RequestKey, save: &DraftSave) -> Call<Vec<SavedDraft>> {
        if self.is_offline() { unreachable() } else { self.0.save_draft(key, save) }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Type,
    Wait,
    Signal,
    Kill,
    Open,
    Offline(bool),
    Choose(char),
}

/// The typed words, each of them unique.
#[derive(Default)]
struct Words {
    count: usize,
    saved: std::collections::BTreeSet<String>,
    discarded: std::collections::BTreeSet<String>,
}

fn words_of(draft: &Draft) -> std::collections::BTreeSet<String> {
    draft.discuss.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect()
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(500))]
    #[test]
    fn no_saved_word_is_lost_unless_its_author_discarded_it(steps in proptest::collection::vec((0..3usize, any_step()), 1..60)) {
        let two = TwoPrompts::new();
        let request = request();
        let at = |device: &str| Principal::person("ada", Via::Web).on_device(device);
        let lines = ["desk", "phone", "tablet"].map(|name| Line(Handle::new(Arc::new(two.store.other()), at(name)), false.into()));
        let mut opened: [Option<(KeptQuestion<'_>, Prompt)>; 3] = [None, None, None];
        let mut words = Words::default();
        let mut now = Instant::now();
        for (device, step) in steps {
            now += SOON;
            two.store.advance(SOON);
            let line = &lines[device];
            match (step, &mut opened[device]) {
                (Step::Offline(is_offline), _) => line.1.store(is_offline, std::sync::atomic::Ordering::Relaxed),
                (Step::Open, closed @ None) if !line.is_offline() => {
                    *closed = Some(KeptQuestion::open(&request, Some(line), prompt()));
                }
                (Step::Type, Some((kept, prompt))) => {
                    prompt.update(Event::Act(Action::Discuss), Duration::from_secs(1));
                    words.count += 1;
                    prompt.update(Event::Paste(format!(" w{}", words.count)), Duration::from_secs(1));
                    kept.look(prompt, now);
                    prompt.update(Event::Key(Key::plain(KeyCode::Esc)), Duration::from_secs(1));
                }
                (Step::Wait, Some((kept, prompt))) => {
                    kept.look(prompt, now);
                    if kept.look(prompt, now + SOON).is_none() && !line.is_offline() && kept.is_saved {
                        words.saved.extend(words_of(&prompt.unsent()));
                    }
                    now += SOON;
                }
                (Step::Signal, here @ Some(_)) => {
                    if let Some((mut kept, prompt)) = here.take() && kept.save_now(&prompt).is_ok() {
                        words.saved.extend(words_of(&prompt.unsent()));
                    }
                }
                (Step::Kill, here) => drop(here.take()),
                (Step::Choose(key), Some((_, prompt))) => {
                    if let Some(rival) = prompt.rival().cloned() {
                        let mine = words_of(&prompt.unsent());
                        let other = words_of(&rival.draft);
                        let (gone, stays) = if key == 't' { (mine, other) } else { (other, mine) };
                        words.discarded.extend(gone.difference(&stays).cloned());
                        prompt.update(Event::Key(Key::ctrl(key)), Duration::from_secs(1));
                    }
                }
                _ => {}
            }
            let drafts = pollster::block_on(two.handles[0].drafts(request.key())).expect("drafts");
            let found: std::collections::BTreeSet<String> = drafts.iter().flat_map(|saved| words_of(&saved.draft)).collect();
            let lost: Vec<_> = words.saved.difference(&words.discarded).filter(|word| !found.contains(*word)).collect();
            proptest::prop_assert!(lost.is_empty(), "{lost:?} of {drafts:?}");
        }
        // A device that reaches the store saves typed text within a second.
        for (line, here) in lines.iter().zip(&mut opened) {
            let Some((kept, prompt)) = here else { continue };
            line.1.store(false, std::sync::atomic::Ordering::Relaxed);
            prompt.update(Event::Act(Action::Discuss), Duration::from_secs(1));
            prompt.update(Event::Paste(" end".into()), Duration::from_secs(1));
            kept.look(prompt, now);
            proptest::prop_assert_eq!(kept.look(prompt, now + SOON), None);
            let drafts = pollster::block_on(two.handles[0].drafts(request.key())).expect("drafts");
            proptest::prop_assert!(drafts.iter().any(|saved| saved.draft == prompt.unsent()));
        }
    }
}

fn any_step() -> impl proptest::strategy::Strategy<Value = Step> {
    use proptest::prelude::*;
    prop_oneof![
        4 => Just(Step::Type),
        4 => Just(Step::Wait),
        1 => Just(Step::Signal),
        1 => Just(Step::Kill),
        3 => Just(Step::Open),
        1 => any::<bool>().prop_map(Step::Offline),
        2 => prop_oneof![Just('t'), Just('r')].prop_map(Step::Choose),
    ]
}
