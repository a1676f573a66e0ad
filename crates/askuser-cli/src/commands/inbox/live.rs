//! The live list of waiting questions, with a preview. Enter or a digit opens the prompt.

mod list;
mod update;
mod view;

pub(super) use list::{Row, Section};

use super::{Notice, open};
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::signals;
use crate::store::{self, attempt, display, done};
use crate::surfaces::terminal_options;
use askuser::store::{Attachment, Change, Handle, QuestionId, State, StoreError, StoredQuestion, Watch, Watched};
use askuser_terminal::{Console, ConsoleEvent, Focus, Options, Role, TerminalInput, Waker};
use list::List;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::{Duration, Instant};
use update::{Effect, Event};

/// The interval at which ages are updated.
const TICK: Duration = Duration::from_secs(10);

/// The longest time that the first frame waits for the list.
const FIRST_FRAME: Duration = Duration::from_millis(150);

pub(super) fn run(store: &Handle, settings: &Settings) -> Result<u8, Failure> {
    let mut list = List::new(store.principal().clone());
    let mut options = terminal_options(settings);
    let mut console = console(&options)?;
    loop {
        match browse(store, settings, &mut options, &mut list, console)? {
            None => return Ok(exit::ANSWERED),
            // The prompt uses the terminal until its question is answered or put aside.
            Some(question) => list.notice = open(&question, store, settings),
        }
        console = self::console(&options)?;
        console.clear_screen();
    }
}

pub(in crate::commands) fn console(options: &Options) -> Result<Console, Failure> {
    signals::listen()?;
    Console::open(options)
        .map_err(|error| Failure::new(format!("no person can be asked: {error}")).code(exit::UNAVAILABLE))
}

pub(in crate::commands) fn broken(error: io::Error) -> Failure {
    Failure::new(format!("the terminal failed: {error}")).code(exit::UNAVAILABLE)
}

/// Shows the list until the person opens a question or leaves. Returns the question to open; `None` if the person
/// leaves.
fn browse(
    store: &Handle,
    settings: &Settings,
    options: &mut Options,
    list: &mut List,
    console: Console,
) -> Result<Option<StoredQuestion>, Failure> {
    let news = News::watch(store, &console)?;
    let mut driver =
        Driver { store, console, news, calls: Vec::new(), shown: None, bells: settings.notify, next: None };
    // A person who sees the list is not notified elsewhere.
    driver.show_list();
    list.show_again();
    driver.run(list);
    let mut inputs = Vec::new();
    let began = Instant::now();
    while driver.next.is_none() {
        let size = driver.console.size();
        // An opened text uses the space of the list.
        let height = if list.opened.is_some() { 1 } else { view::list_height(size) };
        if height != list.height {
            driver.handle(list, Event::Resized(height));
        }
        if matches!(list.mode, list::Mode::Help { .. }) {
            list.help_pages = view::help_pages(&options.theme, size);
        }
        let (has_changed, new) = driver.news.look()?;
        if has_changed {
            driver.handle(list, Event::Changed(new));
        }
        if driver.take_replies(list) {
            continue;
        }
        let is_early = list.is_replaced && began.elapsed() < FIRST_FRAME;
        if !is_early {
            let (lines, caret) = view::lines(list, &options.theme, size);
            driver.console.set_live(&lines, caret);
        }
        let patience = if is_early { FIRST_FRAME } else { TICK };
        match driver.console.wait(Some(patience), &mut inputs).map_err(broken)? {
            ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => break,
            // The ages were computed when the questions were read, so they are read again.
            ConsoleEvent::TimedOut if !is_early => driver.handle(list, Event::Changed(None)),
            _ => {}
        }
        // The background is known only if the settings leave it to the terminal.
        if let Some(background) = driver.console.background() {
            options.theme.background = background;
        }
        for input in inputs.drain(..) {
            match input {
                TerminalInput::Focus(Focus::Gained) if driver.shown.is_none() => driver.show_list(),
                TerminalInput::Focus(Focus::Lost) => driver.shown = None,
                _ => {}
            }
            driver.handle(list, Event::Input(input));
            if driver.next.is_some() {
                break;
            }
        }
    }
    driver.console.clear_live();
    driver.console.close().map_err(broken)?;
    Ok(driver.next.flatten().map(|question| *question))
}

