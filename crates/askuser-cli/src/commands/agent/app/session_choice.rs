//! The question that lets the person choose a session to resume.

use super::tool_calls::counted;
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules, sanitize};
use askuser_agent::Session;
use std::time::SystemTime;

pub(super) const MAX_SESSIONS: usize = 200;
/// The number of characters that are shown of a session's first message.
const MAX_WORDS: usize = 60;

/// Builds the question, with an option for each session. Returns `None` if there are no sessions.
pub(super) fn question(sessions: &[Session], now: SystemTime) -> Option<QuestionSet> {
    let label = |session: &Session| {
        let words: String = sanitize::line(&session.opening).trim().chars().take(MAX_WORDS).collect();
        format!("{words}  {}, session {}", ago(session.changed, now), session.id)
    };
    let start = QuestionInput::new("Which session do you want to resume?", "Resume");
    let question = sessions.iter().map(label).fold(start, |question, label| question.option(label, ""));
    QuestionSet::new([question], &Rules::pick()).ok()
}

fn ago(then: SystemTime, now: SystemTime) -> String {
    let plural = |count: u64, unit: &str| format!("{} ago", counted(count as usize, unit));
    match now.duration_since(then).map_or(0, |time| time.as_secs()) {
        0..60 => "just now".into(),
        seconds @ 60..3_600 => plural(seconds / 60, "minute"),
        seconds @ 3_600..86_400 => plural(seconds / 3_600, "hour"),
        seconds => plural(seconds / 86_400, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn session(id: &str, opening: &str, ago: u64) -> Session {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - ago);
        Session { id: id.into(), cwd: "/work".into(), opening: opening.into(), changed }
    }

    fn shown(sessions: &[Session]) -> Option<Vec<String>> {
        let set = question(sessions, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))?;
        Some(set.questions()[0].options().iter().map(|option| option.name().to_owned()).collect())
    }

    #[test]
    fn sessions_are_called_by_their_first_words_and_told_apart() {
        let sessions = [session("a", "Fix\nit", 5), session("b", "Fix it", 7_300), session("c", "Mend it", 90_000)];
        let expected =
            ["Fix it  just now, session a", "Fix it  2 hours ago, session b", "Mend it  1 day ago, session c"];
        assert_eq!(shown(&sessions).unwrap(), expected);
        assert_eq!(shown(&[]), None);
    }

    #[test]
    fn first_words_that_a_model_could_not_use_as_a_label_can_be_chosen_too() {
        let long = "x".repeat(500);
        let wide = "漢字 ".repeat(100);
        for opening in [long.as_str(), "Other", "other…", "Go (Recommended)", "\u{1b}[2Jhi", wide.as_str()] {
            assert_eq!(shown(&[session("a", opening, 1)]).map(|lines| lines.len()), Some(1), "{opening}");
        }
    }
}
