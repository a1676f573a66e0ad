//! The other end of `--output stream-json`: a front end in any language reads events, one JSON object per line, and
//! writes answers, messages and interrupts the same way. `docs/agent-protocol.md` is its description.

use askuser::asker::Asking;
use askuser::{Asker, Outcome, QuestionSet, Request, reply};
use askuser_cli::json::harmless;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// More than any line can need.
const MOST_BYTES: u64 = 1 << 20;

/// Answers that may come before their questions.
const MOST_EARLY: usize = 100;

/// How long a signal may take that comes with the end of the input.
const SIGNALS_FIRST: Duration = Duration::from_millis(200);

/// What a front end wants, besides answering.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Say(String),
    Interrupt,
}

/// Standard output, line by line, from a thread of its own: a front end that does not read must not make us deaf.
#[derive(Clone)]
pub(crate) struct Lines(mpsc::Sender<Out>);

enum Out {
    Line(String),
    /// Everything before this has been written.
    Written(oneshot::Sender<()>),
}

impl Lines {
    pub(crate) fn write(mut output: impl Write + Send + 'static) -> Lines {
        let (sender, mut lines) = mpsc::channel(64);
        std::thread::spawn(move || {
            while let Some(out) = lines.blocking_recv() {
                match out {
                    // Whoever sends the next one finds nobody to take it.
                    Out::Line(line) if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() => return,
                    Out::Line(_) => {}
                    Out::Written(told) => drop(told.send(())),
                }
            }
        });
        Lines(sender)
    }

    /// Fails if the other end has gone.
    pub(crate) async fn emit(&self, line: &Value) -> io::Result<()> {
        self.0.send(Out::Line(harmless(line))).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Returns once everything is written, or cannot be.
    pub(crate) async fn written(&self) {
        let (told, heard) = oneshot::channel();
        if self.0.send(Out::Written(told)).await.is_ok() {
            let _ = heard.await;
        }
    }

    /// Says that a line was not taken. The question it was meant for still waits.
    fn refuse(&self, id: Option<&str>, message: String) {
        let line = json!({"type": "rejected", "id": id, "error": {"message": message}});
        // A front end that does not read has gone, or will find that it was not told.
        let _ = self.0.try_send(Out::Line(harmless(&line)));
    }
}

/// A front end that answers questions.
#[derive(Clone)]
pub(crate) struct FrontEnd {
    state: Arc<Mutex<State>>,
    lines: Lines,
    /// The user's setting, unless the front end answers before.
    timeout: Option<Duration>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Answers that came before their questions, by the question's id.
    early: Vec<(String, Value)>,
    /// Questions that were put up: whoever answers one again is told.
    asked: HashSet<String>,
    /// Nothing comes any more.
    ended: bool,
}

struct Waiting {
    id: String,
    set: QuestionSet,
    outcome: oneshot::Sender<Outcome>,
}

impl FrontEnd {
    /// Reads from a thread of its own, until the end.
    pub(crate) fn listen(
        input: impl BufRead + Send + 'static,
        lines: Lines,
        timeout: Option<Duration>,
    ) -> (FrontEnd, mpsc::UnboundedReceiver<Wish>) {
        let front_end = FrontEnd { state: Arc::default(), lines, timeout };
        let (wishes, wanted) = mpsc::unbounded_channel();
        let listening = front_end.clone();
        std::thread::spawn(move || {
            listening.read(input, &wishes);
            let mut state = listening.state();
            state.ended = true;
            // Whoever waits is told by the channel's end.
            state.waiting.clear();
        });
        (front_end, wanted)
    }

    fn read(&self, mut input: impl BufRead, wishes: &mpsc::UnboundedSender<Wish>) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.by_ref().take(MOST_BYTES + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.len() as u64 > MOST_BYTES => {
                    self.lines.refuse(None, format!("a line of more than {MOST_BYTES} bytes, at most {MOST_BYTES}"));
                    // The next line is as good as any.
                    if !line.ends_with(b"\n") && input.skip_until(b'\n').is_err() {
                        return;
                    }
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => match serde_json::from_slice(&line) {
                    Ok(message) => self.take(message, wishes),
                    Err(error) => self.lines.refuse(None, format!("not JSON ({error})")),
                },
            }
        }
    }

