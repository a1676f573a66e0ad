//! Formats questions and their endings for people.

use askuser::store::{AskerPresence, Ending, QuestionId, StoredQuestion, UnsentWords};
use askuser::{Request, Status, permission, report, sanitize};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::time::Duration;

/// Formats the ending of a question: `was answered by ada from terminal at 12:04: Database: PostgreSQL`.
pub(crate) fn ended(request: &Request, ending: &Ending) -> String {
    let at = ending.at_ms().map(|at| format!(" at {}", time(at))).unwrap_or_default();
    match ending {
        Ending::Withdrawn { by, .. } => format!("was withdrawn by {}{at}", sanitize::line(by)),
        Ending::Settled { .. } => {
            format!("was settled by the asker ({}){at}", sanitize::line(ending.by().unwrap_or_default()))
        }
        Ending::Resolved(resolution) => {
            let by = answerer(ending).map(|by| format!(" by {by}")).unwrap_or_default();
            let via = resolution.via().map(|via| format!(" from {}", via.name())).unwrap_or_default();
            let verb = match resolution.outcome().status() {
                Status::Answered => "was answered",
                Status::Cancelled | Status::Unavailable { .. } => "was cancelled",
                Status::Declined { .. } => "was declined",
                Status::Discuss { .. } => "was sent back for discussion",
                Status::TimedOut => return format!("timed out{at}, no answer"),
            };
            let words = decided(request, ending).map(|words| format!(": {words}")).unwrap_or_default();
            format!("{verb}{by}{via}{at}{words}")
        }
    }
}

/// Formats the person who ended a question, with the device: `ada on phone`. Returns `None` if no person is known.
pub(crate) fn answerer(ending: &Ending) -> Option<String> {
    let device =
        ending.resolution().and_then(|resolution| resolution.device()).filter(|name| ending.by() != Some(name));
    let device = device.map(|device| format!(" on {device}")).unwrap_or_default();
    ending.by().map(|by| sanitize::line(&format!("{by}{device}")).into_owned())
}

/// Formats the audience of a question with a space before it: ` [for ada, ops]`. Returns an empty text if the question
/// is for everybody.
pub(crate) fn for_whom(question: &StoredQuestion) -> String {
    question.request.audience_words().map(|names| format!(" [for {names}]")).unwrap_or_default()
}

/// Formats a person's decision: `Database: PostgreSQL`, or the note that prevents a permitted call from running.
/// Returns `None` without a decision.
pub(crate) fn decided(request: &Request, ending: &Ending) -> Option<String> {
    not_run(request, ending).or_else(|| report::decided(ending.resolution()?.outcome()))
}

/// Formats the note that prevents a permission or a plan from running: `not run: in a branch`. Returns `None` without
/// such a note.
pub(crate) fn not_run(request: &Request, ending: &Ending) -> Option<String> {
    let note = permission::condition(request.key().purpose, request.set(), ending.resolution()?.outcome())?;
    Some(format!("not run: {}", sanitize::line(note)))
}

/// Formats the header and the title: `Database: Which database?`.
pub(crate) fn titled(question: &StoredQuestion) -> String {
    match question.request.set().questions()[0].chip() {
        None => question.request.title(),
        Some(header) => format!("{header}: {}", question.request.title()),
    }
}

/// Returns the short name of a question: its header, or the headers of several questions.
pub(crate) fn name(question: &StoredQuestion) -> String {
    let headers: Vec<&str> = question.request.set().questions().iter().map(|question| question.header()).collect();
    headers.join(", ")
}

/// Returns the hint that a waiting command prints.
pub(crate) fn how_to_answer(question: &StoredQuestion) -> String {
    let id = &question.id;
    let names = question.request.audience_words();
    let names = names.map(|names| format!(" for {names}")).unwrap_or_default();
    format!("the question waits in the inbox as {id}{names}; answer it with `askuser inbox` or `askuser answer {id}`")
}

/// Returns the line that replaces an unreadable question in a list.
pub(crate) fn unreadable(id: &QuestionId) -> String {
    format!("question {id} cannot be read")
}

/// Formats a notice such as `New: Claude Code asks: Which database?`.
pub(crate) fn new_question(question: &StoredQuestion) -> String {
    format!("New: {} asks: {}", who(question), question.request.title())
}

/// Returns whether `doctor` or `init` asked the question to test an agent's server. Such a question is not meant for a
/// person.
pub(crate) fn is_probe(question: &StoredQuestion) -> bool {
    question.request.origin().agent.as_deref() == Some(askuser_mcp::PROBE_CLIENT)
}

