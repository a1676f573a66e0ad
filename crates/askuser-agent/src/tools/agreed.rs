//! What a person saw when they were asked, by call: they agreed to that and to nothing else.

use askuser::RequestKey;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Older ones are dropped: so many calls never wait for permission at the same time, and each may hold a file.
const MAX_CALLS: usize = 16;

/// What was shown for each call.
#[derive(Clone, Debug)]
pub(super) struct Agreed<T>(Arc<Mutex<VecDeque<(RequestKey, T)>>>);

impl<T> Default for Agreed<T> {
    fn default() -> Agreed<T> {
        Agreed(Arc::default())
    }
}

impl<T> Agreed<T> {
    pub(super) fn remember(&self, call: RequestKey, shown: T) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|(other, _)| *other != call);
        calls.push_back((call, shown));
        if calls.len() > MAX_CALLS {
            calls.pop_front();
        }
    }

    /// Takes what was shown; `None` if nobody was asked.
    pub(super) fn take(&self, call: &RequestKey) -> Option<T> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = calls.iter().position(|(other, _)| other == call)?;
        calls.remove(index).map(|(_, shown)| shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(call: usize) -> RequestKey {
        RequestKey::new("session", call.to_string())
    }

    #[test]
    fn what_was_shown_for_one_call_is_not_forgotten_for_another() {
        let agreed = Agreed::default();
        agreed.remember(key(1), "one");
        agreed.remember(key(2), "two");
        agreed.remember(key(1), "one, shown again");
        assert_eq!(agreed.take(&key(2)), Some("two"));
        assert_eq!(agreed.take(&key(1)), Some("one, shown again"));
        assert_eq!(agreed.take(&key(1)), None);
    }

    #[test]
    fn only_the_last_calls_are_remembered() {
        let agreed = Agreed::default();
        (0..=MAX_CALLS + 1).for_each(|call| agreed.remember(key(call), call));
        let kept: Vec<usize> = (0..=MAX_CALLS + 1).filter_map(|call| agreed.take(&key(call))).collect();
        assert_eq!(kept, (2..=MAX_CALLS + 1).collect::<Vec<_>>());
    }
}
