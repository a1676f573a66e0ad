//! `askuser agent sessions`: lists the sessions, or those that mention a text.

use super::session;
use crate::failure::{self, Failure};
use crate::json::escape_invisible;
use crate::result::finish;
use crate::store::display;
use askuser::sanitize;
use askuser_agent::{Session, Transcript};
use clap::ArgMatches;
use serde_json::json;
use std::time::UNIX_EPOCH;

const SHOWN: usize = 80;

pub(crate) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let wanted = args.get_one::<String>("text").map(String::as_str);
    let folder = session::folder()?;
    let found: Vec<(Session, Option<String>)> = Transcript::list(&folder)
        .into_iter()
        .filter(|session| !session.opening.trim().is_empty())
        .filter(|session| args.get_flag("all") || std::env::current_dir().is_ok_and(|cwd| session.cwd == cwd))
        .filter_map(|session| match wanted {
            Some(text) => Transcript::mention(&folder, &session.id, text).map(|line| (session, Some(line))),
            None => Some((session, None)),
        })
        .collect();
    if found.is_empty() {
        let whose = if args.get_flag("all") { "no session" } else { "no session of this folder" };
        let what = wanted.map_or_else(String::new, |text| format!(" mentions {text:?}"));
        let hint = if args.get_flag("all") { "" } else { "; --all looks in every folder" };
        failure::notice(&format!("{whose}{what}{hint}"));
    }
    let lines: String = found.iter().map(|(session, line)| show(session, line.as_deref(), args)).collect();
    finish(&lines)
}

/// Returns a line such as `01999f3c2aa-5b1e77c0  2026-11-15 22:04  ~/shop  Set up storage`.
fn show(session: &Session, mention: Option<&str>, args: &ArgMatches) -> String {
    let changed_ms = session.changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    if args.get_flag("json") {
        let mut line = json!({
            "id": session.id, "cwd": session.cwd, "changed_ms": changed_ms, "opening": session.opening,
        });
        if let Some(mention) = mention {
            line["mention"] = mention.into();
        }
        return format!("{}\n", escape_invisible(&line));
    }
    let folder = if args.get_flag("all") {
        format!("  {}", sanitize::line(&session.cwd.display().to_string()))
    } else {
        String::new()
    };
    let wanted = args.get_one::<String>("text").map_or("", String::as_str);
    let mention = mention.map(|line| format!("\n    {}", excerpt(line, wanted))).unwrap_or_default();
    let id = &session.id;
    let changed = display::date_time(changed_ms);
    let opening = excerpt(&session.opening, "");
    format!("{id}  {changed}{folder}  {opening}{mention}\n")
}

/// Returns a part of a text in one line, with the wanted words in it.
fn excerpt(text: &str, wanted: &str) -> String {
    let line = sanitize::line(text.trim());
    let before = line.to_lowercase().find(&wanted.to_lowercase()).unwrap_or(0);
    // The excerpt begins a little before the match. The position is approximate, because upper and lower case may
    // differ in length.
    let begin = line.chars().count().min(before).saturating_sub(SHOWN / 2);
    let mut shown: String = line.chars().skip(begin).take(SHOWN).collect();
    if begin > 0 {
        shown.insert(0, '…');
    }
    if line.chars().count() > begin + SHOWN {
        shown.push('…');
    }
    shown
}
