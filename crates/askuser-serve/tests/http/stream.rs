//! Tests of the stream of events.

use crate::support::{Site, sqlite, token_for};
use askuser::store::{Credential, CredentialScope, Credentials, Store};
use askuser_conformance::{until, wait};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A stream as a browser reads it.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(site: &Site, token: &str, after: Option<u64>) -> Stream {
        let client = site.client().token(token).header("Accept", "text/event-stream");
        let client = match after {
            Some(after) => client.header("Last-Event-ID", &after.to_string()),
            None => client,
        };
        let mut reader = BufReader::new(client.open("GET", "/api/v1/events", ""));
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 2 {
            assert!(!line.starts_with("HTTP") || line.starts_with("HTTP/1.1 200"), "{line}");
            line.clear();
        }
        Stream(reader)
    }

    /// Reads the next frame: its id, its event, its data. Returns `None` at the end. A heartbeat is an event without
    /// data.
    fn next(&mut self) -> Option<(Option<u64>, String, Value)> {
        let mut id = None;
        let mut event = String::new();
        let mut data = Value::Null;
        let mut line = String::new();
        loop {
            line.clear();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = value.parse().ok(),
                Some(("event", value)) => event = value.to_owned(),
                Some(("data", value)) => data = serde_json::from_str(value).unwrap(),
                Some(("", value)) => event = value.to_owned(),
                // An empty line ends a frame, unless it ends a chunk.
                None if line == "\n" && !event.is_empty() => return Some((id, event, data)),
                _ => {}
            }
        }
    }

    fn next_but_heartbeats(&mut self) -> Option<(Option<u64>, String, Value)> {
        loop {
            match self.next() {
                Some((_, event, _)) if event == "heartbeat" => {}
                other => return other,
            }
        }
    }
}

#[test]
fn a_stream_tells_what_happens_and_goes_on_where_it_was() {
    let site = Site::new();
    let first = site.put("1");
    let mut stream = Stream::open(&site, &site.answer, None);
    let (id, event, data) = stream.next().unwrap();
    assert_eq!((id, &*event, &data), (None, "resumed", &json!({"seq": 1})), "from now on, and that has a number");
    site.send(&site.answer, "POST", &format!("/questions/{first}/answer"), sqlite());
    let (id, event, data) = stream.next().unwrap();
    assert_eq!((id, &*event), (Some(2), "question"));
    assert_eq!((&data["id"], &data["state"], &data["seq"]), (&json!(first), &json!("answered"), &json!(2)));
    drop(stream);
    let second = site.put("2");
    let mut again = Stream::open(&site, &site.answer, Some(1));
    assert_eq!(again.next().unwrap().1, "resumed");
    let seen = [again.next().unwrap(), again.next().unwrap()].map(|(id, _, data)| (id, data["id"].clone()));
    assert_eq!(seen, [(Some(2), json!(first)), (Some(3), json!(second))], "nothing is missing, nothing comes twice");
    site.put("3");
    assert_eq!(again.next().unwrap().0, Some(4));
    let mut foreign = Stream::open(&site, &site.answer, Some(1000));
    let (_, event, data) = foreign.next().unwrap();
    assert_eq!((&*event, &data), ("gap", &json!({"seq": 4})), "a number of another store");
}

#[test]
fn an_ask_token_hears_of_its_own_questions_only() {
    let site = Site::new();
    let other = token_for(&site.store, "cd", CredentialScope::Ask, "ada");
    let mut stream = Stream::open(&site, &other, None);
    stream.next().unwrap();
    site.put("not theirs");
    let own = site.send(&other, "POST", "/questions", json!({"input": crate::support::input("Which?")}));
    let (_, _, data) = stream.next_but_heartbeats().unwrap();
    assert_eq!(data["id"], own.body["id"]);
    let mut again = Stream::open(&site, &other, Some(0));
    assert_eq!(again.next().unwrap().1, "resumed");
    assert_eq!(again.next().unwrap().2["id"], own.body["id"]);
}

