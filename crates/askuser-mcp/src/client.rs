//! Facts about released clients, by the name in their `clientInfo`: their timeouts for tools, and the dialogs that they
//! show.

use std::time::Duration;

/// The timeouts and dialogs of one client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientFacts {
    /// The beginning of the client's name, in lower case.
    name: &'static str,
    /// The version whose timeout was measured; `None` for a client that does not report its version. Later versions are
    /// assumed to wait as long.
    since: Option<[u64; 2]>,
    /// The time limit, a little less than the measured timeout.
    timeout: CallTimeout,
    /// The time after which the client may give up a call without cancelling it; `None` if it always cancels.
    pub(crate) silent_after: Option<Duration>,
    pub(crate) dialogs: Dialogs,
}

/// The dialogs that a client shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialogs {
    /// The dialogs that the client declares.
    Declared,
    /// Forms of one choice. The client shows several choices as a bare yes or no, and does not accept an empty text
    /// field. Its timeout stops while a form is open.
    OneChoice,
    /// No dialogs. Without a terminal, the client exits when it gets one.
    Fatal,
}

/// The time limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallTimeout {
    plain: Duration,
    with_progress: Duration,
    with_dialog: Duration,
}

/// Half an hour in seconds, for clients without a timeout. A model that waits longer loses track of its task.
const LONG: u64 = 30 * 60;

/// The facts of a client that is not in the table. Such a client is assumed to cancel a call that it gives up.
const UNKNOWN: ClientFacts = ClientFacts {
    name: "",
    since: None,
    timeout: CallTimeout::of(45, 45, 45),
    silent_after: None,
    dialogs: Dialogs::Declared,
};

const CLIENTS: [ClientFacts; 13] = [
    // 30 min, and 120 s until a call goes to the background, where an answer does not count as a person's. An open
    // dialog keeps the call in the foreground.
    ClientFacts { since: Some([2, 1]), ..waits("claude-code", 110, 110, LONG - 60) },
    // 300 s regardless of progress; an open dialog stops the clock.
    ClientFacts { since: Some([0, 166]), dialogs: Dialogs::OneChoice, ..waits("codex", 285, 285, 285) },
    // 180 s after the last progress.
    ClientFacts { since: Some([1, 0]), ..waits("github-copilot", 165, LONG, 165) },
    ClientFacts { since: Some([1, 0]), ..waits("copilot", 165, LONG, 165) },
    // 600 s regardless of progress.
    ClientFacts { since: Some([0, 61]), ..waits("gemini", 585, 585, 585) },
    // 300 s after the last progress, 600 s in all.
    waits("qwen", 285, 585, 285),
    // 60 s after the last progress.
    ClientFacts { since: Some([1, 18]), ..waits("opencode", 50, LONG, 50) },
    ClientFacts { since: Some([7, 7]), ..waits("kilo", 50, LONG, 50) },
    // 60 s, without requests for progress. Cline can be set to give up after one second.
    waits("continue", 50, 50, 50),
    ClientFacts { silent_after: Some(Duration::from_secs(1)), ..waits("cline", 50, 50, 50) },
    // The desktop application of Goose has another name.
    ClientFacts { dialogs: Dialogs::Fatal, ..waits("goose-cli", 45, 45, 45) },
    // 5 s over stdio by default (`timeout`).
    waits("google-adk", 4, 4, 4),
    // 30 s by default (`timeout`).
    waits("omp-coding-agent", 25, 25, 25),
];

/// Returns a client with these timeouts in seconds: alone, with progress, and with an open dialog.
const fn waits(name: &'static str, plain: u64, with_progress: u64, with_dialog: u64) -> ClientFacts {
    ClientFacts { name, timeout: CallTimeout::of(plain, with_progress, with_dialog), ..UNKNOWN }
}

impl ClientFacts {
    /// Returns the facts of a client by its name.
    pub(crate) fn of(client: &str) -> ClientFacts {
        let client = client.trim_start_matches('@').to_lowercase();
        CLIENTS.into_iter().find(|known| client.starts_with(known.name)).unwrap_or(UNKNOWN)
    }

    /// Returns the timeout of a call: the configured one, or else the measured one. An older version was not measured,
    /// so it counts as an unknown client.
    pub(crate) fn timeout(&self, limit: Option<Duration>, version: &str) -> CallTimeout {
        match limit {
            Some(limit) => CallTimeout { plain: limit, with_progress: limit, with_dialog: limit },
            None if self.since.is_some_and(|since| numbers(version) < since) => UNKNOWN.timeout,
            None => self.timeout,
        }
    }
}

impl CallTimeout {
    const fn of(plain: u64, with_progress: u64, with_dialog: u64) -> CallTimeout {
        CallTimeout {
            plain: Duration::from_secs(plain),
            with_progress: Duration::from_secs(with_progress),
            with_dialog: Duration::from_secs(with_dialog),
        }
    }

    /// Returns the total waiting time.
    pub(crate) fn limit(&self, has_progress: bool, has_dialog: bool) -> Duration {
        let with_progress = if has_progress { self.with_progress } else { self.plain };
        if has_dialog { with_progress.max(self.with_dialog) } else { with_progress }
    }
}

/// Returns the first two numbers of a version. A missing number is 0.
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
        let limit = ClientFacts::of(client).timeout(None, version).limit(has_progress, has_dialog);
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
        let timeout = ClientFacts::of("claude-code").timeout(Some(Duration::from_secs(7)), "2.1.325");
        assert_eq!(timeout.limit(true, true), Duration::from_secs(7));
    }

    #[test]
    fn an_sdk_that_names_itself_has_a_ticket_before_it_gives_up() {
        check("google-adk 2.13.0", true, true, 4);
        check("omp-coding-agent 1.0.0", true, true, 25);
    }

    #[test]
    fn what_a_client_can_be_told_stands_in_the_same_table() {
        let facts = |name: &str| (ClientFacts::of(name).silent_after.is_some(), ClientFacts::of(name).dialogs);
        assert_eq!(facts("@cline-core"), (true, Dialogs::Declared));
        assert_eq!(facts("Codex"), (false, Dialogs::OneChoice));
        assert_eq!(facts("goose-cli"), (false, Dialogs::Fatal));
        assert_eq!(facts("goose-desktop"), (false, Dialogs::Declared));
        assert_eq!(facts("mcp"), (false, Dialogs::Declared));
    }
}
