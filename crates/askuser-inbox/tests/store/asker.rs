//! The inbox as an asker, alone and with another surface.

use crate::support::{Place, agent, ask, attempt, choice, get, person, request};
use askuser::permission::{MayPermit, Verdict};
use askuser::store::{AskerPresence, Filter, Principal, QuestionId, State, Store, StoredQuestion};
use askuser::{AskError, Asker, Asking, Delivery, Inbox, Outcome, QuestionQueue, QueueEvent, Request, Resolution, Via};
use askuser_conformance::{MemoryStore, until, wait};
use askuser_inbox::{InboxAsker, answer_at};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

fn inbox(place: &Place) -> (Arc<dyn Store>, InboxAsker) {
    let store = place.store();
    (store.clone(), InboxAsker::new(store, "ada"))
}

/// Waits for the only question of the store and returns its id.
fn only_id(store: &Arc<dyn Store>) -> QuestionId {
    let mut id = None;
    until("there is a question", || {
        let mut page = wait(person(store, "reader").list(&Filter::default())).unwrap();
        id = page.questions.pop().map(|question| question.id);
        id.is_some()
    });
    id.unwrap()
}

fn answer(store: &Arc<dyn Store>, id: &QuestionId, option: usize, by: &str) {
    wait(person(store, by).answer(id, choice(option), &attempt("k"))).unwrap();
}

/// Polls a call until its question is stored. Returns the id of the question.
fn begin(asking: &mut Asking<'_>, store: &Arc<dyn Store>) -> QuestionId {
    let mut context = Context::from_waker(Waker::noop());
    until("the question is waited for", || {
        assert!(asking.as_mut().poll(&mut context).is_pending());
        wait(person(store, "reader").count(&Filter::pending())).unwrap() == 1
    });
    only_id(store)
}

#[test]
fn an_answer_from_another_process_reaches_the_asker_and_counts_as_delivered_once_stored() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let other = place.store();
    let answerer = std::thread::spawn(move || {
        let id = only_id(&other);
        answer(&other, &id, 1, "bob");
        id
    });
    let delivery = wait(asker.ask(&request("1"))).unwrap();
    let id = answerer.join().unwrap();
    assert_eq!(get(&store, &id).delivered_ms, None, "the asker has not stored it yet");
    let resolution = delivery.stored();
    assert_eq!((resolution.by(), resolution.outcome().answers()[0].selected_options[0].as_str()), (Some("bob"), "B"));
    assert!(get(&store, &id).delivered_ms.is_some());
    // A second call with the same key gets the same answer.
    assert_eq!(wait(asker.ask(&request("1"))).unwrap().stored(), resolution);
}

#[test]
fn what_could_not_be_handed_over_does_not_count_as_delivered() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let id = ask(&store, &request("1")).unwrap();
    answer(&store, &id, 0, "bob");
    drop(wait(asker.ask(&request("1"))).unwrap().not_stored("the pipe is closed"));
    drop(wait(asker.ask(&request("1"))).unwrap());
    wait(agent(&store).flush()).unwrap();
    assert_eq!(get(&store, &id).delivered_ms, None);
    assert_eq!(get(&store, &id).asker, AskerPresence::Left(1_000_000), "and nothing waits for it");
    drop(wait(asker.ask(&request("1"))).unwrap().stored());
    assert_eq!(get(&store, &id).delivered_ms, Some(1_000_000));
}

#[test]
fn to_stop_waiting_leaves_the_question_and_says_so() {
    let place = Place::new();
    let (_, asker) = inbox(&place);
    let request = request("1");
    let other = place.store();
    let mut asking = asker.ask(&request);
    let id = begin(&mut asking, &other);
    assert_eq!(get(&other, &id).asker, AskerPresence::Waits);
    drop(asking);
    until("it is known to have left", || get(&other, &id).asker == AskerPresence::Left(1_000_000));
    assert_eq!(get(&other, &id).state(), State::Pending);
    drop(asker);
    let locks = place.folder.path().join("inbox.sqlite-waiting");
    until("its lock is gone with it", || std::fs::read_dir(&locks).unwrap().next().is_none());
}

