//! Full disks, and locked, damaged and foreign files. No acknowledged write is lost. No question is answered twice or
//! without a person. An error says why a question cannot be stored.

#![cfg_attr(windows, allow(unused_imports, reason = "not every fault can be made there"))]

use crate::support::{Place, agent, ask, attempt, choice, get, person, request};
use crate::worker::command;
use askuser::store::{Filter, QuestionId, State, Store, StoreError};
use askuser_conformance::kills::messages;
use askuser_conformance::{until, wait};
use askuser_inbox::SqliteStore;
use std::io::{BufRead, BufReader};
use std::process::Command;
use std::sync::Arc;

fn answer(store: &Arc<dyn Store>, id: &QuestionId) -> Result<(), StoreError> {
    wait(person(store, "ada").answer(id, choice(0), &attempt("k"))).map(drop)
}

// Windows cannot limit the size of a file.
#[cfg(unix)]
#[test]
fn a_full_disk_is_refused_in_words_and_works_again_when_there_is_room() {
    let place = Place::new();
    let output = command(&format!("fill {}", 400 * 1024), &place.path()).output().unwrap();
    assert!(output.status.success());
    let messages = messages(&output.stdout);
    assert!(messages[0].starts_with("refused cannot write") && messages[0].contains("inbox.sqlite"), "{}", messages[0]);
    let kept: Vec<&str> = messages[1..].iter().map(|line| line.strip_prefix("kept ").unwrap()).collect();
    assert!(kept.len() > 1, "{messages:?}");
    let store = place.store();
    kept.iter().for_each(|id| drop(get(&store, &QuestionId::parse(id).unwrap())));
    let pending = wait(person(&store, "ada").count(&Filter::pending())).unwrap();
    assert_eq!(pending as usize, kept.len(), "what was refused is not there");
    assert!(wait(place.sqlite().integrity()).unwrap().is_empty());
}

