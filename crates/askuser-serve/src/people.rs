//! Validates the names of people to whom a question may be addressed.

use askuser::store::{CredentialScope, Credentials, StoreError};
use askuser::{Violation, sanitize};

/// The maximum length of a name.
pub(crate) const LONGEST_NAME: usize = 64;

/// Checks a name and returns it as one line.
///
/// # Errors
/// If the name is invalid.
pub fn name(path: &str, given: &str) -> Result<String, Violation> {
    let name = sanitize::line(given).trim().to_owned();
    let wrong = |fact: String, limit: &str| Err(Violation { path: path.into(), fact, limit: limit.into() });
    match name.chars().count() {
        0 => wrong("blank".into(), "must be a name"),
        1..=LONGEST_NAME => Ok(name),
        long => wrong(format!("{long} characters"), &format!("at most {LONGEST_NAME}")),
    }
}

/// Checks the name of a person. It must have no comma, because commas separate the names of a list.
///
/// # Errors
/// If the name is invalid.
pub fn persons_name(given: &str) -> Result<String, Violation> {
    let name = name("name", given)?;
    if name.contains(',') {
        Err(Violation { path: "name".into(), fact: format!("{name:?}"), limit: "must have no comma".into() })
    } else {
        Ok(name)
    }
}

/// Returns a violation for each name that cannot answer. Such a name is no person, no token that answers under its own
/// name, and not the store's owner. A question for them alone would wait forever.
///
/// # Errors
/// If the store cannot be read.
pub async fn unknown(
    store: &dyn Credentials,
    owner: &str,
    path: &str,
    names: &[String],
) -> Result<Vec<Violation>, StoreError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let people = store.people().await?;
    let credentials = store.credentials().await?;
    let answers = |name: &str| {
        let acts = |known: &askuser::store::Credential| {
            known.made.scope == CredentialScope::Answer && known.made.acts_as() == name
        };
        name == owner || people.iter().any(|person| person.name == name) || credentials.iter().any(acts)
    };
    let wrong = |name: &String| {
        let named = credentials.iter().find(|known| known.made.name == *name);
        let fact = match named.map(|known| (known.made.scope, &known.made.person)) {
            Some((CredentialScope::Answer, Some(person))) => format!("{name:?} is a device of {person}"),
            Some((scope, _)) => format!("{name:?} is a token that cannot answer, its scope is {}", scope.name()),
            None => format!("nobody has the name {name:?}"),
        };
        let limit = "must be a person, or a token that answers under its own name".into();
        Violation { path: path.into(), fact, limit }
    };
    Ok(names.iter().filter(|name| !answers(name)).map(wrong).collect())
}
