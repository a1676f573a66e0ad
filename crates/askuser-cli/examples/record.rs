//! Records real sessions as animated SVGs, for the README:
//!
//! ```sh
//! cargo build --release
//! cargo run -p askuser-cli --example record hero > docs/hero.svg        # needs npm, python3, git and tmux
//! cargo run -p askuser-cli --example record prompt > docs/prompt.svg
//! cargo run -p askuser-cli --example record agent > docs/agent.svg
//! ```
//!
//! The program runs in a PTY, keys are typed, and a terminal emulator turns the bytes into screens. Lines are drawn
//! instead of written, because fonts leave gaps between them. The pressed keys are shown below the screen.
//!
//! Each frame contains its screen as text, for people who cannot see it. It also contains the keys that lead to the
//! next frame. `tests/e2e/pictures.rs` repeats these keys with the current program.

use portable_pty::{Child, CommandBuilder, NativePtySystem, PtySize, PtySystem};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The columns and rows of a terminal.
#[derive(Clone, Copy)]
struct Size {
    columns: u16,
    rows: u16,
}

const USUAL: Size = Size { columns: 80, rows: 24 };
const TALL: Size = Size { columns: 88, rows: 30 };
/// The rows of the lower pane, where `askuser inbox` runs.
const INBOX_ROWS: &str = "13";

/// The typed keys, each with the time in seconds for which the screen before it is shown.
const PROMPT: &[(&str, f32)] = &[
    ("\x1b[B", 1.6),
    ("\x1b[A", 0.7),
    ("\r", 1.0),
    (" ", 1.4),
    ("\x1b[B", 0.6),
    (" ", 0.6),
    ("5", 1.0),
    ("G", 0.9),
    ("i", 0.15),
    ("t", 0.15),
    ("L", 0.15),
    ("a", 0.15),
    ("b", 0.15),
    ("\r", 0.9),
    ("\r", 0.9),
    ("\r", 2.4),
];

/// The texts to wait for on the screen, with the keys to type then. Each key has the time in seconds before it.
const AGENT: &[(&str, &[(&str, f32)])] = &[
    ("Which database", &[("\x1b[B", 1.5), ("\x1b[B", 0.4), ("\r", 0.9)]),
    ("Full-text search", &[(" ", 1.0), ("\x1b[B", 0.4), (" ", 0.4), ("\r", 0.9)]),
    ("Send these answers", &[("\r", 1.5)]),
    ("Create STORAGE.md", &[("\r", 2.0)]),
];
/// The texts to wait for in the README's main recording, with the keys for Claude Code and the lower pane.
const HERO: &[(&str, &[(&str, f32)])] = &[
    ("Set up storage for the shop", &[("\r", 1.0)]),
    ("Claude Code  shop", &[(DOWN_A_PANE, 0.0), ("\r", 1.4)]),
    ("Type something else", &[("\x1b[B", 1.2), ("\r", 0.9)]),
];
/// The keys of tmux that select the pane below.
const DOWN_A_PANE: &str = "\x02\x1b[B";
const LAST: f32 = 3.0;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let recorder = match std::env::args().nth(1).as_deref() {
        Some("prompt") => {
            let input = root.join("examples/authentication.json");
            let args = ["ask", "--key-delay", "0", input.to_str().ok_or("a path that is not UTF-8")?];
            let mut recorder =
                Recorder::start(USUAL, "askuser ask examples/authentication.json", &binary()?, &args, &root)?;
            for (keys, seconds) in PROMPT {
                recorder.settle();
                recorder.hold(*seconds);
                recorder.press(keys)?;
            }
            recorder.child.wait()?;
            recorder.settle();
            recorder.hold(LAST);
            recorder
        }
        Some("agent") => {
            // The recording uses an empty folder and none of the user's sessions.
            let folder = tempfile::tempdir()?;
            let work = folder.path().join("notes");
            std::fs::create_dir(&work)?;
            let script = root.join("examples/agent/database.json");
            let args = ["agent", "--script", script.to_str().ok_or("a path that is not UTF-8")?];
            let typed = "askuser agent --script examples/agent/database.json";
            let mut recorder = Recorder::start(USUAL, typed, &binary()?, &args, &work)?;
            recorder.play(AGENT)?;
            recorder.watch("or continue")?;
            recorder.settle();
            recorder.hold(LAST);
            recorder.child.kill()?;
            recorder
        }
        Some("hero") => {
            let script = root.join("tests/clients/hero.py");
            let script = script.to_str().ok_or("a path that is not UTF-8")?;
            let folder = tempfile::tempdir()?;
            let args = ["-B", script, INBOX_ROWS];
            let mut recorder = Recorder::start(TALL, "", Path::new("python3"), &args, folder.path())?;
            recorder.watch("auto mode")?;
            recorder.watch("0 waiting")?;
            recorder.settle();
            recorder.keyboard.write_all(b"Set up storage for the shop")?;
            recorder.play(HERO)?;
            recorder.watch("SQLite it is")?;
            recorder.settle();
            recorder.frames.retain(|frame| !frame.is_passing);
            recorder.hold(2.6);
            recorder.child.kill()?;
            recorder
        }
        _ => return Err("which? hero, prompt or agent".into()),
    };
    std::io::stdout().write_all(animate(&recorder.frames, recorder.size).as_bytes())?;
    Ok(())
}

