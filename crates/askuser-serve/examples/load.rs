//! Measures a server whose client is in a separate process. `benches/serve/run` runs the measurement.
//!
//! `load server FILE` serves a store. `load client [STREAMS] [ANSWERS] [PENDING]` starts a server, measures it, and
//! prints the figures.

#![allow(clippy::print_stdout, reason = "figures are printed")]

use askuser::input::QuestionInput;
use askuser::store::{CredentialScope, Credentials, Principal, Put, Store};
use askuser::{Origin, QuestionSet, Request, RequestKey, Rules};
use askuser_inbox::SqliteStore;
use askuser_serve::{Options, serve, token};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The number of connections that answer concurrently.
const LANES: usize = 32;
const ANSWER: &str = "{\"answers\": [{\"selectedOptions\": [\"A\"]}]}";

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, usual: usize| words.get(i).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match words.first().map(String::as_str) {
        Some("server") => runtime.block_on(server(Path::new(&words[1]))),
        _ => runtime.block_on(client(number(1, 10_000), number(2, 10_000), number(3, 100_000))),
    }
}

async fn server(path: &Path) -> Result<(), Failure> {
    let store = Arc::new(SqliteStore::open(path)?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    serve(store.clone(), store, listener, Options::default(), CancellationToken::new()).await?;
    Ok(())
}

/// A server process.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a server. Returns it with the time until it listened.
    fn start(path: &Path) -> Result<(Server, Duration), Failure> {
        let began = Instant::now();
        let program = std::env::current_exe()?;
        let mut child = Command::new(program).arg("server").arg(path).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().ok_or("no output")?).read_line(&mut line)?;
        Ok((Server { child, address: line.trim().parse()? }, began.elapsed()))
    }

    /// Returns the number of context switches of the server's threads.
    fn switches(&self) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let status = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let of = |status: String| {
            let lines = status.lines().filter(|line| line.contains("ctxt_switches"));
            lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>()
        };
        status.map(of).sum()
    }

    fn resident_kib(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Creates a store with this number of pending questions. Returns their ids and three tokens: of a person, of their
/// asker, and of another asker.
async fn filled(path: &Path, questions: usize) -> Result<(Vec<String>, [String; 3]), Failure> {
    let store = SqliteStore::open_for_test(path, Arc::new(|| 1_000_000), false)?;
    let (person, as_person) = token::make("phone", CredentialScope::Answer, None)?;
    let (agent, as_agent) = token::make("load", CredentialScope::Ask, None)?;
    let (other, as_other) = token::make("other", CredentialScope::Ask, None)?;
    for made in [as_person, as_agent, as_other] {
        store.add_credential(&made).await?;
    }
    let question = QuestionInput::new("Which one?", "Pick").option("A", "The first").option("B", "The second");
    let set = QuestionSet::new([question], &Rules::strict())?;
    let origin = Origin::default().with_agent("load").with_credential("load");
    let mut ids = Vec::new();
    for call in 0..questions {
        let request = Request::new(RequestKey::new("load", call.to_string()), set.clone()).with_origin(origin.clone());
        let Put { question, attachment, .. } = store.put(&Principal::agent(&origin), &request, None).await?;
        drop(attachment);
        ids.push(question.id.to_string());
    }
    store.flush().await?;
    Ok((ids, [person, agent, other]))
}

/// Formats a request that keeps the connection open.
fn http(address: SocketAddr, token: &str, method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nX-Askuser: 1\r\nAuthorization: Bearer {token}\r\n\
         Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads a reply with a length and returns its status.
async fn reply(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<u16, Failure> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server hung up".into());
        }
        let text = String::from_utf8_lossy(buffer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok();
            if body.len() >= head.lines().find_map(length).unwrap_or(0_usize) {
                return Ok(head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_default());
            }
        }
    }
}

async fn answer(address: SocketAddr, token: &str, ids: &[String]) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address).await?;
    let mut buffer = Vec::new();
    for id in ids {
        let request = http(address, token, "POST", &format!("/questions/{id}/answer"), ANSWER);
        stream.write_all(request.as_bytes()).await?;
        let status = reply(&mut stream, &mut buffer).await?;
        if status != 200 {
            return Err(format!("{id}: {status} {}", String::from_utf8_lossy(&buffer)).into());
        }
    }
    Ok(())
}