#[test]
fn revoking_ends_open_streams_at_once_also_from_another_process() {
    let site = Site::new();
    let shell = askuser_inbox::SqliteStore::open(site.store.path()).unwrap();
    let phone = token_for(&site.store, "lost phone", CredentialScope::Answer, "ada");
    let mut lost = Stream::open(&site, &phone, None);
    let mut kept = Stream::open(&site, &site.answer, None);
    lost.next().unwrap();
    kept.next().unwrap();
    let id = phone.split('_').nth(1).unwrap();
    assert!(wait(shell.revoke_credential(id)).unwrap());
    let (_, event, data) = lost.next_but_heartbeats().unwrap();
    assert_eq!((&*event, &data["why"]), ("bye", &json!("revoked")));
    assert_eq!(lost.next(), None, "and nothing more");
    assert_eq!(site.send(&phone, "GET", "/questions", Value::Null).status, 401);
    site.put("1");
    assert_eq!(kept.next_but_heartbeats().unwrap().1, "question", "others go on");
}

/// tokio-rs/axum#2673: a server that waits for its streams never ends.
#[test]
fn a_server_that_ends_tells_its_streams_and_does_not_wait_for_them() {
    let site = Site::new();
    let mut stream = Stream::open(&site, &site.answer, None);
    stream.next().unwrap();
    let silent = TcpStream::connect(site.server.address).unwrap();
    let waiting = std::thread::scope(|scope| {
        let id = site.put("1");
        let waiter = token_for(&site.store, "waiter", CredentialScope::Answer, "ada");
        let waiting = scope.spawn({
            let site = &site;
            move || site.send(&waiter, "GET", &format!("/questions/{id}?wait=60"), Value::Null)
        });
        let is_seen = |credential: &Credential| credential.made.name == "waiter" && credential.seen_ms.is_some();
        until("it was let in", || wait(site.store.credentials()).unwrap().iter().any(is_seen));
        site.server.end.cancel();
        waiting.join().unwrap()
    });
    assert_eq!(waiting.body["state"], json!("pending"), "who waits is told how it stands");
    let bye = std::iter::from_fn(|| stream.next_but_heartbeats()).find(|(_, event, _)| event == "bye");
    assert_eq!(bye.unwrap().2["why"], json!("shutdown"));
    drop(site);
    drop(silent);
}

#[test]
fn a_stream_beats_and_ends_after_its_time() {
    let site = Site::with(|options| {
        options.heartbeat = Duration::from_millis(50);
        options.stream = Duration::from_millis(200);
    });
    let mut stream = Stream::open(&site, &site.answer, None);
    stream.next().unwrap();
    let rest: Vec<_> = std::iter::from_fn(|| stream.next()).collect();
    let (last, beats) = rest.split_last().unwrap();
    assert!(beats.len() >= 2 && beats.iter().all(|(id, event, _)| id.is_none() && event == "heartbeat"), "{rest:?}");
    assert_eq!((&*last.1, &last.2["why"]), ("bye", &json!("time")));
}

#[test]
fn revoking_ends_a_request_that_waits_at_once() {
    let site = Site::new();
    let id = site.put("1");
    let began = std::time::Instant::now();
    let path = format!("/questions/{id}?wait=60");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| site.send(&site.ask, "GET", &path, Value::Null));
        until("it waits", || site.send(&site.answer, "GET", "/questions", Value::Null).text.contains("\"waits\":true"));
        assert!(wait(site.store.revoke_credential(site.ask.split('_').nth(1).unwrap())).unwrap());
        assert_eq!(waiting.join().unwrap().status, 401);
    });
    assert!(began.elapsed() < Duration::from_secs(30), "not after its time: {:?}", began.elapsed());
}

