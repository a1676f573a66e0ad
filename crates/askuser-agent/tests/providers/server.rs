//! An HTTP/1.1 server that replies from a list and records the requests.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A prepared HTTP response.
#[derive(Clone)]
pub(crate) struct CannedResponse {
    pub(crate) head: String,
    /// The body, one entry per chunk of the transfer.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

/// The end of a response.
#[derive(Clone, Copy)]
pub(crate) enum End {
    Whole,
    /// The server closes the connection in the middle of the body.
    Cut,
    /// The server sends no more data and keeps the connection open.
    Hang,
}

impl CannedResponse {
    pub(crate) fn new(status: &str, headers: &str, body: impl AsRef<[u8]>) -> CannedResponse {
        let head = format!("HTTP/1.1 {status}\r\n{headers}transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
        CannedResponse { head, chunks: vec![body.as_ref().to_vec()], end: End::Whole }
    }

    pub(crate) fn stream(body: impl AsRef<[u8]>) -> CannedResponse {
        CannedResponse::new("200 OK", "content-type: text/event-stream; charset=utf-8\r\n", body)
    }

    pub(crate) fn json(status: &str, body: impl AsRef<[u8]>) -> CannedResponse {
        CannedResponse::new(status, "content-type: application/json\r\n", body)
    }

    pub(crate) fn ending(self, end: End) -> CannedResponse {
        CannedResponse { end, ..self }
    }
}

/// A request that the server got.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server that replies to each request with the next response. After the last response it accepts no
    /// further connection.
    pub(crate) async fn start(responses: impl IntoIterator<Item = CannedResponse, IntoIter: Send> + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        let mut responses = responses.into_iter();
        let task = tokio::spawn(async move {
            let mut hanging = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read(&mut stream).await;
                kept.lock().unwrap().push(request);
                let Some(response) = responses.next() else { return };
                hanging.extend(send(stream, &response).await);
            }
        });
        Server { url, requests, task }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn request(&self) -> Request {
        let requests = self.requests();
        assert_eq!(requests.len(), 1);
        requests[0].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the client went away");
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n").map(str::to_owned);
    let line = lines.next().unwrap();
    let header =
        |line: String| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())).unwrap();
    let headers: Vec<(String, String)> = lines.map(header).collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, length)| length.parse::<usize>().unwrap());
    while bytes.len() < end + 4 + length {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the client went away");
    }
    let body = if length == 0 { Value::Null } else { serde_json::from_slice(&bytes[end + 4..]).unwrap() };
    Request { line, headers, body }
}

/// Sends a response. Returns the connection if it stays open.
async fn send(mut stream: TcpStream, response: &CannedResponse) -> Option<TcpStream> {
    stream.set_nodelay(true).unwrap();
    // The client may close the connection early, so errors are ignored.
    let _ = stream.write_all(response.head.as_bytes()).await;
    for chunk in response.chunks.iter().filter(|chunk| !chunk.is_empty()) {
        let framed = [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
        let _ = stream.write_all(&framed).await;
    }
    match response.end {
        End::Whole => {
            let _ = stream.write_all(b"0\r\n\r\n").await;
            None
        }
        End::Cut => None,
        End::Hang => Some(stream),
    }
}