#[test]
fn a_new_question_is_announced_once_and_said_to_wait_each_time_until_it_has_ended() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = |word: &'static str| {
        let told = told.clone();
        move |question: &StoredQuestion| told.lock().unwrap().push((word, question.id.clone()))
    };
    let asker = asker.on_new(tell("new")).on_waiting(tell("waits"));
    let request = request("1");
    for times in 1..=2 {
        let mut asking = asker.ask(&request);
        until("it is said to wait", || {
            assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            told.lock().unwrap().iter().filter(|(word, _)| *word == "waits").count() == times
        });
    }
    let id = only_id(&store);
    answer(&store, &id, 0, "bob");
    drop(wait(asker.ask(&request)).unwrap());
    assert_eq!(*told.lock().unwrap(), ["new", "waits", "waits"].map(|word| (word, id.clone())));
}

#[test]
fn an_asker_that_leaves_while_the_question_is_being_kept_is_not_taken_for_dead() {
    for _ in 0..20 {
        let place = Place::new();
        let (_, asker) = inbox(&place);
        let request = request("1");
        let other = place.store();
        drop(asker.ask(&request));
        let id = only_id(&other);
        until("it is known to have left", || matches!(get(&other, &id).asker, AskerPresence::Left(_)));
    }
}

#[test]
fn one_of_two_calls_on_a_question_that_leaves_does_not_speak_for_the_other() {
    let place = Place::new();
    let (_, asker) = inbox(&place);
    let request = request("1");
    let other = place.store();
    let mut first = asker.ask(&request);
    let mut second = asker.ask(&request);
    begin(&mut first, &other);
    let id = begin(&mut second, &other);
    drop(first);
    wait(asker_store(&asker).flush()).unwrap();
    assert_eq!(get(&other, &id).asker, AskerPresence::Waits);
    drop(second);
    until("it is known to have left", || get(&other, &id).asker == AskerPresence::Left(1_000_000));
}

fn asker_store(asker: &InboxAsker) -> askuser::store::Handle {
    use askuser::Inbox;
    asker.handle(askuser::store::Principal::person("ada", Via::Inbox))
}

/// Returns a surface of this process, and the list of events that it gets.
fn surface() -> (QuestionQueue, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = told.clone();
    let queue = QuestionQueue::new(move |_, event| {
        let words = match event {
            QueueEvent::Asked(_) => "asked".to_owned(),
            QueueEvent::Closed(_, why) => why.words(),
            _ => "detached".to_owned(),
        };
        list.lock().unwrap().push(words);
    });
    (queue, told)
}

/// Answers at the surface once it is asked. Returns the result that the surface gets.
fn answers(queue: &QuestionQueue, option: usize) -> Result<(), String> {
    until("it is asked here", || !queue.pending().is_empty());
    let (sender, told) = std::sync::mpsc::channel();
    let tell = move |stored| sender.send(stored).unwrap();
    queue.deliver(&queue.pending()[0], Delivery::new(choice(option).through(Via::Terminal), tell)).unwrap();
    told.recv().unwrap()
}

#[test]
fn the_first_answer_wins_and_the_other_surface_closes_and_says_who_it_was() {
    let place = Place::new();
    let (queue, told) = surface();
    let asker = inbox(&place).1.with_surface(Arc::new(queue));
    let other = place.store();
    let answerer = {
        let told = told.clone();
        std::thread::spawn(move || {
            until("it is asked here", || !told.lock().unwrap().is_empty());
            answer(&other, &only_id(&other), 0, "bob");
        })
    };
    let resolution = wait(asker.ask(&request("1"))).unwrap().stored();
    answerer.join().unwrap();
    assert_eq!(resolution.by(), Some("bob"));
    assert_eq!(*told.lock().unwrap(), ["asked", "Answered by bob from inbox (Pick: A)"]);
}

#[test]
fn an_answer_given_here_is_stored_before_here_is_told_that_it_counts() {
    let place = Place::new();
    let (queue, _) = surface();
    let (store, asker) = inbox(&place);
    assert_eq!(askuser::Inbox::person(&asker), "ada");
    let asker = asker.with_surface(Arc::new(queue.clone()));
    let seen = place.store();
    let person = std::thread::spawn(move || {
        let stored = answers(&queue, 1);
        (stored, get(&seen, &only_id(&seen)).state())
    });
    let resolution = wait(asker.ask(&request("1"))).unwrap().stored();
    assert_eq!(person.join().unwrap(), (Ok(()), State::Answered));
    assert_eq!((resolution.by(), resolution.via()), (Some("ada"), Some(Via::Terminal)), "who sits here is known here");
    assert!(get(&store, &only_id(&store)).delivered_ms.is_some());
}

