//! Counts the requests of the live list with a proxy between the list and its server.

use crate::terminal::{Stage, example};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A proxy that forwards bytes and records the request lines.
struct CountingProxy {
    address: SocketAddr,
    lines: Arc<Mutex<Vec<String>>>,
}

impl CountingProxy {
    fn before(server: SocketAddr) -> CountingProxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = CountingProxy { address: listener.local_addr().unwrap(), lines: Arc::default() };
        let lines = proxy.lines.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else { continue };
                let lines = lines.clone();
                let from = client.try_clone().unwrap();
                let to = server.try_clone().unwrap();
                std::thread::spawn(move || pass(from, to, Some(lines)));
                std::thread::spawn(move || pass(server, client, None));
            }
        });
        proxy
    }

    /// Returns the requests so far, without the renewals of leases.
    fn requests(&self) -> Vec<String> {
        self.lines.lock().unwrap().iter().filter(|line| !line.contains("/leases")).cloned().collect()
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, lines: Option<Arc<Mutex<Vec<String>>>>) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if let Some(lines) = &lines {
            let text = String::from_utf8_lossy(&bytes[..count]);
            let is_head = |line: &&str| line.ends_with(" HTTP/1.1");
            lines.lock().unwrap().extend(text.lines().filter(is_head).map(str::to_owned));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn the_list_makes_one_request_an_event_and_none_a_key() {
    let home = Stage::new().env("ASKUSER_POPUP", "none");
    let ask = || home.run(&["ask", &example("database"), "--via", "inbox", "--detach"]);
    (0..12).for_each(|_| drop(ask()));
    let token = home.run(&["token", "new", "laptop", "--answer"]).stdout;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = CountingProxy::before(free);
    let public = format!("http://{}", proxy.address);
    let mut server = home.spawn(&["serve", "--listen", &free.to_string(), "--public-url", &public]);
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let client = Stage::new().env("ASKUSER_STORE", &public).env("ASKUSER_TOKEN", token.trim()).size(80, 24);
    let mut terminal = client.command(&["askuser", "inbox"]);
    terminal.wait_for("1 of 12 waiting");
    let before = proxy.requests();
    for position in 2..=12 {
        terminal.keys("\x1b[B");
        terminal.wait_for(&format!("{position} of 12 waiting"));
    }
    terminal.keys("\x1b[A");
    terminal.wait_for("11 of 12 waiting");
    assert_eq!(proxy.requests(), before, "no key makes a request");
    ask();
    terminal.wait_for("11 of 13 waiting");
    terminal.wait_for("New: ");
    let after = proxy.requests();
    let new = &after[before.len()..];
    assert!(new.len() == 1 && new[0].starts_with("GET /api/v1/questions?"), "one event, one request: {new:?}");
    terminal.keys("q");
    assert_eq!(terminal.finish().code, Some(0));
    server.kill().unwrap();
    server.wait().unwrap();
}
