use super::*;
use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::script::Script;
use crate::tools::test_fixtures::TestFolder;
use crate::tools::{Edit as EditTool, Write as WriteTool};
use serde_json::json;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
#[cfg(unix)]
use std::path::Path;
use std::sync::Arc;

/// Creates a working folder, and a session with a file beside the folder.
fn kept() -> (TestFolder, Transcript) {
    let mut test = TestFolder::new();
    let transcript = Transcript::create(&test.outside("sessions"), &test.context.cwd).unwrap();
    Arc::make_mut(&mut test.context.shared).transcript = transcript.clone();
    (test, transcript)
}

fn log(transcript: &Transcript) -> UndoLog {
    UndoLog::beside(transcript).unwrap()
}

async fn write(test: &TestFolder, path: &str, content: &str) {
    assert!(test.run(&WriteTool, json!({"path": path, "content": content})).await.success);
}

async fn edit(test: &TestFolder, path: &str, old: &str, new: &str) {
    let input = json!({"path": path, "old_string": old, "new_string": new});
    assert!(test.run(&EditTool, input).await.success);
}

fn undone(path: &str, state: UndoneState) -> Undone {
    Undone { path: path.into(), state }
}

#[tokio::test]
#[cfg_attr(windows, ignore = "paths are shown with backslashes there")]
async fn edits_are_taken_back_one_by_one_the_last_first() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one\r\n\u{feff}é");
    edit(&test, "a", "one", "two").await;
    edit(&test, "a", "two", "three").await;
    write(&test, "b/c", "new").await;
    let log = log(&transcript);
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap(), undone("b/c", UndoneState::Removed));
    assert!(!test.path("b/c").exists());
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap(), undone("a", UndoneState::Restored));
    assert_eq!(test.text("a"), "two\r\n\u{feff}é");
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap(), undone("a", UndoneState::Restored));
    assert_eq!(test.text("a"), "one\r\n\u{feff}é");
    assert!(matches!(log.undo_last(&mut Vec::new()), Err(UndoError::Nothing)));
}

#[tokio::test]
async fn what_changed_since_is_not_overwritten() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    write(&test, "b", "new").await;
    let test = test.with_file("a", "theirs").with_file("b", "theirs");
    let log = log(&transcript);
    let why = log.undo_last(&mut Vec::new()).unwrap_err().to_string();
    let message = "the last edit is of b, which has changed since, so it was not taken back; /undo again continues with the edits \
                of other files";
    assert_eq!(why, message);
    std::fs::remove_file(test.path("b")).unwrap();
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap(), undone("b", UndoneState::Unchanged));
    assert!(matches!(log.undo_last(&mut Vec::new()), Err(UndoError::ChangedSince { .. })));
    assert_eq!(test.text("a"), "theirs");
    std::fs::remove_file(test.path("a")).unwrap();
    assert!(matches!(log.undo_last(&mut Vec::new()), Err(UndoError::ChangedSince { .. })));
    assert!(!test.path("a").exists(), "who deleted it meant that");
}

#[test]
fn what_is_saved_while_an_edit_is_taken_back_is_not_overwritten() {
    let test = TestFolder::new().with_file("a", "two");
    let path = ConfinedPath::inside(&test.context.cwd, "a");
    for before in [Some(&b"one"[..]), None] {
        let now = file_change::load(&path).unwrap().unwrap();
        std::fs::write(test.path("a"), "saved meanwhile").unwrap();
        assert_eq!(restore(&path, &now, before).unwrap(), None);
        assert_eq!(test.text("a"), "saved meanwhile");
        std::fs::write(test.path("a"), "two").unwrap();
    }
}

#[tokio::test]
async fn a_file_that_changed_since_does_not_keep_the_edits_of_others_from_being_taken_back() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one").with_file("b", "one");
    write(&test, "a", "two").await;
    write(&test, "b", "two").await;
    write(&test, "a", "three").await;
    write(&test, "b", "three").await;
    let test = test.with_file("b", "theirs");
    let log = log(&transcript);
    let mut left_alone = Vec::new();
    let mut undo = || log.undo_last(&mut left_alone);
    assert!(matches!(undo(), Err(UndoError::ChangedSince { path, .. }) if path == "b"));
    assert_eq!(undo().unwrap(), undone("a", UndoneState::Restored));
    assert_eq!(undo().unwrap(), undone("a", UndoneState::Restored));
    assert_eq!((test.text("a").as_str(), test.text("b").as_str()), ("one", "theirs"));
    assert_eq!(undo().unwrap_err().to_string(), "nothing else can be taken back; left alone: b");
    let test = test.with_file("b", "three");
    assert_eq!(undo().unwrap(), undone("b", UndoneState::Restored), "it is as the agent left it again");
    assert_eq!(test.text("b"), "two");
}