#[test]
fn an_answer_given_here_too_late_is_told_who_won() {
    let place = Place::new();
    let (queue, _) = surface();
    let (store, asker) = inbox(&place);
    // A surface whose answer is too late: another answer is stored before it returns.
    struct Late(QuestionQueue, Arc<dyn Store>);
    impl Asker for Late {
        fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
            Box::pin(async move {
                let delivery = self.0.ask(request).await?;
                answer(&self.1, &only_id(&self.1), 0, "bob");
                Ok(delivery)
            })
        }
    }
    let asker = asker.with_surface(Arc::new(Late(queue.clone(), store.clone())));
    let person = std::thread::spawn(move || answers(&queue, 1));
    let resolution = wait(asker.ask(&request("1"))).unwrap().stored();
    assert_eq!(resolution.by(), Some("bob"));
    assert_eq!(person.join().unwrap(), Err("Answered by bob from inbox (Pick: A)".into()));
}

// Windows cannot remove an open file.
#[cfg(unix)]
#[test]
fn a_surface_does_not_show_success_where_nothing_was_stored() {
    let place = Place::new();
    let (queue, _) = surface();
    // A surface during whose answer the file of the store is removed.
    struct Removes(QuestionQueue, std::path::PathBuf);
    impl Asker for Removes {
        fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
            Box::pin(async move {
                let delivery = self.0.ask(request).await?;
                std::fs::remove_file(&self.1).unwrap();
                Ok(delivery)
            })
        }
    }
    let asker = inbox(&place).1.with_surface(Arc::new(Removes(queue.clone(), place.path())));
    let person = std::thread::spawn(move || answers(&queue, 1));
    let error = wait(asker.ask(&request("1"))).unwrap_err();
    assert!(error.chain().ends_with("it was removed or replaced meanwhile; start again"), "{}", error.chain());
    let told = person.join().unwrap().unwrap_err();
    assert!(told.ends_with("it was removed or replaced meanwhile; start again"), "{told}");
}

/// A surface that returns this outcome for every question.
struct Says(Outcome);

impl Asker for Says {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Ok(self.0.clone().through(Via::Terminal).into())))
    }
}

#[test]
fn an_answer_of_a_surface_that_does_not_fit_is_refused_and_the_question_stays() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let other = crate::support::set("Drop it?");
    let yes = other.questions()[0].answer(&[0], None, None).unwrap();
    let wrong = Says(Outcome::answered(&other, vec![yes]).unwrap());
    let id = ask(&store, &request("1")).unwrap();
    let shown = wait(answer_at(&person(&store, "ada"), &get(&store, &id), &wrong));
    assert!(matches!(shown, Err(AskError::WrongAnswer(_))), "{shown:?}");
    let error = wait(asker.with_surface(Arc::new(wrong)).ask(&request("1"))).unwrap_err();
    assert!(matches!(error, AskError::WrongAnswer(_)), "{error}");
    assert_eq!(get(&store, &id).state(), State::Pending);
}

#[test]
fn where_no_person_is_reached_here_the_inbox_goes_on_waiting() {
    let place = Place::new();
    let (queue, _) = surface();
    queue.end("no terminal");
    let asker = inbox(&place).1.with_surface(Arc::new(queue));
    let other = place.store();
    let answerer = std::thread::spawn(move || answer(&other, &only_id(&other), 0, "bob"));
    assert_eq!(wait(asker.ask(&request("1"))).unwrap().stored().by(), Some("bob"));
    answerer.join().unwrap();
}

#[test]
fn to_withdraw_a_question_is_heard_by_its_waiter() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let closer = {
        let asker = asker.clone();
        let store = place.store();
        std::thread::spawn(move || {
            only_id(&store);
            drop(asker.withdraw(&request("1")));
        })
    };
    let error = wait(asker.ask(&request("1"))).unwrap_err();
    assert!(matches!(error, AskError::Withdrawn), "{error}");
    closer.join().unwrap();
    assert_eq!(get(&store, &only_id(&store)).state(), State::Withdrawn);
}

/// A surface whose clock runs out first. The person then answers.
struct Impatient(AtomicBool);

impl Asker for Impatient {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let first = !self.0.swap(true, Ordering::Relaxed);
        assert_eq!(request.deadline().is_some(), first, "a clock that was stopped is not shown");
        let outcome = if first { Outcome::timed_out() } else { choice(0) };
        Box::pin(std::future::ready(Ok(outcome.through(Via::Terminal).into())))
    }
}