/// Formats the agent and its task: `Claude Code (task 'tests')`.
pub(crate) fn who(question: &StoredQuestion) -> String {
    let agent = question.request.origin().agent_name().unwrap_or_else(|| "an agent".to_owned());
    match question.request.asked_by() {
        Some(task) => format!("{agent} ({task})"),
        None => agent,
    }
}

/// Formats the agent and its folder: `Claude Code in ~/shop`.
pub(crate) fn who_and_where(question: &StoredQuestion) -> String {
    let folder = folder(question).map(|folder| format!(" in {folder}")).unwrap_or_default();
    format!("{}{folder}", who(question))
}

pub(crate) fn folder(question: &StoredQuestion) -> Option<String> {
    let folder = question.request.origin().folder.as_deref().filter(|folder| !folder.is_empty())?;
    Some(home_relative(&sanitize::line(folder)))
}

/// Formats a folder with `~` for the home folder.
pub(crate) fn home_relative(folder: &str) -> String {
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    match home.and_then(|home| folder.strip_prefix(&home).map(str::to_owned)) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => folder.to_owned(),
    }
}

pub(crate) fn project(question: &StoredQuestion) -> String {
    let folder = folder(question).unwrap_or_default();
    let name = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if name.is_empty() { folder } else { name.to_owned() }
}

/// Describes the presence of an agent that does not wait for the answer. Returns `None` if the agent waits.
pub(crate) fn presence(question: &StoredQuestion) -> Option<String> {
    match question.asker {
        AskerPresence::Waits => None,
        _ if question.request.is_in_background() => Some("not waiting: the agent works on".into()),
        AskerPresence::Left(at) => Some(format!("not waiting since {}", time(at))),
        AskerPresence::Died(at) => Some(format!("agent gone since {}", time(at))),
    }
}

/// Describes an answer that its agent has not fetched: `answered 12 min ago; Claude Code has not fetched it`. Returns
/// `None` if the answer is delivered, or the agent waits for it.
pub(crate) fn not_fetched(question: &StoredQuestion) -> Option<String> {
    let ended_ms = question.ending.as_ref()?.resolution()?.at_ms()?;
    if question.delivered_ms.is_some() || question.asker == AskerPresence::Waits {
        return None;
    }
    let ago = duration(Duration::from_millis(question.read_ms.saturating_sub(ended_ms)));
    let agent = question.request.origin().agent_name().unwrap_or_else(|| "the agent".to_owned());
    let told = if question.sent_ms.is_some() { "was told and has" } else { "has" };
    Some(format!("answered {ago} ago; {agent} {told} not fetched it"))
}

/// Returns the unsent text of a person. If there are several drafts, each has its place and time.
pub(crate) fn unsent(drafts: &[UnsentWords]) -> Vec<String> {
    let of = |saved: &UnsentWords| {
        let typed = match drafts {
            [_, _, ..] if !saved.place.is_empty() => {
                format!(" (typed on {} at {})", sanitize::line(&saved.place), time(saved.saved_ms))
            }
            _ => String::new(),
        };
        saved.words.iter().map(|words| format!("{words}{typed}")).collect::<Vec<_>>()
    };
    drafts.iter().flat_map(of).collect()
}

/// Formats a time of today as `12:04`, and any other time with its date.
pub(crate) fn time(ms: u64) -> String {
    let Some(then) = zoned(ms) else { return "?".into() };
    let now = Zoned::now();
    let format = if then.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    then.strftime(format).to_string()
}

pub(crate) fn date_time(ms: u64) -> String {
    zoned(ms).map_or_else(|| "?".into(), |then| then.strftime("%Y-%m-%d %H:%M").to_string())
}

fn zoned(ms: u64) -> Option<Zoned> {
    Some(Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?.to_zoned(TimeZone::system()))
}

/// Formats a duration: `14 s`, `2 min`, `3 h 5 min`, `2 d 4 h`.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    let days = seconds / 86_400;
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

pub(crate) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_units_at_most() {
        let shown: Vec<String> = [999, 59_000, 61_000, 3_600_000, 11_100_000, 187_200_000]
            .map(|ms| duration(Duration::from_millis(ms)))
            .into();
        assert_eq!(shown, ["0 s", "59 s", "1 min", "1 h 0 min", "3 h 5 min", "2 d 4 h"]);
    }
}