/// Carries out the effects of the list. Calls to the store run while keys are handled.
struct Driver<'a> {
    store: &'a Handle,
    console: Console,
    news: News,
    calls: Vec<Pin<Box<dyn Future<Output = Reply> + Send>>>,
    /// The attachment that marks the list as visible to a person; `None` while it is not visible.
    shown: Option<Attachment>,
    bells: bool,
    /// The next step, once it is decided: `Some` with the question to open, or with `None` to leave.
    next: Option<Option<Box<StoredQuestion>>>,
}

/// The result of a call to the store.
enum Reply {
    Event(Event),
    Shown(Option<Attachment>),
    Nothing,
}

impl Driver<'_> {
    fn show_list(&mut self) {
        let shown = self.store.show_list();
        self.calls.push(Box::pin(async move { Reply::Shown(shown.await.ok()) }));
    }

    fn handle(&mut self, list: &mut List, event: Event) {
        list.update(event);
        self.run(list);
    }

    /// Carries out the effects of the list.
    fn run(&mut self, list: &mut List) {
        while let Some(effect) = list.effects.pop_front() {
            match effect {
                Effect::Load { number, filter } => {
                    let page = self.store.list(&filter);
                    self.calls.push(Box::pin(async move { Reply::Event(Event::Loaded { number, page: page.await }) }));
                }
                Effect::Announce(id) => {
                    let question = self.store.get(&id);
                    self.calls.push(Box::pin(async move {
                        let announced = |question| Reply::Event(Event::Announced(Box::new(question)));
                        question.await.map_or(Reply::Nothing, announced)
                    }));
                }
                Effect::Withdraw(question) => {
                    let store = self.store.clone();
                    let notice = async move { Reply::Event(Event::Withdrawn(withdraw(&question, &store).await)) };
                    self.calls.push(Box::pin(notice));
                }
                Effect::Open(question) => self.next = Some(Some(question)),
                Effect::Leave => self.next = Some(None),
                Effect::Bell if self.bells => self.console.bell(),
                Effect::Bell => {}
            }
        }
    }

    /// Passes the replies of the store to the list. Returns whether there were any.
    fn take_replies(&mut self, list: &mut List) -> bool {
        let mut replies = Vec::new();
        let waker = self.news.waker.clone();
        let mut context = Context::from_waker(&waker);
        self.calls.retain_mut(|call| match call.as_mut().poll(&mut context) {
            Poll::Ready(reply) => {
                replies.push(reply);
                false
            }
            Poll::Pending => true,
        });
        let were_any = !replies.is_empty();
        for reply in replies {
            match reply {
                Reply::Event(event) => self.handle(list, event),
                Reply::Shown(shown) => self.shown = shown,
                Reply::Nothing => {}
            }
        }
        were_any
    }
}

/// Withdraws a question, and returns a notice about the result.
pub(super) async fn withdraw(question: &StoredQuestion, store: &Handle) -> Notice {
    let attempt = match attempt() {
        Ok(attempt) => attempt,
        Err(failure) => return Notice::new(Role::Danger, failure.message),
    };
    match store.withdraw(&question.id, &attempt).await {
        Ok(_) => Notice::new(Role::Success, format!("Withdrawn: {}", display::name(question))),
        Err(StoreError::Ended(ending)) => {
            Notice::new(Role::Warning, format!("It {}", display::ended(&question.request, &ending)))
        }
        Err(error) => Notice::new(Role::Danger, error.chain()),
    }
}

/// The events of the store while a list is shown.
pub(super) struct News {
    watch: Watch,
    waker: std::task::Waker,
}

impl News {
    /// Starts the watch, which reports every later event and wakes the console for each.
    pub(super) fn watch(store: &Handle, console: &Console) -> Result<News, Failure> {
        let waker = Arc::new(WakeConsole(console.waker())).into();
        Ok(News { watch: done(store.watch(&Watched::All))?, waker })
    }

    /// Returns whether the store has changed, and the last new question if there is one.
    pub(super) fn look(&mut self) -> Result<(bool, Option<QuestionId>), Failure> {
        let mut has_changed = false;
        let mut new = None;
        while let Poll::Ready(change) = self.watch.poll_next(&mut Context::from_waker(&self.waker)) {
            match change {
                Change::Event(event) if event.state == State::Pending => new = Some(event.id),
                Change::Event(_) | Change::Lagged => {}
                Change::Disconnected(why) => return Err(store::failed(why)),
            }
            has_changed = true;
        }
        Ok((has_changed, new))
    }
}

struct WakeConsole(Waker);

impl Wake for WakeConsole {
    fn wake(self: Arc<WakeConsole>) {
        self.0.wake();
    }
}
