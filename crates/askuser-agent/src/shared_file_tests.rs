use super::*;
use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
#[cfg(target_os = "linux")]
use std::os::unix::fs::symlink;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::{Duration, Instant};

/// A folder with one file for a test.
struct Fixture {
    folder: tempfile::TempDir,
    dir: Dir,
}

impl Fixture {
    fn new(content: &str) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), content).unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        Fixture { folder, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn original(&self) -> Original {
        Original { bytes: fs::read(self.path("file")).unwrap(), metadata: self.path("file").metadata().unwrap() }
    }

    /// Saves content as an editor does: it writes a new file and renames it.
    fn save(&self, content: &str) {
        fs::write(self.path("theirs"), content).unwrap();
        fs::rename(self.path("theirs"), self.path("file")).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path("file")).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Replaces the file. Calls `others` before each exchange, with the number of earlier exchanges.
    #[cfg(unix)]
    fn replace_while(&self, original: &Original, others: &mut dyn FnMut(usize)) -> Result<(), UpdateError> {
        let temporary = prepare(&self.dir, b"ours", FilePermissions::LikeOld(&original.metadata)).unwrap();
        let pair = Pair { folder: &self.dir, name: OsStr::new("file"), temporary };
        let mut exchanges = 0;
        let done = pair.exchange_until_nothing_is_lost(original, &mut || {
            others(exchanges);
            exchanges += 1;
            pair.exchange()
        });
        pair.settle(done)
    }
}

fn is_changed(done: &Result<(), UpdateError>) -> bool {
    matches!(done, Err(UpdateError::ChangedMeanwhile))
}

#[test]
fn a_file_is_made_replaced_and_removed_and_nothing_else_is_left() {
    let fixture = Fixture::new("old");
    update(&fixture.path("file"), Update::Replace(&fixture.original(), b"new")).unwrap();
    assert_eq!(fixture.text(), "new");
    update(&fixture.path("file"), Update::Remove(&fixture.original())).unwrap();
    assert_eq!(fixture.names(), [""; 0]);
    update(&fixture.path("file"), Update::Create(b"made")).unwrap();
    assert_eq!((fixture.text().as_str(), fixture.names()), ("made", vec!["file".to_owned()]));
}

#[test]
fn a_file_that_was_changed_made_or_removed_meanwhile_stays_as_it_is() {
    let fixture = Fixture::new("old");
    let original = fixture.original();
    assert!(is_changed(&update(&fixture.path("file"), Update::Create(b"ours"))));
    fixture.save("theirs");
    assert!(is_changed(&update(&fixture.path("file"), Update::Replace(&original, b"ours"))));
    assert!(is_changed(&update(&fixture.path("file"), Update::Remove(&original))));
    assert_eq!((fixture.text().as_str(), fixture.names()), ("theirs", vec!["file".to_owned()]));
    fs::remove_file(fixture.path("file")).unwrap();
    assert!(is_changed(&update(&fixture.path("file"), Update::Replace(&original, b"ours"))));
    assert!(is_changed(&update(&fixture.path("file"), Update::Remove(&original))));
    assert_eq!(fixture.names(), [""; 0]);
}