#[test]
fn a_question_that_is_cancelled_has_ended_and_one_that_is_put_aside_waits_on() {
    /// A surface that returns this result for every question.
    struct Says(fn() -> Result<askuser::Delivery, AskError>);
    impl Asker for Says {
        fn ask<'a>(&'a self, _: &'a askuser::Request) -> askuser::Asking<'a> {
            Box::pin(std::future::ready((self.0)()))
        }
    }
    let place = Place::new();
    let (store, _) = inbox(&place);
    let id = ask(&store, &request("1")).unwrap();
    let ada = person(&store, "ada");
    let shown =
        |says: fn() -> Result<askuser::Delivery, AskError>| wait(answer_at(&ada, &get(&store, &id), &Says(says)));
    let aside = shown(|| Err(AskError::PutAside(choice(1).answers().to_vec().into())));
    assert!(matches!(&aside, Err(AskError::PutAside(draft)) if draft.answers.len() == 1), "{aside:?}");
    assert_eq!(get(&store, &id).state(), State::Pending);
    assert_eq!(wait(ada.draft(&id)).unwrap().chosen()[0].selected_options, ["B"]);
    let cancelled = shown(|| Ok(Outcome::cancelled().through(Via::Terminal).into()));
    assert!(cancelled.is_ok(), "{cancelled:?}");
    assert_eq!(get(&store, &id).state(), State::Cancelled);
}

#[test]
fn a_clock_that_runs_out_at_one_prompt_was_stopped_at_another() {
    let memory = MemoryStore::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let ada = person(&store, "ada");
    let hasty = |call: &str| ask(&store, &request(call).with_deadline(Duration::from_secs(9))).unwrap();
    let id = hasty("1");
    let question = get(&store, &id);
    wait(ada.hold(&id)).unwrap();
    let shown = wait(answer_at(&ada, &question, &Impatient(false.into())));
    assert!(shown.is_ok(), "{shown:?}");
    // If the clock was not stopped, the store ends the question, and the ending names no person.
    let id = hasty("2");
    let question = get(&store, &id);
    memory.advance(Duration::from_secs(10));
    let shown = wait(answer_at(&ada, &question, &Impatient(false.into())));
    let Err(AskError::Ended(ending)) = shown else { panic!("{shown:?}") };
    assert_eq!((ending.state(), ending.by()), (State::TimedOut, None));
    let words = ending.words();
    assert_eq!(words, "Timed out, no answer sent");
}

#[test]
fn an_answer_whose_reply_was_lost_is_recorded_once_and_shown_as_stored() {
    let memory = MemoryStore::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let id = ask(&store, &request("1")).unwrap();
    let told = Arc::new(Mutex::new(None));
    struct Loses(MemoryStore, Arc<Mutex<Option<Result<(), String>>>>);
    impl Asker for Loses {
        fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
            let told = self.1.clone();
            let resolution = choice(1).through(Via::Terminal);
            self.0.lose_the_next_reply();
            Box::pin(std::future::ready(Ok(askuser::Delivery::new(resolution, move |stored| {
                *told.lock().unwrap() = Some(stored);
            }))))
        }
    }
    let shown = wait(answer_at(&person(&store, "ada"), &get(&store, &id), &Loses(memory, told.clone())));
    let Ok(ending) = shown else { panic!("{shown:?}") };
    assert_eq!(get(&store, &id).ending, Some(ending));
    assert_eq!(*told.lock().unwrap(), Some(Ok(())));
}

#[test]
fn what_was_put_aside_is_filled_in_at_the_next_surface() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::late());
    let id = ask(&store, &request("1")).unwrap();
    struct PutsAside;
    impl Asker for PutsAside {
        fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
            Box::pin(std::future::ready(Err(AskError::PutAside(choice(1).answers().to_vec().into()))))
        }
    }
    let shown = wait(answer_at(&person(&store, "ada"), &get(&store, &id), &PutsAside));
    assert!(matches!(&shown, Err(AskError::PutAside(draft)) if draft.chosen() == choice(1).answers()), "{shown:?}");
    assert_eq!(get(&store, &id).state(), State::Pending);
    struct Expects;
    impl Asker for Expects {
        fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
            assert_eq!(request.known(), choice(1).answers(), "what was typed is there again");
            Box::pin(std::future::ready(Ok(Resolution::new(choice(1), Via::Web).into())))
        }
    }
    let shown = wait(answer_at(&person(&store, "ada"), &get(&store, &id), &Expects));
    assert!(shown.is_ok(), "{shown:?}");
}

