//! Prompts use as many colours as the terminal has, and none if the user wants none.

use crate::terminal::{Stage, example};

/// Returns the colour codes in an output: all numbers of its SGR sequences except those for attributes.
fn codes(raw: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(raw);
    let sequences = text.split("\x1b[").skip(1);
    let attributes = ["", "0", "1", "2", "3", "4", "7"];
    let mut codes = Vec::new();
    for sequence in sequences {
        let end = sequence.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(sequence.len());
        if sequence[end..].starts_with('m') {
            let numbers: Vec<&str> = sequence[..end].split(';').skip_while(|n| attributes.contains(n)).collect();
            codes.extend((!numbers.is_empty()).then(|| numbers.join(";")));
        }
    }
    codes
}

/// Returns all output while a prompt is shown and answered.
fn written(stage: &Stage, args: &[&str]) -> Vec<u8> {
    let file = example("database");
    let mut terminal = stage.ask(&[&[file.as_str()], args].concat());
    terminal.wait_until("the prompt", |screen| screen.contains("? keys"));
    // These keys lead to all colours: a rejected key, a moved cursor, a confirmation.
    terminal.keys("9<down>");
    terminal.wait_until("the cursor on the second option", |screen| {
        screen.contains("> ○ MongoDB") || screen.contains("> ( ) MongoDB")
    });
    terminal.keys("<enter>");
    terminal.finish().raw
}

#[test]
fn truecolor_terminals_get_the_hex_values_of_the_proposals() {
    let codes = codes(&written(&Stage::new().env("COLORTERM", "truecolor"), &[]));
    for value in ["38;2;129;140;248", "38;2;241;245;249", "38;2;148;163;184", "38;2;100;116;139", "38;2;52;211;153"] {
        assert!(codes.iter().any(|code| code.contains(value)), "no {value} in {codes:?}");
    }
}

#[test]
fn a_light_background_gets_the_light_palette() {
    let codes = codes(&written(&Stage::new().env("COLORTERM", "truecolor"), &["--theme", "light"]));
    assert!(codes.iter().any(|code| code.contains("38;2;79;70;229")), "{codes:?}");
    assert!(!codes.iter().any(|code| code.contains("38;2;129;140;248")), "{codes:?}");
}

#[test]
fn a_light_background_is_known_from_the_environment() {
    let codes = codes(&written(&Stage::new().env("COLORTERM", "truecolor").env("COLORFGBG", "0;15"), &[]));
    assert!(codes.iter().any(|code| code.contains("38;2;79;70;229")), "{codes:?}");
}

#[test]
fn a_theme_that_was_asked_for_wins_over_the_environment() {
    let stage = Stage::new().env("COLORTERM", "truecolor").env("COLORFGBG", "0;15");
    let codes = codes(&written(&stage, &["--theme", "dark"]));
    assert!(codes.iter().any(|code| code.contains("38;2;129;140;248")), "{codes:?}");
}

#[test]
fn a_terminal_of_256_colours_gets_the_nearest() {
    let codes = codes(&written(&Stage::new(), &[]));
    assert!(codes.iter().any(|code| code.contains("38;5;105")), "{codes:?}");
    assert!(!codes.iter().any(|code| code.contains(";2;")), "{codes:?}");
}

#[test]
fn a_terminal_of_16_colours_gets_named_ones() {
    let codes = codes(&written(&Stage::new().env("TERM", "xterm"), &[]));
    assert!(codes.iter().any(|code| code == "94"), "{codes:?}");
    assert!(!codes.iter().any(|code| code.contains("38;") || code.contains("48;")), "{codes:?}");
}

#[test]
fn no_color_means_no_colour() {
    let none: Vec<String> = Vec::new();
    assert_eq!(codes(&written(&Stage::new().env("NO_COLOR", "1").env("COLORTERM", "truecolor"), &[])), none);
}

#[test]
fn no_colour_can_be_asked_for() {
    assert_eq!(codes(&written(&Stage::new(), &["--color", "none"])), Vec::<String>::new());
}

#[test]
fn colours_can_be_asked_for() {
    let codes = codes(&written(&Stage::new().env("TERM", "xterm"), &["--color", "truecolor"]));
    assert!(codes.iter().any(|code| code.contains("38;2;129;140;248")), "{codes:?}");
}

#[test]
fn without_colour_the_choice_is_still_to_be_seen() {
    let stage = Stage::new().env("NO_COLOR", "1");
    let mut terminal = stage.ask(&[&example("features")]);
    terminal.wait_for("? keys");
    terminal.keys("<down><space>");
    terminal.wait_for("> ☑ ESLint + Prettier");
    assert!(terminal.screen().contains("  ☐ TypeScript"));
}

#[test]
fn a_serial_terminal_gets_ascii_and_no_colour() {
    let stage = Stage::new().env("TERM", "vt100");
    let raw = written(&stage, &[]);
    assert!(raw.is_ascii(), "{:?}", String::from_utf8_lossy(&raw));
    assert_eq!(codes(&raw), Vec::<String>::new());
}

