//! The location of a store.

use crate::support::{ask, get, request};
use askuser_inbox::Location;
use std::ffi::OsStr;
use std::time::{SystemTime, UNIX_EPOCH};

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

#[test]
fn a_path_is_a_file_that_exists_once_it_was_opened_and_tells_the_time_of_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inbox.sqlite");
    let location = Location::parse(path.as_os_str());
    assert_eq!(location, Location::File(path.clone()));
    assert_eq!(location.to_string(), path.to_str().unwrap());
    assert!(!location.exists());
    let store = location.open().unwrap();
    assert!(location.exists());
    let before = now_ms();
    let asked = get(&store, &ask(&store, &request("1")).unwrap()).asked_ms;
    assert!((before..=now_ms()).contains(&asked), "{asked}");
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap().path();
        assert!(location.files().contains(&file), "{file:?} is not said to belong to it");
    }
}

#[test]
fn an_address_is_refused_in_words_and_has_no_files() {
    let location = Location::parse(OsStr::new("https://inbox.example"));
    assert_eq!(location, Location::Address("https://inbox.example".into()));
    assert_eq!(location.to_string(), "https://inbox.example");
    let error = location.open().err().unwrap().chain();
    assert_eq!(error, "cannot open https://inbox.example: it is a server, and no file");
    assert!(location.exists() && location.files().is_empty());
}

#[test]
fn a_database_is_a_servers_alone_and_its_password_is_not_shown() {
    for address in ["postgres://ada:secret@db/askuser", "postgresql://ada:secret@db/askuser"] {
        let location = Location::parse(OsStr::new(address));
        assert_eq!(location, Location::Postgres(address.into()));
        let Err(error) = location.open() else { panic!("it is no file") };
        assert!(
            !error.chain().contains("secret") && location.files().is_empty() && location.exists(),
            "{}",
            error.chain()
        );
    }
}
