//! Processes that other tests start and kill. Each is this test binary with a job in its environment.

#[cfg(unix)]
use crate::support::get;
use crate::support::{agent, ask, person, request};
use askuser::store::{Filter, Store};
use askuser_conformance::kills::{self, say};
use askuser_conformance::wait;
use askuser_inbox::SqliteStore;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Returns a command that starts a process with a job for a store.
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

#[test]
#[ignore = "a process that other tests start"]
fn works() {
    let job = std::env::var("JOB").expect("other tests say what to do");
    let path = std::path::PathBuf::from(std::env::var_os("STORE").unwrap());
    let open = || {
        let now = std::env::var("NOW").ok().and_then(|now| now.parse::<u64>().ok());
        let store = match now {
            Some(now) => SqliteStore::open_for_test(&path, Arc::new(move || now), true),
            None => SqliteStore::open(&path),
        };
        store.map(|store| Arc::new(store) as Arc<dyn Store>).map_err(|error| error.chain())
    };
    let (name, _argument) = job.split_once(' ').unwrap_or((&job, ""));
    match name {
        // Puts questions until one is refused, prints the reason, and puts another one when there is room.
        #[cfg(unix)]
        "fill" => {
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            let store = open().unwrap();
            let limit = _argument.parse().unwrap();
            // An ignored signal becomes an error of the write.
            signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(false.into())).unwrap();
            let free = getrlimit(Resource::Fsize);
            setrlimit(Resource::Fsize, Rlimit { current: Some(limit), ..free }).unwrap();
            let mut kept = Vec::new();
            let why = loop {
                match wait(agent(&store).put(&request(&format!("fill-{}", kept.len())), None)) {
                    Ok(put) => kept.push(put),
                    Err(error) => break error.chain(),
                }
            };
            say(&format!("refused {why}"));
            setrlimit(Resource::Fsize, free).unwrap();
            kept.push(wait(agent(&store).put(&request("after"), None)).unwrap());
            kept.iter().for_each(|put| say(&format!("kept {}", put.question.id)));
        }
        // Reads a question while no further file can be opened, and prints whether its asker is there.
        #[cfg(unix)]
        "crowded" => {
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            let (store, id) = (open().unwrap(), askuser::store::QuestionId::parse(_argument).unwrap());
            get(&store, &id);
            setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) }).unwrap();
            let files: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
            let asker = get(&store, &id).asker;
            drop(files);
            say(&format!("asker {asker:?}"));
        }
        // Opens the store, and tries reads and writes.
        "try" => match open() {
            Err(error) => say(&format!("refused {error}")),
            Ok(store) => {
                let put = ask(&store, &request("try")).map(drop).map_err(|error| error.chain());
                let list = wait(person(&store, "reader").list(&Filter::default()));
                say(&format!("list {:?}", list.map(|page| page.questions.len()).map_err(|error| error.chain())));
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
        _ => assert!(kills::work(open().unwrap(), &job), "no job {name}"),
    }
}