// Windows cannot limit the number of open files.
#[cfg(unix)]
#[test]
fn a_waiter_is_not_taken_for_dead_by_a_process_that_can_open_no_more_files() {
    let place = Place::new();
    let store = place.store();
    let put = wait(agent(&store).put(&request("1"), None)).unwrap();
    let output = command(&format!("crowded {}", put.question.id), &place.path()).output().unwrap();
    assert_eq!(messages(&output.stdout), ["asker Waits"], "{}", String::from_utf8_lossy(&output.stderr));
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn a_store_that_may_not_be_written_is_refused_in_words() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let place = Place::new();
    drop(place.store());
    let set_mode =
        |path: &std::path::Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    // Modes do not restrict root. So root runs the test as another user, with a copy of the program that this user can
    // reach.
    let is_root = chown(place.folder.path(), Some(NOBODY), Some(NOBODY)).is_ok();
    let program = place.folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    for entry in std::fs::read_dir(place.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if is_root {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    set_mode(&program, 0o755);
    let attempt = || {
        let mut process = command("try", &place.path());
        let mut again = Command::new(&program);
        again.args(process.get_args()).current_dir("/").stdout(std::process::Stdio::piped());
        again.envs(process.get_envs().filter_map(|(name, value)| Some((name, value?))));
        process = again;
        if is_root {
            process.uid(NOBODY).gid(NOBODY);
        }
        let output = process.output().unwrap();
        assert!(output.status.success());
        messages(&output.stdout)
    };
    set_mode(&place.path(), 0o400);
    set_mode(place.folder.path(), 0o500);
    let words = attempt();
    assert!(words.len() == 1 && words[0].starts_with("refused cannot"), "{words:?}");
    set_mode(place.folder.path(), 0o700);
    set_mode(&place.path(), 0o600);
    assert_eq!(attempt(), ["list Ok(1)", "put Ok(())"]);
}

#[test]
fn a_store_that_another_process_keeps_locked_is_refused_after_a_while_and_works_again() {
    let place = Place::new();
    let store = place.store();
    let id = ask(&store, &request("1")).unwrap();
    let mut locker = command("lock", &place.path()).spawn().unwrap();
    let mut lines = BufReader::new(locker.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "@locked"));
    let error = answer(&store, &id).unwrap_err().chain();
    assert!(error.ends_with("inbox.sqlite: another process has kept it locked for 10 s"), "{error}");
    drop(locker.stdin.take());
    locker.wait().unwrap();
    assert_eq!(get(&store, &id).state(), State::Pending, "nothing was acknowledged, nothing is recorded");
    answer(&store, &id).unwrap();
}

#[test]
fn a_new_store_that_another_process_is_making_is_waited_for() {
    let place = Place::new();
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(place.path()).unwrap();
    let other = place.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let path = place.path();
    let opening = std::thread::spawn(move || SqliteStore::open(&path).map(drop));
    // The open succeeds whether it starts before or after the file is unlocked.
    std::thread::sleep(std::time::Duration::from_millis(100));
    other.execute_batch("ROLLBACK").unwrap();
    opening.join().unwrap().unwrap();
}

#[test]
fn files_that_are_damaged_foreign_or_newer_are_refused_and_left_alone() {
    let place = Place::new();
    let refused = |place: &Place| {
        let before = std::fs::read(place.path()).unwrap();
        let error = SqliteStore::open(&place.path()).unwrap_err().chain();
        assert_eq!(std::fs::read(place.path()).unwrap(), before, "it was changed");
        error
    };
    let private = |bytes: &[u8]| {
        drop(std::fs::remove_file(place.path()));
        drop(SqliteStore::open(&place.path()).unwrap());
        for suffix in ["", "-wal", "-shm"] {
            let path = place.folder.path().join(format!("inbox.sqlite{suffix}"));
            // Windows cannot remove a file until the store's thread has closed it.
            until("it can be removed", || std::fs::remove_file(&path).is_ok() || !path.exists());
        }
        std::fs::write(place.path(), bytes).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    };
    private(&b"this is no database, it is a text that goes on and on. ".repeat(40));
    assert!(refused(&place).ends_with("it is damaged, or no inbox at all"));
    private(b"");
    let foreign = rusqlite::Connection::open(place.path()).unwrap();
    foreign.execute_batch("CREATE TABLE bookmark (url TEXT)").unwrap();
    drop(foreign);
    let error = SqliteStore::open(&place.path()).unwrap_err().chain();
    assert!(error.ends_with("is no inbox: it is the database of another program"), "{error}");
    private(b"");
    drop(place.store());
    let newer = rusqlite::Connection::open(place.path()).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let error = SqliteStore::open(&place.path()).unwrap_err().chain();
    assert!(error.ends_with("it has version 99, this program knows 8: use a newer askuser"), "{error}");
}

#[test]
fn a_damaged_page_is_an_error_and_never_an_acknowledgement() {
    let place = Place::new();
    let store = place.store();
    let ids: Vec<QuestionId> = (0..300).map(|i| ask(&store, &request(&i.to_string())).unwrap()).collect();
    drop(store);
    // The log is removed when the store's thread closes the file.
    until("the file is closed", || !place.path().with_file_name("inbox.sqlite-wal").exists());
    let bytes = std::fs::read(place.path()).unwrap();
    let mut opened = 0;
    // The first pages have the schema and the rows that are read at opening. If those are damaged, opening fails.
    for spared in [8, 40, 72] {
        let path = place.path().with_file_name(format!("{spared}.sqlite"));
        std::fs::copy(place.path(), &path).unwrap();
        let mut bytes = bytes.clone();
        bytes[spared * 4096..].chunks_mut(2).for_each(|pair| pair[0] ^= 0x5a);
        std::fs::write(&path, bytes).unwrap();
        let sqlite = match SqliteStore::open(&path) {
            Ok(sqlite) => sqlite,
            Err(error) => {
                assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
                continue;
            }
        };
        opened += 1;
        assert!(!wait(sqlite.integrity()).unwrap_or_else(|error| vec![error.chain()]).is_empty());
        let store: Arc<dyn Store> = Arc::new(sqlite);
        let failed = ids.iter().filter(|id| wait(person(&store, "ada").get(*id)).is_err()).count();
        assert!(failed > 0, "nothing was damaged");
        let error = ids.iter().find_map(|id| answer(&store, id).err()).unwrap().chain();
        let words = ["damaged", "there is no question", "cannot read"];
        assert!(words.iter().any(|words| error.contains(words)), "{error}");
    }
    assert!(opened > 0, "no damage was met in use");
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn a_store_is_private_and_one_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/inbox.sqlite");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path).unwrap());
    let put = wait(agent(&store).put(&request("1"), None)).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    drop(put);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let error = SqliteStore::open(&path).unwrap_err().chain();
    assert!(error.ends_with("it has mode 644, must be yours alone: `chmod 600` it"), "{error}");
}

// Windows cannot remove an open file.
#[cfg(unix)]
#[test]
fn a_file_that_was_removed_meanwhile_takes_no_answer() {
    let place = Place::new();
    let store = place.store();
    let id = ask(&store, &request("1")).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(place.folder.path().join(format!("inbox.sqlite{suffix}")));
    }
    let refused = |error: StoreError| assert!(error.chain().ends_with("removed or replaced meanwhile; start again"));
    refused(answer(&store, &id).unwrap_err());
    // Another file of the same name is not accepted either.
    drop(place.store());
    refused(answer(&store, &id).unwrap_err());
    refused(wait(person(&store, "ada").list(&Filter::default())).unwrap_err());
}
