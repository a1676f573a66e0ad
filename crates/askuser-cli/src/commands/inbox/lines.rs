//! The list in line mode, for screen readers and terminals without cursor movement. The list is printed, and the person
//! types a line to act.

use super::live::{News, Row, Section, broken, console, withdraw};
use super::open;
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::store::{block_on, display, done};
use crate::surfaces::terminal_options;
use askuser::store::{Cursor, Filter, Handle, QuestionId, StoredQuestion};
use askuser::{Key, KeyCode, sanitize};
use askuser_terminal::text::Line;
use askuser_terminal::{Console, ConsoleEvent, Options, TerminalInput, wrap};

const PAGE: u32 = 20;

/// The request in a typed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked<'a> {
    List,
    More,
    Open(usize),
    Withdraw(usize),
    Filter(&'a str),
    Other,
    Leave,
    Unknown,
}

impl Asked<'_> {
    fn by(line: &str) -> Asked<'_> {
        let number = |text: &str| text.trim().parse::<usize>().ok();
        match line.trim() {
            "" => Asked::List,
            "m" => Asked::More,
            "h" => Asked::Other,
            "q" => Asked::Leave,
            line if line.starts_with('/') => Asked::Filter(line[1..].trim()),
            line => match line.strip_prefix('w') {
                Some(withdrawn) => number(withdrawn).map_or(Asked::Unknown, Asked::Withdraw),
                None => number(line).map_or(Asked::Unknown, Asked::Open),
            },
        }
    }
}

pub(super) fn run(store: &Handle, settings: &Settings) -> Result<u8, Failure> {
    let options = terminal_options(settings);
    let mut page = Page::default();
    let mut terminal = Lines::open(&options, store)?;
    page.show(Section::Waiting, store)?;
    terminal.print(&page.lines());
    while let Some(line) = terminal.read("Number to answer (? for help): ", store, settings)? {
        let section = page.section;
        let asked = Asked::by(&line);
        match asked {
            Asked::Leave => break,
            Asked::List => page.show(section, store)?,
            Asked::Other => page.show(section.other(), store)?,
            Asked::Filter(text) => {
                page.text = text.to_owned();
                page.show(section, store)?;
            }
            Asked::More if page.more(store)? => {}
            Asked::Open(number) | Asked::Withdraw(number) if page.at(number).is_some() => {
                let Some(question) = page.at(number).cloned() else { continue };
                let notice = if asked == Asked::Open(number) {
                    // The prompt uses the terminal until its question is answered or put aside.
                    terminal.console.close().map_err(broken)?;
                    let notice = open(&question, store, settings);
                    terminal = Lines::open(&options, store)?;
                    notice
                } else {
                    terminal.print(&["Withdraw it? It cannot be answered then. Type yes to withdraw it.".to_owned()]);
                    let reply = terminal.read("Withdraw: ", store, settings)?;
                    let is_yes = reply.is_some_and(|reply| reply.trim() == "yes");
                    if is_yes { Some(pollster::block_on(withdraw(&question, store))) } else { None }
                };
                terminal.print(&notice.map(|notice| notice.text).into_iter().collect::<Vec<_>>());
                page.show(section, store)?;
            }
            Asked::More | Asked::Open(_) | Asked::Withdraw(_) | Asked::Unknown => {
                terminal.print(&[page.help()]);
                continue;
            }
        }
        terminal.print(&page.lines());
    }
    Ok(exit::ANSWERED)
}

/// The page that was printed last.
struct Page {
    section: Section,
    /// The filter text, which the listed questions contain.
    text: String,
    /// The number of the first question on the page, and the count of all questions.
    first: usize,
    total: u64,
    rows: Vec<Row>,
    unreadable: Vec<QuestionId>,
    next: Option<Cursor>,
}

impl Default for Page {
    fn default() -> Page {
        let section = Section::Waiting;
        Page { section, text: String::new(), first: 1, total: 0, rows: Vec::new(), unreadable: Vec::new(), next: None }
    }
}

impl Page {
    /// Reads the first page of a section.
    fn show(&mut self, section: Section, store: &Handle) -> Result<(), Failure> {
        *self = Page { section, text: std::mem::take(&mut self.text), ..Page::default() };
        self.total = done(store.count(&self.filter()))?;
        self.read(store, self.filter())
    }

    fn filter(&self) -> Filter {
        self.section.filter(&self.text)
    }

    fn read(&mut self, store: &Handle, filter: Filter) -> Result<(), Failure> {
        let page = done(store.list(&filter.at_most(PAGE)))?;
        self.rows = page.questions.into_iter().map(Row::from).collect();
        (self.unreadable, self.next) = (page.unreadable, page.next);
        Ok(())
    }

    /// Reads the next page. Returns whether there is one.
    fn more(&mut self, store: &Handle) -> Result<bool, Failure> {
        let Some(next) = self.next else { return Ok(false) };
        self.first += self.rows.len();
        self.read(store, self.filter().after(next))?;
        Ok(true)
    }

