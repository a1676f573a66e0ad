use super::*;
use askuser::input::QuestionInput;
use askuser::store::{Attempt, Command, DraftSave, Principal, State};
use askuser::{Origin, Outcome, Purpose, QuestionSet, Request, RequestKey, Rules, Via};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn request(call: &str, purpose: Purpose) -> Request {
    let question = QuestionInput::new("Which one?", "Pick").option("A", "The first").option("B", "The second");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    Request::new(RequestKey::new("session", call).for_purpose(purpose), set)
}

/// Returns the `synchronous` mode of the last write.
fn synchronous(database: &Database) -> i32 {
    database.connection.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
}

#[test]
fn what_must_not_be_lost_is_synced_also_after_what_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let time = Arc::new(AtomicU64::new(1_000_000));
    let clock = time.clone();
    let path = folder.path().join("inbox.sqlite");
    let mut database = Database::open(&path, Arc::new(move || clock.load(Ordering::Relaxed)), true).unwrap();
    let journal: String = database.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(journal, "wal", "the words for syncing mean this there");
    let agent = Principal::agent(&Origin::default());
    let ada = Principal::person("ada", Via::Inbox);
    let put = |database: &mut Database, request: Request| {
        let request = Arc::new(request);
        let id = super::super::commands::new_id().unwrap();
        let command = Command::Put { request, series: None, id: id.clone() };
        (id, database.apply(&agent, &command).unwrap().1.unwrap())
    };
    let (id, waiter) = put(&mut database, request("1", Purpose::Permission));
    assert_eq!(synchronous(&database), FULL, "a question");
    let which = || QuestionRef::from(&id);
    for (by, command, expected) in [
        (&ada, Command::SaveDraft { which: which(), save: DraftSave::default() }, NORMAL),
        (&ada, Command::Hold { which: which() }, FULL),
        (&agent, Command::Attach { id: id.clone() }, NORMAL),
        (&ada, Command::End { which: which(), end: Outcome::cancelled().into(), attempt: Attempt::new("k") }, FULL),
    ] {
        database.apply(by, &command).unwrap();
        assert_eq!(synchronous(&database), expected, "{command:?}");
    }
    database.detach(&waiter, askuser::store::Departure::Left).unwrap();
    assert_eq!(synchronous(&database), NORMAL, "a waiter that left");
    database.apply(&agent, &Command::Claim { id: id.clone(), attempt: Attempt::new("c") }).unwrap();
    assert_eq!(synchronous(&database), FULL, "the use of a permission");
    database.apply(&agent, &Command::Delivered { id: id.clone() }).unwrap();
    assert_eq!(synchronous(&database), NORMAL, "that it was delivered");
    let (late, _) = put(&mut database, request("2", Purpose::Question).with_deadline(Duration::from_secs(1)));
    database.apply(&agent, &Command::Attach { id: late.clone() }).unwrap();
    time.fetch_add(2_000, Ordering::Relaxed);
    assert_eq!(database.get(&ada, &(&late).into()).unwrap().state(), State::TimedOut);
    assert_eq!(synchronous(&database), FULL, "a passed deadline");
}

#[test]
fn an_answer_is_synced_after_a_draft_that_panicked() {
    let folder = tempfile::tempdir().unwrap();
    let mut database = Database::open(&folder.path().join("inbox.sqlite"), Arc::new(|| 0), true).unwrap();
    let draft = AssertUnwindSafe(|| database.write_unsynced(|_, _| -> Result<(), Fault> { panic!("on purpose") }));
    assert!(catch_unwind(draft).is_err());
    database.transact_synced(|_, _| Ok(())).unwrap();
    assert_eq!(synchronous(&database), FULL);
}

#[test]
fn a_statement_is_planned_once_for_all_values() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(&folder.path().join("inbox.sqlite"), Arc::new(|| 0), false).unwrap();
    let mut statement = database.connection.prepare("SELECT n FROM question LIMIT ?1").unwrap();
    for limit in 1..4 {
        statement.query([limit]).unwrap().next().unwrap();
    }
    assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
}
