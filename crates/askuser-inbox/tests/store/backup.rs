//! A backup of a store in use, and the locks beside a store.

use crate::support::{Place, agent, ask, request};
use askuser::store::{Filter, Store};
use askuser_conformance::{until, wait};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_backup_of_a_store_in_use_is_one_consistent_file() {
    let place = Place::new();
    let store = place.store();
    ask(&store, &request("first")).unwrap();
    let to = place.folder.path().join("backup.sqlite");
    let is_over = AtomicBool::new(false);
    let count = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let store = place.store();
            let mut written = 1;
            while !is_over.load(Ordering::SeqCst) {
                ask(&store, &request(&format!("more {written}"))).unwrap();
                written += 1;
            }
            written
        });
        until("it writes", || wait(agent(&store).count(&Filter::default())).unwrap() > 1);
        let count = wait(place.sqlite().backup(&to)).unwrap();
        is_over.store(true, Ordering::SeqCst);
        assert!(writer.join().unwrap() >= count);
        count
    });
    assert!(count > 1, "{count}");
    let beside = |suffix: &str| place.folder.path().join(format!("backup.sqlite{suffix}")).exists();
    assert!(!beside("-wal") && !beside("-shm"), "one file");
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&to.metadata().unwrap().permissions()) & 0o777, 0o600);
    let backup = askuser_inbox::SqliteStore::open(&to).unwrap();
    assert_eq!(wait(backup.integrity()).unwrap(), Vec::<String>::new());
    let backup: std::sync::Arc<dyn Store> = std::sync::Arc::new(backup);
    assert_eq!(wait(agent(&backup).count(&Filter::default())).unwrap(), count);
    let names = std::fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".part")));
}

#[test]
fn a_backup_leaves_a_file_that_exists_alone() {
    let place = Place::new();
    let to = place.folder.path().join("precious");
    std::fs::write(&to, "mine").unwrap();
    let error = wait(place.sqlite().backup(&to)).unwrap_err();
    assert!(error.chain().ends_with("precious: it exists already, must be a new file"), "{}", error.chain());
    assert_eq!(std::fs::read_to_string(to).unwrap(), "mine");
}

#[test]
fn a_process_that_waits_no_more_leaves_no_lock() {
    let place = Place::new();
    let store = place.store();
    let locks = || std::fs::read_dir(place.folder.path().join("inbox.sqlite-waiting")).unwrap().count();
    let waiting = wait(agent(&store).put(&request("1"), None)).unwrap();
    let other = wait(agent(&store).put(&request("2"), None)).unwrap();
    assert_eq!(locks(), 1);
    wait(waiting.attachment.detach()).unwrap();
    assert_eq!(locks(), 1, "it still waits for the other");
    wait(other.attachment.detach()).unwrap();
    assert_eq!(locks(), 0);
    let again = wait(agent(&store).attach(&other.question.id)).unwrap();
    assert_eq!(locks(), 1);
    drop(again);
}

#[test]
fn locks_of_dead_processes_go_at_the_next_open() {
    let place = Place::new();
    let alive = place.store();
    let waiting = wait(agent(&alive).put(&request("1"), None)).unwrap();
    let folder = place.folder.path().join("inbox.sqlite-waiting");
    std::fs::write(folder.join("deadbeef"), "").unwrap();
    std::fs::write(folder.join("not a lock"), "").unwrap();
    drop(place.store());
    assert!(!folder.join("deadbeef").exists() && folder.join("not a lock").exists());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "that of the process that waits stays");
    drop(waiting);
}
