//! `/permissions`: lists, adds and removes the rules that allow calls without asking.

use askuser_agent::{AllowedRule, PermissionRules};

const USAGE: &str = "[add COMMAND | remove N]";

/// Runs the words after the command, and returns a message with the result.
pub(crate) fn run(rules: &PermissionRules, words: &str) -> Result<String, String> {
    let (verb, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match (verb, rest.trim()) {
        ("", _) => Ok(listing(&list(rules)?)),
        ("add", command) if !command.is_empty() => {
            let added = rules.add(command).map_err(|error| format!("Not allowed: {error}."))?;
            Ok(format!("Not asked for any more in this folder: {added}"))
        }
        ("remove", number) if !number.is_empty() => {
            let listed = list(rules)?;
            let wanted = number.parse::<usize>().ok().and_then(|number| listed.get(number.checked_sub(1)?));
            let Some(rule) = wanted else {
                return Err(format!("There is no rule {number}. {}", listing(&listed)));
            };
            rules.remove(rule).map_err(|error| format!("It still holds: {error}."))?;
            Ok(format!("Asked for again: {rule}"))
        }
        _ => Err(format!("/permissions takes {USAGE}.")),
    }
}

fn list(rules: &PermissionRules) -> Result<Vec<AllowedRule>, String> {
    rules.list().map_err(|error| format!("The rules cannot be read, so nothing is allowed by them: {error}."))
}

fn listing(rules: &[AllowedRule]) -> String {
    if rules.is_empty() {
        return "Nothing is allowed for good in this folder. /permissions add cargo test * allows a command.".into();
    }
    let lines = rules.iter().enumerate().map(|(i, rule)| format!("\n{:>3}  {rule}", i + 1));
    format!("Not asked for in this folder:{}\n/permissions remove N asks again.", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser_agent::{Agent, PermissionRule, Script};

    #[test]
    fn rules_are_added_listed_and_taken_back() {
        let rules = Agent::new(Script::default()).permission_rules();
        let nothing = "Nothing is allowed for good in this folder. /permissions add cargo test * allows a command.";
        assert_eq!(run(&rules, ""), Ok(nothing.into()));
        run(&rules, "add cargo test *").unwrap();
        run(&rules, "add  git status").unwrap();
        let listed = "Not asked for in this folder:\n  1  Bash: git status (exactly this), for this session\n  2  Bash: cargo \
                      test * (inside the sandbox), for this session\n/permissions remove N asks again.";
        assert_eq!(run(&rules, ""), Ok(listed.into()));
        let removed = "Asked for again: Bash: git status (exactly this), for this session";
        assert_eq!(run(&rules, "remove 1"), Ok(removed.into()));
        assert_eq!(rules.list().unwrap().len(), 1);
    }

    #[test]
    fn a_command_of_three_lines_is_not_listed_as_if_it_were_one() {
        let rule =
            AllowedRule::new(PermissionRule::Command("echo a #\nrm -r b\r\ntrue".into()), askuser_agent::Scope::Folder);
        let listed = "Not asked for in this folder:\n  1  Bash: echo a # ⏎ rm -r b ⏎ true (exactly this)\n/permissions remove N \
                      asks again.";
        assert_eq!(listing(&[rule]), listed);
    }

    #[test]
    fn what_cannot_be_done_changes_nothing_and_is_said() {
        let rules = Agent::new(Script::default()).permission_rules();
        for words in ["remove", "remove 1", "remove x", "remove 0", "add", "add a; b *", "allow ls"] {
            assert!(run(&rules, words).is_err(), "{words}");
        }
        assert_eq!(rules.list().unwrap(), []);
    }
}
