//! The inbox as an asker, alone and beside another surface.

use crate::support::{Place, block_on, choice, request};
use askuser::store::{AskerPresence, Filter, Recorded, State, Store};
use askuser::{AskError, Asker, Closed, QuestionQueue, QueueEvent, Resolution, Via};
use askuser_inbox::{Inbox, InboxAsker};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

fn inbox(place: &Place) -> (Arc<dyn Store>, InboxAsker) {
    let store: Arc<dyn Store> = Arc::new(place.store());
    (store.clone(), InboxAsker::new(Inbox::new(store)).answered_by("ada"))
}

fn only_id(store: &dyn Store) -> String {
    loop {
        if let [question] = store.list(&Default::default()).unwrap().as_slice() {
            return question.id.clone();
        }
        std::thread::yield_now();
    }
}

#[test]
fn an_answer_from_another_process_reaches_whoever_asked_and_counts_as_delivered_once_stored() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let other = place.store();
    let answerer = std::thread::spawn(move || {
        let id = only_id(&other);
        other.answer(&id, &choice(1, "bob"), "k").unwrap();
        id
    });
    let delivery = block_on(asker.ask(&request("1"))).unwrap();
    let id = answerer.join().unwrap();
    assert!(store.get(&id).unwrap().delivered_ms.is_none(), "nobody has stored it yet");
    let resolution = delivery.stored();
    assert_eq!((resolution.by(), resolution.outcome().answers()[0].selected_options[0].as_str()), (Some("bob"), "B"));
    assert!(store.get(&id).unwrap().delivered_ms.is_some());
    // Asked again with the same key, it is the same answer.
    assert_eq!(block_on(asker.ask(&request("1"))).unwrap().stored(), resolution);
}

#[test]
fn to_stop_waiting_leaves_the_question_and_says_so() {
    let place = Place::new();
    let (_, asker) = inbox(&place);
    let request = request("1");
    let mut asking = asker.ask(&request);
    let mut context = Context::from_waker(Waker::noop());
    let other = place.store();
    while other.count(&Filter::pending()).unwrap() == 0 {
        assert!(asking.as_mut().poll(&mut context).is_pending());
    }
    // The thread that put it has to be heard before it can be waited for.
    for _ in 0..200 {
        assert!(matches!(asking.as_mut().poll(&mut context), Poll::Pending));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(asking);
    let id = only_id(&other);
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Left(1_000_000));
    assert_eq!(other.get(&id).unwrap().state(), State::Pending);
}

