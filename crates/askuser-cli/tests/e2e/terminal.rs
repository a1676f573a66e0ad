//! Runs the binary in a real terminal.
//!
//! A [`Stage`] is a clean test environment. It has one empty folder for home, configuration and work, and few
//! environment variables. A [`Terminal`] is a PTY with a process in it, whose screen vt100 emulates. A test waits for
//! texts, presses keys, resizes, and checks the result. The code here sleeps only to poll.

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The timeout for an immediate effect. A loaded machine is slower than usual, but never this slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Polls for a condition that no screen shows, such as a file, a process or a store. Returns whether it holds in time.
/// Only this function polls.
pub(crate) fn comes(mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    assert!(comes(holds), "never: {what}");
}

const BINARY: &str = env!("CARGO_BIN_EXE_askuser");

/// A clean test environment, with a folder and variables.
#[derive(Clone)]
pub(crate) struct Stage {
    folder: Rc<TempDir>,
    columns: u16,
    rows: u16,
    variables: BTreeMap<String, String>,
    replies: Replies,
}

/// The terminal's behaviour when it is asked for the position of its cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replies {
    Sent,
    None,
}

impl Stage {
    /// Creates a test environment with a terminal of 80x24, 256 colours and UTF-8.
    pub(crate) fn new() -> Stage {
        let folder = Rc::new(tempfile::tempdir().expect("a folder"));
        let home = folder.path().to_str().expect("a plain path").to_owned();
        let binaries = Path::new(BINARY).parent().expect("a folder").display();
        let variables = [
            ("TERM", "xterm-256color".to_owned()),
            // The background is set to dark, so that the terminal is not queried for it.
            ("COLORFGBG", "15;0".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("PATH", format!("{binaries}:/usr/local/bin:/usr/bin:/bin")),
            ("HOME", home.clone()),
            ("XDG_CONFIG_HOME", format!("{home}/config")),
            // There is no bus, so that no test notifies the person who runs it.
            ("XDG_RUNTIME_DIR", format!("{home}/runtime")),
            ("TMPDIR", home),
        ];
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Stage { folder, columns: 80, rows: 24, variables, replies: Replies::Sent }
    }

    pub(crate) fn size(self, columns: u16, rows: u16) -> Stage {
        Stage { columns, rows, ..self }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Stage {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns the test environment with a terminal that replies to no query.
    pub(crate) fn silent(self) -> Stage {
        Stage { replies: Replies::None, ..self }
    }

    /// Writes a file into the folder.
    pub(crate) fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Stage {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, contents).expect("a file");
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the content of a file in the folder, which is empty if the file does not exist.
    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.path(name)).unwrap_or_default()).expect("UTF-8")
    }

    /// Asks without key delay and flash. The result is in the file `out`, and errors are in `err`.
    pub(crate) fn ask(&self, args: &[&str]) -> Terminal {
        let quick = ["ask", "--key-delay", "0", "--success-flash", "0"];
        self.askuser(&[&quick, args].concat(), "")
    }

    /// Runs the binary with further redirections, in place of a shell.
    pub(crate) fn askuser(&self, args: &[&str], redirections: &str) -> Terminal {
        self.shell(&format!("exec askuser {} >out 2>err {redirections}", quoted(args)))
    }

    /// Runs a shell script.
    pub(crate) fn shell(&self, script: &str) -> Terminal {
        self.start(&["sh", "-c", script], Controlling::Yes)
    }

    /// Runs this command.
    pub(crate) fn command(&self, words: &[&str]) -> Terminal {
        self.start(words, Controlling::Yes)
    }

