//! The one chain of surfaces: a policy, then a person.

use crate::asker::{Asker, Asking, Decision};
use crate::policy::Policy;
use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::store::Ending;
use crate::violation::Violations;
use std::fmt;
use std::sync::Arc;

/// A policy in front of a person: it answers what it can, and the person is asked the rest. See [`Policy`] for what it answers.
///
/// A caller asks the policy once, by [`Asker::decide`] or [`Chain::settle`]. [`Asker::ask`] asks the person.
#[derive(Clone, Default)]
pub struct Chain {
    policy: Policy,
    is_alone: bool,
    person: Option<Arc<dyn Asker>>,
    on_misfit: Option<Arc<OnMisfit>>,
    on_ask: Option<Arc<OnAsk>>,
}

type OnMisfit = dyn Fn(&Violations) + Send + Sync;
type OnAsk = dyn Fn(&Request) + Send + Sync;

impl Chain {
    /// A chain that begins with this policy, and goes on to a person.
    pub fn new(policy: Policy) -> Chain {
        Chain { policy, ..Chain::default() }
    }

    /// The policy alone: what it does not settle is unavailable.
    pub fn alone(policy: Policy) -> Chain {
        Chain { policy, is_alone: true, ..Chain::default() }
    }

    /// Asks this person what the policy leaves open.
    #[must_use]
    pub fn with_person(self, person: Arc<dyn Asker>) -> Chain {
        Chain { person: Some(person), ..self }
    }

    /// Called if answers written beforehand match a question without fitting it, so that the person is asked.
    #[must_use]
    pub fn on_misfit(self, notify: impl Fn(&Violations) + Send + Sync + 'static) -> Chain {
        Chain { on_misfit: Some(Arc::new(notify)), ..self }
    }

    /// Called before the person is asked. Must not block.
    #[must_use]
    pub fn on_ask(self, notify: impl Fn(&Request) + Send + Sync + 'static) -> Chain {
        Chain { on_ask: Some(Arc::new(notify)), ..self }
    }

    /// The policy of the chain.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The decision of the policy.
    ///
    /// # Errors
    /// Every reason why answers written beforehand do not fit a question that a person could be asked.
    pub fn settle(&self, request: &Request) -> Result<Decision, Violations> {
        if self.is_alone { Ok(Decision::Settled(self.policy.alone(request))) } else { self.policy.apply_to(request) }
    }
}

impl Asker for Chain {
    /// Answers that do not fit a question are no answers to it: the person is asked.
    fn decide(&self, request: &Request) -> Decision {
        self.settle(request).unwrap_or_else(|violations| {
            if let Some(notify) = &self.on_misfit {
                notify(&violations);
            }
            Decision::Ask(Vec::new())
        })
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let Some(person) = &self.person else {
            let nobody = Resolution::unavailable("there is no person to ask");
            return Box::pin(std::future::ready(Ok(nobody.into())));
        };
        if let Some(notify) = &self.on_ask {
            notify(request);
        }
        person.ask(request)
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        if let Some(person) = &self.person {
            person.close(key, ending);
        }
    }

    fn withdraw<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        let nobody = || Box::pin(std::future::ready(Err(crate::AskError::Withdrawn))) as Asking<'a>;
        self.person.as_ref().map_or_else(nobody, |person| person.withdraw(request))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("policy", &self.policy).field("is_alone", &self.is_alone).finish_non_exhaustive()
    }
}
