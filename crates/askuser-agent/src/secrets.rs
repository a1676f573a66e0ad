//! The keys that the agent has and that its tools must not get. They are removed from the environment of commands and
//! redacted in results.
//!
//! The output of a tool goes into the transcript and to the provider. Redaction cannot recognise a key that a command
//! has encoded. So commands do not get the keys.

use crate::tool::{ResultMetadata, ToolResult};
use serde_json::Value;

const BLOT: &str = "[key removed]";

/// The minimum number of bytes of a key. Shorter values would redact ordinary words.
const MIN_BYTES: usize = 8;

/// The keys in the environment of this process, and the variables that commands do not get.
#[derive(Clone)]
pub struct Secrets {
    withheld: Vec<String>,
    /// The variables with keys that commands get, because the user has allowed that.
    passed: Vec<(String, String)>,
    values: Vec<String>,
}

impl Secrets {
    /// Creates an empty set of keys.
    pub fn none() -> Secrets {
        Secrets { withheld: Vec::new(), passed: Vec::new(), values: Vec::new() }
    }

    /// Collects keys from environment variables, and passwords from the addresses in others, such as
    /// `https://user:password@host`.
    ///
    /// An address without a password is not secret. Commands do not get these variables, except those in `passed`.
    pub fn in_variables<'a>(
        keys: impl IntoIterator<Item = &'a str>,
        addresses: impl IntoIterator<Item = &'a str>,
        environment: impl Fn(&str) -> Option<String>,
        passed: &[String],
    ) -> Secrets {
        let mut secrets = Secrets::none();
        let keys = keys.into_iter().map(|variable| {
            let value = environment(variable);
            let key = value.iter().map(|value| value.trim().to_owned()).collect();
            (variable, value, key)
        });
        let addresses = addresses.into_iter().filter_map(|variable| {
            let value = environment(variable)?;
            let users = value.split(|c: char| c.is_whitespace() || ",;'\"".contains(c)).filter_map(user_of);
            let parts = users.flat_map(|user| [user, user.split_once(':').map_or(user, |(_, password)| password)]);
            let found: Vec<String> = parts.map(str::to_owned).collect();
            (!found.is_empty()).then_some((variable, Some(value), found))
        });
        for (variable, value, found) in keys.chain(addresses) {
            secrets.values.extend(found.into_iter().filter(|value: &String| value.len() >= MIN_BYTES));
            if passed.iter().any(|passed| passed == variable) {
                secrets.passed.extend(value.map(|value| (variable.to_owned(), value)))
            } else {
                secrets.withheld.push(variable.to_owned())
            }
        }
        // The longest key comes first, so that a key that contains another one is replaced as a whole.
        secrets.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets
    }

    /// Returns the names of the variables that commands do not get.
    pub fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// Returns the variables with keys that the user has allowed for commands, with their values in this process.
    pub(crate) fn passed(&self) -> &[(String, String)] {
        &self.passed
    }

    pub(crate) fn redact(&self, result: ToolResult) -> ToolResult {
        if self.values.is_empty() {
            return result;
        }
        let metadata = result.metadata.map(|metadata| {
            let ResultMetadata { title, subtitle, details } = *metadata;
            let subtitle = subtitle.map(|subtitle| self.redact_text(subtitle));
            Box::new(ResultMetadata { title, subtitle, details: details.map(|details| self.redact_json(details)) })
        });
        ToolResult { output: self.redact_text(result.output), metadata, ..result }
    }

    /// Redacts the keys in a text.
    pub fn redact_text(&self, text: String) -> String {
        if !self.values.iter().any(|value| text.contains(value)) {
            return text;
        }
        self.redact_start(&text, Ending::Whole).0
    }

    /// Creates a redactor for a text that arrives in pieces.
    pub(crate) fn redactor(&self) -> Redactor<'_> {
        Redactor { secrets: self, held: String::new() }
    }

    /// Redacts a text from its start. Also returns where the redaction stopped: the rest may be the beginning of a key.
    fn redact_start(&self, text: &str, ending: Ending) -> (String, usize) {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let rest = &text[at..];
            let may_grow = |value: &&String| value.len() > rest.len() && value.starts_with(rest);
            if ending == Ending::Open && self.values.iter().any(|value| may_grow(&value)) {
                break;
            }
            match self.values.iter().find(|value| rest.starts_with(value.as_str())) {
                Some(value) => {
                    out.push_str(BLOT);
                    at += value.len();
                }
                None => {
                    out.push(next);
                    at += next.len_utf8();
                }
            }
        }
        (out, at)
    }

    pub(crate) fn redact_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, field)| (name, self.redact_json(field))).collect())
            }
            other => other,
        }
    }
}

/// Returns the credentials in an address; `None` if it has none. In an HTTP address, a user name alone may be a token.
/// In other addresses, such as `ssh://git@host`, it is not.
fn user_of(address: &str) -> Option<&str> {
    let (scheme, after) = address.split_once("://")?;
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let (user, _) = authority.rsplit_once('@')?;
    let has_password = user.split_once(':').is_some_and(|(_, password)| !password.is_empty());
    (has_password || (scheme.starts_with("http") && !user.is_empty())).then_some(user)
}

