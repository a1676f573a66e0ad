//! The protocol of `--output stream-json`. A front end in any language reads events, one JSON object per line, and
//! writes answers, messages and interrupts in the same way. `docs/agent-protocol.md` describes it.

use crate::json::escape_invisible;
use askuser::store::Ending;
use askuser::{Asker, Asking, Outcome, QuestionQueue, QueueEvent, Request, RequestKey, Via, reply};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// The size limit of a line in bytes, which is far above any useful line.
const MAX_BYTES: u64 = 1 << 20;

/// The wait for a signal after the end of the input.
const SIGNALS_FIRST: Duration = Duration::from_millis(200);

/// A request of a front end that is not an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrontEndRequest {
    Say(String),
    /// Continues a session that was cut off.
    Continue,
    Interrupt,
}

/// Writes standard output, line by line, from a separate thread. A front end that does not read must not block the
/// input.
#[derive(Clone)]
pub(crate) struct Lines(mpsc::Sender<Out>);

enum Out {
    Line(String),
    /// Reports through this sender that all earlier lines are written.
    Written(oneshot::Sender<()>),
}

impl Lines {
    pub(crate) fn write(mut output: impl Write + Send + 'static) -> Lines {
        let (sender, mut lines) = mpsc::channel(64);
        std::thread::spawn(move || {
            while let Some(out) = lines.blocking_recv() {
                match out {
                    // The next line finds no receiver.
                    Out::Line(line) if writeln!(output, "{line}").and_then(|()| output.flush()).is_err() => return,
                    Out::Line(_) => {}
                    Out::Written(told) => drop(told.send(())),
                }
            }
        });
        Lines(sender)
    }

    /// Sends a line. Fails if the other end is closed.
    pub(crate) async fn emit(&self, line: &Value) -> io::Result<()> {
        self.0.send(Out::Line(escape_invisible(line))).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Waits until all lines are written, or writing has failed.
    pub(crate) async fn written(&self) {
        let (told, heard) = oneshot::channel();
        if self.0.send(Out::Written(told)).await.is_ok() {
            let _ = heard.await;
        }
    }

    /// Reports that a line was rejected. The question that the line was meant for still waits.
    fn refuse(&self, id: Option<&str>, message: String) {
        let line = json!({"type": "rejected", "id": id, "error": {"message": message}});
        self.emit_if_read(&line);
    }

    /// Sends a line without waiting, and drops it if the buffer is full. A front end that does not read is gone, or
    /// will notice the missing line.
    pub(crate) fn emit_if_read(&self, line: &Value) {
        let _ = self.0.try_send(Out::Line(escape_invisible(line)));
    }
}

/// A front end that answers questions. The questions wait in a queue, and the loop prints them as `ask_user` events.
#[derive(Clone)]
pub(crate) struct FrontEnd {
    queue: QuestionQueue,
    lines: Lines,
    /// The ids of the questions that were asked, so that a second answer is rejected as late.
    asked: Arc<Mutex<HashSet<String>>>,
}

impl FrontEnd {
    /// Creates a front end, and reads its requests in a separate thread until the end of input.
    pub(crate) fn listen(
        input: impl BufRead + Send + 'static,
        lines: Lines,
    ) -> (FrontEnd, mpsc::UnboundedReceiver<FrontEndRequest>) {
        let asked = Arc::<Mutex<HashSet<String>>>::default();
        let known = asked.clone();
        let queue = QuestionQueue::new(move |_, event| {
            if let QueueEvent::Asked(request) = event {
                known.lock().unwrap_or_else(PoisonError::into_inner).insert(request.key().id_in_session());
            }
        });
        let front_end = FrontEnd { queue, lines, asked };
        let (sender, requests) = mpsc::unbounded_channel();
        let listening = front_end.clone();
        std::thread::spawn(move || {
            listening.read(input, &sender);
            // A front end that ends this process closes its input and sends a signal, in either order. The signal has
            // priority, and leaves the question open.
            std::thread::sleep(SIGNALS_FIRST);
            listening.queue.end("standard input has ended");
        });
        (front_end, requests)
    }