#[tokio::test]
async fn who_takes_a_session_up_passes_over_nothing_yet() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    let _test = test.with_file("a", "theirs");
    let mut agent = Agent::new(Script::default()).with_transcript(transcript.clone());
    assert!(matches!(agent.undo(), Err(UndoError::ChangedSince { .. })));
    assert!(matches!(agent.undo(), Err(UndoError::OnlyLeftAlone { .. })));
    let mut agent = agent.with_transcript(transcript);
    assert!(matches!(agent.undo(), Err(UndoError::ChangedSince { .. })));
}

#[tokio::test]
async fn a_file_that_is_none_any_more_is_passed_over_too() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    write(&test, "b", "new").await;
    std::fs::remove_file(test.path("b")).unwrap();
    std::fs::create_dir(test.path("b")).unwrap();
    let log = log(&transcript);
    let mut left_alone = Vec::new();
    let why = log.undo_last(&mut left_alone).unwrap_err().to_string();
    assert_eq!(why, "the last edit cannot be taken back: b is a folder; nothing was done.");
    assert_eq!(log.undo_last(&mut left_alone).unwrap(), undone("a", UndoneState::Restored));
}

// Windows has no file modes.
#[cfg(unix)]
#[tokio::test]
async fn an_edit_is_taken_back_after_a_resume_and_the_file_keeps_its_mode() {
    let (test, transcript) = kept();
    let test = test.with_file("run.sh", "old");
    std::fs::set_permissions(test.path("run.sh"), PermissionsExt::from_mode(0o751)).unwrap();
    write(&test, "run.sh", "new").await;
    let folder = test.outside("sessions");
    let id = transcript.id();
    // The session is over, so no process has its file open.
    let mut test = test;
    Arc::make_mut(&mut test.context.shared).transcript = Transcript::in_memory();
    drop(transcript);
    let mut agent = Agent::new(Script::default()).with_transcript(Transcript::open(&folder, &id).unwrap());
    assert_eq!(agent.undo().unwrap(), undone("run.sh", UndoneState::Restored));
    assert_eq!(test.text("run.sh"), "old");
    assert_eq!(std::fs::metadata(test.path("run.sh")).unwrap().permissions().mode() & 0o777, 0o751);
}

// Windows has no file modes.
#[cfg(unix)]
#[tokio::test]
async fn what_is_kept_is_private() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    let folder = log(&transcript).folder;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("1")), mode(&folder.join("edits.jsonl"))), (0o700, 0o600, 0o600));
}

#[tokio::test]
async fn what_an_edit_replaces_is_kept_before_it_is_made() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    let path = ConfinedPath::inside(&test.context.cwd, "a");
    log(&transcript).keep(&path, Some(b"one"), b"two").unwrap();
    assert_eq!(std::fs::read(log(&transcript).folder.join("1")).unwrap(), b"one");
    // The process died before the edit, so the undo changes no file.
    assert_eq!(log(&transcript).undo_last(&mut Vec::new()).unwrap(), undone("a", UndoneState::Unchanged));
    assert_eq!(test.text("a"), "one");
}

#[tokio::test]
async fn an_edit_beyond_what_is_kept_is_made_and_said_to_be_for_good() {
    let (test, transcript) = kept();
    let path = ConfinedPath::inside(&test.context.cwd, "a");
    let log = UndoLog { max_kept: 5, ..log(&transcript) };
    log.keep(&path, Some(b"1234"), b"x").unwrap();
    assert!(log.keep(&path, Some(b"12"), b"y").is_err());
    log.keep(&path, Some(b"1"), b"z").unwrap();
    assert!(log.keep(&path, Some(b"1"), b"z").is_err());
    log.keep(&path, None, b"new").unwrap();
    let log = UndoLog { max_kept: 3 << 20, ..log };
    let why = log.keep(&path, Some(&vec![b'x'; 3 << 20]), b"x").unwrap_err().to_string();
    assert_eq!(why, "this session keeps at most 3 MiB of what edits replaced");
}

