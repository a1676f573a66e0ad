//! Records a real session of the prompt as an animated SVG, for the README:
//!
//! ```sh
//! cargo build --release && cargo run -p askuser-cli --example record > docs/prompt.svg
//! ```
//!
//! The binary runs in a PTY, keys are typed, and each screen is what a terminal emulator made of the bytes.

use portable_pty::{CommandBuilder, NativePtySystem, PtySize, PtySystem};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const COLUMNS: u16 = 80;
const ROWS: u16 = 24;
/// What is typed, and how long the screen before it is shown, in seconds.
const STEPS: &[(&str, f32)] = &[
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
    ("\r", 2.4),
];
const LAST: f32 = 3.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let binary = std::env::current_exe()?.ancestors().nth(3).ok_or("no target folder")?.join("release/askuser");
    let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
    let pty = NativePtySystem::default().openpty(size)?;
    let mut command = CommandBuilder::new(binary);
    command.args(["ask", "--arm", "0", "examples/authentication.json"]);
    command.cwd(root);
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    let mut child = pty.slave.spawn_command(command)?;
    drop(pty.slave);
    let bytes = read_in_background(pty.master.try_clone_reader()?);
    let mut keyboard = pty.master.take_writer()?;
    let size = |n: u16| n.try_into().map_err(|_| "a screen has rows and columns");
    let mut screen = vt100::Parser::new(size(ROWS)?, size(COLUMNS)?, 0);
    screen.process(b"\x1b[32m$\x1b[m askuser ask examples/authentication.json");
    let mut frames = Vec::new();
    for (keys, seconds) in STEPS {
        settle(&bytes, &mut screen);
        frames.push((draw(screen.screen()), *seconds));
        keyboard.write_all(keys.as_bytes())?;
    }
    child.wait()?;
    settle(&bytes, &mut screen);
    frames.push((draw(screen.screen()), LAST));
    std::io::stdout().write_all(animate(&frames).as_bytes())?;
    Ok(())
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

/// Takes output until there has been none for a while.
fn settle(bytes: &Receiver<Vec<u8>>, screen: &mut vt100::Parser) {
    while let Ok(chunk) = bytes.recv_timeout(Duration::from_millis(300)) {
        screen.process(&chunk);
    }
}

const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 16.0;

/// One screen as SVG text, a run of equal style at a time.
fn draw(screen: &vt100::Screen) -> String {
    let mut out = String::new();
    for row in 0..ROWS {
        let mut column = 0;
        while column < COLUMNS {
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
    let (x, y) = (MARGIN + f32::from(column) * CELL.0, MARGIN + f32::from(row) * CELL.1);
    let width = text.chars().count() as f32 * CELL.0;
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
    let weight = if bold { " font-weight='bold'" } else { "" };
    let text = text.trim_end().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}");
    let _ = write!(out, "<text x='{x:.1}' y='{:.1}' fill='{fill}'{weight}>{text}</text>", y + CELL.1 * 0.75);
}

/// The screens one after the other, for ever. Without animation the first one shows.
fn animate(frames: &[(String, f32)]) -> String {
    let total: f32 = frames.iter().map(|(_, seconds)| seconds).sum();
    let (width, height) = (2.0 * MARGIN + f32::from(COLUMNS) * CELL.0, 2.0 * MARGIN + f32::from(ROWS) * CELL.1);
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' width='{width:.0}' height='{height:.0}'>\
         <style>text{{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre}}</style>\
         <rect width='100%' height='100%' rx='8' fill='#0f172a'/>\n"
    );
    let mut at = 0.0;
    for (i, (frame, seconds)) in frames.iter().enumerate() {
        let (from, to) = (at / total, (at + seconds) / total);
        at += seconds;
        let first = if i == 0 { "visible" } else { "hidden" };
        let (values, times) = match (i, i + 1 == frames.len()) {
            (0, _) => ("visible;hidden".to_owned(), format!("0;{to:.4}")),
            (_, true) => ("hidden;visible".to_owned(), format!("0;{from:.4}")),
            _ => ("hidden;visible;hidden".to_owned(), format!("0;{from:.4};{to:.4}")),
        };
        let _ = writeln!(
            out,
            "<g visibility='{first}'><animate attributeName='visibility' calcMode='discrete' dur='{total:.2}s' \
             repeatCount='indefinite' values='{values}' keyTimes='{times}'/>{frame}</g>"
        );
    }
    out.push_str("</svg>\n");
    out
}