#[test]
fn who_leaves_while_the_question_is_being_kept_is_not_taken_for_dead() {
    for _ in 0..20 {
        let place = Place::new();
        let (_, asker) = inbox(&place);
        let (request, other) = (request("1"), place.store());
        let mut asking = asker.ask(&request);
        assert!(asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(asking);
        let kept = || other.list(&Filter::pending()).unwrap().pop();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !kept().is_some_and(|question| matches!(question.asker, AskerPresence::Left(_))) {
            assert!(Instant::now() < deadline, "{:?}", kept().map(|question| question.asker));
        }
    }
}

#[test]
fn one_of_two_calls_on_a_question_that_leaves_does_not_speak_for_the_other() {
    let place = Place::new();
    let (_, asker) = inbox(&place);
    let (request, other) = (request("1"), place.store());
    let mut context = Context::from_waker(Waker::noop());
    let (mut first, mut second) = (asker.ask(&request), asker.ask(&request));
    for _ in 0..200 {
        assert!(first.as_mut().poll(&mut context).is_pending() && second.as_mut().poll(&mut context).is_pending());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let id = only_id(&other);
    drop(first);
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Waits);
    drop(second);
    assert_eq!(other.get(&id).unwrap().asker, AskerPresence::Left(1_000_000));
}

/// A surface beside the inbox that shows what it is told.
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

#[test]
fn the_first_answer_wins_and_the_other_surface_closes_and_says_who_it_was() {
    let place = Place::new();
    let (queue, told) = surface();
    let asker = inbox(&place).1.beside(Arc::new(queue));
    let other = place.store();
    let answerer = {
        let told = told.clone();
        std::thread::spawn(move || {
            while told.lock().unwrap().is_empty() {
                std::thread::yield_now();
            }
            other.answer(&only_id(&other), &choice(0, "bob"), "k").unwrap();
        })
    };
    let resolution = block_on(asker.ask(&request("1"))).unwrap().stored();
    answerer.join().unwrap();
    assert_eq!(resolution.by(), Some("bob"));
    assert_eq!(*told.lock().unwrap(), ["asked", "Answered by bob from inbox (Pick: A)"]);
}

#[test]
fn an_answer_given_here_is_stored_before_here_is_told_that_it_counts() {
    let place = Place::new();
    let (queue, _) = surface();
    let (store, asker) = inbox(&place);
    let asker = asker.beside(Arc::new(queue.clone()));
    let seen = place.store();
    let person = std::thread::spawn(move || {
        while queue.pending().is_empty() {
            std::thread::yield_now();
        }
        let answer = Resolution::new(choice(1, "x").into_outcome(), Via::Terminal);
        let stored = queue.answer_and_wait(request("1").key(), &answer);
        (stored, seen.get(&only_id(&seen)).unwrap().state())
    });
    let resolution = block_on(asker.ask(&request("1"))).unwrap().stored();
    assert_eq!(person.join().unwrap(), (Ok(()), State::Answered));
    assert_eq!((resolution.by(), resolution.via()), (Some("ada"), Some(Via::Terminal)), "who sits here is known here");
    assert!(store.get(&only_id(&*store)).unwrap().delivered_ms.is_some());
}

#[test]
fn an_answer_given_here_too_late_is_told_who_won() {
    let place = Place::new();
    let (queue, _) = surface();
    let (store, asker) = inbox(&place);
    // Answers while the other answer is on its way to the disk.
    struct Late(QuestionQueue, Arc<dyn Store>);
    impl Asker for Late {
        fn ask<'a>(&'a self, request: &'a askuser::Request) -> askuser::Asking<'a> {
            Box::pin(async move {
                let delivery = self.0.ask(request).await?;
                let won = self.1.answer(&only_id(&*self.1), &choice(0, "bob"), "k").unwrap();
                assert!(matches!(won, Recorded::Won(_)));
                Ok(delivery)
            })
        }
    }
    let asker = asker.beside(Arc::new(Late(queue.clone(), store.clone())));
    let person = std::thread::spawn(move || {
        while queue.pending().is_empty() {
            std::thread::yield_now();
        }
        let answer = Resolution::new(choice(1, "x").into_outcome(), Via::Terminal);
        queue.answer_and_wait(request("1").key(), &answer)
    });
    let resolution = block_on(asker.ask(&request("1"))).unwrap().stored();
    assert_eq!(resolution.by(), Some("bob"));
    assert_eq!(person.join().unwrap(), Err("Answered by bob from inbox (Pick: A)".into()));
}

#[test]
fn where_nobody_is_reached_here_the_inbox_goes_on_waiting() {
    let place = Place::new();
    let (queue, _) = surface();
    queue.end("no terminal");
    let asker = inbox(&place).1.beside(Arc::new(queue));
    let other = place.store();
    let answerer = std::thread::spawn(move || {
        other.answer(&only_id(&other), &choice(0, "bob"), "k").unwrap();
    });
    assert_eq!(block_on(asker.ask(&request("1"))).unwrap().stored().by(), Some("bob"));
    answerer.join().unwrap();
}

#[test]
fn to_withdraw_a_question_is_heard_by_whoever_waits_for_it() {
    let place = Place::new();
    let (store, asker) = inbox(&place);
    let closer = {
        let (asker, store) = (asker.clone(), place.store());
        std::thread::spawn(move || {
            only_id(&store);
            asker.close(request("1").key(), &Closed::Withdrawn);
        })
    };
    let error = block_on(asker.ask(&request("1"))).unwrap_err();
    assert!(matches!(error, AskError::Withdrawn), "{error}");
    closer.join().unwrap();
    assert_eq!(store.get(&only_id(&*store)).unwrap().state(), State::Withdrawn);
}

#[test]
fn a_question_that_is_cancelled_has_ended_and_one_that_is_put_aside_waits_on() {
    /// Says this to everything.
    struct Says(fn() -> Result<askuser::Delivery, AskError>);
    impl Asker for Says {
        fn ask<'a>(&'a self, _: &'a askuser::Request) -> askuser::Asking<'a> {
            Box::pin(std::future::ready((self.0)()))
        }
    }
    let place = Place::new();
    let (store, _) = inbox(&place);
    let id = store.put(&request("1")).unwrap().question.id;
    let shown = |says: fn() -> Result<askuser::Delivery, AskError>| {
        let question = store.get(&id).unwrap();
        block_on(askuser_inbox::answer_at(&Inbox::new(store.clone()), &question, &Says(says), "ada")).unwrap()
    };
    let aside = shown(|| Err(AskError::PutAside(choice(1, "x").into_outcome().answers().to_vec())));
    assert!(matches!(aside, askuser_inbox::Shown::PutAside(answers) if answers.len() == 1));
    assert_eq!(store.get(&id).unwrap().state(), State::Pending);
    assert_eq!(store.draft(&id).unwrap().unwrap()[0]["selectedOptions"][0], "B");
    let cancelled = shown(|| Ok(askuser::Outcome::cancelled().through(Via::Terminal).into()));
    assert!(matches!(cancelled, askuser_inbox::Shown::Answered(_)), "{cancelled:?}");
    assert_eq!(store.get(&id).unwrap().state(), State::Cancelled);
}

#[test]
fn a_clock_that_runs_out_at_one_prompt_was_stopped_at_another() {
    let place = Place::new();
    let (store, _) = inbox(&place);
    let id = store.put(&request("1").with_deadline(std::time::Duration::from_secs(9))).unwrap().question.id;
    /// Its own clock runs out; then the person answers.
    struct Impatient(std::sync::atomic::AtomicBool);
    impl Asker for Impatient {
        fn ask<'a>(&'a self, request: &'a askuser::Request) -> askuser::Asking<'a> {
            let first = !self.0.swap(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(request.deadline().is_some(), first);
            let outcome = if first { askuser::Outcome::timed_out() } else { choice(0, "x").into_outcome() };
            Box::pin(std::future::ready(Ok(outcome.through(Via::Terminal).into())))
        }
    }
    store.hold(&id).unwrap();
    let question = store.get(&id).unwrap();
    let shown =
        block_on(askuser_inbox::answer_at(&Inbox::new(store.clone()), &question, &Impatient(false.into()), "ada"));
    assert!(matches!(shown, Ok(askuser_inbox::Shown::Answered(_))), "{shown:?}");
    // Where nobody has stopped it, it is the store that says so, and nobody is named.
    let id = store.put(&request("2").with_deadline(std::time::Duration::from_secs(9))).unwrap().question.id;
    let question = store.get(&id).unwrap();
    place.now.fetch_add(10_000, std::sync::atomic::Ordering::Relaxed);
    let shown =
        block_on(askuser_inbox::answer_at(&Inbox::new(store.clone()), &question, &Impatient(false.into()), "ada"));
    let Ok(askuser_inbox::Shown::EndedElsewhere(ending)) = shown else { panic!("{shown:?}") };
    assert_eq!((ending.state(), ending.by()), (State::TimedOut, None));
    assert_eq!(
        askuser::Closed::AnsweredElsewhere(ending.resolution().unwrap().clone()).words(),
        "Timed out, no answer sent"
    );
}