async fn client(streams: usize, answers: usize, pending: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("inbox.sqlite");
    let (ids, [person, agent, other]) = filled(&path, answers.max(pending)).await?;
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;

    let starts = (0..11).map(|_| Server::start(&path).map(|(_, after)| after));
    let mut starts = starts.collect::<Result<Vec<Duration>, _>>()?;
    starts.sort();
    println!("listening after the start: {:.1} ms (median of 11)", ms(starts[5]));

    let (server, _) = Server::start(&path)?;
    let address = server.address;
    let mut stream = TcpStream::connect(address).await?;
    let mut buffer = Vec::new();
    let list = http(address, &person, "GET", "/questions?limit=50", "");
    let mut times = Vec::new();
    for _ in 0..100 {
        let began = Instant::now();
        stream.write_all(list.as_bytes()).await?;
        reply(&mut stream, &mut buffer).await?;
        times.push(began.elapsed());
    }
    times.sort();
    println!("a page of 50 of {} pending: {:.1} ms (p50), {:.1} ms (p99)", ids.len(), ms(times[50]), ms(times[98]));

    drop(stream);
    // The server finishes its work for the connection in this time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let switches = server.switches();
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!("without clients: {} wake-ups in 10 s", server.switches() - switches);

    let half = answers / 2;
    println!("answers, {LANES} at once: {:.0} per second", answer_all(address, &person, &ids[1..half]).await?);
    // The store has cached the requests that were read before, so they do not count as memory of streams.
    let before = server.resident_kib();
    // The streams belong to agents that wait for other questions, and to one person who follows all events.
    let others = open(address, &other, streams).await?;
    let heard = Arc::new(AtomicUsize::new(0));
    let each = server.resident_kib().saturating_sub(before) as f64 / streams.max(1) as f64;
    println!("{streams} streams: {each:.1} KiB each in the server");
    listen(open(address, &person, 1).await?, &heard);
    let rate = answer_all(address, &person, &ids[half..answers]).await?;
    println!("answers with {streams} streams open, {LANES} at once: {rate:.0} per second");
    until(&heard, answers - half).await;
    println!("of these {} a person heard {}", answers - half, heard.load(Ordering::Relaxed));
    drop(others);

    let heard = Arc::new(AtomicUsize::new(0));
    listen(open(address, &agent, streams).await?, &heard);
    let began = Instant::now();
    answer(address, &person, &ids[..1]).await?;
    until(&heard, streams).await;
    println!("one answer is heard by {} streams after {:.1} ms", heard.load(Ordering::Relaxed), ms(began.elapsed()));
    Ok(())
}

/// Answers all of these questions. Returns the number of answers per second.
async fn answer_all(address: SocketAddr, person: &str, ids: &[String]) -> Result<f64, Failure> {
    let began = Instant::now();
    let lanes = ids.chunks(ids.len().div_ceil(LANES)).map(|ids| {
        let ids = ids.to_vec();
        let person = person.to_owned();
        tokio::spawn(async move { answer(address, &person, &ids).await })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await??;
    }
    Ok(ids.len() as f64 / began.elapsed().as_secs_f64())
}

/// Opens this number of event streams.
async fn open(address: SocketAddr, token: &str, streams: usize) -> Result<Vec<TcpStream>, Failure> {
    let mut opened = Vec::new();
    for _ in 0..streams {
        let mut stream = TcpStream::connect(address).await?;
        let mut first = Vec::new();
        stream.write_all(http(address, token, "GET", "/events", "").as_bytes()).await?;
        while !String::from_utf8_lossy(&first).contains("resumed") {
            if stream.read_buf(&mut first).await? == 0 {
                return Err("a stream was refused".into());
            }
        }
        opened.push(stream);
    }
    Ok(opened)
}

/// Counts the events on these streams.
fn listen(streams: Vec<TcpStream>, heard: &Arc<AtomicUsize>) {
    for mut stream in streams {
        let heard = heard.clone();
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                heard.fetch_add(bytes[..read].windows(4).filter(|four| four == b"id: ").count(), Ordering::Relaxed);
            }
        });
    }
}

/// Waits for this number of events, or for a minute.
async fn until(heard: &AtomicUsize, all: usize) {
    let began = Instant::now();
    while heard.load(Ordering::Relaxed) < all && began.elapsed() < Duration::from_secs(60) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
