//! The environment variables of settings, and suggestions for misspelt names.

use crate::settings::SETTINGS;
use crate::usage::similar;

/// Returns the variable of a setting, such as `ASKUSER_TIMEOUT`.
pub(super) fn variable_of(name: &str) -> String {
    ["ASKUSER_", &name.to_ascii_uppercase()].concat()
}

/// Returns the setting that a misspelt word resembles; `None` if there is none.
pub(super) fn similar_setting(word: &str) -> Option<&'static str> {
    similar(word, SETTINGS.iter().map(|setting| setting.name))
}

/// Returns the unknown variables that resemble a setting, each with a suggestion.
pub(crate) fn misspelt_variables(names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    // The variables that askuser sets for commands, and a secret.
    const NO_SETTINGS: [&str; 5] =
        ["ASKUSER_HEADER", "ASKUSER_QUESTION", "ASKUSER_FROM", "ASKUSER_STARTED_BY_AGENT", "ASKUSER_TOKEN"];
    let known =
        |name: &str| NO_SETTINGS.contains(&name) || SETTINGS.iter().any(|setting| variable_of(setting.name) == name);
    let meant = |name: String| {
        let similar = similar_setting(&name.strip_prefix("ASKUSER_")?.to_lowercase())?;
        (!known(&name)).then(|| (name, variable_of(similar)))
    };
    names.filter_map(meant).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_found_and_others_of_ours_are_not() {
        let names =
            ["ASKUSER_TIMEOT", "ASKUSER_TIMEOUT", "ASKUSER_KEY_DELAY", "ASKUSER_XYZZY", "ASKUSER_QUESTION", "TIMEOT"];
        let found = misspelt_variables(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(found, [("ASKUSER_TIMEOT".to_owned(), "ASKUSER_TIMEOUT".to_owned())]);
    }

    #[test]
    fn what_we_tell_our_own_commands_is_no_misspelt_setting() {
        let told = ["ASKUSER_HEADER", "ASKUSER_QUESTION", "ASKUSER_FROM", "ASKUSER_STARTED_BY_AGENT"];
        let set = SETTINGS.iter().map(|setting| variable_of(setting.name));
        assert_eq!(misspelt_variables(set.chain(told.map(str::to_owned))), []);
    }

    #[test]
    fn a_word_with_half_of_a_name_in_it_is_not_taken_for_that() {
        assert_eq!(similar_setting("storage"), Some("store"));
        assert_eq!(similar_setting("storekeeper"), None);
        assert_eq!(similar_setting("store_rack"), None);
    }
}