    fn read(&self, mut input: impl BufRead, requests: &mpsc::UnboundedSender<FrontEndRequest>) {
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.by_ref().take(MAX_BYTES + 1).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.len() as u64 > MAX_BYTES => {
                    self.lines.refuse(None, format!("a line is longer than {MAX_BYTES} bytes"));
                    if !line.ends_with(b"\n") && input.skip_until(b'\n').is_err() {
                        return;
                    }
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => match serde_json::from_slice(&line) {
                    Ok(message) => self.take(&message, requests),
                    Err(error) => self.lines.refuse(None, format!("not JSON ({error})")),
                },
            }
        }
    }

    fn take(&self, message: &Value, requests: &mpsc::UnboundedSender<FrontEndRequest>) {
        match message["type"].as_str() {
            Some("answer") => self.answer(message),
            Some("user") => match message["text"].as_str() {
                // The run may be over, and the receiver dropped.
                Some(text) if !text.trim().is_empty() => drop(requests.send(FrontEndRequest::Say(text.to_owned()))),
                _ => self.lines.refuse(None, "text: missing or blank, must be a string".into()),
            },
            Some("continue") => drop(requests.send(FrontEndRequest::Continue)),
            Some("interrupt") => drop(requests.send(FrontEndRequest::Interrupt)),
            _ => {
                let fact = format!("type: {} is unknown, must be answer, user, continue or interrupt", message["type"]);
                self.lines.refuse(None, fact);
            }
        }
    }

    /// Handles an answer. It names its question, so that it never answers a question that no person has seen.
    fn answer(&self, reply: &Value) {
        let id = match &reply["id"] {
            Value::String(id) => id,
            Value::Null => return self.lines.refuse(None, "id: missing, must be the id of an ask_user".into()),
            other => return self.lines.refuse(None, format!("id: {other}, must be a string")),
        };
        let pending = self.queue.pending();
        let Some(request) = pending.iter().find(|request| request.key().id_in_session() == *id) else {
            let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains(id);
            let fact = if asked { "this question is over" } else { "this was not asked, or not yet" };
            return self.lines.refuse(Some(id), fact.into());
        };
        let read = reply::outcome(request.set(), reply)
            .and_then(|outcome| Ok(outcome.through(Via::FrontEnd).with_reported(reply::reported(reply)?)));
        let answered = read
            .map_err(|violations| violations.to_string())
            .and_then(|resolution| self.queue.answer(request, resolution).map_err(|error| error.to_string()));
        if let Err(why) = answered {
            self.lines.refuse(Some(id), why);
        }
    }
}

