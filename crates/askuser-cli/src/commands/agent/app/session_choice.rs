//! The question which session to resume.

use super::tool_calls::counted;
use askuser::input::QuestionInput;
use askuser::{QuestionSet, Rules, sanitize};
use askuser_agent::Session;
use std::time::SystemTime;

/// How many sessions are offered: as many as a question has options.
pub(super) const MAX_SESSIONS: usize = 4;
const STAY: &str = "Stay here";

/// A unique label for each session: the first words of its opening message, numbered if needed.
fn labels(sessions: &[Session]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for session in sessions {
        let words = sanitize::line(&session.opening);
        let words: String = words.trim().chars().take(40).collect();
        let numbered = (2..).map(|n| format!("{words} ({n})"));
        let is_free = |label: &String| !labels.contains(label) && label != STAY;
        labels.extend(std::iter::once(words.clone()).chain(numbered).find(is_free));
    }
    labels
}

/// The question, and the label of each session; `None` without sessions.
pub(super) fn question(sessions: &[Session], now: SystemTime) -> Option<(QuestionSet, Vec<String>)> {
    let by_words = labels(sessions);
    // Not every text is a valid label (`Other` is not); an id always is.
    let by_id = || sessions.iter().map(|session| format!("Session {}", session.id)).collect();
    let ask = |labels: Vec<String>| with_labels(sessions, &labels, now).map(|set| (set, labels));
    ask(by_words).or_else(|| ask(by_id()))
}

fn with_labels(sessions: &[Session], labels: &[String], now: SystemTime) -> Option<QuestionSet> {
    if sessions.is_empty() {
        return None;
    }
    let start = QuestionInput::new("Which session do you want to resume?", "Resume");
    let question = sessions.iter().zip(labels).fold(start, |question, (session, label)| {
        question.option(label, format!("{}, session {}", ago(session.changed, now), session.id))
    });
    let question = if sessions.len() == 1 { question.option(STAY, "Go on with this session") } else { question };
    QuestionSet::new([question], &Rules::strict()).ok()
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
        let (set, _) = question(sessions, SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))?;
        let line = |option: &askuser::Choice| format!("{}: {}", option.name(), option.description());
        Some(set.questions()[0].options().iter().map(line).collect())
    }

    #[test]
    fn sessions_are_called_by_their_first_words_and_told_apart() {
        let sessions = [session("a", "Fix\nit", 5), session("b", "Fix it", 7_300), session("c", "Mend it", 90_000)];
        let expected =
            ["Fix it: just now, session a", "Fix it (2): 2 hours ago, session b", "Mend it: 1 day ago, session c"];
        assert_eq!(shown(&sessions).unwrap(), expected);
    }

    #[test]
    fn one_session_can_be_declined_and_none_is_no_question() {
        let expected = ["Fix it: 1 minute ago, session a", "Stay here: Go on with this session"];
        assert_eq!(shown(&[session("a", "Fix it", 60)]).unwrap(), expected);
        assert_eq!(shown(&[]), None);
    }

    #[test]
    fn first_words_that_a_model_could_not_use_as_a_label_can_be_chosen_too() {
        let long = "x".repeat(500);
        for opening in
            [long.as_str(), "Other", "other…", "Go (Recommended)", "\u{1b}[2Jhi", "漢字 ".repeat(100).as_str()]
        {
            assert_eq!(
                shown(&[session("a", opening, 1), session("b", "b", 2)]).map(|lines| lines.len()),
                Some(2),
                "{opening}"
            );
        }
    }
}
