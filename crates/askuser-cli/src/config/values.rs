//! The types of settings' values, with their spellings.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    /// The answers in a file and the headless rule.
    Policy,
    /// A person at a terminal or at a front end.
    Terminal,
    /// The person who opens the inbox at any time.
    Inbox,
}

const SURFACES: [(&str, Surface); 3] =
    [("policy", Surface::Policy), ("terminal", Surface::Terminal), ("inbox", Surface::Inbox)];

impl Surface {
    /// Returns the name as the setting spells it.
    pub(crate) fn name(self) -> &'static str {
        SURFACES.iter().find(|(_, surface)| *surface == self).map_or("", |(name, _)| name)
    }
}

pub(super) fn surfaces(names: &str) -> Option<Vec<Surface>> {
    names.split(',').map(|name| one_of(name.trim(), &SURFACES)).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Record,
    /// The answer alone: one line per choice, and typed text unchanged.
    Value,
    /// Claude Code's format for `updatedInput`.
    Claude,
    /// No output. The exit code is the answer.
    Nothing,
}

/// The price of a million tokens in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    pub(crate) input: f64,
    pub(crate) output: f64,
}

impl Price {
    pub(super) fn parse(text: &str) -> Option<Price> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let (input, output) = text.split_once('/')?;
        Some(Price { input: number(input)?, output: number(output)? })
    }

    pub(crate) fn of(self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 1e6
    }
}

pub(super) fn one_of<T: Clone>(word: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == word).map(|(_, value)| value.clone())
}

/// Parses a value with a word for "no value". Returns `Some(None)` for the word, and `None` for an invalid value.
pub(super) fn unless<T>(value: &str, nothing: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if value == nothing { Some(None) } else { parse(value).map(Some) }
}

pub(super) fn text(value: &str) -> Option<String> {
    (value != "none").then(|| value.to_owned())
}

pub(super) fn path(value: &str) -> Option<PathBuf> {
    (!value.is_empty()).then(|| value.into())
}

pub(super) fn positive(value: &str) -> Option<Duration> {
    duration(value).filter(|duration| !duration.is_zero())
}

pub(super) fn names(list: &str) -> Vec<String> {
    match list {
        "none" => Vec::new(),
        list => list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
    }
}

pub(super) fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Parses a duration such as `250ms`, `30s`, `5m`, `1h` or `2d`. A bare number is in seconds, and the maximum is a
/// year. Returns `None` if the text is invalid.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "ms" => number / 1000.0,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 24.0 * 3600.0,
        _ => return None,
    };
    (seconds <= 366.0 * 24.0 * 3600.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let check = |text, millis: Option<u64>| assert_eq!(duration(text), millis.map(Duration::from_millis), "{text}");
        check("250ms", Some(250));
        check("0", Some(0));
        check("30s", Some(30_000));
        check("1.5m", Some(90_000));
        check("5", Some(5_000));
        check("2 min", Some(120_000));
        check("1h", Some(3_600_000));
        check("2d", Some(172_800_000));
        check("366d", Some(31_622_400_000));
        check("367d", None);
        check("", None);
        check("-1s", None);
        check("5x", None);
        check("999999999999h", None);
    }

    #[test]
    fn surfaces_are_spelled_as_they_are_named_and_keep_their_order() {
        let all = [Surface::Inbox, Surface::Policy, Surface::Terminal];
        assert_eq!(surfaces(&all.map(Surface::name).join(" , ")), Some(all.to_vec()));
        for wrong in ["", "terminal,", "terminal,letter", "Terminal"] {
            assert_eq!(surfaces(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_price_is_for_a_million_tokens_read_and_written() {
        let price = Price::parse("3/ 15").unwrap();
        assert_eq!(price, Price { input: 3.0, output: 15.0 });
        assert_eq!(price.of(2_000_000, 100_000), 7.5);
        assert_eq!(Price::parse("0/0.5"), Some(Price { input: 0.0, output: 0.5 }));
        for wrong in ["3", "3/", "/15", "-1/15", "3/-15", "inf/15", "3/nan", "3/15/20"] {
            assert_eq!(Price::parse(wrong), None, "{wrong}");
        }
    }
}