/// The completeness of a text: `Open` if more text follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    Whole,
}

/// Redacts keys in a text that arrives in pieces. A key may be split between two pieces.
pub(crate) struct Redactor<'a> {
    secrets: &'a Secrets,
    /// The text that may be the beginning of a key.
    held: String,
}

impl Redactor<'_> {
    /// Adds a piece of text. Returns the text that is now safe to show.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if self.secrets.values.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        let (shown, rest) = self.secrets.redact_start(&self.held, Ending::Open);
        self.held.drain(..rest);
        shown
    }

    /// Ends the text. Returns the remaining text, with keys redacted.
    pub(crate) fn finish(&mut self) -> String {
        self.secrets.redact_text(std::mem::take(&mut self.held))
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("withheld", &self.withheld).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secrets(passed: &[&str]) -> Secrets {
        let environment = |name: &str| match name {
            "A_KEY" => Some("sk-secret-1".to_owned()),
            "B_KEY" => Some("sk-secret-12\n".to_owned()),
            "SHORT" => Some("1".to_owned()),
            _ => None,
        };
        let passed: Vec<String> = passed.iter().map(|name| (*name).to_owned()).collect();
        Secrets::in_variables(["A_KEY", "B_KEY", "SHORT", "UNSET"], [], environment, &passed)
    }

    #[test]
    fn a_key_does_not_reach_the_transcript_in_any_part_of_a_result() {
        let result = ToolResult::ok("x sk-secret-12, sk-secret-1 1")
            .with_title("Bash", "echo sk-secret-1")
            .with_details(json!({"diff": ["+ sk-secret-1", 1]}));
        let expected = ToolResult::ok("x [key removed], [key removed] 1")
            .with_title("Bash", "echo [key removed]")
            .with_details(json!({"diff": ["+ [key removed]", 1]}));
        assert_eq!(secrets(&[]).redact(result), expected);
    }

    #[test]
    fn a_key_that_comes_in_pieces_is_never_shown_in_part() {
        let secrets = secrets(&[]);
        let text = "a sk-secret-12 sk-sk-secret-1, sk-secret-x é";
        let expected = "a [key removed] sk-[key removed], sk-secret-x é";
        let cuts = || text.char_indices().map(|(at, _)| at);
        for (first, second) in
            cuts().flat_map(|first| cuts().skip_while(move |at| *at < first).map(move |at| (first, at)))
        {
            let mut redactor = secrets.redactor();
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            let shown: Vec<String> = pieces.iter().map(|piece| redactor.push(piece)).collect();
            assert_eq!(shown.concat(), expected, "{pieces:?}");
        }
        assert_eq!(secrets.redact_text(text.into()), expected);
    }

    #[test]
    fn what_may_become_a_key_waits() {
        let secrets = secrets(&[]);
        let mut redactor = secrets.redactor();
        assert_eq!(redactor.push("sk-secret-1"), "", "the longer key begins like this");
        assert_eq!(redactor.push("3"), "[key removed]3");
        assert_eq!(redactor.push("sk-secret-12"), "[key removed]", "no key is longer");
    }

    #[test]
    fn a_password_in_an_address_does_not_reach_commands_nor_the_transcript() {
        let environment = |name: &str| match name {
            "A_URL" => Some("http://ada:s3cret-pass@proxy.example/v1?x=a@b".to_owned()),
            "B_URL" => Some("http://proxy.example/v1/a@b".to_owned()),
            "C_URL" => Some("https://a-whole-token@proxy.example".to_owned()),
            "DATABASES" => Some("postgres://localhost/a, postgres://ada:s3cret-two@localhost/b".to_owned()),
            "REMOTE" => Some("ssh://git@host.example/a:b".to_owned()),
            _ => None,
        };
        let addresses = ["A_URL", "B_URL", "C_URL", "DATABASES", "REMOTE", "UNSET"];
        let secrets = Secrets::in_variables([], addresses, environment, &["C_URL".to_owned()]);
        assert_eq!(secrets.withheld(), ["A_URL", "DATABASES"]);
        assert_eq!(secrets.redact_text("s3cret-two".into()), "[key removed]");
        let printed =
            ToolResult::ok("http://ada:s3cret-pass@proxy.example s3cret-pass a-whole-token http://proxy.example");
        let shown = "http://[key removed]@proxy.example [key removed] [key removed] http://proxy.example";
        assert_eq!(secrets.redact(printed).output, shown);
    }

    #[test]
    fn a_passed_key_is_not_withheld_but_still_redacted() {
        let secrets = secrets(&["A_KEY"]);
        assert_eq!(secrets.withheld(), ["B_KEY", "SHORT", "UNSET"]);
        assert_eq!(secrets.redact(ToolResult::ok("sk-secret-1")).output, "[key removed]");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }
}
