//! How long the released clients wait for a tool, so that a call returns before they give up.

use std::time::Duration;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patience {
    plain: Duration,
    with_progress: Duration,
    with_dialog: Duration,
}

/// What a client that is not known gets.
const UNKNOWN: Patience = Patience::of(45, 45, 45);

/// Half an hour: long enough where there is no limit to stay below, and a model that waits longer has lost the thread.
const LONG: u64 = 30 * 60;

/// By how the name of a client begins, in lower case. Measured with the versions named; each is a little less than what the
/// client was seen to wait.
const CLIENTS: [(&str, Patience); 9] = [
    // 2.1: 30 min, and 120 s until a call goes to the background, where an answer does not count as a person's. An open
    // dialog prevents that.
    ("claude-code", Patience::of(110, 110, LONG - 60)),
    // 0.166: 300 s whatever the progress; an open dialog stops the clock.
    ("codex", Patience::of(285, 285, LONG)),
    // 1.0: 180 s after the last progress.
    ("github-copilot", Patience::of(165, LONG, 165)),
    ("copilot", Patience::of(165, LONG, 165)),
    // 0.61: 600 s whatever the progress.
    ("gemini", Patience::of(585, 585, 585)),
    // 0.24: 300 s after the last progress, 600 s in all.
    ("qwen", Patience::of(285, 585, 285)),
    // 1.18: 60 s after the last progress.
    ("opencode", Patience::of(50, LONG, 50)),
    // 1.5 and 3.0: 60 s, and they ask for no progress.
    ("continue", Patience::of(50, 50, 50)),
    ("cline", Patience::of(50, 50, 50)),
];

impl Patience {
    const fn of(plain: u64, with_progress: u64, with_dialog: u64) -> Patience {
        Patience {
            plain: Duration::from_secs(plain),
            with_progress: Duration::from_secs(with_progress),
            with_dialog: Duration::from_secs(with_dialog),
        }
    }

    /// What the settings say, or else what is known of a client of this name.
    pub(crate) fn with(limit: Option<Duration>, client: &str) -> Patience {
        if let Some(limit) = limit {
            return Patience { plain: limit, with_progress: limit, with_dialog: limit };
        }
        let client = client.trim_start_matches('@').to_lowercase();
        CLIENTS.iter().find(|(name, _)| client.starts_with(name)).map_or(UNKNOWN, |(_, patience)| *patience)
    }

    /// How long to wait in all.
    pub(crate) fn limit(&self, has_progress: bool, has_dialog: bool) -> Duration {
        let with_progress = if has_progress { self.with_progress } else { self.plain };
        if has_dialog { with_progress.max(self.with_dialog) } else { with_progress }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(client: &str, has_progress: bool, has_dialog: bool, seconds: u64) {
        let limit = Patience::with(None, client).limit(has_progress, has_dialog);
        assert_eq!(limit, Duration::from_secs(seconds), "{client}");
    }

    #[test]
    fn every_measured_client_is_answered_before_it_gives_up() {
        check("claude-code", true, false, 110);
        check("claude-code", true, true, 1_740);
        check("codex-mcp-client", true, false, 285);
        check("github-copilot-developer", false, false, 165);
        check("github-copilot-developer", true, false, 1_800);
        check("gemini-cli-mcp-client-askuser", true, false, 585);
        check("qwen-code-mcp-client", false, false, 285);
        check("qwen-code-mcp-client", true, false, 585);
        check("opencode", true, false, 1_800);
        check("continue-cli-client", false, false, 50);
        check("Cline", false, false, 50);
        check("@cline-core", false, false, 50);
        check("mcp", true, true, 45);
    }

    #[test]
    fn a_limit_that_was_set_is_the_limit_whatever_the_client() {
        let patience = Patience::with(Some(Duration::from_secs(7)), "claude-code");
        assert_eq!(patience.limit(true, true), Duration::from_secs(7));
    }
}
