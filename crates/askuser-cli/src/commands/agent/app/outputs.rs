//! The latest outputs of calls, and the latest thoughts of the model, to be read in full (Ctrl-O). A very long output
//! keeps only its end.

use super::scrollback::{MAX_COLUMNS, call_line, thought_words};
use super::tool_calls::CallSummary;
use askuser::sanitize;
use askuser_terminal::{Theme, diff_lines};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MAX_OUTPUTS: usize = 50;
/// The maximum size of one output in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The maximum size of all outputs in bytes.
const MAX_TOTAL: usize = 8 << 20;
const INDENT: &str = "  ";
/// The number of bytes at the end of an output in which the last lines are searched.
const TAIL_BYTES: usize = 8 << 10;

#[derive(Debug, Default)]
pub(crate) struct Outputs {
    kept: VecDeque<Output>,
    next: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OutputId(u64);

#[derive(Clone, Debug)]
pub(crate) struct Output {
    id: OutputId,
    pub(crate) heading: Heading,
    kind: OutputKind,
    text: String,
    /// The number of dropped bytes at the beginning of the output.
    cut: usize,
    /// The file with the whole output, if `text` is only a part of it.
    file: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    Call(CallSummary),
    /// The model's thoughts, with the duration of thinking.
    Thoughts(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputKind {
    Text,
    Diff,
}

impl Outputs {
    /// Begins an output that is still being written, and returns its id.
    pub(crate) fn begin(&mut self, heading: Heading) -> OutputId {
        let id = OutputId(self.next);
        self.next += 1;
        self.kept.push_back(Output { id, heading, kind: OutputKind::Text, text: String::new(), cut: 0, file: None });
        self.forget_oldest();
        id
    }

    pub(crate) fn append(&mut self, id: OutputId, text: &str) {
        if let Some(output) = self.kept.iter_mut().find(|output| output.id == id) {
            output.append(text);
            self.forget_oldest();
        }
    }

    pub(crate) fn add(&mut self, heading: Heading, kind: OutputKind, text: &str) {
        let id = self.begin(heading);
        if let Some(output) = self.kept.back_mut() {
            output.kind = kind;
        }
        self.append(id, text);
    }

    /// Ends an output. `text` is the part that the model reads, which may be shorter than the output.
    pub(crate) fn end(&mut self, id: OutputId, heading: Heading, text: &str) {
        let Some(output) = self.kept.iter_mut().find(|output| output.id == id) else { return };
        output.heading = heading;
        if output.cut + output.text.len() < text.len() {
            (output.text, output.cut) = (String::new(), 0);
            output.append(text);
        }
    }

    /// Records the file that contains the whole output.
    pub(crate) fn kept_in(&mut self, id: OutputId, file: PathBuf) {
        self.kept.iter_mut().filter(|output| output.id == id).for_each(|output| output.file = Some(file.clone()));
    }

    /// Returns all outputs as one text, newest first. The newest is read from its file, if it has one.
    pub(crate) fn text(&self, theme: &Theme, read: impl FnOnce(&Path) -> Option<String>) -> String {
        let whole = self.kept.back().and_then(|last| read(last.file.as_deref()?));
        let shown = |output: &Output| {
            let heading = match &output.heading {
                Heading::Call(call) => call_line(call, theme, MAX_COLUMNS).to_string(),
                Heading::Thoughts(took) => thought_words(*took),
            };
            let text = match &whole {
                Some(whole) if Some(output.id) == self.last() => sanitize::block(whole.trim_end()).into_owned(),
                _ => output.shown(theme),
            };
            // Untrusted text is indented, as on the screen.
            let rows: String =
                text.lines().map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n").collect();
            format!("{heading}\n\n{rows}")
        };
        let rule = format!("\n{}\n\n", theme.signs.horizontal.repeat(MAX_COLUMNS));
        self.kept.iter().rev().map(shown).collect::<Vec<_>>().join(&rule)
    }

    pub(crate) fn get(&self, id: OutputId) -> Option<&Output> {
        self.kept.iter().find(|output| output.id == id)
    }

    pub(crate) fn last(&self) -> Option<OutputId> {
        self.kept.back().map(|output| output.id)
    }

    fn forget_oldest(&mut self) {
        let total = |kept: &VecDeque<Output>| kept.iter().map(|output| output.text.len()).sum::<usize>();
        while self.kept.len() > MAX_OUTPUTS || (self.kept.len() > 1 && total(&self.kept) > MAX_TOTAL) {
            self.kept.pop_front();
        }
    }
}

impl Output {
    fn append(&mut self, text: &str) {
        self.text.push_str(text);
        // Trimming moves the remaining text, so it does not happen at every byte over the limit.
        if self.text.len() > MAX_BYTES + MAX_BYTES / 8 {
            let least = self.text.len() - MAX_BYTES;
            let line = self.text.as_bytes()[least..].iter().position(|byte| *byte == b'\n').map(|at| least + at + 1);
            let start = self.text.ceil_char_boundary(line.unwrap_or(least));
            self.text.drain(..start);
            self.cut += start;
        }
    }

    /// Returns the whole output, sanitized.
    pub(crate) fn shown(&self, theme: &Theme) -> String {
        let text = match self.kind {
            OutputKind::Text => sanitize::block(self.text.trim_end()).into_owned(),
            OutputKind::Diff => {
                let diff = diff_lines(self.text.trim_end_matches('\n'), theme);
                diff.iter().map(|line| format!("{} {}", line.number, line.text)).collect::<Vec<_>>().join("\n")
            }
        };
        let cut = if self.cut > 0 { format!("(The first {} bytes are not kept.)\n", self.cut) } else { String::new() };
        format!("{cut}{text}")
    }

    /// Returns the last lines that are not blank, as a terminal would show them. Text after a carriage return replaces
    /// the text before it.
    pub(crate) fn last_lines(&self, count: usize) -> Vec<String> {
        let start = self.text.ceil_char_boundary(self.text.len().saturating_sub(TAIL_BYTES));
        let shown = |line: &str| {
            let line = line.trim_end_matches('\r');
            sanitize::line(line.rsplit('\r').next().unwrap_or(line)).into_owned()
        };
        let lines = self.text[start..].rsplit('\n').map(shown).filter(|line| !sanitize::is_blank(line));
        let mut lines: Vec<String> = lines.take(count).collect();
        lines.reverse();
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(output: &Output) -> Vec<String> {
        output.shown(&Theme::default()).lines().map(str::to_owned).collect()
    }

    fn thoughts() -> Heading {
        Heading::Thoughts(Duration::ZERO)
    }

    #[test]
    fn the_last_lines_are_those_a_terminal_would_show() {
        let mut outputs = Outputs::default();
        let id = outputs.begin(thoughts());
        outputs.append(id, "one\ntwo\n 10 %\r 20 %\r 3");
        outputs.append(id, "0 %\n\n\u{1b}[31mred\u{1b}[0m\r\n");
        assert_eq!(outputs.get(id).unwrap().last_lines(3), ["two", " 30 %", "red"]);
    }

    #[test]
    fn of_a_very_long_output_the_end_is_kept_and_it_says_so() {
        let mut outputs = Outputs::default();
        let id = outputs.begin(thoughts());
        for n in 0..400_000 {
            outputs.append(id, &format!("{n}\n"));
        }
        let output = outputs.get(id).unwrap();
        let lines = texts(output);
        assert!(lines[0].starts_with("(The first ") && lines.last().is_some_and(|last| last == "399999"));
        assert!(output.text.len() <= MAX_BYTES + MAX_BYTES / 8 && output.cut > MAX_BYTES);
    }

    #[test]
    fn a_diff_that_was_agreed_to_is_read_as_it_was_shown_then() {
        let mut outputs = Outputs::default();
        outputs.add(thoughts(), OutputKind::Diff, " a\u{9d}\n-b \n+c\n \u{9c}\n");
        assert_eq!(texts(&outputs.kept[0]), ["  a<U+009D>", " -b␣", " +c", "  <U+009C>"]);
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut outputs = Outputs::default();
        (0..3 * MAX_OUTPUTS).for_each(|_| outputs.add(thoughts(), OutputKind::Text, "x"));
        assert_eq!(outputs.kept.len(), MAX_OUTPUTS);
        let big = "x".repeat(MAX_BYTES);
        (0..20).for_each(|_| outputs.add(thoughts(), OutputKind::Text, &big));
        assert_eq!(outputs.kept.len(), MAX_TOTAL / MAX_BYTES);
    }

    #[test]
    fn what_the_model_reads_does_not_replace_more_that_was_written() {
        let mut outputs = Outputs::default();
        for (read, shown) in
            [("cut short", "all that was written"), ("a result longer than all that", "a result longer than all that")]
        {
            let id = outputs.begin(thoughts());
            outputs.append(id, "all that was written");
            outputs.end(id, thoughts(), read);
            assert_eq!(texts(outputs.get(id).unwrap()), [shown]);
        }
    }
}