    /// Runs the binary to its end without a terminal.
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        self.run_with(args, b"")
    }

    /// Runs the binary to its end without a terminal, with this standard input.
    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ended {
        fs::write(self.path("in"), stdin).expect("a file");
        let script = format!("exec askuser {} <in >out 2>err", quoted(args));
        self.start(&["sh", "-c", &script], Controlling::No).finish()
    }

    /// Starts the binary without a terminal, with its output in pipes, and does not wait for its end.
    pub(crate) fn spawn(&self, args: &[&str]) -> std::process::Child {
        self.spawn_with(args, std::process::Stdio::null())
    }

    /// Starts the binary without a terminal, with this standard input.
    pub(crate) fn spawn_with(&self, args: &[&str], stdin: std::process::Stdio) -> std::process::Child {
        use std::process::{Command, Stdio};
        // A separate session has no terminal, even if the tests have one.
        Command::new("setsid")
            .arg(env!("CARGO_BIN_EXE_askuser"))
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .envs(&self.variables)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process")
    }

    fn start(&self, words: &[&str], controlling: Controlling) -> Terminal {
        let size = PtySize { rows: self.rows, cols: self.columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a PTY");
        let mut command = CommandBuilder::new(words[0]);
        command.args(&words[1..]);
        command.cwd(self.folder.path());
        command.env_clear();
        self.variables.iter().for_each(|(name, value)| command.env(name, value));
        command.set_controlling_tty(controlling == Controlling::Yes);
        let shared = Arc::new(Shared::new(self.columns, self.rows));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let writer = Arc::new(Mutex::new(pair.master.take_writer().expect("a writer")));
        let found = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).expect("a process");
        // An open slave would hide the end of the output after the end of the process.
        drop(pair.slave);
        let seen = shared.clone();
        let replying = writer.clone();
        let replies = self.replies;
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut reply = String::new();
                seen.update(|seen| {
                    seen.take(&bytes[..count]);
                    reply = std::mem::take(&mut seen.parser.callbacks_mut().replies);
                });
                if replies == Replies::Sent && !reply.is_empty() {
                    let mut writer = replying.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let _ = writer.write_all(reply.as_bytes()).and_then(|()| writer.flush());
                }
            }
            seen.update(|seen| seen.closed = true);
        });
        Terminal { stage: self.clone(), master: pair.master, writer, child, shared, found, running: true }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Controlling {
    Yes,
    No,
}

/// Returns whether a hidden cursor is in the first cell of the frame that begins in this row.
fn rests(screen: &vt100::Screen, top: u16) -> bool {
    screen.hide_cursor() && screen.cursor_position() == (top, 0)
}

/// Quotes words for the shell.
fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect::<Vec<_>>().join(" ")
}

/// Returns the terminal's modes as text, to be compared.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("termios"))
}

/// A terminal with a process in it.
pub(crate) struct Terminal {
    stage: Stage,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    child: Box<dyn Child + Send + Sync>,
    shared: Arc<Shared>,
    found: String,
    running: bool,
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    parser: vt100::Parser<Surprises>,
    reading: ReadState,
    raw: Vec<u8>,
    closed: bool,
}

/// The position of a byte in the output: in text or in a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ReadState {
    #[default]
    Text,
    Escape,
    Csi,
    String,
}

impl ReadState {
    /// Processes a byte. Returns whether it begins a visible character.
    fn begins_character(&mut self, byte: u8) -> bool {
        let before = *self;
        *self = match (before, byte) {
            (ReadState::Text | ReadState::String, 0x1b) => ReadState::Escape,
            (ReadState::Escape, b'[') => ReadState::Csi,
            (ReadState::Escape, b']' | b'P' | b'_' | b'^' | b'X') => ReadState::String,
            (ReadState::Escape, 0x20..=0x2f) => ReadState::Escape,
            (ReadState::Escape, _) | (ReadState::Csi, 0x40..=0x7e) | (ReadState::String, 0x07) => ReadState::Text,
            _ => before,
        };
        (before, *self) == (ReadState::Text, ReadState::Text) && byte >= 0x20 && byte != 0x7f && byte & 0xc0 != 0x80
    }
}

/// The unexpected output of a prompt, and whether lines wrap, which vt100 does not track.
#[derive(Clone, Debug, Default)]
struct Surprises {
    seen: Vec<String>,
    wrapping: Wrapping,
    /// The replies that the terminal sends.
    replies: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wrapping {
    #[default]
    On,
    Off,
}

impl vt100::Callbacks for Surprises {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.seen.push("bell".into());
    }
    fn resize(&mut self, _: &mut vt100::Screen, request: (u16, u16)) {
        self.seen.push(format!("resize {request:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, name: &[u8]) {
        self.seen.push(format!("icon {:?}", String::from_utf8_lossy(name)));
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.seen.push(format!("title {:?}", String::from_utf8_lossy(title)));
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.seen.push("clipboard".into());
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.seen.push("clipboard asked for".into());
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, byte: u8) {
        self.seen.push(format!("control {byte:#x}"));
    }
    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, byte: u8) {
        self.seen.push(format!("escape {:?}", char::from(byte)));
    }
    fn unhandled_csi(&mut self, screen: &mut vt100::Screen, i: Option<u8>, _: Option<u8>, params: &[&[u16]], c: char) {
        match (i, params, c) {
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                self.replies += &format!("\x1b[{};{}R", row + 1, column + 1);
            }
            (Some(b'?'), [[7]], 'h') => self.wrapping = Wrapping::On,
            (Some(b'?'), [[7]], 'l') => self.wrapping = Wrapping::Off,
            _ => self.seen.push(format!("CSI {i:?} {params:?} {c}")),
        }
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        self.seen.push(format!("OSC {params:?}"));
    }
}

