//! Keys that the agent has and its tools must not: withheld from the environment of commands, blotted out of results.
//!
//! What a tool has printed is in the transcript, and with the next request at the provider. A key that a command encodes
//! before it prints it is not recognised: withholding it is what protects it.

use crate::tool::{Metadata, ToolResult};
use serde_json::Value;

/// What stands for a key in a result.
const BLOT: &str = "[key removed]";

/// Shorter values are no keys, and would blot out ordinary words.
const MIN_BYTES: usize = 8;

/// The keys in this process's environment.
#[derive(Clone, Default)]
pub struct Secrets {
    withheld: Vec<String>,
    values: Vec<String>,
}

impl Secrets {
    /// No keys.
    pub fn none() -> Secrets {
        Secrets::default()
    }

    /// The keys in these variables. Commands do not get the variables, but for those that are `passed`.
    pub fn in_variables<'a>(
        variables: impl IntoIterator<Item = &'a str>,
        environment: impl Fn(&str) -> Option<String>,
        passed: &[String],
    ) -> Secrets {
        let mut secrets = Secrets::default();
        for variable in variables {
            if let Some(value) = environment(variable).map(|value| value.trim().to_owned()) {
                secrets.values.extend(Some(value).filter(|value| value.len() >= MIN_BYTES));
            }
            if !passed.iter().any(|passed| passed == variable) {
                secrets.withheld.push(variable.to_owned());
            }
        }
        // A key that contains another is replaced as a whole.
        secrets.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets
    }

    /// The variables that commands do not get.
    pub(crate) fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// A result without the keys.
    pub(crate) fn blot(&self, result: ToolResult) -> ToolResult {
        if self.values.is_empty() {
            return result;
        }
        let metadata = result.metadata.map(|metadata| {
            let Metadata { title, subtitle, details } = *metadata;
            let subtitle = subtitle.map(|subtitle| self.blot_text(subtitle));
            Box::new(Metadata { title, subtitle, details: details.map(|details| self.blot_json(details)) })
        });
        ToolResult { output: self.blot_text(result.output), metadata, ..result }
    }

    fn blot_text(&self, text: String) -> String {
        self.values.iter().fold(text, |text, value| if text.contains(value) { text.replace(value, BLOT) } else { text })
    }

    fn blot_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.blot_text(text)),
            Value::Array(items) => items.into_iter().map(|item| self.blot_json(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, field)| (name, self.blot_json(field))).collect())
            }
            other => other,
        }
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
        Secrets::in_variables(["A_KEY", "B_KEY", "SHORT", "UNSET"], environment, &passed)
    }

    #[test]
    fn a_key_does_not_reach_the_transcript_in_any_part_of_a_result() {
        let result = ToolResult::ok("x sk-secret-12, sk-secret-1 1")
            .titled("Bash", "echo sk-secret-1")
            .with_details(json!({"diff": ["+ sk-secret-1", 1]}));
        let expected = ToolResult::ok("x [key removed], [key removed] 1")
            .titled("Bash", "echo [key removed]")
            .with_details(json!({"diff": ["+ [key removed]", 1]}));
        assert_eq!(secrets(&[]).blot(result), expected);
    }

    #[test]
    fn a_passed_key_is_not_withheld_but_still_blotted_out() {
        let secrets = secrets(&["A_KEY"]);
        assert_eq!(secrets.withheld(), ["B_KEY", "SHORT", "UNSET"]);
        assert_eq!(secrets.blot(ToolResult::ok("sk-secret-1")).output, "[key removed]");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }
}