#[test]
fn a_serial_terminal_shows_the_same_prompt() {
    let terminal = Stage::new().env("TERM", "vt100").ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.wait_for_rest(1);
    let expected = "
+- Database -+
|
|  Which database should we use for this project?
|
|  1 > ( ) PostgreSQL (Recommended)
|          Robust relational DB, great for complex queries
|
|  2   ( ) MongoDB
|          Document DB, flexible schema for rapid development
|
|  3   ( ) SQLite
|          Embedded DB, zero configuration, good for small apps
|
|  4   ( ) Other
|          Type something else...
|
+-------------------------------------------------------------+
  enter select * n note * c discuss * d decline * esc cancel * ? keys";
    assert_eq!(terminal.screen(), expected);
}

#[test]
fn an_old_charset_gets_ascii() {
    let stage = Stage::new().env("LANG", "de_DE.ISO-8859-1");
    assert!(written(&stage, &[]).is_ascii());
}

#[test]
fn nothing_is_asked_of_a_terminal_whose_background_is_known() {
    // A terminal that never replies must not delay the command, and a reply would go to the shell.
    let raw = written(&Stage::new().env("COLORTERM", "truecolor"), &[]);
    let text = String::from_utf8_lossy(&raw);
    for query in ["\x1b[6n", "\x1b[c", "\x1b[0c", "\x1b[>", "\x1b]", "\x1bP", "\x1b[?u", "$p"] {
        assert!(!text.contains(query), "{query:?} in {text:?}");
    }
}

#[test]
fn a_light_terminal_that_says_nothing_of_itself_is_asked_after_the_first_frame_and_repainted() {
    let stage = Stage::new().env("COLORTERM", "truecolor").env("COLORFGBG", "");
    let mut terminal = stage.ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.wait_raw("\x1b]11;?\x1b\\");
    let raw = terminal.raw();
    assert!(!codes(&raw).iter().any(|code| code.contains("38;2;")), "{:?}", codes(&raw));
    terminal.keys("<esc>]11;rgb:ffff/ffff/ffff<esc>\\");
    terminal.wait_raw("38;2;79;70;229");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!(ended.picks(), serde_json::json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn a_terminals_reply_with_line_ends_or_in_eight_bits_answers_nothing() {
    for reply in [
        &b"\x1b]11;rgb:0/0/0\n1\r\x1b\\"[..],
        b"\x1bP>|XTerm\n1\r\x1b\\",
        b"\x9d11;rgb:0/0/0\x9c\x9b?61;22c",
        b"\xc2\x9d11;1\r\xc2\x9c\xc2\x9b?61;22c",
    ] {
        let stage = Stage::new().env("COLORFGBG", "");
        let mut terminal = stage.ask(&[&example("database")]);
        terminal.wait_for("? keys");
        terminal.wait_raw("\x1b]11;?");
        terminal.write(reply);
        terminal.keys("3");
        assert_eq!(terminal.finish().picks(), serde_json::json!([["SQLite"]]), "{}", reply.escape_ascii());
    }
}

/// tmux shows a grey of the 256 colours as black if its terminal has eight colours.
#[test]
fn in_tmux_no_text_is_black_in_a_terminal_of_eight_colours() {
    if std::process::Command::new("tmux").arg("-V").output().is_err() {
        askuser_conformance::left_out_without("tmux");
        return;
    }
    for (around, has_grey) in [("xterm", false), ("xterm-256color", true)] {
        let stage = Stage::new().file("tmux.conf", "set -g status off\n");
        let folder = stage.path("").display().to_string();
        let stage = stage.env("TMUX_TMPDIR", &folder).env("COLORFGBG", "").env("COLORTERM", "").env("TERM", around);
        let ask = format!("TERM=screen-256color exec askuser ask {}", example("database"));
        let mut person = stage.command(&["tmux", "-f", "tmux.conf", "new-session", "sh", "-c", &ask]);
        person.wait_for("? keys");
        person.keys("<esc>");
        let codes = codes(&person.finish().raw);
        assert!(!codes.iter().any(|code| code == "30"), "{around}: {codes:?}");
        assert_eq!(codes.iter().any(|code| code == "38;5;243"), has_grey, "{around}: {codes:?}");
        let _ = std::process::Command::new("tmux")
            .env("TMUX_TMPDIR", &folder)
            .env_remove("TMUX")
            .arg("kill-server")
            .output();
    }
}

#[test]
fn reports_have_colours_on_a_terminal_and_none_elsewhere() {
    let stage = Stage::new().env("COLORTERM", "truecolor");
    assert_eq!(stage.run(&["confirm", "Deploy?", "--via", "inbox", "--popup", "none", "--detach"]).code, Some(75));
    for report in ["doctor", "config", "log", "--help", "ask --help"] {
        let shown = codes(&stage.shell(&format!("exec askuser {report}")).finish().raw);
        assert!(!shown.is_empty(), "{report} has no colours");
        let plain = codes(&stage.clone().env("NO_COLOR", "1").shell(&format!("exec askuser {report}")).finish().raw);
        assert!(plain.is_empty(), "{report} has {plain:?}");
        let printed = stage.run(&report.split(' ').collect::<Vec<_>>()).stdout;
        assert!(printed.len() > 50 && !printed.contains('\x1b'), "{report}: {printed}");
    }
}
