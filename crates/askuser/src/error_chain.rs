//! Formats an error with its causes.

use std::error::Error;

/// Returns an error and its causes as one line. A cause whose text is in the line already is left out, because many
/// errors repeat their cause.
pub fn error_chain(error: &dyn Error) -> String {
    let mut line = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;
    use crate::{AskError, Violation};

    #[test]
    fn an_error_that_repeats_its_cause_is_told_once() {
        let violation = Violation { path: "answers[0]".into(), fact: "is missing".into(), limit: "give one".into() };
        let told = format!("the answer does not fit: {violation}");
        let misfit = || StoreError::Misfit(violation.clone().into());
        assert_eq!(error_chain(&misfit()), told);
        assert_eq!(error_chain(&AskError::Store(misfit())), format!("the inbox failed: {told}"));
    }

    #[test]
    fn every_cause_is_told() {
        let inner = StoreError::unavailable("cannot open it", std::io::Error::other("disk full"));
        assert_eq!(error_chain(&AskError::surface("cannot ask", inner)), "cannot ask: cannot open it: disk full");
    }
}