#[test]
fn a_permission_that_was_given_is_delivered_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let asker = InboxAsker::new(store.clone(), "ada");
    let key = askuser::RequestKey::new("session", "1").for_purpose(askuser::Purpose::Permission);
    let permission = Request::new(key, crate::support::set("Which one?")).with_origin(crate::support::origin());
    let id = ask(&store, &permission).unwrap();
    answer(&store, &id, 0, "bob");
    let first = wait(asker.ask(&permission)).unwrap().stored();
    assert_eq!(first.by(), Some("bob"));
    let second = wait(asker.ask(&permission)).unwrap().stored();
    assert_eq!(second.outcome(), &Outcome::unavailable("this permission has been used"));
}

#[test]
fn what_is_taken_back_too_late_is_delivered_once_or_has_lapsed() {
    let memory = MemoryStore::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let asker = InboxAsker::new(store.clone(), "ada");
    let permission = |call: &str| {
        let key = askuser::RequestKey::new("session", call).for_purpose(askuser::Purpose::Permission);
        Request::new(key, crate::support::set("Which one?")).with_origin(crate::support::origin())
    };
    let put = |call: &str| ask(&store, &permission(call)).unwrap();
    let withdraw = |call: &str| wait(asker.withdraw(&permission(call))).map(askuser::Delivery::stored);
    let pending = put("1");
    assert!(matches!(withdraw("1"), Err(AskError::Withdrawn)));
    assert_eq!(get(&store, &pending).state(), State::Withdrawn);
    answer(&store, &put("2"), 0, "ada");
    assert_eq!(withdraw("2").unwrap().outcome(), &choice(0), "it was answered before");
    assert_eq!(withdraw("2").unwrap().outcome(), &Outcome::unavailable("this permission has been used"));
    answer(&store, &put("3"), 0, "ada");
    memory.advance(Duration::from_secs(601));
    let lapsed = withdraw("3").unwrap();
    let says = "this permission was given more than ten minutes ago, and lapsed";
    assert_eq!(lapsed.outcome(), &Outcome::unavailable(says));
}

#[test]
fn only_the_process_whose_surface_it_was_takes_a_settled_yes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let origin = crate::support::origin().with_credential("ci");
    let permission = |call: &str| {
        let key = askuser::RequestKey::new("session", call).for_purpose(askuser::Purpose::Permission);
        Request::new(key, crate::support::set("Which one?")).with_origin(origin.clone())
    };
    let verdict = |request: &Request, resolution: &Resolution| {
        askuser::permission::verdict(request.set(), resolution, MayPermit::PersonOrAnswers)
    };
    let asker = InboxAsker::new(store.clone(), "ada");
    let here = asker.clone().with_surface(Arc::new(Says(choice(0))));
    let first = permission("1");
    let own = wait(here.ask(&first)).unwrap().stored();
    assert_eq!((own.reported_by(), verdict(&first, &own)), (None, Verdict::Agreed(0)), "it saw the answer itself");
    assert_eq!(own.at_ms(), get(&store, &only_id(&store)).ending.unwrap().at_ms());
    let read = wait(here.ask(&first)).unwrap().stored();
    assert_eq!(read.reported_by(), Some("ci"), "read back it is only reported");
    // Another process with the same token settles the question.
    let second = permission("2");
    let id = wait(asker.handle(Principal::agent(&origin)).put(&second, None)).unwrap().question.id;
    wait(asker.handle(Principal::agent(&origin)).answer(&id, choice(0), &attempt("x"))).unwrap();
    let settled = wait(asker.ask(&second)).unwrap().stored();
    assert_eq!((settled.reported_by(), settled.outcome()), (Some("ci"), &choice(0)));
    assert!(matches!(verdict(&second, &settled), Verdict::NotAsked { .. }));
}

#[test]
fn a_surface_beside_is_not_asked_what_is_for_others() {
    let place = Place::new();
    let store = place.store();
    let queue = QuestionQueue::new(|_, _| {});
    let asker = InboxAsker::new(store.clone(), "ada").with_surface(Arc::new(queue.clone()));
    let [others, mine] = [("1", "bob"), ("2", "ada")].map(|(call, name)| request(call).with_audience([name]));
    let mut asking = asker.ask(&others);
    let id = begin(&mut asking, &store);
    assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(queue.pending().len(), 0, "who sits here answers nothing that is for others");
    answer(&store, &id, 1, "bob");
    assert_eq!(wait(asking).unwrap().stored().by(), Some("bob"));
    let mut asking = asker.ask(&mine);
    until("the surface is asked", || {
        assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        queue.pending().len() == 1
    });
}
