//! `askuser log`: prints the questions with their decisions, their authors, and their waiting time.

use crate::config::{Settings, duration};
use crate::failure::{Failure, exit, notice};
use crate::json::escape_invisible;
use crate::result::{finish, write};
use crate::store::{
    at_the_terminal, display, done, for_each_page, location, only_a_person, open_for_person, open_kept,
};
use crate::truncate::truncate;
use crate::wrapped::columns;
use askuser::store::{Ending, Filter, Purged, QuestionJson, State, Store, StoredQuestion};
use askuser::verbatim::{self, Charset};
use askuser::{Context, sanitize};
use askuser_inbox::Location;
use askuser_terminal::text::{Line, Span, Style};
use askuser_terminal::{Options, Role, Theme, context_lines, styled, width, wrap};
use clap::ArgMatches;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let given = |flag| args.get_one::<String>(flag).map(|when| time(flag, when)).transpose();
    let since_ms = given("since")?;
    let before_ms = given("before")?;
    let json = args.get_flag("json");
    let columns = columns(io::stdout());
    let store = match (before_ms, location(settings)?) {
        // A purge answers for no person, so a database may be opened without a server for it.
        (Some(_), Location::Postgres(_)) => at_the_terminal(&(open_kept(settings)? as Arc<dyn Store>)),
        _ => open_for_person(settings)?,
    };
    if let Some(before_ms) = before_ms {
        only_a_person("remove a question")?;
        let Purged { count, remains } = done(store.purge(before_ms))?;
        remains.iter().for_each(|remains| notice(remains));
        let report = if json {
            format!("{}\n", serde_json::json!({"purged": count, "before_ms": before_ms, "remains": remains}))
        } else {
            format!("removed {count} that ended before {}\n", display::date_time(before_ms))
        };
        return finish(&report);
    }
    let from = args.get_one::<String>("from").cloned();
    let theme = Options::detect().theme;
    let mut is_empty = true;
    // Pending questions are listed as newer than ended ones.
    let latest_first = !args.get_flag("reverse");
    let mut parts = [Filter::ended(), Filter::pending()];
    if latest_first {
        parts.reverse();
    }
    let mut show = |questions: &[StoredQuestion]| {
        let questions: Vec<_> = questions.iter().filter(|question| json || !display::is_probe(question)).collect();
        is_empty &= questions.is_empty();
        let shown = |question| match (json, columns) {
            (true, _) => escape_invisible(&serde_json::json!(QuestionJson::from(question))) + "\n",
            (false, None) => line(question) + "\n",
            (false, Some(columns)) => styled(&entry(question, &theme, columns), &theme),
        };
        write(&questions.into_iter().map(shown).collect::<String>())
    };
    for part in parts {
        for_each_page(&store, Filter { since_ms, from: from.clone(), latest_first, ..part }, &mut show)?;
    }
    if is_empty && !json {
        notice("no questions to show");
    }
    Ok(exit::ANSWERED)
}

/// Returns the entry for a person at a terminal, on several rows:
///
/// ```text
/// 2026-11-15 12:04  Claude Code in ~/shop  3f2a9c0d11aa
///   "Which database?"
///   ✔ answered: Database: PostgreSQL (ada from terminal, after 2 min)
/// ```
fn entry(question: &StoredQuestion, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let is_not_run = question.ending.as_ref().is_some_and(|end| display::not_run(&question.request, end).is_some());
    let (mark, role) = match question.state() {
        State::Pending => (theme.signs.ellipsis, Role::Warning),
        State::Answered if !is_not_run => (theme.signs.done, Role::Success),
        _ => (theme.signs.not_done, Role::Danger),
    };
    let date = display::date_time(question.asked_ms);
    let id = &question.id;
    let room = columns.saturating_sub(width(&date) + width(id.as_str()) + 4);
    let who = truncate(&display::who_and_where(question), room, theme);
    let head = truncate(&format!("{date}  {who}  {id}"), columns, theme);
    // Only the first row of a text begins in this column. No text can therefore pass for a row of the log.
    let rows = |mark: Option<Span<'static>>, text: &str, style: Style| {
        let room = columns.saturating_sub(4).max(1);
        let row = |(i, range): (usize, Range<usize>)| {
            let lead = if i == 0 { Span::raw("  ") } else { Span::raw("    ") };
            let words = Span::styled(text[range].trim_end().to_owned(), style);
            Line::from_iter([lead].into_iter().chain(mark.clone().filter(|_| i == 0)).chain([words]))
        };
        wrap(text, room, room).into_iter().enumerate().map(row).collect::<Vec<_>>()
    };
    let asked = rows(None, &quoted(&question.request.title()), theme.strong(Role::Text));
    let agreed = agreed_to(question).map(|context| context_lines(context, theme, columns.saturating_sub(4) as u16));
    let indented = |line: Line<'static>| Line::from_iter([Span::raw("    ")].into_iter().chain(line.spans));
    let mark = Span::styled(format!("{mark} "), theme.style(role));
    let outcome = rows(Some(mark), &outcome(question), Style::default());
    let head = Line::styled(head, theme.style(Role::Muted));
    let agreed = agreed.into_iter().flatten().map(indented);
    [head].into_iter().chain(asked).chain(agreed).chain(outcome).collect()
}

