//! The other end of `--output stream-json`: a front end in any language reads events, one JSON object per line, and
//! writes answers, messages and interrupts the same way. `docs/agent-protocol.md` is its description.

use askuser::asker::Asking;
use askuser::{Asker, Outcome, QuestionSet, Request, reply};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// More than any line can need.
const MOST_BYTES: u64 = 1 << 20;

/// What a front end wants, besides answering.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Say(String),
    Interrupt,
}

/// Writes a line. Whole lines only, whoever writes at the same time.
pub(crate) fn emit(line: &Value) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// A front end that answers questions.
#[derive(Clone)]
pub(crate) struct FrontEnd {
    state: Arc<Mutex<State>>,
    /// The user's setting, unless the front end answers before.
    timeout: Option<Duration>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Answers that came before their questions.
    early: Vec<(Option<String>, Value)>,
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
        timeout: Option<Duration>,
    ) -> (FrontEnd, mpsc::UnboundedReceiver<Wish>) {
        let front_end = FrontEnd { state: Arc::default(), timeout };
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
                    refuse(None, format!("a line of more than {MOST_BYTES} bytes, at most {MOST_BYTES}"));
                    return;
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => match serde_json::from_slice(&line) {
                    Ok(message) => self.take(message, wishes),
                    Err(error) => refuse(None, format!("not JSON ({error})")),
                },
            }
        }
    }

    fn take(&self, message: Value, wishes: &mpsc::UnboundedSender<Wish>) {
        match message["type"].as_str() {
            Some("answer") => self.answer(message["id"].as_str().map(str::to_owned), message),
            Some("user") => match message["text"].as_str() {
                // The run may be over; then nobody listens.
                Some(text) if !text.trim().is_empty() => drop(wishes.send(Wish::Say(text.to_owned()))),
                _ => refuse(None, "text: missing or blank, must be a string".into()),
            },
            Some("interrupt") => drop(wishes.send(Wish::Interrupt)),
            _ => refuse(None, format!("type: {} is unknown, must be answer, user or interrupt", message["type"])),
        }
    }

    fn answer(&self, id: Option<String>, reply: Value) {
        let mut state = self.state();
        let place = match &id {
            Some(id) => state.waiting.iter().position(|waiting| waiting.id == *id),
            None => (!state.waiting.is_empty()).then_some(0),
        };
        match place {
            None => state.early.push((id, reply)),
            Some(place) => match reply::read(&state.waiting[place].set, &reply) {
                Ok(outcome) => {
                    let waiting = state.waiting.remove(place);
                    // Withdrawn meanwhile.
                    let _ = waiting.outcome.send(outcome);
                }
                Err(violations) => refuse(Some(&state.waiting[place].id), violations.to_string()),
            },
        }
    }

    /// Puts a question up for answering; an answer that is here already is taken, unless it does not fit.
    fn put_up(&self, request: &Request) -> Result<oneshot::Receiver<Outcome>, Outcome> {
        let id = public_id(request);
        let mut state = self.state();
        let fits = |(early, _): &(Option<String>, Value)| early.as_deref().is_none_or(|early| early == id);
        while let Some(place) = state.early.iter().position(fits) {
            let (_, reply) = state.early.remove(place);
            match reply::read(&request.set, &reply) {
                Ok(outcome) => return Err(outcome),
                Err(violations) => refuse(Some(&id), violations.to_string()),
            }
        }
        if state.ended {
            return Err(Outcome::unavailable("standard input has ended", Vec::new()));
        }
        let (outcome, answered) = oneshot::channel();
        state.waiting.push(Waiting { id, set: request.set.clone(), outcome });
        Ok(answered)
    }

    /// Says which answers were to nothing.
    pub(crate) fn close(&self) {
        for (id, _) in self.state().early.drain(..) {
            refuse(id.as_deref(), "this was not asked".into());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asker for FrontEnd {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let answered = match self.put_up(request) {
                Ok(answered) => answered,
                Err(outcome) => return Ok(outcome),
            };
            let _withdrawal = Withdrawal { front_end: self, id: public_id(request) };
            let outcome = match self.timeout {
                None => answered.await,
                Some(timeout) => match tokio::time::timeout(timeout, answered).await {
                    Ok(outcome) => outcome,
                    Err(_) => return Ok(Outcome::timed_out(Vec::new())),
                },
            };
            Ok(outcome.unwrap_or_else(|_| Outcome::unavailable("standard input has ended", Vec::new())))
        })
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

/// Says that a line was not taken. The question it was meant for still waits.
fn refuse(id: Option<&str>, message: String) {
    // A front end that does not read has gone.
    let _ = emit(&json!({"type": "rejected", "id": id, "error": {"message": message}}));
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
        FrontEnd::listen(Cursor::new(lines.to_owned()), None).0
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
        assert_eq!(ask(&front_end(""), "a").status(), "unavailable");
        let unfit = "{\"type\":\"answer\",\"id\":\"a\",\"answers\":[{\"selectedOptions\":[\"C\"]}]}\nnot json\n{}\n";
        assert_eq!(ask(&front_end(unfit), "a").status(), "unavailable");
    }

    #[test]
    fn every_outcome_can_be_said() {
        for (status, says) in
            [("cancelled", ""), ("declined", ",\"reason\":\"no\""), ("discuss", ",\"message\":\"hm\"")]
        {
            let line = format!("{{\"type\":\"answer\",\"status\":\"{status}\"{says}}}\n");
            assert_eq!(ask(&front_end(&line), "a").status(), status);
        }
    }

    #[test]
    fn silence_is_its_own_outcome_once_the_time_is_up() {
        let (reader, _writer) = io::pipe().unwrap();
        let (front_end, _wishes) = FrontEnd::listen(io::BufReader::new(reader), Some(Duration::from_millis(20)));
        assert_eq!(ask(&front_end, "a").status(), "timed_out");
        assert!(front_end.state().waiting.is_empty());
    }

    #[test]
    fn messages_and_interrupts_are_wishes() {
        let lines = "{\"type\":\"user\",\"text\":\"hi\"}\n{\"type\":\"user\"}\n{\"type\":\"interrupt\"}\n";
        let (_front_end, mut wishes) = FrontEnd::listen(Cursor::new(lines.to_owned()), None);
        assert_eq!(wishes.blocking_recv(), Some(Wish::Say("hi".into())));
        assert_eq!(wishes.blocking_recv(), Some(Wish::Interrupt));
        assert_eq!(wishes.blocking_recv(), None);
    }
}