    /// Returns the question with this number, if it is on the page and still waits.
    fn at(&self, number: usize) -> Option<&StoredQuestion> {
        let row = self.rows.get(number.checked_sub(self.first)?)?;
        Some(&row.question).filter(|question| question.ending.is_none())
    }

    fn help(&self) -> String {
        let of_number = match self.section {
            Section::Waiting => "a number: answer that question; w and a number: withdraw it; h: what has ended",
            Section::History => "h: what is waiting",
        };
        format!("{of_number}; m: more; / and a text: filter; Enter: list again; q: leave")
    }

    /// Returns the lines of the page: a heading, then one line for each question.
    fn lines(&self) -> Vec<String> {
        let what = match self.section {
            Section::Waiting => format!("Inbox: {} waiting", self.total),
            Section::History => format!("History: {} ended", self.total),
        };
        let filter = if self.text.is_empty() { String::new() } else { format!(", filter: {}", self.text) };
        let rows = self.rows.iter().enumerate();
        let rows = rows.map(|(i, row)| format!("{}. {}", self.first + i, sentence(row)));
        let printed = self.first - 1 + self.rows.len() + self.unreadable.len();
        let left = self.total.saturating_sub(printed as u64);
        let more = (left > 0).then(|| format!("{left} more: m"));
        let unreadable = self.unreadable.iter().map(display::unreadable);
        [String::new(), format!("{what}{filter}")].into_iter().chain(rows).chain(unreadable).chain(more).collect()
    }
}

/// Formats a question as `Claude Code in ~/shop, 2 min: Database: Which database? [draft] [agent gone since 12:04]`.
fn sentence(Row { question, unsent }: &Row) -> String {
    let who = display::who_and_where(question);
    match &question.ending {
        Some(ending) => {
            format!("{who}: {} It {}", shortened(question.request.title()), display::ended(&question.request, ending))
        }
        None => {
            let draft = if unsent.is_empty() { "" } else { " [draft]" };
            let gone = display::presence(question).map(|gone| format!(" [{gone}]")).unwrap_or_default();
            let age = display::duration(question.age());
            let names = display::for_whom(question);
            format!("{who}, {age}: {}{names}{draft}{gone}", shortened(display::titled(question)))
        }
    }
}

/// Shortens a question for the list. The opened question is shown in full.
fn shortened(asked: String) -> String {
    const MOST: usize = 200;
    match asked.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} [...]", asked[..end].trim_end()),
        None => asked,
    }
}

/// The terminal in line mode, with the news to print.
struct Lines {
    console: Console,
    news: News,
}

impl Lines {
    fn open(options: &Options, store: &Handle) -> Result<Lines, Failure> {
        let console = console(options)?;
        let news = News::watch(store, &console)?;
        Ok(Lines { console, news })
    }

    /// Prints lines, wrapped. Continuations are indented, so that an agent's text cannot pass for a row of the list.
    fn print(&mut self, lines: &[String]) {
        let columns = usize::from(self.console.size().0).saturating_sub(1).max(8);
        for line in lines {
            let line = sanitize::line(line);
            for range in wrap(&line, columns, columns - 3) {
                let indent = if range.start == 0 { "" } else { "   " };
                self.console.print(&[Line::raw(format!("{indent}{}", line[range].trim_end()))]);
            }
        }
    }

    /// Reads a line and prints news meanwhile. Returns `None` if the person leaves.
    fn read(&mut self, prompt: &str, store: &Handle, settings: &Settings) -> Result<Option<String>, Failure> {
        self.console.print_prompt(prompt);
        let mut inputs = Vec::new();
        let mut line = String::new();
        loop {
            let new = self.news.look()?.1.and_then(|id| block_on(store.get(&id)).ok());
            if let Some(new) = new.filter(|new| new.ending.is_none() && store.principal().is_asked(&new.request)) {
                self.print(&[String::new(), display::new_question(&new)]);
                self.console.print_prompt(prompt);
                if settings.notify {
                    self.console.bell();
                }
            }
            match self.console.wait(None, &mut inputs).map_err(broken)? {
                ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => {
                    self.print(&[String::new()]);
                    return Ok(None);
                }
                _ => {}
            }
            for input in inputs.drain(..) {
                match input {
                    TerminalInput::Key(key) if key == Key::ctrl('j') || key == Key::plain(KeyCode::Enter) => {
                        return Ok(Some(line));
                    }
                    TerminalInput::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => line.push(c),
                    TerminalInput::Paste(text) => line.push_str(&text),
                    TerminalInput::Key(_) | TerminalInput::Focus(_) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_number_a_letter_or_a_text_to_filter_by() {
        let asked = [" 12 ", "w 3", "w3", "/ two words", "/", "", "h", "q", "m", "answer", "-1", "w"].map(Asked::by);
        let expected = [
            Asked::Open(12),
            Asked::Withdraw(3),
            Asked::Withdraw(3),
            Asked::Filter("two words"),
            Asked::Filter(""),
            Asked::List,
            Asked::Other,
            Asked::Leave,
            Asked::More,
            Asked::Unknown,
            Asked::Unknown,
            Asked::Unknown,
        ];
        assert_eq!(asked, expected);
    }
}