/// A screen, with the time for which it is shown.
struct Frame {
    picture: String,
    text: String,
    /// The keys that lead to the next frame.
    keys: String,
    seconds: f32,
    /// Whether the screen appeared and disappeared without a key.
    is_passing: bool,
}

/// A program in a terminal, and its recorded frames.
struct Recorder {
    size: Size,
    child: Box<dyn Child + Send + Sync>,
    bytes: Receiver<Vec<u8>>,
    keyboard: Box<dyn Write + Send>,
    screen: vt100::Parser,
    frames: Vec<Frame>,
    /// The names of the last pressed keys.
    pressed: Vec<&'static str>,
}

impl Recorder {
    fn start(size: Size, typed: &str, program: &Path, args: &[&str], folder: &Path) -> Result<Recorder> {
        let pty_size = PtySize { rows: size.rows, cols: size.columns, pixel_width: 0, pixel_height: 0 };
        let pty = NativePtySystem::default().openpty(pty_size)?;
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("COLORFGBG", "15;0");
        command.env("HOME", folder.parent().unwrap_or(folder));
        command.env("ASKUSER", binary()?);
        command.env_remove("XDG_STATE_HOME");
        command.env_remove("TMUX");
        command.env("TMUX_TMPDIR", folder);
        let release = binary()?.parent().map(Path::to_owned).unwrap_or_default();
        command.env("PATH", format!("{}:{}", release.display(), std::env::var("PATH").unwrap_or_default()));
        let child = pty.slave.spawn_command(command)?;
        drop(pty.slave);
        let bytes = read_in_background(pty.master.try_clone_reader()?);
        let keyboard = pty.master.take_writer()?;
        let known = |n: u16| n.try_into().map_err(|_| "a screen has rows and columns");
        let mut screen = vt100::Parser::new(known(size.rows)?, known(size.columns)?, 0);
        if !typed.is_empty() {
            screen.process(format!("\x1b[32m$\x1b[m {typed}").as_bytes());
        }
        Ok(Recorder { size, child, bytes, keyboard, screen, frames: Vec::new(), pressed: Vec::new() })
    }

    /// Types the keys of each scene once the screen shows its text. The recording begins with the first question.
    fn play(&mut self, scenes: &[(&str, &[(&str, f32)])]) -> Result<()> {
        for (i, (shown, keys)) in scenes.iter().enumerate() {
            self.watch(shown)?;
            if i == 0 {
                self.frames.clear();
            }
            for (keys, seconds) in *keys {
                self.settle();
                self.hold(*seconds);
                // A question that follows another one ignores keys at first.
                std::thread::sleep(Duration::from_secs_f32(*seconds));
                self.press(keys)?;
            }
        }
        Ok(())
    }

    fn press(&mut self, keys: &str) -> Result<()> {
        if let Some(frame) = self.frames.last_mut() {
            frame.keys.push_str(keys);
            frame.is_passing = false;
        }
        let name = match keys {
            "\x1b[A" => "↑",
            "\x1b[B" => "↓",
            "\r" => "Enter",
            " " => "Space",
            "1" => "1",
            "5" => "5",
            _ => "a letter",
        };
        self.pressed.extend(Some(name).filter(|_| keys != DOWN_A_PANE));
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }

