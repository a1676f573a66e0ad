//! `askuser pick`: asks for a choice among items, which are arguments or lines of standard input.

use super::confirm::{put, question};
use crate::config::{Format, Settings};
use crate::failure::Failure;
use crate::source;
use askuser::{Form, Rules};
use clap::ArgMatches;
use std::collections::HashSet;
use std::io::IsTerminal;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let given: Option<Vec<&str>> = args.get_many::<String>("item").map(|items| items.map(String::as_str).collect());
    let text = match &given {
        Some(_) => String::new(),
        None if std::io::stdin().is_terminal() => {
            return Err(Failure::new("there is nothing to pick from: standard input is a terminal")
                .hint("name the items, or pipe lines into it: git branch | askuser pick -q \"Which branch?\""));
        }
        None => source::read_list()?,
    };
    let items = match &given {
        Some(items) => distinct("arguments", "argument", items.iter().copied())?,
        None => distinct("standard input", "line", text.lines())?,
    };
    if let (Some(_), [only]) = (&given, &items[..]) {
        let hint = format!("a question goes with -q: git branch | askuser pick -q {only:?}");
        return Err(Failure::new("arguments: one item, needs at least two").hint(hint));
    }
    let asked = question(args, Form::Pick);
    let asked = if args.get_flag("multi") { asked.multi_select() } else { asked };
    let asked = items.into_iter().fold(asked, |question, item| question.option(item, ""));
    put(asked, &Rules::pick(), Format::Value, args, settings)
}

/// Returns the items to pick from, each once and without blank ones.
fn distinct<'a>(source: &str, noun: &str, items: impl Iterator<Item = &'a str>) -> Result<Vec<&'a str>, Failure> {
    let limits = *Rules::pick().limits();
    let most = limits.options.max;
    let longest = limits.label_chars.max;
    let mut seen = HashSet::new();
    let items = items.enumerate().filter(|(_, item)| !askuser::sanitize::is_blank(item) && seen.insert(*item));
    let items: Vec<(usize, &str)> = items.collect();
    if let Some((i, item)) = items.iter().find(|(_, item)| item.chars().count() > longest) {
        let chars = item.chars().count();
        return Err(Failure::new(format!("{noun} {}: {chars} characters, at most {longest}", i + 1)));
    }
    match items.len() {
        0 => Err(Failure::new(format!("{source}: no {noun}s, needs at least one to pick from"))),
        count if count > most => Err(Failure::new(format!("{source}: {count} {noun}s, at most {most}"))),
        _ => Ok(items.into_iter().map(|(_, item)| item).collect()),
    }
}
