use super::*;
use crate::input::QuestionInput;
use crate::outcome::Outcome;
use crate::question::QuestionSet;
use crate::resolution::Via;
use crate::rules::Rules;
use std::sync::mpsc::{Receiver, channel};
use std::task::{Context, Poll, Waker};

fn request(call: &str) -> Request {
    let question = QuestionInput::new(format!("Which for {call}?"), "Pick").option("A", "a").option("B", "b");
    Request::new(RequestKey::new("session", call), QuestionSet::new([question], &Rules::strict()).unwrap())
}

fn queue() -> (QuestionQueue, Receiver<QueueEvent>) {
    let (sender, events) = channel();
    let queue = QuestionQueue::new(move |_, event| {
        let _ = sender.send(event);
    });
    (queue, events)
}

fn answer(request: &Request) -> Resolution {
    let answer = request.set().questions()[0].answer(&[1], None, None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap().through(Via::Web)
}

fn withdrawn() -> Ending {
    Ending::Withdrawn { by: "ann".into(), at_ms: 7 }
}

fn poll(asking: &mut Asking<'_>) -> Poll<Result<Delivery, AskError>> {
    asking.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn questions_wait_in_order_and_each_gets_its_own_answer() {
    let (queue, _events) = queue();
    let first = request("1");
    let second = request("2");
    let mut one = queue.ask(&first);
    let mut two = queue.ask(&second);
    assert!(poll(&mut one).is_pending() && poll(&mut two).is_pending());
    assert_eq!(queue.pending().iter().map(|request| request.key().call.clone()).collect::<Vec<_>>(), ["1", "2"]);
    queue.answer(&queue.pending()[1], answer(&second)).unwrap();
    assert!(poll(&mut one).is_pending());
    let Poll::Ready(Ok(delivery)) = poll(&mut two) else { panic!("answered") };
    assert_eq!(delivery.stored(), answer(&second));
}

#[test]
fn an_answer_to_another_question_changes_nothing() {
    let (queue, _events) = queue();
    let asked = request("1");
    let other = request("2");
    let mut asking = queue.ask(&asked);
    assert!(poll(&mut asking).is_pending());
    let shown = queue.pending().remove(0);
    assert_eq!(queue.answer(&Arc::new(other.clone()), answer(&other)), Err(NotPending));
    assert!(poll(&mut asking).is_pending());
    queue.answer(&shown, answer(&asked)).unwrap();
    assert!(poll(&mut asking).is_ready());
    assert_eq!(queue.answer(&shown, answer(&asked)), Err(NotPending), "answered once");
}

#[test]
fn a_late_answer_is_refused_and_its_surface_is_told() {
    let (sender, told) = channel();
    let tell = move |stored| sender.send(stored).unwrap();
    let asked = Arc::new(request("1"));
    let refused = queue().0.deliver(&asked, Delivery::new(answer(&asked), tell));
    assert_eq!((refused, told.recv().unwrap()), (Err(NotPending), Err(NotPending.to_string())));
}

#[test]
fn what_comes_of_a_prompt_is_never_taken_for_the_same_question_asked_since() {
    let (queue, events) = queue();
    let asked = request("1");
    let mut first = queue.ask(&asked);
    assert!(poll(&mut first).is_pending());
    let shown = queue.pending().remove(0);
    queue.close(asked.key(), &withdrawn());
    let mut second = queue.ask(&asked);
    assert!(poll(&mut second).is_pending());
    assert_eq!(queue.fail(&shown, AskError::Withdrawn), Err(NotPending));
    assert_eq!(queue.answer(&shown, answer(&asked)), Err(NotPending));
    assert!(poll(&mut second).is_pending());
    let told: Vec<QueueEvent> = events.try_iter().collect();
    let [QueueEvent::Asked(_), QueueEvent::Closed(closed, _), QueueEvent::Asked(again)] = &told[..] else {
        panic!("{told:?}")
    };
    assert!(Arc::ptr_eq(closed, &shown) && !Arc::ptr_eq(again, &shown));
}

#[test]
fn to_stop_waiting_takes_the_question_away_and_is_told() {
    let (queue, events) = queue();
    let asked = request("1");
    let mut asking = queue.ask(&asked);
    assert!(poll(&mut asking).is_pending());
    drop(asking);
    assert!(queue.pending().is_empty());
    let told: Vec<QueueEvent> = events.try_iter().collect();
    assert!(
        matches!(&told[..], [QueueEvent::Asked(_), QueueEvent::Detached(gone)] if gone.key() == asked.key()),
        "{told:?}"
    );
}

#[test]
fn a_surface_is_told_why_its_question_was_closed() {
    let (queue, events) = queue();
    let asked = request("1");
    for ending in [withdrawn(), Ending::Resolved(answer(&asked).with_by("ann"))] {
        let mut asking = queue.ask(&asked);
        assert!(poll(&mut asking).is_pending());
        queue.close(asked.key(), &ending);
        match (poll(&mut asking), &ending) {
            (Poll::Ready(Err(AskError::Withdrawn)), Ending::Withdrawn { .. }) => {}
            (Poll::Ready(Ok(delivery)), Ending::Resolved(resolution)) => {
                assert_eq!(delivery.resolution(), resolution);
            }
            (other, _) => panic!("{other:?}"),
        }
        drop(asking);
        let told: Vec<QueueEvent> = events.try_iter().collect();
        assert!(
            matches!(&told[..], [QueueEvent::Asked(_), QueueEvent::Closed(_, told)] if *told == ending),
            "{told:?}"
        );
    }
    let words = Ending::Resolved(answer(&asked).with_by("ann")).words();
    let header = asked.set().questions()[0].header();
    let label = asked.set().questions()[0].options()[1].name();
    assert_eq!(words, format!("Answered by ann from web ({header}: {label})"));
}

#[test]
fn success_is_told_to_the_surface_only_once_it_is_stored() {
    let (queue, _events) = queue();
    let asked = request("1");
    for stored in [Ok(()), Err("disk full".to_owned()), Err("the caller did not take the answer".to_owned())] {
        let mut asking = queue.ask(&asked);
        assert!(poll(&mut asking).is_pending());
        let (sender, told) = channel();
        let delivery = Delivery::new(answer(&asked), move |stored| sender.send(stored).unwrap());
        queue.deliver(&queue.pending()[0], delivery).unwrap();
        assert!(told.try_recv().is_err(), "not yet");
        let Poll::Ready(Ok(delivery)) = poll(&mut asking) else { panic!("answered") };
        match &stored {
            Ok(()) => drop(delivery.stored()),
            Err(why) if why == "disk full" => drop(delivery.not_stored("disk full")),
            Err(_) => drop(delivery),
        }
        assert_eq!(told.recv().unwrap(), stored);
    }
}

#[test]
fn once_nobody_answers_any_more_every_question_is_unavailable() {
    let (queue, _events) = queue();
    let before = request("1");
    let after = request("2");
    let mut asking = queue.ask(&before);
    assert!(poll(&mut asking).is_pending());
    queue.end("the page was closed");
    for mut asking in [asking, queue.ask(&after)] {
        let Poll::Ready(Ok(delivery)) = poll(&mut asking) else { panic!("unavailable") };
        assert_eq!(delivery.stored(), Resolution::unavailable("the page was closed"));
    }
}

#[test]
fn the_same_question_twice_at_once_is_refused_and_the_first_still_waits() {
    let (queue, _events) = queue();
    let asked = request("1");
    let mut first = queue.ask(&asked);
    let mut second = queue.ask(&asked);
    assert!(poll(&mut first).is_pending());
    assert!(matches!(poll(&mut second), Poll::Ready(Err(AskError::Surface { .. }))));
    drop(second);
    assert_eq!(queue.pending().len(), 1);
}

/// A waker that counts how often it is woken.
#[derive(Default)]
struct Alarm(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_caller_is_woken_by_an_answer_a_failure_a_close_and_the_end() {
    let asked = request("1");
    let ways: [fn(&QuestionQueue, &Arc<Request>); 4] = [
        |queue, asked| queue.answer(asked, answer(asked)).unwrap(),
        |queue, asked| queue.fail(asked, AskError::Interrupted).unwrap(),
        |queue, asked| queue.close(asked.key(), &withdrawn()),
        |queue, _| queue.end("the page was closed"),
    ];
    for (i, end) in ways.into_iter().enumerate() {
        let (queue, _events) = queue();
        let alarm = Arc::new(Alarm::default());
        let waker = Waker::from(alarm.clone());
        let mut asking = queue.ask(&asked);
        assert!(asking.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        end(&queue, &queue.pending()[0]);
        assert_eq!(alarm.0.load(std::sync::atomic::Ordering::SeqCst), 1, "{i}");
        assert!(poll(&mut asking).is_ready() && queue.pending().is_empty(), "{i}");
    }
}

#[test]
fn asking_can_be_broken_off_once_and_says_why() {
    let (queue, _events) = queue();
    let asked = request("1");
    let mut asking = queue.ask(&asked);
    assert!(poll(&mut asking).is_pending());
    let shown = queue.pending().remove(0);
    queue.fail(&shown, AskError::Interrupted).unwrap();
    assert!(matches!(poll(&mut asking), Poll::Ready(Err(AskError::Interrupted))));
    assert_eq!(queue.fail(&shown, AskError::Interrupted), Err(NotPending));
}