    fn take(&self, message: Value, wishes: &mpsc::UnboundedSender<Wish>) {
        match message["type"].as_str() {
            Some("answer") => self.answer(message),
            Some("user") => match message["text"].as_str() {
                // The run may be over; then nobody listens.
                Some(text) if !text.trim().is_empty() => drop(wishes.send(Wish::Say(text.to_owned()))),
                _ => self.lines.refuse(None, "text: missing or blank, must be a string".into()),
            },
            Some("interrupt") => drop(wishes.send(Wish::Interrupt)),
            _ => {
                let fact = format!("type: {} is unknown, must be answer, user or interrupt", message["type"]);
                self.lines.refuse(None, fact);
            }
        }
    }

    /// An answer names its question: it must never be taken for the answer to something that nobody has seen yet.
    fn answer(&self, reply: Value) {
        let id = match &reply["id"] {
            Value::String(id) => id.clone(),
            Value::Null => return self.lines.refuse(None, "id: missing, must be the id of an ask_user".into()),
            other => return self.lines.refuse(None, format!("id: {other}, must be a string")),
        };
        let mut state = self.state();
        match state.waiting.iter().position(|waiting| waiting.id == id) {
            None if state.asked.contains(&id) => self.lines.refuse(Some(&id), "this question is over".into()),
            None if state.early.len() >= MOST_EARLY => {
                let fact = format!("{MOST_EARLY} answers wait for their questions already, at most {MOST_EARLY}");
                self.lines.refuse(Some(&id), fact);
            }
            None => state.early.push((id, reply)),
            Some(place) => match reply::read(&state.waiting[place].set, &reply) {
                Ok(outcome) => {
                    let waiting = state.waiting.remove(place);
                    // Withdrawn meanwhile.
                    let _ = waiting.outcome.send(outcome);
                }
                Err(violations) => self.lines.refuse(Some(&id), violations.to_string()),
            },
        }
    }

    /// Puts a question up for answering; an answer that is here already is taken, unless it does not fit. `None` if
    /// nothing comes any more.
    fn put_up(&self, request: &Request) -> Option<Result<oneshot::Receiver<Outcome>, Outcome>> {
        let id = public_id(request);
        let mut state = self.state();
        while let Some(place) = state.early.iter().position(|(early, _)| *early == id) {
            let (_, reply) = state.early.remove(place);
            match reply::read(&request.set, &reply) {
                Ok(outcome) => {
                    state.asked.insert(id);
                    return Some(Err(outcome));
                }
                Err(violations) => self.lines.refuse(Some(&id), violations.to_string()),
            }
        }
        state.asked.insert(id.clone());
        if state.ended {
            return None;
        }
        let (outcome, answered) = oneshot::channel();
        state.waiting.push(Waiting { id, set: request.set.clone(), outcome });
        Some(Ok(answered))
    }

    /// Says which answers were to nothing.
    pub(crate) fn close(&self) {
        for (id, _) in self.state().early.drain(..) {
            self.lines.refuse(Some(&id), "this was not asked".into());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asker for FrontEnd {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let _withdrawal = Withdrawal { front_end: self, id: public_id(request) };
            let answered = match self.put_up(request) {
                Some(Ok(answered)) => answered,
                Some(Err(outcome)) => return Ok(outcome),
                None => return Ok(self.nobody().await),
            };
            let outcome = match self.timeout {
                None => answered.await,
                Some(timeout) => match tokio::time::timeout(timeout, answered).await {
                    Ok(outcome) => outcome,
                    Err(_) => return Ok(Outcome::timed_out(Vec::new())),
                },
            };
            match outcome {
                Ok(outcome) => Ok(outcome),
                Err(_) => Ok(self.nobody().await),
            }
        })
    }
}

