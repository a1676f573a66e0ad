//! The content of a store's file is not trusted. It decides only the text of the questions.

use crate::support::{Place, agent, ask, attempt, choice, get, person, request};
use askuser::store::{AskerPresence, Filter, QuestionId, Series, State, Store, StoreError};
use askuser_conformance::wait;
use std::sync::Arc;

/// Creates a store with three questions and changes it with SQL while it is closed.
fn changed(sql: &str) -> (Place, Arc<dyn Store>, [QuestionId; 3]) {
    let place = Place::new();
    let store = place.store();
    let ids = ["1", "2", "3"].map(|call| ask(&store, &request(call)).unwrap());
    drop(store);
    let connection = place.connection();
    connection.execute_batch(sql).unwrap();
    let store = place.store();
    (place, store, ids)
}

#[test]
fn one_question_that_cannot_be_read_does_not_hide_the_others() {
    for damage in [
        "UPDATE question SET request = '{}' WHERE n = 2",
        "UPDATE question SET request = x'00ff' WHERE n = 2",
        "UPDATE question SET request = json_set(request, '$.version', 99) WHERE n = 2",
        "UPDATE question SET state = 'dreaming' WHERE n = 2",
        "UPDATE question SET state = 'answered' WHERE n = 2",
        "UPDATE question SET state = 'answered', ending = '{\"resolved\":{\"status\":\"answered\",\"answers\":[]}}' WHERE n = 2",
        "UPDATE question SET id = '../../x' WHERE n = 2",
        "UPDATE question SET asked_ms = -1 WHERE n = 2",
        "UPDATE question SET expires_ms = 'soon', delivered_ms = 'x' WHERE n = 2",
    ] {
        let (_place, store, [first, second, third]) = changed(damage);
        let ada = person(&store, "ada");
        let page = wait(ada.list(&Filter::default().at_most(2))).unwrap();
        let shown: Vec<&QuestionId> = page.questions.iter().map(|question| &question.id).collect();
        assert_eq!(shown, [&first], "{damage}");
        let named = if damage.contains("../") { Vec::new() } else { vec![second.clone()] };
        assert_eq!(page.unreadable, named, "it is named: {damage}");
        let rest = wait(ada.list(&Filter::default().after(page.next.unwrap()))).unwrap().questions;
        assert_eq!((rest.len(), &rest[0].id), (1, &third), "{damage}");
        let error = wait(ada.get(&second)).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. } | StoreError::NotFound(_)), "{damage}: {error:?}");
        let error = wait(ada.answer(&second, choice(0), &attempt("k"))).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. } | StoreError::NotFound(_)), "{damage}: {error:?}");
        wait(ada.answer(&third, choice(0), &attempt("k"))).unwrap();
        assert_eq!(wait(ada.list(&Filter::ended())).unwrap().questions.last().map(|q| q.id.clone()), Some(third));
    }
}

#[test]
fn a_row_in_an_unknown_state_is_none_that_was_withdrawn() {
    let (_place, store, [_, second, _]) = changed("UPDATE question SET state = 'dreaming' WHERE n = 2");
    let error = wait(person(&store, "ada").get(&second)).unwrap_err().chain();
    assert_eq!(error, "cannot read a stored question: its state is \"dreaming\", its ending is pending");
    let error = wait(person(&store, "ada").wait(&second)).unwrap_err().chain();
    assert_eq!(error, "cannot read a stored question: its state is \"dreaming\", its ending is pending");
}

#[test]
fn a_question_of_a_series_that_cannot_be_read_does_not_keep_others_from_being_asked() {
    let place = Place::new();
    let store = place.store();
    let series = Series { name: "same".into(), conversation: "one".into() };
    let put = |store: &Arc<dyn Store>, call: &str| {
        let put = wait(agent(store).put(&request(call), Some(&series))).unwrap();
        wait(put.attachment.detach()).unwrap();
        put.question.id
    };
    let first = put(&store, "1");
    let connection = place.connection();
    connection.execute("UPDATE question SET request = '{}' WHERE id = ?1", [first.as_str()]).unwrap();
    let store = place.store();
    assert_ne!(put(&store, "2"), first);
}

#[test]
fn a_process_name_in_a_row_that_is_a_path_leads_nowhere() {
    let place = Place::new();
    let store = place.store();
    let ids = ["1", "2"].map(|call| ask(&store, &request(call)).unwrap());
    drop(store);
    let victim = place.folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let connection = place.connection();
    let absolute = victim.to_str().unwrap();
    for name in
        ["../victim", "../../x", "..", ".", "", absolute, &format!("abc {absolute}"), "abc ../victim", "x\0../victim"]
    {
        connection.execute("DELETE FROM waiter", []).unwrap();
        connection.execute("DELETE FROM shown_list", []).unwrap();
        connection.execute("UPDATE question SET asker = ?1 WHERE n = 2", [name]).unwrap();
        connection.execute("INSERT INTO waiter (id, question, process) VALUES ('w', 1, ?1)", [name]).unwrap();
        connection.execute("INSERT INTO shown_list (id, process) VALUES ('l', ?1)", [name]).unwrap();
        let store = place.store();
        let page = wait(person(&store, "ada").list(&Filter::pending())).unwrap();
        assert_eq!(page.questions.len(), 2, "{name:?}");
        for question in page.questions {
            assert!(!matches!(question.asker, AskerPresence::Waits), "{name:?} is no process");
        }
        assert!(!wait(agent(&store).is_list_shown()).unwrap(), "{name:?} is no process");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious", "{name:?}");
        assert!(place.path().exists() && place.folder.path().join("inbox.sqlite-waiting").is_dir(), "{name:?}");
    }
    let store = place.store();
    for id in ids {
        wait(person(&store, "ada").answer(&id, choice(0), &attempt("k"))).unwrap();
        assert_eq!(get(&store, &id).state(), State::Answered);
    }
}

// Windows has no numeric owners.
#[cfg(unix)]
#[test]
fn another_users_store_is_not_used() {
    use askuser_inbox::SqliteStore;
    use std::os::unix::fs::{MetadataExt, chown};
    const NOBODY: u32 = 65_534;
    let place = Place::new();
    drop(place.store());
    // Only root can change the owner of a file. Other users use a file of root.
    let path = match chown(place.path(), Some(NOBODY), None) {
        Ok(()) => place.path(),
        Err(_) => "/etc/passwd".into(),
    };
    let owner = std::fs::metadata(&path).unwrap().uid();
    let error = SqliteStore::open(&path).unwrap_err().chain();
    assert!(error.contains(&format!("it is owned by user {owner}, must be owned by you")), "{error}");
}
