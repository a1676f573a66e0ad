//! Runs calls concurrently, but keeps the calls about one question in order.

use crate::database::{Database, digest};
use crate::pool::Shared;
use askuser::store::{Command, Principal, QuestionId, QuestionRef, Scope};
use futures_channel::oneshot;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::pin::Pin;

/// The work of a call, which starts when its turn comes.
pub(crate) type Work = Box<dyn FnOnce(Shared<Database>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The subject of a call.
pub(crate) enum Lane {
    /// No subject that another call could share.
    Free,
    /// This question.
    Question(QuestionId),
    /// The question with this key.
    Key(Vec<u8>),
    /// A question that is known only after a look-up. The call runs alone: after all earlier calls and before all later
    /// ones.
    Alone,
}

impl Lane {
    pub(crate) fn of(by: &Principal, which: &QuestionRef) -> Lane {
        match (which, by.scope()) {
            (QuestionRef::Id(id), _) => Lane::Question(id.clone()),
            (QuestionRef::Key(key), Scope::OfCredential(name)) => Lane::Key(digest(key, Some(name))),
            (QuestionRef::Key(key), Scope::Of(_)) => Lane::Key(digest(key, None)),
            (QuestionRef::Key(_), _) => Lane::Alone,
        }
    }

    pub(crate) fn of_command(by: &Principal, command: &Command) -> Lane {
        match (command, command.question()) {
            (Command::Put { request, .. }, _) => {
                Lane::Key(digest(request.key(), request.origin().credential.as_deref()))
            }
            (_, Some(which)) => Lane::of(by, &which),
            (_, None) => Lane::Free,
        }
    }
}

#[derive(Default)]
struct State {
    /// The number of the next call, and the numbers of unfinished calls.
    next: u64,
    open: BTreeSet<u64>,
    /// The calls in each lane behind the running one.
    queues: HashMap<Vec<u8>, VecDeque<(u64, Work)>>,
    /// The waiters for all earlier calls.
    flushes: Vec<(u64, oneshot::Sender<()>)>,
    /// A call that must run alone, and all calls after it.
    held_back: VecDeque<(Lane, Work)>,
    is_alone: bool,
}

/// A handle that shares its state with the tasks it starts.
#[derive(Clone)]
pub(crate) struct Lanes {
    database: Shared<Database>,
    state: Shared<RefCell<State>>,
}

impl Lanes {
    pub(crate) fn new(database: Shared<Database>) -> Lanes {
        Lanes { database, state: Shared::default() }
    }

    /// Queues a call.
    pub(crate) fn submit(&self, lane: Lane, work: Work) {
        let mut state = self.state.borrow_mut();
        let waits = state.is_alone || !state.held_back.is_empty();
        if waits || (matches!(lane, Lane::Alone) && !state.open.is_empty()) {
            state.held_back.push_back((lane, work));
            return;
        }
        drop(state);
        self.begin(lane, work);
    }

    fn begin(&self, lane: Lane, work: Work) {
        let mut state = self.state.borrow_mut();
        let number = state.next;
        state.next += 1;
        state.open.insert(number);
        state.is_alone = matches!(lane, Lane::Alone);
        let Some(lane) = self.name(&lane) else {
            drop(state);
            let lanes = self.clone();
            tokio::task::spawn_local(async move { lanes.run(number, work).await });
            return;
        };
        if let Some(queue) = state.queues.get_mut(&lane) {
            queue.push_back((number, work));
            return;
        }
        state.queues.insert(lane.clone(), VecDeque::new());
        drop(state);
        let lanes = self.clone();
        tokio::task::spawn_local(async move {
            let mut turn = Some((number, work));
            while let Some((number, work)) = turn {
                lanes.run(number, work).await;
                let mut state = lanes.state.borrow_mut();
                turn = state.queues.get_mut(&lane).and_then(VecDeque::pop_front);
                if turn.is_none() {
                    state.queues.remove(&lane);
                }
            }
        });
    }

    /// The lane of a question, which is the same for its id and for its key. `None` for calls without a lane.
    fn name(&self, lane: &Lane) -> Option<Vec<u8>> {
        match lane {
            Lane::Free | Lane::Alone => None,
            Lane::Key(key) => Some(key.clone()),
            Lane::Question(id) => Some(match self.database.requests.borrow().known(id) {
                Some(request) => digest(request.key(), request.origin().credential.as_deref()),
                None => id.as_str().as_bytes().to_vec(),
            }),
        }
    }

    async fn run(&self, number: u64, work: Work) {
        // A panic concerns its caller only, whose reply is lost.
        let _ = tokio::task::spawn_local(work(self.database.clone())).await;
        let mut state = self.state.borrow_mut();
        state.open.remove(&number);
        // Calls held back have no number yet.
        let earliest = state.open.first().copied().unwrap_or(state.next);
        let (done, waiting) = std::mem::take(&mut state.flushes).into_iter().partition(|(bound, _)| *bound <= earliest);
        state.flushes = waiting;
        if state.open.is_empty() {
            state.is_alone = false;
        }
        drop(state);
        let done: Vec<(u64, oneshot::Sender<()>)> = done;
        for (_, flushed) in done {
            let _ = flushed.send(());
        }
        self.let_go();
    }

    /// Starts the calls held back, up to the next one that must run alone.
    fn let_go(&self) {
        loop {
            let mut state = self.state.borrow_mut();
            let may_begin = match state.held_back.front() {
                None => false,
                Some((Lane::Alone, _)) => state.open.is_empty(),
                Some(_) => !state.is_alone,
            };
            if !may_begin {
                return;
            }
            let Some((lane, work)) = state.held_back.pop_front() else { return };
            drop(state);
            self.begin(lane, work);
        }
    }

    /// Completes when every earlier call is done.
    pub(crate) fn flush(&self) -> impl Future<Output = ()> + use<> {
        let mut state = self.state.borrow_mut();
        let (sender, flushed) = oneshot::channel();
        // Calls held back get their numbers one after the other.
        let bound = state.next + state.held_back.len() as u64;
        if state.open.is_empty() && state.held_back.is_empty() {
            drop(sender)
        } else {
            state.flushes.push((bound, sender))
        }
        async move {
            let _ = flushed.await;
        }
    }
}
