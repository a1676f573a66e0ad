//! Tests with a server of a later version. Every reply has fields that this client does not know.

use crate::support::{Site, input};
use askuser::store::{
    Attempt, Change, Claim, CredentialScope, Credentials, Draft, End, Filter, Handle, NotifierFailure, Pairing,
    PairingKind, Principal, State, Store, StoreError, Watched,
};
use askuser::{Context, Origin, Outcome, Purpose, QuestionSet, Reported, Request, RequestKey, Rules, Via};
use askuser_conformance::wait;
use askuser_inbox::SqliteStore;
use askuser_serve::{HttpStore, Patience, pairing, token};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A proxy that adds a field to each object of a reply and records the used routes.
struct LaterServer {
    address: SocketAddr,
    used: Arc<Mutex<BTreeSet<String>>>,
}

impl LaterServer {
    fn before(server: SocketAddr) -> LaterServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let later = LaterServer { address: listener.local_addr().unwrap(), used: Arc::default() };
        let used = later.used.clone();
        let public = later.address;
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let to = TcpStream::connect(server).unwrap();
                let from = client.try_clone().unwrap();
                let replies = to.try_clone().unwrap();
                let used = used.clone();
                let names = (public.to_string(), server.to_string());
                std::thread::spawn(move || pass_requests(from, to, &names, &used));
                std::thread::spawn(move || pass_replies(replies, client));
            }
        });
        later
    }
}

/// Forwards requests under the server's own name.
fn pass_requests(
    mut from: TcpStream,
    mut to: TcpStream,
    (public, own): &(String, String),
    used: &Mutex<BTreeSet<String>>,
) {
    let mut bytes = [0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
        for line in text.lines().filter_map(|line| line.strip_suffix(" HTTP/1.1")) {
            used.lock().unwrap().insert(line.replacen(" /api/v1", " ", 1));
        }
        if to.write_all(text.replace(public, own).as_bytes()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Forwards replies until either end closes.
fn pass_replies(from: TcpStream, mut to: TcpStream) {
    let mut from = BufReader::new(from);
    while let Some(written) = read_reply(&mut from, &mut to) {
        if to.write_all(&written).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Reads the next reply and adds fields to it; `None` at the end. A stream is forwarded as it arrives.
fn read_reply(from: &mut BufReader<TcpStream>, to: &mut TcpStream) -> Option<Vec<u8>> {
    let line = |from: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|count| *count > 0).map(|_| line)
    };
    let mut head = String::new();
    let mut length = None;
    loop {
        let header = line(from)?;
        let lower = header.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse::<usize>().ok();
        } else if header == "\r\n" {
            break;
        } else {
            head += &header;
        }
    }
    if let Some(length) = length {
        let mut body = vec![0; length];
        from.read_exact(&mut body).ok()?;
        let body = serde_json::from_slice(&body).map_or(body, |value| later(value).to_string().into_bytes());
        return Some([format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes(), body].concat());
    }
    to.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    loop {
        let size = usize::from_str_radix(line(from)?.trim(), 16).ok()?;
        let mut chunk = vec![0; size + 2];
        from.read_exact(&mut chunk).ok()?;
        let text = String::from_utf8(chunk).ok()?;
        let fields = text.trim_end_matches("\r\n").split('\n').map(|line| match line.strip_prefix("data: ") {
            Some(data) => format!("data: {}", later(serde_json::from_str(data).unwrap())),
            None => line.to_owned(),
        });
        let chunk = fields.collect::<Vec<_>>().join("\n");
        to.write_all(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes()).ok()?;
        if size == 0 {
            return Some(Vec::new());
        }
    }
}

/// Returns a value with one more field in every object.
fn later(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(later).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, later(value)));
            fields.chain([("of_a_later_version".to_owned(), json!({"new": [1]}))]).collect()
        }
        value => value,
    }
}

