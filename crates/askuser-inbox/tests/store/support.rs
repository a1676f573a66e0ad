use askuser::input::QuestionInput;
use askuser::store::Store;
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Resolution, Rules, Via};
use askuser_inbox::SqliteStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// A question with two options.
pub(crate) fn set(text: &str) -> QuestionSet {
    let question = QuestionInput::new(text, "Pick").option("A", "The first").option("B", "The second");
    QuestionSet::new([question], &Rules::strict()).unwrap()
}

pub(crate) fn request(call: &str) -> Request {
    let origin = Origin::default().with_agent("tester").with_folder("/project");
    Request::new(RequestKey::new("session", call), set("Which one?")).with_origin(origin)
}

/// The answer with this option.
pub(crate) fn choice(option: usize, by: &str) -> Resolution {
    let set = set("Which one?");
    let answer = set.questions()[0].answer(&[option], None, None).unwrap();
    Outcome::answered(&set, vec![answer]).unwrap().through(Via::Inbox).with_by(by)
}

/// A folder that goes away with the test, a store in it, and a clock that stands still unless moved.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) now: Arc<AtomicU64>,
}

impl Place {
    pub(crate) fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), now: Arc::new(AtomicU64::new(1_000_000)) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("inbox.sqlite")
    }

    pub(crate) fn store(&self) -> SqliteStore {
        let now = self.now.clone();
        SqliteStore::open(&self.path()).unwrap().with_clock(Arc::new(move || now.load(Ordering::Relaxed)))
    }

    /// Several handles to the same file, as several processes have them.
    pub(crate) fn stores(&self, count: usize) -> Vec<Arc<dyn Store>> {
        (0..count).map(|_| Arc::new(self.store().without_sync().unwrap()) as Arc<dyn Store>).collect()
    }
}

/// Numbers that look random and are the same every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % bound as u64) as usize
    }
}

/// Waits for a future on this thread.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
