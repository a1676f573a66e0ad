//! Tests encryption with a certificate of a private authority, and with a proxy in front.

use crate::support::{Home, Served};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Creates an authority and a certificate for 127.0.0.1 that it has signed. Returns `false` if that is not possible
/// here.
fn certify(folder: &Path) -> bool {
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).current_dir(folder).output();
        match output {
            Ok(output) => {
                assert!(output.status.success(), "{output:?}");
                true
            }
            Err(_) => {
                askuser_conformance::left_out_without("openssl");
                false
            }
        }
    };
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let authority = ["req", "-x509", "-subj", "/CN=our own", "-days", "2", "-keyout", "ca.key", "-out", "ca.pem"];
    if !openssl(&[&authority[..], &curve].concat()) {
        return false;
    }
    let request = ["req", "-subj", "/CN=serve", "-keyout", "serve.key", "-out", "serve.csr"];
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let sign =
        ["x509", "-req", "-in", "serve.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
    openssl(&[&request[..], &curve].concat())
        && openssl(&[&sign[..], &["-extfile", "names", "-out", "serve.pem"]].concat())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Asks and answers a question with askuser's commands at an address.
fn asks_and_answers(home: &Home, url: &str, trusted: Option<&Path>, ask: &str, answer: &str) {
    let run = |token: &str, words: &[&str]| -> Output {
        let mut command = home.command(words);
        command.env("ASKUSER_STORE", url).env("ASKUSER_TOKEN", token);
        trusted.map(|authority| command.env("SSL_CERT_FILE", authority));
        command.output().unwrap()
    };
    let words = ["ask", "-q", "Which one?", "-H", "Pick", "-o", "A: 1", "-o", "B: 2", "--via", "inbox", "--detach"];
    let detached = run(ask, &words);
    assert_eq!(detached.status.code(), Some(75), "{detached:?}");
    let listed: Value = serde_json::from_slice(&run(answer, &["inbox", "--json"]).stdout).unwrap();
    let id = listed["id"].as_str().unwrap();
    let answered = run(answer, &["answer", id, "--select", "Pick=B"]);
    assert!(answered.status.success(), "{answered:?}");
    let waited = run(ask, &["wait", id]);
    assert!(text(&waited.stdout).contains("\"B\""), "{waited:?}");
}

#[test]
fn tokens_and_answers_go_encrypted_with_a_certificate_of_our_own_and_not_to_one_that_is_not_trusted() {
    let home = Home::new();
    if !certify(home.folder.path()) {
        return;
    }
    let ask = home.token("ci", "--ask");
    let answer = home.token("laptop", "--answer");
    let served = home.serve_with(&["--listen", "127.0.0.1:0", "--tls", "serve.pem", "serve.key"]);
    assert!(served.url().starts_with("https://127.0.0.1:"), "{}", served.url());
    asks_and_answers(&home, &served.url(), Some(&home.folder.path().join("ca.pem")), &ask, &answer);
    let mut untrusted = home.command(&["inbox", "--count"]);
    let untrusted = untrusted.env("ASKUSER_STORE", served.url()).env("ASKUSER_TOKEN", &answer).output().unwrap();
    assert!(text(&untrusted.stderr).contains("certificate"), "{untrusted:?}");
    assert_ne!(untrusted.status.code(), Some(0));
    let mut asking = home.command(&["ask", "-q", "Which one?", "-o", "A: 1", "-o", "B: 2", "--via", "inbox"]);
    let refused = asking.env("ASKUSER_STORE", served.url()).env("ASKUSER_TOKEN", &ask).output().unwrap();
    assert!(
        refused.status.code().is_some_and(|code| code != 0),
        "it does not wait for another certificate: {refused:?}"
    );
    assert!(text(&refused.stderr).contains("certificate") && !text(&refused.stderr).contains("waiting for it"));
    // A client without TLS is not understood, and gets no reply.
    let mut plain = TcpStream::connect(served.address).unwrap();
    // The server may close the connection before the request is written.
    let _ = write!(plain, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP"), "{said:?}");
}

#[test]
fn a_certificate_and_a_key_that_do_not_belong_together_are_refused_with_the_file_named() {
    let home = Home::new();
    if !certify(home.folder.path()) {
        return;
    }
    for (certificate, key, named) in [("serve.pem", "ca.key", "serve.pem"), ("serve.key", "serve.key", "serve.key")] {
        let refused = home.run(&["serve", "--listen", "127.0.0.1:0", "--tls", certificate, key]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = text(&refused.stderr);
        assert!(said.contains("--tls: ") && said.contains(named), "{said}");
    }
}

/// Starts a proxy that forwards bytes.
fn proxy(listener: TcpListener, to: std::net::SocketAddr) {
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(to) else { return };
            for (mut from, mut into) in [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut into);
                    let _ = into.shutdown(Shutdown::Write);
                });
            }
        }
    });
}

#[test]
fn behind_a_proxy_the_public_address_is_the_only_further_name() {
    let home = Home::new();
    let ask = home.token("ci", "--ask");
    let answer = home.token("laptop", "--answer");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let public = format!("http://{}", listener.local_addr().unwrap());
    let mut child = home
        .command(&["serve", "--listen", "127.0.0.1:0", "--public-url", &public])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let link = lines.find(|line| line.contains("/#pair=")).expect("a link");
    assert!(link.starts_with(&public), "the link is for those outside: {link}");
    let address = listening(child.id());
    let served = Served::of(child, &format!("http://{address}"), "");
    proxy(listener, address);
    asks_and_answers(&home, &public, None, &ask, &answer);
    let status = |host: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.split(' ').nth(1).unwrap().to_owned()
    };
    let authority = public.strip_prefix("http://").unwrap();
    assert_eq!([authority, &address.to_string()].map(status), ["200", "200"]);
    for foreign in ["ask.example.org", "127.0.0.1", "localhost", &format!("{authority}.")] {
        assert_eq!(status(foreign), "403", "{foreign}");
    }
    drop(served);
}

/// Returns the address on which a process listens.
fn listening(process: u32) -> std::net::SocketAddr {
    let folder = format!("/proc/{process}");
    let sockets: Vec<String> = std::fs::read_dir(format!("{folder}/fd"))
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()?.to_str().map(str::to_owned))
        .collect();
    let table = std::fs::read_to_string(format!("{folder}/net/tcp")).unwrap();
    let port = table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_ours = fields[3] == "0A" && sockets.contains(&format!("socket:[{}]", fields[9]));
        is_ours.then(|| u16::from_str_radix(fields[1].rsplit(':').next()?, 16).ok())?
    });
    ([127, 0, 0, 1], port.expect("it listens")).into()
}
