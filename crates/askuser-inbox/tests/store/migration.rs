//! Stores of other versions: an earlier one is taken over, and a later one is left alone.

use crate::support::{Place, agent, attempt, get, person, request};
use askuser::store::{
    AskerPresence, Attempt, Change, Credentials, Draft, DraftSave, Ending, Filter, Handle, Principal, QuestionId,
    State, Store, StoreError, Watched,
};
use askuser::{Answer, Outcome, Request, Via};
use askuser_conformance::{until, wait};
use askuser_inbox::SqliteStore;
use rusqlite::{Connection, params};
use std::sync::Arc;

const PENDING: &str = "b8343b24b8f2";
const DRAFTED: &str = "c8a99fe9a148";
const WAITING: &str = "c72091622003";

/// A place with a store as version 1 wrote it, and a connection that is open since.
fn of_version_1() -> (Place, Connection) {
    let place = Place::new();
    place.now.store(1_794_825_470_000, std::sync::atomic::Ordering::Relaxed);
    let connection = place.connection();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(include_str!("../fixtures/version-1.sql")).unwrap();
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    #[cfg(unix)]
    for file in std::fs::read_dir(place.folder.path()).unwrap() {
        std::fs::set_permissions(file.unwrap().path(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    }
    (place, connection)
}

fn id(text: &str) -> QuestionId {
    QuestionId::parse(text).unwrap()
}

/// The calls of the questions that a filter leaves.
fn calls(store: &Arc<dyn Store>, filter: &Filter) -> Vec<String> {
    let page = wait(person(store, "ada").list(filter)).unwrap();
    assert_eq!(wait(person(store, "ada").count(filter)).unwrap(), page.questions.len() as u64);
    page.questions.iter().map(|question| question.request.key().call.clone()).collect()
}

fn containing(text: &str) -> Filter {
    Filter { containing: Some(text.into()), ..Filter::default() }
}

/// Picks the first option of a stored question.
fn first_option(request: &Request) -> Outcome {
    let answer = request.set().questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap()
}

fn answer(store: &Arc<dyn Store>, id: &QuestionId) -> Ending {
    let outcome = first_option(&get(store, id).request);
    wait(person(store, "ada").answer(id, outcome, &attempt("new"))).unwrap()
}

#[test]
fn a_store_of_version_1_is_listed_searched_and_answered_and_keeps_its_draft() {
    let (place, _) = of_version_1();
    let store = place.store();
    assert_eq!(calls(&store, &Filter::pending()), ["pending", "drafted", "waiting"]);
    assert_eq!(calls(&store, &Filter::ended()), ["answered", "declined", "withdrawn", "timed-out"]);
    assert_eq!(calls(&store, &containing("\"DATABASE\"")), ["pending"]);
    assert_eq!(calls(&store, &containing("GRÖßE")), ["pending"]);
    assert_eq!(calls(&store, &containing("limits")), [""; 0], "what only the record holds is not searched");
    let from = Filter { from: Some("CODEX".into()), ..Filter::default() };
    assert_eq!(calls(&store, &from), ["answered", "declined", "withdrawn"]);
    // How they ended.
    let ada = person(&store, "ada");
    let ended = wait(ada.list(&Filter::ended())).unwrap().questions;
    let endings: Vec<(State, Option<&str>)> = ended
        .iter()
        .map(|question| question.ending.as_ref().unwrap())
        .map(|ending| (ending.state(), ending.by()))
        .collect();
    let by = Some("ada");
    assert_eq!(
        endings,
        [(State::Answered, by), (State::Declined, by), (State::Withdrawn, by), (State::TimedOut, None)]
    );
    let resolution = ended[0].ending.as_ref().unwrap().resolution().unwrap();
    assert_eq!((resolution.via(), resolution.device()), (Some(Via::Inbox), None));
    assert_eq!(resolution.outcome().answers()[0].selected_options, ["pnpm"]);
    let again = Attempt::new("arguments-12114-1794825461975");
    let repeated = wait(ada.answer(&ended[0].id, resolution.outcome().clone(), &again)).unwrap();
    assert_eq!(Some(&repeated), ended[0].ending.as_ref(), "the same attempt gets the same ending, across versions");
    // Its draft, which is of no particular person.
    let typed = Draft::from(vec![Answer {
        question: "Which features?".into(),
        header: "Features".into(),
        selected_options: vec!["TypeScript".into()],
        custom_input: None,
        note: None,
        notes: Vec::new(),
    }]);
    assert_eq!(wait(ada.draft(&id(DRAFTED))).unwrap(), typed);
    // Once the store has people, it is shown to none of them.
    place.connection().execute_batch("INSERT INTO person VALUES ('bob', 1)").unwrap();
    assert_eq!(wait(ada.drafts(&id(DRAFTED))).unwrap(), []);
    place.connection().execute_batch("DELETE FROM person").unwrap();
    let replaces = vec![wait(ada.drafts(&id(DRAFTED))).unwrap().remove(0).version];
    wait(ada.save_draft(&id(DRAFTED), &DraftSave { replaces, ..DraftSave::default() })).unwrap();
    assert_eq!(wait(ada.draft(&id(DRAFTED))).unwrap(), Draft::default());
    // Who waited for them.
    assert_eq!(get(&store, &id(PENDING)).asker, AskerPresence::Left(1_794_825_461_717));
    assert_eq!(get(&store, &id(WAITING)).asker, AskerPresence::Died(1_794_825_470_000));
    // An asker comes back by its key, and a person answers.
    let stored = get(&store, &id(PENDING));
    let agent = Handle::new(store.clone(), Principal::agent(stored.request.origin()));
    let put = wait(agent.put(&stored.request, None)).unwrap();
    assert!(!put.is_new && put.question.id == id(PENDING));
    assert_eq!(answer(&store, &id(PENDING)).state(), State::Answered);
    let events = wait(ada.events(0, 100)).unwrap();
    assert_eq!((events.events.len(), events.gap), (12, false));
    assert!(wait(place.sqlite().integrity()).unwrap().is_empty());
}

#[test]
fn several_programs_that_open_a_store_of_version_1_at_once_all_can() {
    let (place, _) = of_version_1();
    std::thread::scope(|scope| {
        let opened: Vec<_> = (0..6).map(|_| scope.spawn(|| calls(&place.store(), &Filter::pending()).len())).collect();
        for opened in opened {
            assert_eq!(opened.join().unwrap(), 3);
        }
    });
}

/// How version 1 waits: by the events that follow a number, and then by the question's row.
fn waits_as_version_1(older: &Connection, after: u64, id: &str) -> Option<(String, Option<String>)> {
    let events = "SELECT event.seq, question.id, event.state, event.at_ms FROM event
                  JOIN question ON question.n = event.question WHERE event.seq > ?1 ORDER BY event.seq LIMIT ?2";
    let mut events = older.prepare_cached(events).unwrap();
    let mut rows = events.query(params![after, 1000]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        if row.get::<_, String>(1).unwrap() == id && row.get::<_, String>(2).unwrap() != "pending" {
            let question =
                "SELECT n, id, request, state, asked_ms, expires_ms, resolution, ended_by, ended_ms, answer_key,
                            delivered_ms, asker, left_ms, asker_died FROM question WHERE id >= ?1 AND id < ?1 || 'g'";
            let mut question = older.prepare_cached(question).unwrap();
            return question.query_row([id], |row| Ok((row.get("state")?, row.get("resolution")?))).ok();
        }
    }
    None
}

#[test]
fn an_older_program_that_still_waits_sees_the_answer() {
    let (place, older) = of_version_1();
    assert_eq!(waits_as_version_1(&older, 11, WAITING), None);
    let store = place.store();
    assert_eq!(waits_as_version_1(&older, 11, WAITING), None);
    answer(&store, &id(WAITING));
    let (state, resolution) = waits_as_version_1(&older, 11, WAITING).unwrap();
    assert_eq!(state, "answered");
    let resolution: serde_json::Value = serde_json::from_str(&resolution.unwrap()).unwrap();
    assert_eq!((&resolution["via"], &resolution["by"]), (&"inbox".into(), &"ada".into()));
    assert_eq!(resolution["answers"][0]["selectedOptions"], serde_json::json!(["Yes"]));
    let delivered = "UPDATE question SET delivered_ms = ?1, asker = NULL WHERE id = ?2 AND state <> 'pending'";
    assert_eq!(older.execute(delivered, params![1_794_825_480_000_u64, WAITING]).unwrap(), 1);
    assert_eq!(get(&store, &id(WAITING)).delivered_ms, Some(1_794_825_480_000));
}

#[test]
fn what_an_older_program_writes_after_the_migration_is_found_heard_of_and_answered() {
    let (place, mut older) = of_version_1();
    let store = place.store();
    let ada = person(&store, "ada");
    let mut watch = wait(ada.watch(&Watched::All)).unwrap();
    let request = get(&store, &id(PENDING)).request;
    let mut later: serde_json::Value = serde_json::json!(*request);
    later["key"]["call"] = "later".into();
    later["input"]["questions"][0]["question"] = "Und \"später\"?".into();
    // It holds a lock that says that it waits.
    let lock = std::fs::File::create(place.folder.path().join("inbox.sqlite-waiting/4711-18e88040bc9f8348-0"));
    let lock = lock.or_else(|_| {
        std::fs::create_dir_all(place.folder.path().join("inbox.sqlite-waiting"))?;
        std::fs::File::create(place.folder.path().join("inbox.sqlite-waiting/4711-18e88040bc9f8348-0"))
    });
    let lock = lock.unwrap();
    lock.try_lock().unwrap();
    let tx = older.transaction().unwrap();
    tx.execute(
        "INSERT INTO question (id, key, request, agent, state, asked_ms, expires_ms, asker)
         VALUES ('0123456789ab', '[\"askuser ask\",[],\"later\",\"question\"]', ?1, 'claude-code', 'pending', ?2, NULL, ?3)",
        params![later.to_string(), 1_794_825_471_000_u64, "4711-18e88040bc9f8348-0"],
    )
    .unwrap();
    let n = tx.last_insert_rowid();
    tx.execute("INSERT INTO event (question, state, at_ms) VALUES (?1, 'pending', ?2)", params![n, 1_u64]).unwrap();
    tx.commit().unwrap();
    let Change::Event(event) = wait(watch.next()) else { panic!("it is heard of") };
    assert_eq!((event.id, event.state), (id("0123456789ab"), State::Pending));
    assert_eq!(calls(&store, &containing("\"SPÄTER\"?")), ["later"]);
    assert_eq!(calls(&store, &containing("limits")), [""; 0], "by its words, not by its record");
    let later = id("0123456789ab");
    assert_eq!(get(&store, &later).asker, AskerPresence::Waits);
    drop(lock);
    assert!(matches!(get(&store, &later).asker, AskerPresence::Died(_)));
    answer(&store, &later);
    assert!(waits_as_version_1(&older, 11, "0123456789ab").is_some());
}

#[test]
fn to_leave_a_question_says_nothing_of_an_older_program_that_waits_for_it_too() {
    let (place, older) = of_version_1();
    let store = place.store();
    let put = wait(agent(&store).put(&request("shared"), None)).unwrap();
    let name = "4711-18e88040bc9f8348-0";
    let lock = std::fs::File::create(place.folder.path().join("inbox.sqlite-waiting").join(name)).unwrap();
    lock.try_lock().unwrap();
    // As it says that it waits: in the question's own row, whatever stands there.
    older.execute("UPDATE question SET asker = ?1 WHERE id = ?2", params![name, put.question.id.as_str()]).unwrap();
    wait(put.attachment.detach()).unwrap();
    assert_eq!(get(&store, &put.question.id).asker, AskerPresence::Waits);
    drop(lock);
    assert!(matches!(get(&store, &put.question.id).asker, AskerPresence::Died(_)));
}

#[test]
fn a_draft_stays_also_where_an_older_program_ends_its_question() {
    let (place, older) = of_version_1();
    let store = place.store();
    let ada = person(&store, "ada");
    let typed = wait(ada.draft(&id(DRAFTED))).unwrap();
    wait(ada.save_draft(&id(DRAFTED), &typed.clone().into())).unwrap();
    older
        .execute("UPDATE question SET state = 'withdrawn', ended_by = 'bob', ended_ms = 5 WHERE id = ?1", [DRAFTED])
        .unwrap();
    assert_eq!((wait(ada.draft(&id(DRAFTED))).unwrap(), typed.is_empty()), (typed, false));
}

#[test]
fn a_waiter_whose_store_a_newer_program_has_changed_ends_and_says_so_and_its_question_can_be_answered() {
    let (place, _) = of_version_1();
    let store = place.store();
    let newer = place.connection();
    let says_so = |error: &StoreError| {
        assert!(matches!(error, StoreError::Damaged { .. }), "to try again is of no use: {error:?}");
        let words = error.chain();
        let why = "a newer askuser has changed it meanwhile; start again. What waits in it can still be answered";
        assert!(words.ends_with(why), "{words}");
    };
    let (pending, waiting) = (id(PENDING), id(WAITING));
    let (one, other) = (person(&store, "ada"), person(&store, "bob"));
    std::thread::scope(|scope| {
        let waits = [scope.spawn(|| wait(one.wait(&pending))), scope.spawn(|| wait(other.wait(&waiting)))];
        newer.execute_batch("ALTER TABLE question ADD COLUMN future TEXT; PRAGMA user_version = 6").unwrap();
        for waiting in waits {
            says_so(&waiting.join().unwrap().unwrap_err());
        }
    });
    says_so(&wait(person(&store, "ada").list(&Filter::default())).unwrap_err());
    let refused = wait(person(&store, "ada").answer(&id(PENDING), Outcome::cancelled(), &attempt("k")));
    says_so(&refused.unwrap_err());
    let error = SqliteStore::open(&place.path()).unwrap_err().chain();
    assert!(error.ends_with("it has version 6, this program knows 1 to 5: use a newer askuser"), "{error}");
    // The newer program, as this one plays it.
    newer.pragma_update(None, "user_version", 5).unwrap();
    let store = place.store();
    until("the question is there", || calls(&store, &Filter::pending()).len() == 3);
    assert_eq!(answer(&store, &id(PENDING)).state(), State::Answered);
}

#[test]
fn an_answer_that_waited_while_a_newer_program_changed_the_store_is_not_written() {
    let (place, _) = of_version_1();
    let (store, newer) = (place.store(), place.connection());
    newer.execute_batch("BEGIN IMMEDIATE; PRAGMA user_version = 6").unwrap();
    let answer = person(&store, "ada").answer(&id(PENDING), Outcome::cancelled(), &attempt("k"));
    // Long enough for the answer to wait for its turn; where it does not yet, it is refused all the same.
    std::thread::sleep(std::time::Duration::from_millis(100));
    newer.execute_batch("COMMIT").unwrap();
    let error = wait(answer).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    let state: String =
        newer.query_row("SELECT state FROM question WHERE id = ?1", [PENDING], |row| row.get(0)).unwrap();
    assert_eq!(state, "pending");
}

#[test]
fn a_store_of_version_3_gets_its_people_from_whose_answers_its_credentials_give() {
    let (place, _) = of_version_1();
    drop(place.store());
    let older = place.connection();
    older
        .execute_batch(
            "DROP TABLE person; DROP INDEX question_for_some; ALTER TABLE pairing DROP COLUMN person;
             DROP TABLE saved_draft; CREATE TABLE person_draft (question, person, answers); PRAGMA user_version = 3;
             INSERT INTO credential (id, name, scope, is_device, person, digest, made_ms, revoked_ms) VALUES
                 ('a', 'phone', 'answer', 1, 'ada', zeroblob(32), 5, NULL), ('b', 'old', 'answer', 1, 'bob', zeroblob(32), 5, 6),
                 ('c', 'ci', 'ask', 0, 'ada', zeroblob(32), 7, NULL)",
        )
        .unwrap();
    let store = place.sqlite();
    let people: Vec<String> = wait(store.people()).unwrap().into_iter().map(|person| person.name).collect();
    assert_eq!(people, ["ada"], "whoever has a device that counts");
    let acts: Vec<String> =
        wait(store.credentials()).unwrap().iter().map(|known| known.made.acts_as().to_owned()).collect();
    assert_eq!(acts, ["ada", "ci"], "what asks acts for nobody");
    assert_eq!(wait(store.remove_person("ada")).unwrap().map(|removed| removed.revoked), Some(1), "and is not hers");
}
