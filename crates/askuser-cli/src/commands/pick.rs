//! `askuser pick`: a choice among the lines on standard input.

use super::confirm::{put, question};
use crate::config::{Format, Settings};
use crate::failure::Failure;
use crate::source;
use askuser::Rules;
use clap::ArgMatches;
use std::collections::HashSet;
use std::io::IsTerminal;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    if std::io::stdin().is_terminal() {
        return Err(Failure::new("there is nothing to pick from: standard input is a terminal")
            .hint("pipe the lines into it: git branch | askuser pick \"Which branch?\""));
    }
    let text = source::read_list()?;
    let lines = lines(&text)?;
    let asked = if args.get_flag("multi") { question(args, "Pick").multi_select() } else { question(args, "Pick") };
    let asked = lines.into_iter().fold(asked, |question, line| question.option(line, ""));
    put(asked, &Rules::pick(), Format::Value, args, settings)
}

/// The lines to pick from: without blank ones, and each once.
fn lines(text: &str) -> Result<Vec<&str>, Failure> {
    let limits = *Rules::pick().limits();
    let (most, longest) = (limits.options.max, limits.label_chars.max);
    let mut seen = HashSet::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !askuser::sanitize::is_blank(line) && seen.insert(*line));
    let lines: Vec<(usize, &str)> = lines.collect();
    if let Some((i, line)) = lines.iter().find(|(_, line)| line.chars().count() > longest) {
        let chars = line.chars().count();
        return Err(Failure::new(format!("line {}: {chars} characters, at most {longest}", i + 1)));
    }
    match lines.len() {
        0 => Err(Failure::new("standard input: no lines, needs at least one to pick from")),
        count if count > most => Err(Failure::new(format!("standard input: {count} lines, at most {most}"))),
        _ => Ok(lines.into_iter().map(|(_, line)| line).collect()),
    }
}