#[tokio::test]
async fn an_edit_that_cannot_be_taken_back_says_so() {
    let (mut test, transcript) = kept();
    std::fs::write(log(&transcript).folder, "in the way").unwrap();
    write(&test, "a", "x").await;
    let events = test.events();
    let [AgentEvent::Notice { message }] = &events[..] else { panic!("{events:?}") };
    assert!(message.starts_with("/undo cannot take this edit of a back: "), "{message}");
    assert_eq!(test.text("a"), "x");
}

#[tokio::test]
async fn a_line_that_was_cut_off_hides_no_other() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    let log = log(&transcript);
    let file = log.folder.join("edits.jsonl");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [whole.as_slice(), b"{\"type\":\"und"].concat()).unwrap();
    write(&test, "a", "three").await;
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap().state, UndoneState::Restored);
    assert_eq!(test.text("a"), "two");
    assert_eq!(log.undo_last(&mut Vec::new()).unwrap().state, UndoneState::Restored);
    assert_eq!(test.text("a"), "one");
}

#[tokio::test]
async fn what_is_kept_is_not_written_over_where_it_cannot_be_listed() {
    let (mut test, transcript) = kept();
    test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    let folder = log(&transcript).folder;
    std::fs::rename(folder.join("edits.jsonl"), folder.join("elsewhere")).unwrap();
    std::fs::create_dir(folder.join("edits.jsonl")).unwrap();
    write(&test, "a", "three").await;
    assert_eq!(std::fs::read(folder.join("1")).unwrap(), b"one");
    assert_eq!(test.events().len(), 1, "and it is said");
    assert!(matches!(log(&transcript).undo_last(&mut Vec::new()), Err(UndoError::Refused(_))));
    assert_eq!(test.text("a"), "three");
}

#[tokio::test]
async fn damaged_content_is_not_put_back() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    std::fs::write(log(&transcript).folder.join("1"), "o").unwrap();
    let why = log(&transcript).undo_last(&mut Vec::new()).unwrap_err().to_string();
    assert_eq!(why, "the last edit is of a: what the edit replaced is damaged; nothing was taken back");
    assert_eq!(test.text("a"), "two");
}

#[tokio::test]
async fn the_changes_of_a_session_are_one_diff_for_each_file() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one\ntwo\n").with_file("same", "x\n");
    edit(&test, "a", "one", "1").await;
    write(&test, "new", "n\n").await;
    edit(&test, "a", "two", "2").await;
    write(&test, "same", "y\n").await;
    write(&test, "same", "x\n").await;
    write(&test, "gone", "z\n").await;
    log(&transcript).undo_last(&mut Vec::new()).unwrap();
    let diffs = log(&transcript).diffs().unwrap();
    let expected = [
        ("a", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n"),
        ("new", "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n"),
        ("same", ""),
    ]
    .map(|(path, text)| FileDiff { path: path.into(), text: text.into() });
    assert_eq!(diffs, expected);
    std::fs::remove_file(test.path("new")).unwrap();
    assert_eq!(log(&transcript).diffs().unwrap()[1].text, "");
}

// On Windows, only an administrator can create links.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_was_swapped_in_is_not_followed() {
    let (test, transcript) = kept();
    write(&test, "folder/a", "x").await;
    crate::tools::test_fixtures::write(&test.outside("elsewhere/a"), "x");
    std::fs::remove_dir_all(test.path("folder")).unwrap();
    std::os::unix::fs::symlink(test.outside("elsewhere"), test.path("folder")).unwrap();
    assert!(log(&transcript).undo_last(&mut Vec::new()).is_err());
    assert!(test.outside("elsewhere/a").exists());
}

#[tokio::test]
async fn the_model_is_told_with_the_persons_next_words() {
    let (test, transcript) = kept();
    let test = test.with_file("a", "one");
    write(&test, "a", "two").await;
    let mut agent = Agent::new(Script::parse(r#"{"turns": [{"text": "ok"}]}"#).unwrap()).with_transcript(transcript);
    agent.undo().unwrap();
    assert_eq!(agent.messages(), [], "it is not the model's turn");
    futures_util::StreamExt::collect::<Vec<_>>(agent.run("go on")).await;
    let texts: Vec<String> = agent
        .messages()
        .iter()
        .map(|message| match message {
            crate::Message::User { text } => text.clone(),
            other => other.text(),
        })
        .collect();
    assert_eq!(texts, ["[The user took back your last edit of a: it is as it was before.]", "go on", "ok"]);
}

#[test]
fn a_session_that_is_not_kept_says_so() {
    let mut agent = Agent::new(Script::default());
    assert!(matches!(agent.undo(), Err(UndoError::NotKept)));
    assert!(matches!(agent.changes(), Err(UndoError::NotKept)));
}
