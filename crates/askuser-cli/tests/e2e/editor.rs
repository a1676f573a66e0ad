//! Tests Ctrl-G, which opens the text in the person's own editor.

use crate::terminal::{Stage, Terminal, example};

/// Returns a test environment whose editor is this script. The file is its first argument.
fn stage(script: &str) -> Stage {
    let stage = Stage::new().file("edit.sh", script);
    let editor = format!("sh {}", stage.path("edit.sh").display());
    stage.env("EDITOR", &editor)
}

/// Types a draft and opens the editor.
fn edit(stage: &Stage) -> Terminal {
    let mut terminal = stage.ask(&[&example("package-manager")]);
    terminal.wait_for("? keys");
    terminal.keys("4draft");
    terminal.wait_for("draft█");
    terminal.keys("<c-g>");
    terminal
}

/// Returns the number of files of the editor in the test environment.
fn drafts(stage: &Stage) -> usize {
    let names = std::fs::read_dir(stage.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".md")).count()
}

#[test]
fn what_the_editor_saves_becomes_the_text() {
    let stage = stage("cat \"$1\" >seen; printf 'from\\nthe editor\\n' >\"$1\"");
    let mut terminal = edit(&stage);
    terminal.wait_for("the editor█");
    assert_eq!(stage.read("seen"), "draft");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "from\nthe editor");
}

// Only GNU's `stat` supports `-c`.
#[cfg(target_os = "linux")]
#[test]
fn the_file_is_gone_afterwards_and_was_nobody_elses_to_read() {
    let stage = stage("stat -c %a \"$1\" >mode; echo edited >\"$1\"");
    let terminal = edit(&stage);
    terminal.wait_for("edited█");
    assert_eq!((stage.read("mode").trim(), drafts(&stage)), ("600", 0));
}

#[test]
fn a_failing_editor_keeps_the_draft() {
    let stage = stage("exit 3");
    let mut terminal = edit(&stage);
    terminal.wait_for("The editor failed, your text is kept");
    terminal.wait_for("draft█");
    assert_eq!(drafts(&stage), 0);
    terminal.keys("!<enter>");
    assert_eq!(terminal.finish().typed(), "draft!");
}

#[test]
fn what_an_editor_saved_before_it_died_is_kept_and_the_prompt_says_where() {
    let stage = stage("echo saved >\"$1\"; kill -9 $$");
    let mut terminal = edit(&stage);
    terminal.wait_for("what it saved is in");
    terminal.wait_for("draft█");
    let names = std::fs::read_dir(stage.path("")).unwrap().map(|entry| entry.unwrap().path());
    let kept = names.into_iter().find(|path| path.extension().is_some_and(|end| end == "md")).expect("a file");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "saved\n");
    // The message may be broken at any position.
    let name = kept.file_name().unwrap().to_string_lossy().into_owned();
    let shown: String = terminal.screen().chars().filter(|c| !c.is_whitespace() && *c != '│').collect();
    assert!(shown.contains(&name), "{name} in {}", terminal.screen());
    terminal.keys("!<enter>");
    assert_eq!(terminal.finish().typed(), "draft!");
}

#[test]
fn an_editor_that_does_not_exist_keeps_the_draft() {
    let stage = Stage::new().env("EDITOR", "no-such-editor");
    let mut terminal = edit(&stage);
    terminal.wait_for("The editor failed, your text is kept");
    terminal.wait_for("draft█");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!(ended.typed(), "draft");
    assert_eq!(ended.screen.matches("╭─").count(), 0, "{}", ended.screen);
}

#[test]
fn visual_is_tried_before_editor() {
    let stage = stage("echo editor >\"$1\"").env("VISUAL", "sh -c 'echo visual >\"$1\"' sh");
    let terminal = edit(&stage);
    terminal.wait_for("visual█");
}

#[test]
fn the_editor_has_the_terminal_whatever_the_streams_are() {
    let stage = stage("if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then echo yes >\"$1\"; fi");
    let input = example("package-manager");
    let mut terminal = stage.shell(&format!("askuser ask --key-delay 0 --success-flash 0 - <{input} >out 2>err"));
    terminal.wait_for("? keys");
    terminal.keys("4<c-g>");
    terminal.wait_for("yes█");
}