    /// Processes output until there has been none for a while.
    fn settle(&mut self) {
        while let Ok(chunk) = self.bytes.recv_timeout(Duration::from_millis(300)) {
            self.screen.process(&chunk);
        }
    }

    /// Adds a frame with the current screen.
    fn hold(&mut self, seconds: f32) {
        let screen = self.screen.screen();
        let picture = draw(screen, self.size) + &keys(&self.pressed, self.size);
        let text = screen.contents();
        match self.frames.last_mut() {
            Some(last) if last.picture == picture => last.seconds += seconds,
            _ => self.frames.push(Frame { picture, text, keys: String::new(), seconds, is_passing: true }),
        }
    }

    /// Records the screens until one contains these words.
    fn watch(&mut self, words: &str) -> Result<()> {
        let begun = Instant::now();
        while !self.screen.screen().contents().contains(words) {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err(format!("no {words:?} on\n{}", self.screen.screen().contents()).into());
            }
            let until = Instant::now() + Duration::from_millis(200);
            while let Ok(chunk) = self.bytes.recv_timeout(until.saturating_duration_since(Instant::now())) {
                self.screen.process(&chunk);
            }
            self.hold(0.2);
        }
        Ok(())
    }
}

/// Returns the path of the program that was built last.
fn binary() -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    let target = here.ancestors().nth(3).ok_or("no target folder")?;
    let built = ["release/askuser", "debug/askuser"].map(|name| target.join(name)).into_iter();
    let newest = built.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
    newest.map(|(_, path)| path).ok_or_else(|| "run `cargo build` first".into())
}

fn read_in_background(mut reader: Box<dyn Read + Send>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    receiver
}

const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 16.0;

/// Returns the SVG of the last keys, below the screen.
fn keys(pressed: &[&str], size: Size) -> String {
    let mut out = String::new();
    let mut x = MARGIN;
    let y = MARGIN + f32::from(size.rows) * CELL.1 + 6.0;
    let mut last: Vec<&str> = pressed.to_vec();
    last.dedup_by(|a, b| *a == "a letter" && a == b);
    for (i, key) in last.iter().rev().take(8).rev().enumerate() {
        let width = key.chars().count() as f32 * CELL.0 + 12.0;
        let is_last = i + 1 == last.len().min(8);
        let (stroke, fill) = if is_last { ("#818cf8", "#e2e8f0") } else { ("#475569", "#94a3b8") };
        let _ = write!(
            out,
            "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='20' rx='4' fill='none' stroke='{stroke}'/>\
             <text x='{:.1}' y='{:.1}' fill='{fill}'>{key}</text>",
            x + 6.0,
            y + 14.5
        );
        x += width + 6.0;
    }
    out
}

/// Returns a screen as SVG text, one run of equal style at a time.
fn draw(screen: &vt100::Screen, size: Size) -> String {
    let mut out = String::new();
    for row in 0..size.rows {
        let mut column = 0;
        while column < size.columns {
            let Some(cell) = screen.cell(row, column) else { break };
            let style = (cell.fgcolor(), cell.bgcolor(), cell.bold());
            let start = column;
            let mut text = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|c| (c.fgcolor(), c.bgcolor(), c.bold()) == style) {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += 1;
            }
            run(&mut out, row, start, &text, style);
        }
    }
    out
}

