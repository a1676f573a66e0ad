use askuser::input::QuestionInput;
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules};
use askuser_serve::{HttpStore, Patience};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// A home folder with an inbox.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    /// The store; `None` for the file in the folder.
    pub(crate) store: Option<String>,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap(), store: None }
    }

    pub(crate) fn inbox(&self) -> PathBuf {
        self.folder.path().join("inbox.sqlite")
    }

    /// Returns a command that uses this inbox.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askuser"));
        command
            .args(words)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("USER", "ada")
            .env("ASKUSER_STORE", self.store.as_ref().map_or_else(|| self.inbox().into_os_string(), Into::into))
            .env("ASKUSER_POPUP", "none")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub(crate) fn token(&self, name: &str, scope: &str) -> String {
        let made = self.run(&["token", "new", name, scope]);
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim_end().to_owned()
    }

    pub(crate) fn serve(&self, listen: &str) -> Served {
        self.serve_with(&["--listen", listen])
    }

    pub(crate) fn serve_with(&self, arguments: &[&str]) -> Served {
        let words = [&["serve"], arguments].concat();
        let mut child = self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut link).unwrap();
        if link.is_empty() {
            let mut why = String::new();
            child.stderr.take().unwrap().read_to_string(&mut why).unwrap();
            child.wait().unwrap();
            panic!("it does not serve: {why}");
        }
        let (url, code) = link.trim_end().split_once("/#pair=").expect("a link");
        Served::of(child, url, code)
    }
}

/// A server process.
pub(crate) struct Served {
    child: Child,
    url: String,
    pub(crate) address: SocketAddr,
    pub(crate) code: String,
}

impl Served {
    pub(crate) fn of(child: Child, url: &str, code: &str) -> Served {
        let address = url.rsplit('/').next().unwrap().parse().unwrap();
        Served { child, url: url.to_owned(), address, code: code.to_owned() }
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Kills the server with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn terminate(mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// Sends a request and returns the response as text.
    pub(crate) fn send(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> String {
        self.send_with("", method, path, token, body)
    }

    /// Sends a request with further headers, and returns the response as text.
    pub(crate) fn send_with(&self, more: &str, method: &str, path: &str, token: Option<&str>, body: &str) -> String {
        let mut text = String::new();
        self.open(more, method, path, token, body).read_to_string(&mut text).unwrap();
        text
    }

    /// Sends a request with further headers, and returns the stream of the response.
    pub(crate) fn open(&self, more: &str, method: &str, path: &str, token: Option<&str>, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nX-Askuser: 1\r\nContent-Type: application/json\r\nAccept: \
             application/json, text/event-stream\r\n{more}{token}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens the store at an address, without a time limit.
pub(crate) fn store_at(url: &str, token: &str) -> HttpStore {
    HttpStore::open(url, token, Patience::default()).unwrap()
}

pub(crate) fn request(call: &str) -> Request {
    let question = QuestionInput::new("Which one?", "Pick").option("A", "The first").option("B", "The second");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    Request::new(RequestKey::new("session", call), set).with_origin(Origin::default().with_agent("tester"))
}

pub(crate) fn choice() -> Outcome {
    let set = request("").set().clone();
    let answer = set.questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(&set, vec![answer]).unwrap()
}