// Windows has no file modes.
#[cfg(unix)]
#[test]
fn a_mode_that_was_changed_meanwhile_is_not_changed_back() {
    let fixture = Fixture::new("old");
    let original = fixture.original();
    fs::set_permissions(fixture.path("file"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(is_changed(&update(&fixture.path("file"), Update::Replace(&original, b"ours"))));
    assert_eq!(fixture.path("file").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

// This test creates pipes with rustix, which only supports that on Linux.
#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_any_more_is_neither_replaced_nor_waited_for() {
    let fixture = Fixture::new("old");
    let original = fixture.original();
    fs::rename(fixture.path("file"), fixture.path("elsewhere")).unwrap();
    symlink("elsewhere", fixture.path("file")).unwrap();
    assert!(is_changed(&update(&fixture.path("file"), Update::Replace(&original, b"ours"))));
    assert!(is_changed(&fixture.replace_while(&original, &mut |_| {})));
    assert!(fixture.path("file").is_symlink() && fixture.text() == "old");
    fs::remove_file(fixture.path("file")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.path("file"), mode).unwrap();
    assert!(is_changed(&fixture.replace_while(&original, &mut |_| {})));
    assert_eq!(fixture.names(), ["elsewhere", "file"]);
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn a_save_in_the_last_moment_goes_back_to_its_place() {
    let fixture = Fixture::new("old");
    let done = fixture.replace_while(&fixture.original(), &mut |exchanges| {
        if exchanges == 0 {
            fixture.save("theirs");
        }
    });
    assert!(is_changed(&done), "{done:?}");
    assert_eq!((fixture.text().as_str(), fixture.names()), ("theirs", vec!["file".to_owned()]));
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn of_saves_between_the_exchanges_the_last_one_stays_however_many_there_are() {
    for saves in 2..6 {
        let fixture = Fixture::new("old");
        let done = fixture.replace_while(&fixture.original(), &mut |exchanges| {
            if exchanges < saves {
                fixture.save(&format!("save {exchanges}"));
            }
        });
        assert!(is_changed(&done), "{done:?}");
        assert_eq!(fixture.text(), format!("save {}", saves - 1));
        assert_eq!(fixture.names(), ["file"]);
    }
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn what_was_written_into_the_file_itself_before_the_look_stays() {
    let fixture = Fixture::new("old");
    // The first write goes into the old file, the second into the new file that is in its place by then.
    for writes in 1..3 {
        let done = fixture.replace_while(&fixture.original(), &mut |exchanges| {
            if exchanges < writes {
                fs::write(fixture.path("file"), format!("written {writes} {exchanges}")).unwrap();
            }
        });
        assert!(is_changed(&done), "{done:?}");
        assert_eq!(fixture.text(), format!("written {writes} {}", writes - 1));
        assert_eq!(fixture.names(), ["file"]);
    }
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn a_save_survives_that_the_file_is_removed_before_it_is_put_back() {
    let fixture = Fixture::new("old");
    let done = fixture.replace_while(&fixture.original(), &mut |exchanges| match exchanges {
        0 => fixture.save("theirs"),
        _ => fs::remove_file(fixture.path("file")).unwrap(),
    });
    assert!(is_changed(&done), "{done:?}");
    assert_eq!((fixture.text().as_str(), fixture.names()), ("theirs", vec!["file".to_owned()]));
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn a_save_that_cannot_be_put_back_is_kept_and_named() {
    let fixture = Fixture::new("old");
    let original = fixture.original();
    let mut exchanges = 0;
    let temporary = prepare(&fixture.dir, b"ours", FilePermissions::Default).unwrap();
    let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
    fixture.save("theirs");
    let done = pair.exchange_until_nothing_is_lost(&original, &mut || {
        exchanges += 1;
        if exchanges == 1 { pair.exchange() } else { Err(io::ErrorKind::StorageFull.into()) }
    });
    let done = pair.settle(done);
    let Err(UpdateError::LeftAside { kept, .. }) = done else { panic!("{done:?}") };
    assert_eq!(fs::read_to_string(fixture.path(&kept)).unwrap(), "theirs");
}

// Windows cannot exchange files.
#[cfg(unix)]
#[test]
fn where_files_cannot_be_exchanged_nothing_is_written() {
    let fixture = Fixture::new("old");
    for errno in [rustix::io::Errno::INVAL, rustix::io::Errno::NOSYS, rustix::io::Errno::OPNOTSUPP] {
        let temporary = prepare(&fixture.dir, b"ours", FilePermissions::Default).unwrap();
        let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
        let done = pair.exchange_until_nothing_is_lost(&fixture.original(), &mut || Err(errno.into()));
        assert!(matches!(done, Err(UpdateError::CannotExchange)), "{errno}: {done:?}");
    }
    assert_eq!(fixture.text(), "old");
}

#[test]
fn a_file_that_appears_is_not_replaced_where_only_links_can_tell() {
    let fixture = Fixture::new("theirs");
    let temporary = prepare(&fixture.dir, b"ours", FilePermissions::Default).unwrap();
    let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
    assert_eq!(pair.link_to_free_place().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fixture.text(), "theirs");
    fs::remove_file(fixture.path("file")).unwrap();
    pair.link_to_free_place().unwrap();
    assert_eq!((fixture.text().as_str(), fixture.names()), ("ours", vec!["file".to_owned()]));
}

#[test]
fn a_file_that_is_saved_while_it_is_taken_away_comes_back() {
    let fixture = Fixture::new("old");
    let original = fixture.original();
    let (temporary, _) = create_temporary(&fixture.dir, FilePermissions::OwnerOnly).unwrap();
    let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
    fixture.save("theirs");
    assert!(is_changed(&pair.take_away(&original)));
    assert_eq!((fixture.text().as_str(), fixture.names()), ("theirs", vec!["file".to_owned()]));
}

#[test]
fn a_file_that_is_moved_aside_is_replaced_or_comes_back() {
    let fixture = Fixture::new("old");
    let replace = |original: &Original| {
        let temporary = prepare(&fixture.dir, b"ours", FilePermissions::LikeOld(&original.metadata)).unwrap();
        let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
        pair.settle(pair.replace_by_moving(original))
    };
    let original = fixture.original();
    fixture.save("theirs");
    assert!(is_changed(&replace(&original)));
    assert_eq!((fixture.text().as_str(), fixture.names()), ("theirs", vec!["file".to_owned()]));
    replace(&fixture.original()).unwrap();
    assert_eq!((fixture.text().as_str(), fixture.names()), ("ours", vec!["file".to_owned()]));
    fs::remove_file(fixture.path("file")).unwrap();
    assert!(is_changed(&replace(&original)));
    assert_eq!(fixture.names(), [""; 0]);
}

// Windows cannot rename a file that is open.
#[cfg(unix)]
#[test]
fn no_save_by_renaming_is_lost_while_the_file_is_replaced_all_the_time() {
    saves_survive(|pair, original| pair.replace(original));
}

// Windows cannot rename a file that is open.
#[cfg(unix)]
#[test]
fn no_save_by_renaming_is_lost_while_the_file_is_moved_aside_all_the_time() {
    saves_survive(|pair, original| pair.replace_by_moving(original));
}

/// Saves in one thread and changes the file in another, without the sync and the first check, so that they often
/// collide. After each save, the file must begin with that save, possibly after it was put back.
#[cfg(unix)]
fn saves_survive(replace: fn(&Pair<'_>, &Original) -> Result<(), UpdateError>) {
    let fixture = Fixture::new("save 0 ");
    let is_over = AtomicBool::new(false);
    let change = || {
        // Only this thread moves the file aside.
        let original = fixture.original();
        let (temporary, mut file) = create_temporary(&fixture.dir, FilePermissions::Default).unwrap();
        let pair = Pair { folder: &fixture.dir, name: OsStr::new("file"), temporary };
        let start = &original.bytes[..original.bytes.len().min(20)];
        io::Write::write_all(&mut file, &[start, b"+"].concat()).unwrap();
        let done = replace(&pair, &original);
        let _ = fixture.dir.remove_file(&pair.temporary);
        // Two saves may happen at once. The older one then stays beside the file.
        let is_left_aside = matches!(done, Err(UpdateError::LeftAside { .. }));
        assert!(done.is_ok() || is_changed(&done) || is_left_aside, "{done:?}");
        u32::from(done.is_ok())
    };
    std::thread::scope(|scope| {
        let changing = scope.spawn(|| {
            let mut changed = 0;
            while !is_over.load(Ordering::Relaxed) {
                changed += change();
            }
            changed
        });
        let is_kept = |number: u32| {
            let save = format!("save {number} ");
            fixture.save(&save);
            let deadline = Instant::now() + Duration::from_secs(10);
            while !fs::read_to_string(fixture.path("file")).unwrap_or_default().starts_with(&save) {
                if Instant::now() > deadline {
                    return false;
                }
                std::thread::yield_now();
            }
            true
        };
        let lost = (1..=1_000).find(|number| !is_kept(*number));
        is_over.store(true, Ordering::Relaxed);
        let changed = changing.join().unwrap();
        assert_eq!((lost, changed > 0), (None, true));
    });
}