fn request(call: &str, purpose: Purpose) -> Request {
    let set = QuestionSet::parse(input("Which database?"), &Rules::strict()).unwrap();
    Request::new(RequestKey::new("session", call).for_purpose(purpose), set)
        .with_origin(Origin::default().with_credential("ci"))
        .with_context(Context::Prose("A text".into()))
        .with_audience(["ada"])
}

fn choice(request: &Request) -> Outcome {
    let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap()
}

#[test]
fn a_client_reads_every_reply_of_a_later_version() {
    let site = Site::new();
    let later = LaterServer::before(site.server.address);
    let open = |token: &str| {
        let patience = Patience { limit: Some(Duration::from_secs(10)), ..Patience::default() };
        Arc::new(HttpStore::open(&format!("http://{}", later.address), token, patience).unwrap())
    };
    let [ask, answer, admin] = [&site.ask, &site.answer, &site.admin].map(|token| open(token));
    let agent = Handle::new(ask.clone(), Principal::agent(&Origin::default().with_credential("ci")));
    let ada = Handle::new(answer.clone(), Principal::person("ada", Via::Inbox));
    let root = Principal::person("ada", Via::Inbox);
    asks_and_answers(&agent, &ada);
    every_ending(&agent, &ada);
    assert_eq!(wait(answer.person()).unwrap().as_deref(), Some("ada"));
    assert_eq!(wait(admin.purge(&root, 1)).unwrap().count, 0);
    administers(&admin, &site.store);
    let used = later.used.lock().unwrap();
    let unused: Vec<String> =
        routes().into_iter().filter(|route| !used.iter().any(|line| is_of(route, line))).collect();
    // Only other programs and the page use these routes.
    let others = ["/decline", "/discuss", "GET /log", "/openapi.json", "POST /pair"];
    assert!(unused.iter().all(|route| others.iter().any(|other| route.contains(other))), "{unused:?}");
}

/// Returns the routes of the document, such as `POST /questions/{id}/answer`.
fn routes() -> Vec<String> {
    let document: Value = serde_json::from_str(askuser_serve::OPENAPI).unwrap();
    let paths = document["paths"].as_object().unwrap().iter();
    let lines = paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    lines.collect()
}

fn is_of(route: &str, line: &str) -> bool {
    let parts = |text: &str| text.split(['/', '?']).map(str::to_owned).collect::<Vec<_>>();
    let route = parts(route);
    let line = parts(line.split('?').next().unwrap());
    route.len() == line.len() && route.iter().zip(&line).all(|(part, given)| part == given || part.starts_with('{'))
}

/// Makes every call of a store about one question.
fn asks_and_answers(agent: &Handle, ada: &Handle) {
    let mut heard = wait(ada.watch(&Watched::All)).unwrap();
    let permission = request("1", Purpose::Permission);
    let put = wait(agent.put(&permission, None)).unwrap();
    let id = put.question.id.clone();
    assert_eq!(*put.question.request, *wait(ada.get(&id)).unwrap().request);
    assert_eq!(put.question.request.context(), permission.context());
    let Change::Event(event) = pollster::block_on(heard.next()) else { panic!("the stream tells of it") };
    assert_eq!(event.id, id);
    assert_eq!(wait(ada.resolve(&id.as_str()[..6])).unwrap(), std::slice::from_ref(&id));
    let draft = Draft { discuss: Some("why?".into()), ..Draft::default() };
    assert!(wait(ada.save_draft(&id, &draft.clone().into())).unwrap().is_empty());
    assert_eq!(wait(ada.drafts(&id)).unwrap()[0].draft, draft);
    let listed = wait(ada.list(&Filter::pending())).unwrap();
    assert_eq!((&listed.questions[0].id, &*listed.questions[0].unsent[0].words[0]), (&id, "To talk about: why?"));
    assert_eq!(wait(ada.count(&Filter::pending())).unwrap(), 1);
    assert_eq!(wait(ada.events(0, 10)).unwrap().last, 1);
    wait(ada.hold(&id)).unwrap();
    let attached = wait(agent.attach(&id)).unwrap();
    wait(attached.detach()).unwrap();
    let shown = wait(ada.show_list()).unwrap();
    assert!(wait(ada.is_list_shown()).unwrap());
    wait(shown.detach()).unwrap();
    let failure = NotifierFailure { at_ms: 0, what: "tmux".into(), why: "gone".into() };
    wait(agent.note_failure(Some(&failure))).unwrap();
    assert_eq!(wait(agent.last_failure()).unwrap().unwrap().what, "tmux");
    wait(ada.answer(&id, choice(&permission), &Attempt::new("a"))).unwrap();
    assert_eq!(wait(agent.wait(&id)).unwrap().by(), Some("ada"));
    assert_eq!(wait(agent.claim(&id, &Attempt::new("b"))).unwrap(), Claim::Won);
    assert!(matches!(wait(agent.claim(&id, &Attempt::new("c"))).unwrap(), Claim::Used { .. }));
    assert!(wait(agent.sent(&id)).unwrap().is_some(), "a permission that was used was delivered");
    wait(agent.delivered(&id)).unwrap();
    wait(put.attachment.detach()).unwrap();
}

