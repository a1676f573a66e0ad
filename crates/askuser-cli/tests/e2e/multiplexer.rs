//! Tests in tmux, which rewraps its lines on a resize and has a readable history.

use crate::terminal::{Stage, comes, example, wait_until};
use std::process::Command;

/// A separate tmux server with one window of 80x24.
struct Tmux {
    stage: Stage,
}

impl Tmux {
    /// Starts the server. Returns `None`, with a notice, if tmux is not installed. With `CI` set, that is a failure.
    fn start(script: &str) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            askuser_conformance::left_out_without("tmux");
            return None;
        }
        let tmux = Tmux { stage: Stage::new() };
        let folder = tmux.stage.path("").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_askuser")).parent().expect("a folder").display();
        let script = format!("PATH={binaries}:$PATH; cd {folder}; {script}");
        let status = tmux
            .command(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", &script])
            .env_clear()
            .envs([("HOME", folder.as_str()), ("PATH", &path), ("TERM", "xterm-256color"), ("LANG", "C.UTF-8")])
            .status()
            .expect("tmux");
        assert!(status.success());
        Some(tmux)
    }

    /// Asks an example below this many lines of conversation.
    fn ask(name: &str, lines: usize) -> Option<Tmux> {
        Tmux::start(&format!(
            "seq {lines}; askuser ask --key-delay 0 --success-flash 0 {} >out 2>err; echo code $?; exec sleep 60",
            example(name)
        ))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.stage.path("socket")).args(args);
        command
    }

    fn run(&self, args: &[&str]) -> String {
        let output = self.command(args).output().expect("tmux");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Returns the screen with all rows that have scrolled off it.
    fn history(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-"]).trim_end().to_owned()
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    #[track_caller]
    fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        assert!(comes(|| holds(&self.screen())), "never seen: {what}\n{}", self.history());
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the output of `see` contains exactly one frame of this width.
    #[track_caller]
    fn check_one_frame(&self, columns: u16, see: impl Fn(&Tmux) -> String) {
        let clean = |screen: &str| {
            let rows: Vec<&str> = screen.lines().skip_while(|row| !row.starts_with('╭')).collect();
            let inside: Vec<&&str> = rows.iter().skip(1).take_while(|row| row.starts_with('│')).collect();
            let count = |part: char| screen.matches(part).count();
            let is_whole = rows.get(1 + inside.len()).is_some_and(|row| row.starts_with('╰'));
            let fits = rows.iter().all(|row| row.chars().count() < usize::from(columns));
            !inside.is_empty() && is_whole && fits && count('╭') == 1 && count('╰') == 1
        };
        self.wait_until(&format!("one frame of {columns} columns"), |_| clean(&see(self)));
    }
}

/// Returns a conversation of `lines` lines with this text after it.
fn after(lines: usize, rest: &str) -> String {
    (1..=lines).map(|n| format!("{n}\n")).collect::<String>() + rest
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

#[test]
fn a_prompt_is_answered_under_tmux() {
    let Some(tmux) = Tmux::ask("database", 1) else { return };
    tmux.wait_for("? keys");
    tmux.keys(&["Down", "Enter"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.history(), after(1, "\n✔ Database: MongoDB\ncode 0"));
}

#[test]
fn narrower_and_wider_leave_one_frame_where_lines_are_rewrapped() {
    let Some(tmux) = Tmux::ask("database", 12) else { return };
    tmux.wait_for("? keys");
    for columns in [60, 45, 50, 100, 70, 120, 80] {
        tmux.resize(columns, 40);
        tmux.check_one_frame(columns, Tmux::history);
    }
    tmux.keys(&["Down", "Enter"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.history(), after(12, "\n✔ Database: MongoDB\ncode 0"));
}

#[test]
fn a_prompt_of_a_script_leaves_one_frame_where_lines_are_rewrapped() {
    let Some(tmux) =
        Tmux::start("seq 12; askuser confirm --key-delay 0 --success-flash 0 Deploy?; echo code $?; exec sleep 60")
    else {
        return;
    };
    tmux.wait_for("? keys");
    for columns in [60, 45, 50, 100, 70, 120, 80] {
        tmux.resize(columns, 40);
        tmux.wait_until(&format!("one frame at {columns}"), |_| {
            let history = tmux.history();
            history.matches("Deploy?").count() == 1 && history.starts_with(&after(12, "╭"))
        });
    }
    tmux.keys(&["y"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.history(), after(12, "✔ Deploy? Yes\ncode 0"));
}

#[test]
fn a_resize_while_typing_leaves_one_frame_where_lines_are_rewrapped() {
    let Some(tmux) = Tmux::ask("database", 12) else { return };
    tmux.wait_for("? keys");
    tmux.resize(80, 40);
    tmux.keys(&["4", "half a thought"]);
    tmux.wait_for("half a thought");
    for columns in [60, 45, 50, 100, 70, 80] {
        tmux.resize(columns, 40);
        tmux.check_one_frame(columns, Tmux::history);
    }
    tmux.keys(&["!", "Enter"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.history(), after(12, "\n✔ Database: half a thought!\ncode 0"));
}

#[test]
fn fewer_rows_while_typing_and_back_leave_no_rows_of_an_old_frame() {
    let Some(tmux) = Tmux::ask("database", 12) else { return };
    tmux.wait_for("? keys");
    tmux.keys(&["4", "half a thought"]);
    tmux.wait_for("half a thought");
    for rows in [14, 24, 10, 6, 14, 24, 5, 40, 24] {
        tmux.resize(80, rows);
        tmux.wait_until(&format!("one frame at 80x{rows}"), |screen| {
            let count = |part: &str| screen.matches(part).count();
            (count("╭"), count("╰"), count("half a thought")) == (1, 1, 1) && screen.lines().count() <= rows.into()
        });
    }
    tmux.check_one_frame(80, Tmux::history);
    tmux.keys(&["!", "Enter"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.history(), after(12, "\n✔ Database: half a thought!\ncode 0"));
}

#[test]
fn fewer_rows_and_back_leave_no_rows_of_the_agents_old_box() {
    let script =
        r#"echo '{"turns":[{"text":"Hello."}]}' >script.json; askuser agent --script script.json; exec sleep 60"#;
    let Some(tmux) = Tmux::start(&format!("seq 12; {script}")) else { return };
    tmux.wait_for("Say what to do");
    for line in 1..=7 {
        tmux.keys(&["-l", &format!("draft {line}")]);
        tmux.keys(&["C-j"]);
    }
    tmux.keys(&["-l", "the end"]);
    tmux.wait_for("the end");
    for rows in [12, 24, 4, 24, 5, 30, 24] {
        tmux.resize(80, rows);
        tmux.wait_until(&format!("one box at 80x{rows}"), |screen| {
            let count = |part: &str| screen.matches(part).count();
            let framed = if rows < 7 { 0 } else { 1 };
            (count("╭─"), count("╰─"), count("the end")) == (framed, framed, 1) && screen.lines().count() <= rows.into()
        });
    }
    tmux.check_one_frame(80, Tmux::history);
}

#[test]
fn at_the_top_of_the_screen_the_screen_is_clean_too() {
    // In this case tmux moves the top of the rewrapped frame into its history, where it cannot be erased.
    let Some(tmux) = Tmux::ask("database", 1) else { return };
    tmux.wait_for("? keys");
    for columns in [60, 45, 50, 100, 70, 120, 80] {
        tmux.resize(columns, 30);
        tmux.check_one_frame(columns, Tmux::screen);
    }
    tmux.keys(&["Down", "Enter"]);
    tmux.wait_for("code 0");
    assert!(tmux.screen().ends_with("✔ Database: MongoDB\ncode 0"), "{}", tmux.screen());
}

#[test]
fn a_frame_wiped_from_the_first_cell_of_the_screen_is_not_saved_to_the_history() {
    let Some(tmux) = Tmux::ask("database", 1) else { return };
    tmux.wait_for("? keys");
    // Two lines above the frame are rewrapped, so that it begins in the first cell. tmux would keep a screen that is
    // cleared from there.
    tmux.resize(62, 24);
    tmux.check_one_frame(62, Tmux::history);
}

#[test]
fn a_smaller_window_and_back_leaves_one_frame_on_the_screen() {
    let Some(tmux) = Tmux::ask("database", 1) else { return };
    tmux.wait_for("? keys");
    for (columns, rows) in [(40, 12), (20, 5), (80, 24)] {
        tmux.resize(columns, rows);
        tmux.wait_until(&format!("one frame at {columns}x{rows}"), |screen| {
            screen.matches('╭').count() == 1 && screen.lines().all(|line| line.chars().count() < columns.into())
        });
    }
    tmux.wait_for("? keys");
    tmux.keys(&["3"]);
    tmux.wait_for("code 0");
    assert!(tmux.screen().ends_with("✔ Database: SQLite\ncode 0"), "{}", tmux.screen());
}

#[test]
fn a_long_answer_is_left_whole_in_the_scrollback() {
    let Some(tmux) = Tmux::ask("package-manager", 1) else { return };
    tmux.wait_for("? keys");
    tmux.keys(&["4"]);
    tmux.wait_for("Please specify:");
    let text: Vec<String> = (100..150).map(|n| n.to_string()).collect();
    tmux.keys(&["-l", &text.join(" ")]);
    tmux.wait_for("149");
    tmux.keys(&["Enter"]);
    tmux.wait_for("code 0");
    // The text is broken between words, with a bar before each further row, and is not truncated.
    let words = tmux.history().split_whitespace().filter(|word| *word != "┃").collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("✔ Package Mgr: {} code 0", text.join(" "))), "{}", tmux.history());
}

#[test]
fn the_modes_are_as_before_under_tmux() {
    let example = example("database");
    let script =
        format!("stty -a >before; askuser ask --key-delay 0 {example} >out; stty -a >after; echo code $?; sleep 60");
    let Some(tmux) = Tmux::start(&script) else { return };
    tmux.wait_for("? keys");
    tmux.keys(&["Escape"]);
    tmux.wait_for("code 0");
    assert_eq!(tmux.stage.read("before"), tmux.stage.read("after"));
    assert_eq!(tmux.run(&["display-message", "-p", "#{cursor_flag} #{wrap_flag}"]).trim(), "1 1");
}

#[test]
fn a_terminal_that_goes_away_ends_the_prompt() {
    let example = example("database");
    // The process ignores the signal that would end it, as under nohup, so it must detect the closed terminal itself.
    let script = format!("trap '' HUP; askuser ask {example} >out 2>err; echo $? >code");
    let Some(tmux) = Tmux::start(&script) else { return };
    tmux.wait_for("? keys");
    tmux.run(&["kill-server"]);
    wait_until("the end of a prompt without a terminal", || !tmux.stage.read("code").is_empty());
    assert_eq!(tmux.stage.read("code").trim(), "3");
    assert!(tmux.stage.read("out").contains("\"status\":\"unavailable\""), "{}", tmux.stage.read("out"));
    assert!(tmux.stage.read("err").contains("the terminal was closed"), "{}", tmux.stage.read("err"));
}

#[test]
fn narrower_while_a_command_writes_leaves_no_rows_of_what_it_showed() {
    let command = "for i in 1 2 3 4 5 6; do echo out $i; done; read line < go";
    let turns = serde_json::json!([{"calls": [{"name": "Bash", "input": {"command": command}}]}, {"text": "Over."}]);
    let script = serde_json::json!({"prompt": "go", "turns": turns});
    // For every wrapped row tmux pushes a row into its history, permanently. The conversation above must be long
    // enough.
    let start = format!(
        "seq 40; mkfifo go; echo '{}' >script.json; askuser agent --script script.json --permissions allow; exec sleep 60",
        script.to_string().replace('\'', "'\\''")
    );
    let Some(tmux) = Tmux::start(&start) else { return };
    tmux.wait_for("out 6");
    tmux.wait_for("Working");
    for columns in [60, 45, 80] {
        tmux.resize(columns, 24);
        // tmux reports the resize a quarter of a second later. Until then each row also appears once, so the test waits
        // for a box of this width.
        let bottom = format!("╰{}╯", "─".repeat(usize::from(columns) - 3));
        tmux.wait_until(&format!("one of each row at {columns} columns"), |_| {
            let history = tmux.history();
            let once = |part: &str| history.matches(part).count() == 1;
            [&bottom, "● Bash", "out 6", "Working", "╭─", "╰─"].into_iter().all(once)
        });
    }
}