fn run(out: &mut String, row: u16, column: u16, text: &str, (fg, bg, bold): (vt100::Color, vt100::Color, bool)) {
    let x = MARGIN + f32::from(column) * CELL.0;
    let y = MARGIN + f32::from(row) * CELL.1;
    let width = text.chars().count() as f32 * CELL.0;
    // Some renderers drop blanks at the start of a text.
    if let vt100::Color::Rgb(r, g, b) = bg {
        let _ = write!(
            out,
            "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{}' fill='#{r:02x}{g:02x}{b:02x}'/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let fill = match fg {
        vt100::Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        vt100::Color::Idx(2) => "#34d399".into(),
        _ => "#e2e8f0".into(),
    };
    // Lines are drawn, because a font leaves gaps between the lines of two rows.
    for (i, c) in text.chars().enumerate() {
        line(out, x + i as f32 * CELL.0, y, c, &fill);
    }
    let text: String = text.chars().map(|c| if LINES.contains(c) { ' ' } else { c }).collect();
    let blanks = text.chars().take_while(|c| *c == ' ').count();
    if text.trim().is_empty() {
        return;
    }
    // The weight is set by a class, because the font of the style sheet would override an attribute.
    let weight = if bold { " class='b'" } else { "" };
    let x = x + blanks as f32 * CELL.0;
    let text = text.trim();
    let text = escaped(text).replace(' ', "\u{a0}");
    let _ = write!(out, "<text x='{x:.1}' y='{:.1}' fill='{fill}'{weight}>{text}</text>", y + CELL.1 * 0.75);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const LINES: &str = "│┃─╭╮╰╯┌┐└┘";

/// Draws a box drawing character as a line through its cell.
fn line(out: &mut String, x: f32, y: f32, c: char, stroke: &str) {
    let (w, h) = CELL;
    let middle = x + w / 2.0;
    let centre = y + h / 2.0;
    let right = x + w;
    let bottom = y + h;
    let r = w / 2.0;
    let path = match c {
        '│' | '┃' => format!("M{middle:.1} {y:.1}V{bottom:.1}"),
        '─' => format!("M{x:.1} {centre:.1}H{right:.1}"),
        '╭' | '┌' => {
            format!("M{middle:.1} {bottom:.1}V{:.1}Q{middle:.1} {centre:.1} {right:.1} {centre:.1}", centre + r)
        }
        '╮' | '┐' => {
            format!("M{middle:.1} {bottom:.1}V{:.1}Q{middle:.1} {centre:.1} {x:.1} {centre:.1}", centre + r)
        }
        '╰' | '└' => {
            format!("M{middle:.1} {y:.1}V{:.1}Q{middle:.1} {centre:.1} {right:.1} {centre:.1}", centre - r)
        }
        '╯' | '┘' => format!("M{middle:.1} {y:.1}V{:.1}Q{middle:.1} {centre:.1} {x:.1} {centre:.1}", centre - r),
        _ => return,
    };
    let width = if c == '┃' { 2.4 } else { 1.2 };
    let _ = write!(out, "<path d='{path}' fill='none' stroke='{stroke}' stroke-width='{width}'/>");
}

/// Returns an SVG that shows the screens one after the other in a loop. Without animation it shows the first one.
fn animate(frames: &[Frame], size: Size) -> String {
    let total: f32 = frames.iter().map(|frame| frame.seconds).sum();
    let width = 2.0 * MARGIN + f32::from(size.columns) * CELL.0;
    let height = 2.0 * MARGIN + f32::from(size.rows) * CELL.1 + 22.0;
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' height='{height:.0}'>\
         <style>text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}.b{{font-weight:bold}}</style>\
         <rect width='100%' height='100%' rx='8' fill='#0f172a'/>\n"
    );
    let mut at = 0.0;
    for (i, Frame { picture, text, keys, seconds, .. }) in frames.iter().enumerate() {
        let from = at / total;
        let to = (at + seconds) / total;
        let keys: String = keys.bytes().map(|byte| format!("{byte:02x}")).collect();
        at += seconds;
        let first = if i == 0 { "visible" } else { "hidden" };
        let (values, times) = match (i, i + 1 == frames.len()) {
            (0, _) => ("visible;hidden".to_owned(), format!("0;{to:.4}")),
            (_, true) => ("hidden;visible".to_owned(), format!("0;{from:.4}")),
            _ => ("hidden;visible;hidden".to_owned(), format!("0;{from:.4};{to:.4}")),
        };
        let _ = writeln!(
            out,
            "<g visibility='{first}' data-keys='{keys}'><desc>{}</desc><animate attributeName='visibility' calcMode='discrete' \
             dur='{total:.2}s' repeatCount='indefinite' values='{values}' keyTimes='{times}'/>{picture}</g>",
            escaped(text)
        );
    }
    out.push_str("</svg>\n");
    out
}