#[test]
fn the_editor_gets_the_terminal_as_it_was_before() {
    let stage = stage("stty -a >during; echo done >\"$1\"");
    let input = example("package-manager");
    let mut terminal =
        stage.shell(&format!("stty -a >before; askuser ask --key-delay 0 --success-flash 0 {input} >out 2>err"));
    terminal.wait_for("? keys");
    terminal.keys("4<c-g>");
    terminal.wait_for("done█");
    assert_eq!(stage.read("before"), stage.read("during"));
}

#[test]
fn the_frame_steps_aside_for_the_editor_and_comes_back_once() {
    let stage = stage("echo EDITING; read line; echo \"$line\" >\"$1\"");
    let mut terminal = edit(&stage);
    terminal.wait_for("EDITING");
    assert!(!terminal.screen().contains('╭'), "{}", terminal.screen());
    assert!(!terminal.look(vt100::Screen::bracketed_paste) && !terminal.look(vt100::Screen::hide_cursor));
    terminal.keys("typed into the editor<enter>");
    terminal.wait_for("typed into the editor█");
    assert_eq!(terminal.screen().matches("╭─ Package Mgr ─╮").count(), 1, "{}", terminal.screen());
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "typed into the editor");
}

#[test]
fn control_c_in_the_editor_interrupts_the_editor_alone() {
    let stage = stage("echo EDITING; exec sleep 60");
    let mut terminal = edit(&stage);
    terminal.wait_for("EDITING");
    terminal.keys("<c-c>");
    terminal.wait_for("The editor failed, your text is kept");
    terminal.wait_for("draft█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "draft");
}

#[test]
fn an_edited_text_that_is_too_long_is_refused_and_neither_it_nor_the_draft_is_lost() {
    let stage = stage("head -c 16001 /dev/zero | tr '\\0' x >\"$1\"");
    let mut terminal = edit(&stage);
    terminal.wait_for("16001 characters, at most 16000; your text is in");
    terminal.wait_for("draft█");
    assert_eq!(drafts(&stage), 1);
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "draft");
}

#[test]
fn an_edited_text_is_cleaned_like_a_pasted_one() {
    let stage = stage("printf 'a\\033[2Jb\\033]0;t\\007c' >\"$1\"");
    let mut terminal = edit(&stage);
    terminal.wait_for("abc█");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.typed().as_str(), ended.surprises), ("abc", Vec::new()));
}

#[test]
fn among_the_options_the_editor_opens_on_other_only() {
    let stage = stage("echo edited >\"$1\"");
    let mut terminal = stage.ask(&[&example("package-manager")]);
    terminal.wait_for("? keys");
    terminal.keys("<c-g>");
    terminal.wait_for("Choose Other or press n to have a text to edit");
    terminal.keys("<down><down><down><c-g>");
    terminal.wait_for("edited█");
}

#[test]
fn a_signal_while_editing_ends_both() {
    let stage = stage("echo EDITING; exec sleep 60");
    let terminal = edit(&stage);
    terminal.wait_for("EDITING");
    terminal.signal(rustix::process::Signal::TERM);
    let ended = terminal.finish();
    assert_eq!(ended.signal.as_deref(), Some("Terminated"));
    assert!(ended.modes.termios_as_found);
}

#[test]
fn a_link_that_an_editor_leaves_shows_no_other_file_and_a_pipe_is_not_waited_for() {
    for script in [
        "ln -sf \"$HOME/secret\" \"$1\"",
        "rm \"$1\"; mkfifo \"$1\"",
        "ln -sf /dev/zero \"$1\"",
        "head -c 1048577 /dev/zero >\"$1\"",
    ] {
        let stage = stage(script).file("secret", "hidden");
        let mut terminal = edit(&stage);
        terminal.wait_for("The editor failed, your text is kept");
        terminal.wait_for("draft█");
        assert!(!terminal.screen().contains("hidden"), "{script}: {}", terminal.screen());
        terminal.keys("!<enter>");
        assert_eq!(terminal.finish().typed(), "draft!", "{script}");
    }
}