impl Shared {
    fn new(columns: u16, rows: u16) -> Shared {
        let rows = rows.try_into().expect("rows");
        let columns = columns.try_into().expect("columns");
        let parser = vt100::Parser::new_with_callbacks(rows, columns, 10_000, Surprises::default());
        Shared {
            seen: Mutex::new(Seen { parser, reading: ReadState::Text, raw: Vec::new(), closed: false }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until a condition holds. Returns whether it held in time.
    fn wait(&self, patience: Duration, holds: impl Fn(&Seen) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut seen = self.lock();
        loop {
            if holds(&seen) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            seen = self.changed.wait_timeout(seen, left).unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Seen {
    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        for byte in bytes {
            // Without wrapping, further text overwrites the last column. A frame for a wider screen would otherwise
            // take more rows here than in any real terminal.
            let begins = self.reading.begins_character(*byte);
            let screen = self.parser.screen();
            let columns = screen.size().1.get();
            if begins && self.parser.callbacks().wrapping == Wrapping::Off && screen.cursor_position().1 >= columns {
                self.parser.process(format!("\x1b[{columns}G").as_bytes());
            }
            self.parser.process(&[*byte]);
        }
    }

    fn text(&self) -> String {
        text_of(self.parser.screen())
    }

    fn history(&self) -> String {
        let mut screen = self.parser.screen().clone();
        let mut lines = Vec::new();
        for above in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(above);
            lines.push(screen.rows(0, screen.size().1.get()).next().unwrap_or_default().trim_end().to_owned());
        }
        lines.push(self.text());
        lines.join("\n")
    }
}

fn text_of(screen: &vt100::Screen) -> String {
    let rows: Vec<String> = screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

impl Terminal {
    /// Returns the screen as text: one line for each row, without trailing blanks.
    pub(crate) fn screen(&self) -> String {
        self.shared.lock().text()
    }

    /// Returns the rows of the screen.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.screen().split('\n').map(str::to_owned).collect()
    }

    /// Returns all bytes that were written to the terminal.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.shared.lock().raw.clone()
    }

    /// Returns the rows that have scrolled off the screen, with the rows on the screen.
    pub(crate) fn history(&self) -> String {
        self.shared.lock().history()
    }

    /// Passes the emulated screen to a function, and returns its result.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.shared.lock().parser.screen())
    }

    /// Waits until a text is on the screen. A `█` at its end stands for the terminal's own cursor.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        if let Some(text) = text.strip_suffix('█') {
            return self.wait_behind(text);
        }
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until these bytes have been written.
    #[track_caller]
    pub(crate) fn wait_raw(&self, bytes: &str) {
        let held = self.shared.wait(PATIENCE, |seen| String::from_utf8_lossy(&seen.raw).contains(bytes));
        assert!(held, "never written: {bytes:?}\n{}", self.shown());
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub(crate) fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("no {text}"), |screen| !screen.contains(text));
    }

