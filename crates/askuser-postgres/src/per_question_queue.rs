//! Runs calls concurrently, but keeps the calls about one question in order.

use crate::database::{Database, digest};
use crate::pool::Shared;
use askuser::store::{Command, Principal, QuestionId, QuestionRef, Scope};
use futures_channel::oneshot;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::pin::Pin;

/// The work of a call. The queue starts it in its turn.
pub(crate) type Work = Box<dyn FnOnce(Shared<Database>) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The subject of a call. Calls about one question run in order.
pub(crate) enum Lane {
    /// A call without a question.
    Free,
    /// A call about the question of this id.
    Question(QuestionId),
    /// A call about the question with this key digest.
    Key(Vec<u8>),
    /// A call about a question that only a look-up can determine. The call runs alone: after all earlier calls and
    /// before all later calls.
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
    /// The number of the next call. `open` has the numbers of the unfinished calls.
    next: u64,
    open: BTreeSet<u64>,
    /// The calls that wait for the running call of their lane.
    queues: HashMap<Vec<u8>, VecDeque<(u64, Work)>>,
    /// The pending flushes. Each completes when all calls below its number are done.
    flushes: Vec<(u64, oneshot::Sender<()>)>,
    /// The calls that are held back: one that must run alone, and all calls after it.
    held_back: VecDeque<(Lane, Work)>,
    is_alone: bool,
}

/// The lanes of a store. A clone shares the state.
#[derive(Clone)]
pub(crate) struct Lanes {
    database: Shared<Database>,
    state: Shared<RefCell<State>>,
}

impl Lanes {
    pub(crate) fn new(database: Shared<Database>) -> Lanes {
        Lanes { database, state: Shared::default() }
    }

    /// Starts a call, or queues it if earlier calls must end first.
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

    /// Returns the name of a lane. The id and the key of a known question give the same name. Returns `None` if the
    /// call has no lane.
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
        // A panic affects only its own caller, who gets no reply.
        let _ = tokio::task::spawn_local(work(self.database.clone())).await;
        let mut state = self.state.borrow_mut();
        state.open.remove(&number);
        // Calls that are held back have no number yet.
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

    /// Starts the calls that are held back, up to the next one that must run alone.
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

    /// Returns a future that completes when every earlier call is done.
    pub(crate) fn flush(&self) -> impl Future<Output = ()> + use<> {
        let mut state = self.state.borrow_mut();
        let (sender, flushed) = oneshot::channel();
        // Calls that are held back will get the next numbers in order.
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
