//! A policy in front of a person, combined into one asker.

use crate::asker::{Asker, Asking, Decision};
use crate::policy::Policy;
use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::store::Ending;
use crate::violation::Violations;
use std::fmt;
use std::sync::Arc;

/// An asker that applies a policy and asks a person the remaining questions. [`Policy`] describes the questions that it
/// answers.
///
/// A caller asks the policy once, by [`Asker::decide`] or [`Chain::settle`]. [`Asker::ask`] asks the person.
#[derive(Clone)]
pub struct Chain {
    policy: Policy,
    is_alone: bool,
    person: Arc<dyn Asker>,
    on_misfit: Option<Arc<OnMisfit>>,
    on_ask: Option<Arc<OnAsk>>,
}

type OnMisfit = dyn Fn(&Violations) + Send + Sync;
type OnAsk = dyn Fn(&Request) + Send + Sync;

impl Chain {
    /// Creates a chain with this policy. [`Chain::with_person`] adds the person.
    pub fn new(policy: Policy) -> Chain {
        Chain { policy, is_alone: false, person: Arc::new(Nobody), on_misfit: None, on_ask: None }
    }

    /// Creates a chain without a person. A request that the policy does not settle is unavailable.
    pub fn alone(policy: Policy) -> Chain {
        Chain { is_alone: true, ..Chain::new(policy) }
    }

    /// Sets the person, who is asked the questions that the policy leaves open.
    #[must_use]
    pub fn with_person(self, person: Arc<dyn Asker>) -> Chain {
        Chain { person, ..self }
    }

    /// Sets a callback for prepared answers that match a question but do not fit it. The person is asked in that case.
    #[must_use]
    pub fn on_misfit(self, notify: impl Fn(&Violations) + Send + Sync + 'static) -> Chain {
        Chain { on_misfit: Some(Arc::new(notify)), ..self }
    }

    /// Sets a callback that runs before the person is asked. It must not block.
    #[must_use]
    pub fn on_ask(self, notify: impl Fn(&Request) + Send + Sync + 'static) -> Chain {
        Chain { on_ask: Some(Arc::new(notify)), ..self }
    }

    /// The policy of the chain.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Applies the policy to a request.
    ///
    /// # Errors
    /// Returns every reason why prepared answers do not fit their questions. A chain without a person returns no error.
    pub fn settle(&self, request: &Request) -> Result<Decision, Violations> {
        if self.is_alone { Ok(Decision::Settled(self.policy.alone(request))) } else { self.policy.apply_to(request) }
    }
}

impl Asker for Chain {
    /// Applies the policy. If prepared answers do not fit their questions, the person is asked all questions.
    fn decide(&self, request: &Request) -> Decision {
        self.settle(request).unwrap_or_else(|violations| {
            if let Some(notify) = &self.on_misfit {
                notify(&violations);
            }
            Decision::Ask(Vec::new())
        })
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        if let Some(notify) = &self.on_ask {
            notify(request);
        }
        self.person.ask(request)
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        self.person.close(key, ending);
    }

    fn withdraw<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.person.withdraw(request)
    }
}

/// The end of a chain without a person.
struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Ok(Resolution::unavailable("there is no person to ask").into())))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("policy", &self.policy).field("is_alone", &self.is_alone).finish_non_exhaustive()
    }
}