impl Asker for FrontEnd {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let answered = self.queue.ask(request);
            match request.deadline() {
                None => answered.await,
                Some(deadline) => match tokio::time::timeout(deadline, answered).await {
                    Ok(answered) => answered,
                    Err(_) => Ok(Outcome::timed_out().through(Via::FrontEnd).into()),
                },
            }
        })
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        self.queue.close(key, ending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::input::QuestionInput;
    use askuser::{QuestionSet, Resolution, Rules};
    use std::io::PipeWriter;

    fn request(id: &str) -> Request {
        let question = QuestionInput::new("Which?", "Pick").option("A", "a").option("B", "b");
        let set = QuestionSet::new([question], &Rules::strict()).unwrap();
        Request::new(RequestKey::new("session", id), set)
    }

    /// Returns a front end with a pipe as its standard input, with its requests and its output.
    fn front_end() -> (FrontEnd, PipeWriter, mpsc::UnboundedReceiver<FrontEndRequest>, io::PipeReader) {
        let ((input, typed), (told, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
        let (front_end, requests) = FrontEnd::listen(io::BufReader::new(input), Lines::write(output));
        (front_end, typed, requests, told)
    }

    fn ask(front_end: &FrontEnd, request: &Request) -> Resolution {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(front_end.ask(request)).unwrap().stored()
    }

    /// Asks a question, writes these lines once the question waits, and returns the resolution.
    fn reply(lines: &str, id: &str) -> Resolution {
        let (front_end, mut typed, _requests, _told) = front_end();
        let asking = front_end.clone();
        let asked = request(id);
        let thread = std::thread::spawn(move || ask(&asking, &asked));
        while front_end.queue.pending().is_empty() {
            std::thread::yield_now();
        }
        typed.write_all(lines.as_bytes()).unwrap();
        drop(typed);
        thread.join().unwrap()
    }

    fn answer(id: &str, rest: &str) -> String {
        format!("{{\"type\":\"answer\",\"id\":\"{id}\",{rest}}}\n")
    }

    #[test]
    fn an_answer_that_comes_before_its_question_is_refused_at_once() {
        let (front_end, mut typed, _requests, told) = front_end();
        typed.write_all(answer("a", "\"answers\":[{\"selectedOptions\":[\"B\"]}]").as_bytes()).unwrap();
        let mut line = String::new();
        io::BufReader::new(told).read_line(&mut line).unwrap();
        assert!(line.contains("\"type\":\"rejected\"") && line.contains("not asked, or not yet"), "{line}");
        drop(typed);
        assert_eq!(ask(&front_end, &request("a")).outcome().status().name(), "unavailable");
    }

    #[test]
    fn an_answer_belongs_to_the_question_it_names_and_does_not_decide_who_gave_it() {
        let lines = answer("b", "\"answers\":[{\"selectedOptions\":[\"B\"]}]")
            + &answer("a", "\"answers\":[{\"customInput\":\"mine\"}],\"via\":\"terminal\"");
        let resolution = reply(&lines, "a");
        assert_eq!(resolution.outcome().answers()[0].custom_input.as_deref(), Some("mine"));
        assert_eq!(resolution.via(), Some(Via::FrontEnd));
        assert_eq!(resolution.reported().unwrap().via, Some(Via::Terminal));
    }

    #[test]
    fn the_end_of_the_input_is_nobody_and_never_an_answer() {
        assert_eq!(reply("", "a").outcome().status().name(), "unavailable");
        let unfit = answer("a", "\"answers\":[{\"selectedOptions\":[\"C\"]}]") + "not json\n{}\n";
        assert_eq!(reply(&unfit, "a").outcome().status().name(), "unavailable");
    }

    #[test]
    fn every_outcome_can_be_said() {
        for (status, says) in
            [("cancelled", ""), ("declined", ",\"reason\":\"no\""), ("discuss", ",\"message\":\"hm\"")]
        {
            let line = answer("a", &format!("\"status\":\"{status}\"{says}"));
            assert_eq!(reply(&line, "a").outcome().status().name(), status);
        }
    }

    #[test]
    fn silence_is_its_own_outcome_once_the_deadline_has_passed() {
        let (front_end, _typed, _requests, _told) = front_end();
        let request = request("a").with_deadline(Duration::from_millis(20));
        assert_eq!(ask(&front_end, &request).outcome().status().name(), "timed_out");
        assert!(front_end.queue.pending().is_empty());
    }

    #[test]
    fn messages_and_interrupts_are_requests() {
        let (_front_end, mut typed, mut requests, _told) = front_end();
        let lines = "{\"type\":\"user\",\"text\":\"hi\"}\n{\"type\":\"user\"}\n{\"type\":\"interrupt\"}\n";
        typed.write_all(lines.as_bytes()).unwrap();
        drop(typed);
        assert_eq!(requests.blocking_recv(), Some(FrontEndRequest::Say("hi".into())));
        assert_eq!(requests.blocking_recv(), Some(FrontEndRequest::Interrupt));
        assert_eq!(requests.blocking_recv(), None);
    }
}
