//! Popups of the terminal multiplexer. A popup has the size of the question that it shows.
//!
//! A popup opens on the client that the person used last. It does not open over the asking process's pane while the
//! person types there.

use crate::config::Settings;
use crate::surfaces::terminal_options;
use askuser::store::StoredQuestion;
use askuser_inbox::Location;
use askuser_sys::programs;
use askuser_terminal::{Background, Theme, popup_size};
use std::ffi::OsStr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time after a key in a pane for which the person counts as looking at it.
const AT_WORK: Duration = Duration::from_secs(20);
/// The maximum time until a change of the pane is noticed.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The number of columns, and of rows, that a popup's border takes.
const BORDER: u16 = 2;
/// The assumed size of a client of Zellij, which does not report the size.
const UNKNOWN_SIZE: (u16, u16) = (80, 24);

/// The popups according to the user's settings.
pub(crate) struct Popups {
    location: String,
    theme: Theme,
}

/// A client of tmux, as `tmux list-clients` reports it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Client {
    /// The time of the last key, in seconds since the Unix epoch.
    active_at: u64,
    name: String,
    size: (u16, u16),
    is_focused: bool,
    /// The active pane: its id, and the id of its first process.
    pane: [String; 2],
}

impl Popups {
    /// Returns the popups. `None` if the settings disable them, or if a prompt in a popup could not open the store.
    pub(crate) fn of(settings: &Settings, location: &Location) -> Option<Popups> {
        let is_possible = settings.popup && !matches!(location, Location::Postgres(_));
        is_possible.then(|| Popups { location: location.to_string(), theme: terminal_options(settings).theme })
    }

    /// Returns whether a multiplexer runs here.
    pub(super) fn are_there() -> bool {
        is_in_zellij() || !clients().is_empty()
    }

    /// Opens the prompt of a question on the client that the person used last. Returns `None` without a client.
    pub(super) fn open(&self, question: &StoredQuestion) -> Option<Result<Child, String>> {
        Some(started(&mut self.command(question)?))
    }

    /// Opens the prompt of a question after this process, itself in a popup, has ended. A client has only one popup at
    /// a time. Returns whether that was possible.
    pub(crate) fn open_next(&self, question: &StoredQuestion) -> bool {
        const ONCE_ENDED: &str = "while kill -0 \"$0\" 2>/dev/null; do sleep 0.05; done; sleep 0.1; exec \"$@\"";
        let is_in_popup = is_in_zellij() || std::env::var_os("TMUX").is_some();
        let Some(command) = self.command(question).filter(|_| is_in_popup) else { return false };
        let Ok(mut shell) = programs::command("sh") else { return false };
        shell.args(["-c", ONCE_ENDED, &std::process::id().to_string()]);
        shell.arg(command.get_program()).args(command.get_args());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        started(&mut shell).is_ok()
    }

    fn command(&self, question: &StoredQuestion) -> Option<Command> {
        // The program is found by its name. Linux adds " (deleted)" to the path of a program that an upgrade has
        // replaced.
        let program = std::env::current_exe().ok()?.with_file_name(format!("askuser{}", std::env::consts::EXE_SUFFIX));
        let mut prompt = vec![program.as_os_str().to_str()?, "answer", question.id.as_str(), "--unbidden"];
        prompt.extend(["--store", &self.location]);
        // A terminal in a popup does not report its background.
        prompt.extend(theme_name(self.theme.background).into_iter().flat_map(|theme| ["--theme", theme]));
        if is_in_zellij() {
            let mut command = programs::command("zellij").ok()?;
            let (columns, rows) = self.size(question, UNKNOWN_SIZE);
            command.args(["run", "--floating", "--close-on-exit", "--name", "askuser"]);
            command.args(["--width", &columns.to_string(), "--height", &rows.to_string(), "--"]).args(prompt);
            return Some(command);
        }
        let client = clients().into_iter().max()?;
        let mut command = programs::command("tmux").ok()?;
        let prompt: Vec<String> = prompt.iter().map(|word| shell_quoted(word)).collect();
        let (columns, rows) = self.size(question, client.size);
        // The title does not name the asker, because another asker's question may follow.
        command.args(["display-popup", "-c", &client.name, "-E", "-T", " askuser "]);
        command.args(["-w", &columns.to_string(), "-h", &rows.to_string()]).arg(prompt.join(" "));
        Some(command)
    }