impl FrontEnd {
    /// The front end has gone. Whoever ends us closes our input and sends a signal, in either order: the signal counts, and
    /// leaves the question open.
    async fn nobody(&self) -> Outcome {
        tokio::time::sleep(SIGNALS_FIRST).await;
        Outcome::unavailable("standard input has ended", Vec::new())
    }
}

/// A question that nobody waits for any more cannot be answered.
struct Withdrawal<'a> {
    front_end: &'a FrontEnd,
    id: String,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.front_end.state().waiting.retain(|waiting| waiting.id != self.id);
    }
}

/// The id of the `ask_user` event: the key without the session.
fn public_id(request: &Request) -> String {
    let key = request.key.as_deref().unwrap_or_default();
    key.split_once('/').map_or(key, |(_, id)| id).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::Rules;
    use std::io::Cursor;

    fn request(id: &str) -> Request {
        let options = ["A", "B"].map(|label| json!({"label": label, "description": "d"}));
        let question = json!({"question": "Which?", "header": "Pick", "options": options, "multiSelect": false});
        let set = QuestionSet::parse(json!({"questions": [question]}), &Rules::default()).unwrap();
        Request::new(set).with_key(format!("session/{id}"))
    }

    fn ask(front_end: &FrontEnd, id: &str) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(front_end.ask(&request(id))).unwrap()
    }

    fn front_end(lines: &str) -> FrontEnd {
        FrontEnd::listen(Cursor::new(lines.to_owned()), Lines::write(io::sink()), None).0
    }

    #[test]
    fn an_answer_may_come_before_its_question_and_after_another_one() {
        let front_end = front_end(
            "{\"type\":\"answer\",\"id\":\"b\",\"answers\":[{\"selectedOptions\":[\"B\"]}]}\n\n\
             {\"type\":\"answer\",\"id\":\"a\",\"answers\":[{\"customInput\":\"mine\"}]}",
        );
        assert_eq!(ask(&front_end, "a").answers()[0].custom_input.as_deref(), Some("mine"));
        assert_eq!(ask(&front_end, "b").answers()[0].selected_options, ["B"]);
    }

    #[test]
    fn the_end_of_the_input_is_nobody_and_never_an_answer() {
        assert_eq!(ask(&front_end(""), "a").status_name(), "unavailable");
        let unfit = "{\"type\":\"answer\",\"id\":\"a\",\"answers\":[{\"selectedOptions\":[\"C\"]}]}\nnot json\n{}\n";
        assert_eq!(ask(&front_end(unfit), "a").status_name(), "unavailable");
    }

    #[test]
    fn every_outcome_can_be_said() {
        for (status, says) in
            [("cancelled", ""), ("declined", ",\"reason\":\"no\""), ("discuss", ",\"message\":\"hm\"")]
        {
            let line = format!("{{\"type\":\"answer\",\"id\":\"a\",\"status\":\"{status}\"{says}}}\n");
            assert_eq!(ask(&front_end(&line), "a").status_name(), status);
        }
    }

    #[test]
    fn silence_is_its_own_outcome_once_the_time_is_up() {
        let (reader, _writer) = io::pipe().unwrap();
        let (front_end, _wishes) = {
            let lines = Lines::write(io::sink());
            FrontEnd::listen(io::BufReader::new(reader), lines, Some(Duration::from_millis(20)))
        };
        assert_eq!(ask(&front_end, "a").status_name(), "timed_out");
        assert!(front_end.state().waiting.is_empty());
    }

    #[test]
    fn messages_and_interrupts_are_wishes() {
        let lines = "{\"type\":\"user\",\"text\":\"hi\"}\n{\"type\":\"user\"}\n{\"type\":\"interrupt\"}\n";
        let (_front_end, mut wishes) = FrontEnd::listen(Cursor::new(lines.to_owned()), Lines::write(io::sink()), None);
        assert_eq!(wishes.blocking_recv(), Some(Wish::Say("hi".into())));
        assert_eq!(wishes.blocking_recv(), Some(Wish::Interrupt));
        assert_eq!(wishes.blocking_recv(), None);
    }
}