/// Returns a text in quotes, with `\n` for its line breaks. It therefore cannot pass for an outcome in the log.
fn quoted(text: &str) -> String {
    let escaped = |line| sanitize::line(line).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.split('\n').map(escaped).collect::<Vec<_>>().join("\\n"))
}

/// Returns the text that the person of a permission or a plan agrees to; `None` for other questions.
fn agreed_to(question: &StoredQuestion) -> Option<&Context> {
    question.request.context().filter(|_| question.request.is_agreed_to())
}

/// Formats a question as `2026-11-15 12:04  3f2a9c0d11aa  Claude Code ~/shop: "Which database?" → PostgreSQL (ada from
/// terminal, after 2 min)`.
fn line(question: &StoredQuestion) -> String {
    let date = display::date_time(question.asked_ms);
    let id = &question.id;
    let who = display::who(question);
    let folder = display::folder(question).unwrap_or_default();
    let agreed = agreed_to(question).map(|context| verbatim::shown(&context.text(), Charset::Utf8).into_owned());
    let agreed = agreed.map(|text| format!(" {}", quoted(&text))).unwrap_or_default();
    let asked = quoted(&question.request.title());
    format!("{date}  {id}  {who} {folder}: {asked}{agreed} → {}", outcome(question))
}

/// Formats an outcome as `answered: Database: PostgreSQL (ada from terminal, after 2 min)`.
fn outcome(question: &StoredQuestion) -> String {
    let Some(ending) = &question.ending else {
        let waits = display::duration(question.age());
        let gone = display::presence(question).map(|gone| format!(", {gone}")).unwrap_or_default();
        return format!("pending for {waits}{gone}{}", display::for_whom(question));
    };
    let after = ending.at_ms().map(|at| display::duration(Duration::from_millis(at.saturating_sub(question.asked_ms))));
    let after = after.unwrap_or_default();
    let via = ending.resolution().and_then(|resolution| resolution.via()).map(|via| format!(" from {}", via.name()));
    let by = display::answerer(ending).unwrap_or_else(|| "no person".into());
    let by = if ending.state() == State::Settled { format!("the asker, {by}") } else { by };
    let by = format!("{by}{}, after {after}", via.unwrap_or_default());
    let delivered = match (question.delivered_ms, ending, question.request.is_in_background()) {
        (None, Ending::Resolved(_), false) => ", not delivered yet".to_owned(),
        (None, Ending::Resolved(_), true) => {
            display::not_fetched(question).map(|words| format!("; {words}")).unwrap_or_default()
        }
        _ => String::new(),
    };
    let decided = display::decided(&question.request, ending).map(|words| format!(": {words}")).unwrap_or_default();
    let state = ending.state().name().replace('_', " ");
    let words = display::not_run(&question.request, ending).unwrap_or_else(|| format!("{state}{decided}"));
    format!("{words} ({by}{delivered})")
}

/// Parses a point in time: a duration before now, a date, or a date with a time. Returns milliseconds since the Unix
/// epoch.
fn time(flag: &str, when: &str) -> Result<u64, Failure> {
    // A year alone is no number of seconds.
    if let Some(ago) = duration(when).filter(|_| !when.ends_with(|c: char| c.is_ascii_digit())) {
        return Ok(display::now_ms().saturating_sub(ago.as_millis() as u64));
    }
    let then: Option<DateTime> = when.parse().ok();
    let then = then.and_then(|then| then.to_zoned(TimeZone::system()).ok());
    let wrong = |fact, limit| Failure::new(format!("--{flag}: {when:?}{fact}, must be {limit}"));
    match then.and_then(|then| u64::try_from(then.timestamp().as_millisecond()).ok()) {
        Some(then) if then > display::now_ms() && flag == "before" => Err(wrong(" is in the future", "past")),
        Some(then) => Ok(then),
        None => Err(wrong("", "a duration such as 2h or 3d, or a time such as 2026-11-15T12:00")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_duration_a_date_or_both() {
        let since = |when| time("since", when).map_err(|error| error.message);
        assert!(since("2h").unwrap() < since("1m").unwrap());
        assert_eq!(since("2025-11-15T00:00").unwrap(), since("2025-11-15").unwrap());
        assert_eq!(time("before", "2025-11-15").unwrap(), since("2025-11-15").unwrap());
        assert_eq!(
            since("yesterday").unwrap_err(),
            "--since: \"yesterday\", must be a duration such as 2h or 3d, or a time such as 2026-11-15T12:00"
        );
    }

    #[test]
    fn what_is_not_past_yet_cannot_be_purged() {
        let error = time("before", "2999-01-01").unwrap_err().message;
        assert_eq!(error, "--before: \"2999-01-01\" is in the future, must be past");
        assert!(time("since", "2999-01-01").is_ok(), "there are none since then");
        assert!(time("before", "2026").is_err(), "not half an hour ago");
    }
}
