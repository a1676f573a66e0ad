//! How long the released clients wait for a tool, so that a call returns before they give up.

use std::time::Duration;

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallTimeout {
    plain: Duration,
    with_progress: Duration,
    with_dialog: Duration,
}

/// For an unknown client.
const UNKNOWN: CallTimeout = CallTimeout::of(45, 45, 45);

/// Half an hour: long enough where there is no limit to stay below, and a model that waits longer has lost the thread.
const LONG: u64 = 30 * 60;

/// Clients whose timeout was measured: how its name begins, in lower case; the version that was measured, as far as it says
/// something (later ones are taken to be as patient; `None` where the client does not say its own); a little less than what it was
/// seen to wait.
const CLIENTS: [(&str, Option<[u64; 2]>, CallTimeout); 10] = [
    // 30 min, and 120 s until a call goes to the background, where an answer does not count as a person's. An open dialog
    // prevents that.
    ("claude-code", Some([2, 1]), CallTimeout::of(110, 110, LONG - 60)),
    // 300 s whatever the progress; an open dialog stops the clock.
    ("codex", Some([0, 166]), CallTimeout::of(285, 285, LONG)),
    // 180 s after the last progress.
    ("github-copilot", Some([1, 0]), CallTimeout::of(165, LONG, 165)),
    ("copilot", Some([1, 0]), CallTimeout::of(165, LONG, 165)),
    // 600 s whatever the progress.
    ("gemini", Some([0, 61]), CallTimeout::of(585, 585, 585)),
    // 300 s after the last progress, 600 s in all.
    ("qwen", None, CallTimeout::of(285, 585, 285)),
    // 60 s after the last progress.
    ("opencode", Some([1, 18]), CallTimeout::of(50, LONG, 50)),
    ("kilo", Some([7, 7]), CallTimeout::of(50, LONG, 50)),
    // 60 s, and they ask for no progress.
    ("continue", None, CallTimeout::of(50, 50, 50)),
    ("cline", None, CallTimeout::of(50, 50, 50)),
];

impl CallTimeout {
    const fn of(plain: u64, with_progress: u64, with_dialog: u64) -> CallTimeout {
        CallTimeout {
            plain: Duration::from_secs(plain),
            with_progress: Duration::from_secs(with_progress),
            with_dialog: Duration::from_secs(with_dialog),
        }
    }

    /// What the settings say, or else what is known of a client of this name and version. One that is older than what was
    /// measured is not known.
    pub(crate) fn with(limit: Option<Duration>, client: &str, version: &str) -> CallTimeout {
        if let Some(limit) = limit {
            return CallTimeout { plain: limit, with_progress: limit, with_dialog: limit };
        }
        let client = known_name(client);
        let mut known = CLIENTS
            .into_iter()
            .filter(|(name, since, _)| client.starts_with(name) && since.is_none_or(|since| numbers(version) >= since));
        known.next().map_or(UNKNOWN, |(_, _, timeout)| timeout)
    }

    /// How long to wait in all.
    pub(crate) fn limit(&self, has_progress: bool, has_dialog: bool) -> Duration {
        let with_progress = if has_progress { self.with_progress } else { self.plain };
        if has_dialog { with_progress.max(self.with_dialog) } else { with_progress }
    }
}

/// How long a client waits at least. None was seen to give up sooner than after 5 s; Cline can be told to after one, and does not
/// say that it does.
pub(crate) fn least_patience(client: &str) -> Duration {
    Duration::from_secs(if known_name(client).starts_with("cline") { 1 } else { 5 })
}

/// A name as it stands in the table.
fn known_name(client: &str) -> String {
    client.trim_start_matches('@').to_lowercase()
}

/// The first two numbers of a version; what is none counts as 0.
fn numbers(version: &str) -> [u64; 2] {
    let mut numbers = version.trim_start_matches('v').split('.').map(|number| number.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(client: &str, has_progress: bool, has_dialog: bool, seconds: u64) {
        let (client, version) = client.split_once(' ').unwrap_or((client, "1.0.0"));
        let limit = CallTimeout::with(None, client, version).limit(has_progress, has_dialog);
        assert_eq!(limit, Duration::from_secs(seconds), "{client}");
    }

    #[test]
    fn every_measured_client_is_answered_before_it_gives_up() {
        check("claude-code 2.1.325", true, false, 110);
        check("claude-code 2.1.325", true, true, 1_740);
        check("codex-mcp-client 0.166.0", true, false, 285);
        check("copilot-cli 1.0.102", false, false, 165);
        check("copilot-cli 1.0.102", true, false, 1_800);
        check("github-copilot-developer 1.0.0", true, false, 1_800);
        check("gemini-cli-mcp-client 0.61.0", true, false, 585);
        check("qwen-cli-mcp-client-askuser 0.0.1", false, false, 285);
        check("qwen-cli-mcp-client-askuser 0.0.1", true, false, 585);
        check("opencode 1.18.33", true, false, 1_800);
        check("kilo 7.7.7", true, false, 1_800);
        check("continue-cli-client", false, false, 50);
        check("Cline", false, false, 50);
        check("@cline-core", false, false, 50);
        check("mcp", true, true, 45);
    }

    #[test]
    fn a_version_older_than_what_was_measured_is_not_known() {
        check("claude-code 2.0.76", true, true, 45);
        check("claude-code 1.9.0", true, true, 45);
        check("codex-mcp-client 0.42.0", true, true, 45);
        check("opencode dev", true, false, 45);
        for later in ["claude-code 2.1.0", "claude-code 2.2", "claude-code 3.0.0-beta", "claude-code v10.0.1"] {
            check(later, true, false, 110);
        }
    }

    #[test]
    fn a_limit_that_was_set_is_the_limit_whatever_the_client() {
        let timeout = CallTimeout::with(Some(Duration::from_secs(7)), "claude-code", "2.1.325");
        assert_eq!(timeout.limit(true, true), Duration::from_secs(7));
    }
}
