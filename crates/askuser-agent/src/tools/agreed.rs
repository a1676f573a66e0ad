//! What Write and Edit share: a person sees a change of a file and agrees to that and to nothing else, wherever in the file
//! it has changed since.

use super::blocking;
use super::file_change::{self, Change};
use crate::message::ToolCall;
use crate::shared_file::Original;
use crate::tool::{Consent, Stop, ToolContext, ToolResult};
use askuser::{Purpose, RequestKey};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Older ones are dropped: so many calls never wait for permission at the same time, and each may hold a file.
const MAX_CALLS: usize = 16;

/// What each call was shown to change.
pub(super) type Agreed = Remembered<Shown>;

/// What was so for each call when it was agreed to.
#[derive(Clone, Debug)]
pub(super) struct Remembered<T>(Arc<Mutex<VecDeque<(RequestKey, T)>>>);

impl<T> Default for Remembered<T> {
    fn default() -> Remembered<T> {
        Remembered(Arc::default())
    }
}

/// The content of the file that a diff was made from; `None` where there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown(Option<Vec<u8>>);

/// The change that a call makes, of a file that is still what was shown, if something was.
pub(super) type Plan = fn(&ToolCall, &ToolContext, Option<&Shown>) -> Result<Change, ToolResult>;

impl Agreed {
    /// What the person has to agree to.
    pub(super) fn consent(
        &self,
        tool: &str,
        plan: Plan,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Consent, ToolResult> {
        let change = plan(call, context, None)?;
        let shown = Shown(change.original.as_ref().map(|original| original.bytes.clone()));
        self.remember(context.shared.key(&call.id, Purpose::Permission), shown);
        change.consent(tool, context)
    }

    pub(super) async fn apply(
        &self,
        tool: &'static str,
        plan: Plan,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolResult, Stop> {
        let (agreed, call, own_context) = (self.clone(), call.clone(), context.clone());
        let work = move |cancel: &CancellationToken| agreed.apply_now(tool, plan, &call, &own_context, cancel);
        Ok(blocking::run(context, work).await?.flatten().unwrap_or_else(|rejected| rejected))
    }

    pub(super) fn apply_now(
        &self,
        tool: &str,
        plan: Plan,
        call: &ToolCall,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<ToolResult, ToolResult> {
        let _lock = file_change::change_lock();
        let shown = self.take(&context.shared.key(&call.id, Purpose::Permission));
        let change = plan(call, context, shown.as_ref())?;
        change.apply(context, cancel)?;
        context.shared.known_files.has_written(&change, tool == "Write");
        Ok(change.result(tool))
    }
}

impl<T> Remembered<T> {
    pub(super) fn remember(&self, call: RequestKey, what: T) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|(other, _)| *other != call);
        calls.push_back((call, what));
        if calls.len() > MAX_CALLS {
            calls.pop_front();
        }
    }

    /// Takes it; `None` if nothing was agreed to.
    pub(super) fn take(&self, call: &RequestKey) -> Option<T> {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = calls.iter().position(|(other, _)| other == call)?;
        calls.remove(index).map(|(_, what)| what)
    }
}

impl Shown {
    /// Refuses to change a file that is not what was shown.
    pub(super) fn check(&self, now: Option<&Original>, path: &str) -> Result<(), ToolResult> {
        match self.0.as_ref() == now.map(|now| &now.bytes) {
            true => Ok(()),
            false => Err(file_change::changed_meanwhile(path)),
        }
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
        let agreed = Remembered::default();
        agreed.remember(key(1), "one");
        agreed.remember(key(2), "two");
        agreed.remember(key(1), "one, shown again");
        assert_eq!(agreed.take(&key(2)), Some("two"));
        assert_eq!(agreed.take(&key(1)), Some("one, shown again"));
        assert_eq!(agreed.take(&key(1)), None);
    }

    #[test]
    fn only_the_last_calls_are_remembered() {
        let agreed = Remembered::default();
        (0..=MAX_CALLS + 1).for_each(|call| agreed.remember(key(call), ()));
        let kept: Vec<usize> = (0..=MAX_CALLS + 1).filter(|call| agreed.take(&key(*call)).is_some()).collect();
        assert_eq!(kept, (2..=MAX_CALLS + 1).collect::<Vec<_>>());
    }
}