    /// Waits until the screen fulfils a condition.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let held = self.shared.wait(PATIENCE, |seen| holds(&seen.text()));
        assert!(held, "never seen: {what}\n{}", self.shown());
    }

    /// Waits until the whole screen is this text. The parts of a frame may arrive in any order.
    #[track_caller]
    pub(crate) fn wait_for_screen(&self, expected: &str) {
        self.wait_until(expected, |screen| screen == expected);
    }

    /// Waits until the cursor is at a row and column.
    #[track_caller]
    pub(crate) fn wait_for_cursor(&self, row: u16, column: u16) {
        let held = self.shared.wait(PATIENCE, |seen| seen.parser.screen().cursor_position() == (row, column));
        let at = self.look(vt100::Screen::cursor_position);
        assert!(held, "cursor at {at:?} instead of {:?}\n{}", (row, column), self.shown());
    }

    /// Waits until a hidden cursor is in the first cell of the frame that begins in this row.
    #[track_caller]
    pub(crate) fn wait_for_rest(&self, top: u16) {
        let held = self.shared.wait(PATIENCE, |seen| rests(seen.parser.screen(), top));
        assert!(held, "cursor at {:?}\n{}", self.look(vt100::Screen::cursor_position), self.shown());
    }

    /// Waits until the cursor is after a text, such as a shell's prompt.
    #[track_caller]
    pub(crate) fn wait_behind(&self, text: &str) {
        let held = self.shared.wait(PATIENCE, |seen| {
            let screen = seen.parser.screen();
            let (row, column) = screen.cursor_position();
            screen.contents_between(row, 0, row, column).ends_with(text)
        });
        assert!(held, "the cursor is never behind {text:?}\n{}", self.shown());
    }

    /// Returns whether a text appears on the screen within a time. It is used for texts that should not appear.
    pub(crate) fn shows_within(&self, time: Duration, text: &str) -> bool {
        self.shared.wait(time, |seen| seen.text().contains(text))
    }

    /// Returns the screen once it fulfils a condition, or after this time.
    pub(crate) fn screen_within(&self, time: Duration, holds: impl Fn(&str) -> bool) -> String {
        self.shared.wait(time, |seen| holds(&seen.text()));
        self.screen()
    }

    /// Presses a key that changes the screen, and waits until the change is complete. The cursor is then in the first
    /// cell of the frame.
    #[track_caller]
    pub(crate) fn step(&mut self, key: &str) {
        let before = self.screen();
        let top = before.lines().position(|row| row.starts_with('╭')).expect("a frame") as u16;
        self.keys(key);
        let at_rest = |seen: &Seen| seen.text() != before && rests(seen.parser.screen(), top);
        let held = self.shared.wait(PATIENCE, at_rest);
        assert!(held, "{key} changes nothing\n{}", self.shown());
    }

    /// Presses keys in one write. They are characters, and names such as `<down>`.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.write(&bytes_of(keys));
    }

    /// Pastes a text with paste markers.
    pub(crate) fn paste(&mut self, text: &str) {
        self.write(format!("\x1b[200~{text}\x1b[201~").as_bytes());
    }

    /// Sends bytes in one write.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let mut writer = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        writer.write_all(bytes).and_then(|()| writer.flush()).expect("the terminal takes keys");
    }

    /// Changes the size of the screen, then the size in the kernel.
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let high = rows.try_into().expect("rows");
        let wide = columns.try_into().expect("columns");
        self.shared.update(|seen| seen.parser.set_size(high, wide));
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.resize(size).expect("a new size");
    }

    /// Clears the screen, as another program might.
    pub(crate) fn wipe(&self) {
        self.shared.update(|seen| seen.parser.process(b"\x1b[2J\x1b[H"));
    }

    /// Waits until the started process is stopped.
    #[track_caller]
    pub(crate) fn wait_stopped(&self) {
        let pid = Pid::from_raw(self.pid());
        let changed = || waitpid(pid, WaitOptions::UNTRACED | WaitOptions::NOHANG).expect("a child");
        wait_until("stopped", || changed().is_some_and(|(_, status)| status.stopped()));
    }

    /// Returns the path of the terminal's device.
    pub(crate) fn device(&self) -> PathBuf {
        self.master.tty_name().expect("a name")
    }

    /// Returns the id of the started process.
    pub(crate) fn pid(&self) -> i32 {
        self.child.process_id().expect("a process").cast_signed()
    }

    /// Sends a signal to the started process.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).expect("a process"), signal).expect("a signal");
    }

    /// Waits until the process has ended, and returns its output and its traces on the terminal.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Ended {
        let mut status = None;
        let ended = comes(|| {
            status = self.child.try_wait().expect("a status");
            status.is_some()
        });
        assert!(ended, "it goes on and on\n{}", self.shown());
        let status = status.expect("a status");
        self.running = false;
        // The process's children may keep the terminal open for longer. The output of the process itself has arrived by
        // then.
        self.shared.wait(Duration::from_secs(2), |seen| seen.closed);
        let seen = self.shared.lock();
        Ended {
            code: status.signal().is_none().then(|| status.exit_code()),
            signal: status.signal().map(str::to_owned),
            stdout: self.stage.read("out"),
            stderr: self.stage.read("err"),
            screen: seen.text(),
            raw: seen.raw.clone(),
            surprises: seen.parser.callbacks().seen.clone(),
            modes: Modes {
                cursor_hidden: seen.parser.screen().hide_cursor(),
                bracketed_paste: seen.parser.screen().bracketed_paste(),
                wraps: ends_with_wrapping(&seen.raw),
                pen_is_plain: seen.parser.screen().attributes_formatted() == "\x1b[m",
                termios_as_found: modes(&*self.master) == self.found,
            },
        }
    }

    /// Returns the screen for a failure message.
    fn shown(&self) -> String {
        let rule = "-".repeat(60);
        format!("{rule}\n{}\n{rule}\nstderr: {}", self.screen(), self.stage.read("err"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.running
            && let Ok(None) = self.child.try_wait()
        {
            self.signal(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// Returns whether the last wrapping mode in the output is on. Without any, wrapping is on.
fn ends_with_wrapping(raw: &[u8]) -> bool {
    let last = |mode: &[u8]| raw.windows(mode.len()).rposition(|bytes| bytes == mode);
    last(b"\x1b[?7l") <= last(b"\x1b[?7h")
}

/// The modes in which a terminal was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) cursor_hidden: bool,
    pub(crate) bracketed_paste: bool,
    pub(crate) wraps: bool,
    pub(crate) pen_is_plain: bool,
    pub(crate) termios_as_found: bool,
}

/// The modes of a terminal after a program that has restored it.
pub(crate) const RESTORED: Modes =
    Modes { cursor_hidden: false, bracketed_paste: false, wraps: true, pen_is_plain: true, termios_as_found: true };

/// The result of a process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit code; `None` if a signal ended the process.
    pub(crate) code: Option<u32>,
    pub(crate) signal: Option<String>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) screen: String,
    pub(crate) raw: Vec<u8>,
    pub(crate) surprises: Vec<String>,
    pub(crate) modes: Modes,
}

impl Ended {
    /// Returns whether a text was on the screen at any time.
    pub(crate) fn has_shown(&self, text: &str) -> bool {
        let mut seen = Shared::new(80, 24).seen.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.raw.iter().any(|byte| {
            seen.take(&[*byte]);
            seen.text().contains(text)
        })
    }

    /// Returns the result on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {:?}\n{}", self.stdout, self.stderr))
    }

    /// Returns the result's status and the exit code.
    #[track_caller]
    pub(crate) fn status(&self) -> (String, u32) {
        let code = self.code.unwrap_or_else(|| panic!("ended by {:?}", self.signal));
        (self.json()["status"].as_str().expect("a status").to_owned(), code)
    }

    /// Returns the labels picked for each question.
    #[track_caller]
    pub(crate) fn picks(&self) -> Value {
        let json = self.json();
        json["answers"].as_array().expect("answers").iter().map(|answer| answer["selectedOptions"].clone()).collect()
    }

    /// Returns the text typed for the first question.
    #[track_caller]
    pub(crate) fn typed(&self) -> String {
        self.json()["answers"][0]["customInput"]
            .as_str()
            .unwrap_or_else(|| panic!("nothing typed: {self:?}"))
            .to_owned()
    }
}

/// Returns the bytes that a terminal sends for keys.
fn bytes_of(keys: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        match rest.split_once('>').filter(|_| c == '<') {
            Some((name, after)) => {
                bytes.extend_from_slice(named(&name[1..]).as_bytes());
                rest = after;
            }
            None => {
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    bytes
}

fn named(key: &str) -> String {
    let sequence = match key {
        "up" => "\x1b[A",
        "down" => "\x1b[B",
        "right" => "\x1b[C",
        "left" => "\x1b[D",
        "pgup" => "\x1b[5~",
        "pgdn" => "\x1b[6~",
        "s-tab" => "\x1b[Z",
        "tab" => "\t",
        "enter" => "\r",
        "a-enter" => "\x1b\r",
        "esc" => "\x1b",
        "space" => " ",
        "bs" => "\x7f",
        _ => match key.strip_prefix("c-").map(str::as_bytes) {
            Some([letter @ b'a'..=b'z']) => return char::from(letter & 0x1f).to_string(),
            _ => panic!("no key <{key}>"),
        },
    };
    sequence.to_owned()
}

/// Returns the path of an example of the project.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the input of one question.
pub(crate) fn input(question: &str, header: &str, options: &[(&str, &str)], select: Select) -> String {
    let options: Vec<Value> =
        options.iter().map(|(label, description)| json!({"label": label, "description": description})).collect();
    let multi = select == Select::Multi;
    json!({"questions": [{"question": question, "header": header, "options": options, "multiSelect": multi}]})
        .to_string()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Select {
    Single,
    Multi,
}