/// Ends questions in every way, and causes every error that has details.
fn every_ending(agent: &Handle, ada: &Handle) {
    let asked = request("2", Purpose::Question);
    let id = wait(agent.put(&asked, None)).unwrap().question.id;
    wait(agent.withdraw(&id, &Attempt::new("d"))).unwrap();
    let late = wait(ada.answer(&id, choice(&asked), &Attempt::new("e")));
    assert!(matches!(late, Err(StoreError::Ended(_))), "{late:?}");
    let other = request("2", Purpose::Question).with_context(Context::Prose("Another".into()));
    let other = wait(agent.put(&other, None));
    assert!(matches!(other, Err(StoreError::OtherQuestion { .. })), "{other:?}");
    let missing = wait(ada.get(&askuser::store::QuestionId::parse("000000000000").unwrap()));
    assert!(matches!(missing, Err(StoreError::NotFound(_))), "{missing:?}");
    let settled = wait(agent.put(&request("3", Purpose::Question), None)).unwrap().question.id;
    let word = End::Resolve { outcome: choice(&asked), reported: Some(Reported { by: Some("ada".into()), via: None }) };
    wait(agent.end(&settled, &word, &Attempt::new("f"))).unwrap();
    let ending = wait(ada.get(&settled)).unwrap().ending.unwrap();
    assert_eq!(ending.state(), State::Settled);
}

fn administers(admin: &HttpStore, store: &SqliteStore) {
    assert!(wait(admin.add_person("bob")).unwrap());
    assert_eq!(wait(admin.people()).unwrap().len(), 2);
    let made = wait(token::renew(admin, "tablet", CredentialScope::Answer, Some("bob"))).unwrap();
    let known = wait(admin.credentials()).unwrap();
    let tablet = known.iter().find(|known| known.made.name == "tablet").unwrap();
    assert!(made.token.contains(&tablet.made.id));
    assert!(wait(admin.revoke_credential(&tablet.made.id)).unwrap());
    assert_eq!(wait(admin.remove_person("bob")).unwrap().unwrap().waiting, 0);
    let id = "ABCDEFGH".to_owned();
    let shown = Pairing {
        id: id.clone(),
        kind: PairingKind::Code,
        digest: Default::default(),
        address: None,
        browser: Some("Firefox".into()),
        expires_ms: 0,
        tries: 0,
        is_approved: false,
        person: None,
    };
    wait(store.offer_pairing(&shown)).unwrap();
    let found = wait(pairing::of_code(admin, &id)).unwrap().unwrap();
    assert_eq!((found.browser.as_deref(), found.person.as_deref()), (Some("Firefox"), Some("ada")));
    assert!(wait(admin.approve_pairing(&id, "ada")).unwrap());
}