    /// Returns the size of the popup for a question on a client of this size, with its border.
    fn size(&self, question: &StoredQuestion, (columns, rows): (u16, u16)) -> (u16, u16) {
        let most = (columns.saturating_sub(BORDER), rows.saturating_sub(BORDER));
        let (columns, rows) = popup_size(&question.request, self.theme, most);
        (columns + BORDER, rows + BORDER)
    }
}

fn theme_name(background: Background) -> Option<&'static str> {
    match background {
        Background::Dark => Some("dark"),
        Background::Light => Some("light"),
        Background::Contrast => Some("contrast"),
        Background::Told(_) | Background::Unknown => None,
    }
}

/// Returns the time until the next check whether a popup may open. `None` if the person does not type in the pane of
/// this process. The pane is identified by its id or by its session, because many agents start their servers without
/// `TMUX_PANE`.
pub(super) fn pause() -> Option<Duration> {
    let own = [std::env::var("TMUX_PANE").ok(), session()];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    clients().iter().filter_map(|client| client.at_work_for(&own, now)).max().map(|rest| rest.min(LOOK_AGAIN))
}

impl Client {
    /// Parses a line in the format `#{client_activity} #{client_width} #{client_height} #{client_flags} #{pane_id}
    /// #{pane_pid} #{client_name}`.
    fn read(line: &str) -> Option<Client> {
        let fields: Vec<&str> = line.splitn(7, ' ').collect();
        let [active_at, columns, rows, flags, pane, process, name] = fields[..] else { return None };
        Some(Client {
            active_at: active_at.parse().ok()?,
            name: name.to_owned(),
            size: (columns.parse().ok()?, rows.parse().ok()?),
            is_focused: flags.split(',').any(|flag| flag == "focused"),
            pane: [pane, process].map(str::to_owned),
        })
    }

    /// Returns the remaining time for which the person counts as working in the own pane. `None` if they do not work
    /// there. The pane is identified by its id or its first process.
    fn at_work_for(&self, own: &[Option<String>; 2], now: Duration) -> Option<Duration> {
        let is_own = self.pane.iter().zip(own).any(|(pane, own)| Some(pane) == own.as_ref());
        let until = Duration::from_secs(self.active_at) + AT_WORK;
        until.checked_sub(now).filter(|rest| self.is_focused && is_own && !rest.is_zero())
    }
}

/// Returns the id of the first process of this session.
fn session() -> Option<String> {
    #[cfg(unix)]
    return Some(rustix::process::getsid(None).ok()?.as_raw_nonzero().to_string());
    #[cfg(not(unix))]
    None
}

fn clients() -> Vec<Client> {
    const FORMAT: &str =
        "#{client_activity} #{client_width} #{client_height} #{client_flags} #{pane_id} #{pane_pid} #{client_name}";
    let Ok(mut tmux) = programs::command("tmux") else { return Vec::new() };
    let output = tmux.args(["list-clients", "-F", FORMAT]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().filter_map(Client::read).collect()
}

fn is_in_zellij() -> bool {
    std::env::var_os("ZELLIJ").as_deref().is_some_and(|set| set != OsStr::new(""))
}

fn started(command: &mut Command) -> Result<Child, String> {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.spawn().map_err(|error| error.to_string())
}

/// Quotes a word for a shell.
pub(crate) fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: &str = "1000 100 30 attached,focused,UTF-8 %3 4711 /dev/pts/0";

    #[test]
    fn a_word_for_the_shell_of_tmux_is_quoted() {
        assert_eq!(shell_quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_client_is_read_with_its_active_pane() {
        let client = Client::read(CLIENT).unwrap();
        assert_eq!((client.size, client.is_focused, client.pane), ((100, 30), true, ["%3", "4711"].map(str::to_owned)));
        assert_eq!(Client::read("1000 100 30"), None);
    }

    #[test]
    fn a_person_works_in_the_pane_for_twenty_seconds_after_a_key() {
        let check = |line: &str, pane: &str, session: &str, now, expected: Option<u64>| {
            let own = [pane, session].map(|own| Some(own.to_owned()).filter(|own| !own.is_empty()));
            let rest = Client::read(line).unwrap().at_work_for(&own, Duration::from_secs(now));
            assert_eq!(rest, expected.map(Duration::from_secs), "{line} {own:?} {now}");
        };
        check(CLIENT, "%3", "", 1_005, Some(15));
        check(CLIENT, "", "4711", 1_019, Some(1));
        check(CLIENT, "%3", "", 1_020, None);
        check(CLIENT, "%4", "4712", 1_001, None);
        check(&CLIENT.replace("focused", ""), "%3", "", 1_001, None);
    }
}
