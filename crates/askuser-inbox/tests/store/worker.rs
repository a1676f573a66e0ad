//! Processes that other tests start, and kill: this test binary once more, told what to do by its environment.

use crate::support::{choice, request};
use askuser::store::{Filter, Recorded, Store};
use askuser_inbox::SqliteStore;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// A process that does a job with a store.
pub(crate) fn command(job: &str, store: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["worker::works", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("JOB", job)
        .env("STORE", store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// Says something that must be heard even if we are killed right after.
pub(crate) fn say(words: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n@{words}").and_then(|()| stdout.flush()).unwrap();
}

/// What a process has said, without the words of the test harness around it.
pub(crate) fn said(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().filter_map(|line| line.strip_prefix('@')).map(str::to_owned).collect()
}

#[test]
#[ignore = "a process that other tests start"]
fn works() {
    let job = std::env::var("JOB").expect("other tests say what to do");
    let path = std::path::PathBuf::from(std::env::var_os("STORE").unwrap());
    let open = || SqliteStore::open(&path).map_err(|error| error.chain());
    let (job, arguments) = job.split_once(' ').unwrap_or((&job, ""));
    match job {
        // Answers every question it reads the id of, as the person it is told to be.
        "answer" => {
            let store = open().unwrap();
            for id in std::io::stdin().lock().lines() {
                let id = id.unwrap();
                match store.answer(&id, &choice(0, arguments), arguments) {
                    Ok(Recorded::Won(ending)) => say(&format!("{id} won {}", ending.by().unwrap())),
                    Ok(Recorded::Lost(ending)) => say(&format!("{id} lost {}", ending.by().unwrap())),
                    Err(error) => say(&format!("{id} error {}", error.chain())),
                }
            }
        }
        // Asks without end, and says what it was told was kept.
        "ask" => {
            let store = open().unwrap();
            for i in 0.. {
                let put = store.put(&request(&format!("{arguments}-{i}"))).unwrap();
                say(&format!("kept {}", put.question.id));
            }
        }
        // Answers whatever is pending, without end, and says what it was told counts.
        "answer-all" => {
            let store = open().unwrap();
            loop {
                for question in store.list(&Filter { limit: Some(20), ..Filter::pending() }).unwrap() {
                    let attempt = format!("{arguments} {}", question.id);
                    if let Ok(Recorded::Won(_)) = store.answer(&question.id, &choice(0, arguments), &attempt) {
                        say(&format!("won {}", question.id));
                    }
                }
            }
        }
        // Watches, and takes what was answered.
        "deliver-all" => {
            let store = open().unwrap();
            let mut seq = 0;
            loop {
                for event in store.events(seq, 100).unwrap().events {
                    seq = event.seq;
                    if event.state != askuser::store::State::Pending {
                        store.delivered(&event.id).unwrap();
                        say(&format!("delivered {}", event.id));
                    }
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        // Puts questions until one is refused, says why, and tries once more when told to.
        "fill" => {
            #[cfg(unix)]
            if let Ok(limit) = arguments.parse() {
                use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
                // Ignored, the signal becomes an error of the write.
                let store = open().unwrap();
                crate::faults::ignore_file_size_signal();
                let free = getrlimit(Resource::Fsize);
                setrlimit(Resource::Fsize, Rlimit { current: Some(limit), ..free }).unwrap();
                let mut kept = Vec::new();
                let why = loop {
                    match store.put(&request(&format!("fill-{}", kept.len()))) {
                        Ok(put) => kept.push(put.question.id),
                        Err(error) => break error.chain(),
                    }
                };
                say(&format!("refused {why}"));
                setrlimit(Resource::Fsize, free).unwrap();
                kept.push(store.put(&request("after")).unwrap().question.id);
                kept.iter().for_each(|id| say(&format!("kept {id}")));
            }
        }
        // Opens, and tries everything that reads and writes.
        "try" => match open() {
            Err(error) => say(&format!("refused {error}")),
            Ok(store) => {
                let put = store.put(&request("try")).map(drop).map_err(|error| error.chain());
                say(&format!(
                    "list {:?}",
                    store.list(&Default::default()).map(|list| list.len()).map_err(|e| e.chain())
                ));
                say(&format!("put {put:?}"));
            }
        },
        // Keeps the file locked until its input ends.
        "lock" => {
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch("BEGIN EXCLUSIVE").unwrap();
            say("locked");
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        }
        other => panic!("no job {other}"),
    }
}