#[test]
fn a_body_that_comes_after_a_revocation_changes_nothing() {
    let site = Site::new();
    let id = site.put("1");
    let phone = &site.answer;
    let root = &site.admin;
    let requests = [
        (phone, format!("/questions/{id}/answer"), sqlite()),
        (phone, format!("/questions/{id}/decline"), json!({})),
        (&site.ask, format!("/questions/{id}/withdraw"), json!({})),
        (root, "/tokens".into(), json!({"name": "more", "scope": "admin"})),
        (root, "/people".into(), json!({"name": "eve"})),
    ];
    let mut open: Vec<(TcpStream, String)> = Vec::new();
    for (token, path, body) in requests {
        let body = body.to_string();
        let address = site.server.address;
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!(
            "POST /api/v1{path} HTTP/1.1\r\nHost: {address}\r\nX-Askuser: 1\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        open.push((stream, body));
    }
    let seen = || wait(site.store.credentials()).unwrap().iter().filter(|known| known.seen_ms.is_some()).count();
    until("all of them were let in", || seen() == 3);
    for token in [phone, root, &site.ask] {
        assert!(wait(site.store.revoke_credential(token.split('_').nth(1).unwrap())).unwrap());
    }
    for (mut stream, body) in open {
        stream.write_all(body.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 401 "), "{body}: {reply}");
    }
    let ada = askuser::store::Principal::person("ada", askuser::Via::Web);
    assert_eq!(wait(site.store.count(&ada, &askuser::store::Filter::pending())).unwrap(), 1);
    assert!(wait(site.store.credentials()).unwrap().is_empty());
    assert_eq!(wait(site.store.people()).unwrap().len(), 1);
}

#[test]
fn without_a_credential_a_request_has_1_kib() {
    let site = Site::new();
    let code = |bytes: usize| site.client().send("POST", "/pair", json!({"code": "x".repeat(bytes)})).status;
    assert_eq!((code(1000), code(1024)), (410, 413));
}

#[test]
fn of_connections_without_a_credential_32_are_kept() {
    let site = Site::new();
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(site.server.address).unwrap()).collect();
    let is_open = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        !matches!(stream.read(&mut [0]), Ok(0))
    };
    until("the others are closed", || silent.iter().filter(|stream| is_open(stream)).count() == 32);
    drop(silent);
    let mut streams: Vec<Stream> = (0..40).map(|_| Stream::open(&site, &site.answer, None)).collect();
    streams.iter_mut().for_each(|stream| assert_eq!(stream.next().unwrap().1, "resumed", "a credential has no limit"));
}

/// HarperFast/harper#2747, hermes-webui#7105, pyth-crosschain#3782: a reader that took no data held its stream forever.
#[test]
#[cfg(target_os = "linux")]
fn a_reader_that_takes_nothing_is_dropped_and_the_others_hear_everything() {
    let site = Site::with(|options| options.heartbeat = Duration::from_millis(200));
    let mut reads = Stream::open(&site, &site.answer, None);
    assert_eq!(reads.next().unwrap().1, "resumed");
    // The window is so small that little data fits into the connection.
    let stalled = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    stalled.set_recv_buffer_size(1024).unwrap();
    stalled.connect(&site.server.address.into()).unwrap();
    let mut stalled = TcpStream::from(stalled);
    let head = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {}\r\nX-Askuser: 1\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\r\n",
        site.server.address, site.answer
    );
    stalled.write_all(head.as_bytes()).unwrap();
    let is_open = || is_connected(site.server.address.port(), stalled.local_addr().unwrap().port());
    until("it is connected", is_open);
    let ada = askuser::store::Principal::agent(&askuser::Origin::default());
    std::thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let mut last = 0;
            while last < EVENTS {
                let (id, event, _) = reads.next_but_heartbeats().expect("it goes on");
                assert_eq!((id, &*event), (Some(last + 1), "question"), "nothing is missing");
                last += 1;
            }
        });
        for number in 0..EVENTS {
            drop(wait(site.store.put(&ada, &crate::support::request(&number.to_string()), None)).unwrap());
        }
        heard.join().unwrap();
    });
    until("the server has let it go", || !is_open());
}

/// A number of events that does not fit between a server and a reader that takes no data.
#[cfg(target_os = "linux")]
const EVENTS: u64 = 6_000;

/// Whether the server's end of a connection still exists.
#[cfg(target_os = "linux")]
fn is_connected(server: u16, client: u16) -> bool {
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let port = |address: &str| u16::from_str_radix(address.rsplit(':').next().unwrap(), 16).unwrap();
        // The connection is established, or waits to be closed.
        (port(fields[1]), port(fields[2])) == (server, client) && ["01", "08"].contains(&fields[3])
    })
}
