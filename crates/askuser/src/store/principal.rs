//! Principals and their rights. Every call of a store has a principal. The store records the principal, and refuses
//! calls beyond its rights. The table names the questions to which each right applies.
//!
//! | | asks | sees | answers | withdraws | waits, claims | drafts, holds the clock, purges |
//! |---|---|---|---|---|---|---|
//! | a person | – | all | those for them | those for them | – | those for them; purges all |
//! | an agent | its own | its own | – | its own | its own | – |
//! | a policy | – | all | plain questions for everybody | – | – | – |
//! | an agent with a credential | its credential's | its credential's | – (settles) | its credential's | its credential's | – |
//! | an observer | – | all | – | – | – | – |
//!
//! A question is for everybody unless it has an audience ([`Request::audience`]).
//!
//! An agent with a verified credential *settles* its own questions: it reports an answer from its own terminal or its
//! client's dialog. [`Ending::Settled`](super::Ending::Settled) records the report, never as a person's answer. If a
//! question has an audience, the agent may only report an answer of one of these people.
//!
//! The rights in a local file bind only honest programs. A server enforces them.

use super::{End, StoreError};
use crate::outcome::{Outcome, Status};
use crate::request::{Origin, Request};
use crate::resolution::{Resolution, Via};

/// A person, agent, policy or observer, with the id of the credential that authenticated it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    kind: Kind,
    credential_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Person { name: String, via: Via, device: Option<String> },
    Agent { name: Option<String>, credential: Option<String> },
    Policy { via: Via },
    Observer,
}

/// An operation of a principal.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Puts this request.
    Ask(&'a Request),
    /// Reads this question.
    See(&'a Request),
    /// Ends this question in this way.
    End(&'a Request, &'a End),
    /// Waits for this question, takes its answer, or uses its permission.
    Use(&'a Request),
    /// Saves a draft for this question, or removes its deadline.
    Consider(&'a Request),
    /// Reads all events.
    Follow,
    /// Removes questions that ended long ago.
    Purge,
}

impl Principal {
    /// Creates a person at this surface, or a policy if the surface asks no person.
    pub fn person(name: impl Into<String>, via: Via) -> Principal {
        let kind = if via.is_a_person() {
            Kind::Person { name: name.into(), via, device: None }
        } else {
            Kind::Policy { via }
        };
        Principal { kind, credential_id: None }
    }

    /// Creates an agent from this origin, with its verified credential if it has one.
    pub fn agent(origin: &Origin) -> Principal {
        let kind = Kind::Agent { name: origin.agent.clone(), credential: origin.credential.clone() };
        Principal { kind, credential_id: None }
    }

    /// Creates the principal of a process that an agent started. It may read all questions and decide none, even at a
    /// terminal.
    pub fn observer() -> Principal {
        Principal { kind: Kind::Observer, credential_id: None }
    }

    /// Sets the device of a person.
    pub fn on_device(self, device: impl Into<String>) -> Principal {
        let kind = match self.kind {
            Kind::Person { name, via, .. } => Kind::Person { name, via, device: Some(device.into()) },
            other => other,
        };
        Principal { kind, ..self }
    }

    /// Sets the id of the credential. Every store checks the credential in the transaction of each call. So a request
    /// that was authenticated before a revocation has no effect after it.
    pub fn with_credential_id(self, id: impl Into<String>) -> Principal {
        Principal { credential_id: Some(id.into()), ..self }
    }

    /// The id of the authenticating credential, if there is one.
    pub fn credential_id(&self) -> Option<&str> {
        self.credential_id.as_deref()
    }

    /// The name of the principal, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::Person { name, .. } => Some(name),
            Kind::Agent { name, credential } => credential.as_deref().or(name.as_deref()),
            Kind::Policy { .. } | Kind::Observer => None,
        }
    }

    /// The surface of a person or the source of a policy; `None` for other principals.
    pub fn via(&self) -> Option<Via> {
        match &self.kind {
            Kind::Person { via, .. } | Kind::Policy { via } => Some(*via),
            Kind::Agent { .. } | Kind::Observer => None,
        }
    }

    /// The device of a person, if known.
    pub fn device(&self) -> Option<&str> {
        match &self.kind {
            Kind::Person { device, .. } => device.as_deref(),
            _ => None,
        }
    }

    /// The credential of an agent, which may settle its own questions; `None` for other principals.
    pub fn settles_as(&self) -> Option<&str> {
        match &self.kind {
            Kind::Agent { credential, .. } => credential.as_deref(),
            _ => None,
        }
    }

    /// Whether the principal is a person.
    pub fn is_a_person(&self) -> bool {
        matches!(self.kind, Kind::Person { .. })
    }

    /// The questions that the principal may see. Lists contain only these questions.
    pub fn scope(&self) -> Scope<'_> {
        match &self.kind {
            Kind::Person { name, .. } => Scope::Person(name),
            Kind::Agent { credential: Some(credential), .. } => Scope::OfCredential(credential),
            Kind::Agent { name, credential: None } => Scope::Of(name.as_deref()),
            Kind::Policy { .. } | Kind::Observer => Scope::Everything,
        }
    }

    /// Refuses an operation beyond the principal's rights. Every store calls this with the stored question.
    ///
    /// # Errors
    /// Returns [`StoreError::Forbidden`] with the reason.
    pub fn check(&self, act: Operation<'_>) -> Result<(), StoreError> {
        let forbidden = |why: &str| Err(StoreError::Forbidden(why.to_owned()));
        let if_theirs = |request: &Request, why: &str| if self.sees(request) { Ok(()) } else { forbidden(why) };
        let if_for = |request: &Request, name: Option<&str>| match request.audience_words() {
            Some(names) if !name.is_some_and(|name| request.is_for(name)) => {
                forbidden(&format!("the question is for {names}, and nobody else can answer it"))
            }
            _ => Ok(()),
        };
        match (&self.kind, act) {
            (Kind::Agent { .. }, Operation::Ask(request) | Operation::See(request) | Operation::Use(request)) => {
                if_theirs(request, "it is a question of another agent")
            }
            (Kind::Agent { .. }, Operation::End(request, End::Withdraw)) => {
                if_theirs(request, "an agent withdraws its own questions only")
            }
            (Kind::Agent { credential: None, .. }, Operation::End(_, End::Resolve { .. })) => {
                forbidden("an agent cannot answer")
            }
            (Kind::Agent { .. }, Operation::Consider(_)) => {
                forbidden("only a person drafts an answer or stops the clock")
            }
            (Kind::Agent { .. }, Operation::Purge) => forbidden("only a person removes questions"),
            (Kind::Agent { .. }, Operation::Follow) => forbidden("an agent follows its own questions only"),
            (Kind::Observer, Operation::See(_) | Operation::Follow) => Ok(()),
            (Kind::Observer, _) => forbidden("an agent started this process, and only a person does this"),
            (_, Operation::End(_, End::Resolve { outcome, .. }))
                if matches!(outcome.status(), Status::TimedOut | Status::Unavailable { .. }) =>
            {
                forbidden("that time ran out, or no person was reached, is no answer")
            }
            (Kind::Agent { .. }, Operation::End(request, End::Resolve { reported, .. })) => {
                if_theirs(request, "an agent settles its own questions only")?;
                if_for(request, reported.as_ref().and_then(|reported| reported.by.as_deref()))
            }
            (Kind::Policy { .. }, Operation::End(request, End::Resolve { .. })) if request.asks_to_agree() => {
                forbidden("only a person gives permission or approves a plan, no file and no rule")
            }
            (Kind::Policy { .. }, Operation::End(request, End::Resolve { .. })) => if_for(request, None),
            (Kind::Policy { .. }, Operation::See(_)) => Ok(()),
            (Kind::Policy { .. }, _) => forbidden("a policy answers, and does nothing else"),
            (Kind::Person { .. }, Operation::Ask(_) | Operation::Use(_)) => {
                forbidden("a person answers; an agent asks and waits")
            }
            (Kind::Person { name, .. }, Operation::End(request, _) | Operation::Consider(request)) => {
                if_for(request, Some(name))
            }
            (Kind::Person { .. }, Operation::See(_) | Operation::Follow | Operation::Purge) => Ok(()),
        }
    }

    /// Whether the principal is a person who may answer the question.
    pub fn is_asked(&self, request: &Request) -> bool {
        matches!(&self.kind, Kind::Person { name, .. } if request.is_for(name))
    }

    /// Whether the principal may read a question.
    pub fn sees(&self, request: &Request) -> bool {
        match self.scope() {
            Scope::Everything | Scope::Person(_) => true,
            Scope::Of(name) => request.origin().credential.is_none() && request.origin().agent.as_deref() == name,
            Scope::OfCredential(name) => request.origin().credential.as_deref() == Some(name),
        }
    }

    /// Returns an outcome with this principal's provenance, as the store records it.
    pub(super) fn stamp(&self, outcome: Outcome, at_ms: u64) -> Resolution {
        let resolution = match &self.kind {
            Kind::Person { name, via, device } => {
                let by = Some(name.clone());
                let device = device.clone();
                Resolution { by, device, ..Resolution::new(outcome, *via) }
            }
            Kind::Policy { via } => Resolution::new(outcome, *via),
            // The check of rights has refused this case already, because the answer would have no author.
            Kind::Agent { .. } | Kind::Observer => Resolution::unavailable("an agent cannot answer"),
        };
        resolution.with_time(at_ms)
    }
}

/// The questions that a principal may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All questions.
    Everything,
    /// All questions, as this person sees them. [`Filter::parts`](super::Filter::parts) separates the person's
    /// questions from those for others.
    Person(&'a str),
    /// The questions that the agent of this name asked without a credential.
    Of(Option<&'a str>),
    /// The questions that were asked with the credential of this name.
    OfCredential(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::QuestionInput;
    use crate::{Purpose, QuestionSet, Reported, RequestKey, Rules};

    fn request() -> Request {
        let question = QuestionInput::new("Run it?", "Bash").option("Yes", "now").option("No", "not now");
        let set = QuestionSet::new([question], &Rules::strict()).unwrap();
        Request::new(RequestKey::new("session", "call"), set).with_origin(Origin::default().with_agent("tester"))
    }

    /// Returns the letters of the operations that a principal may do with a question.
    fn allowed(principal: &Principal, request: &Request) -> String {
        let answer = End::from(Outcome::cancelled());
        let reported = Some(Reported { by: Some("ada".into()), via: None });
        let report = End::Resolve { outcome: Outcome::cancelled(), reported };
        let silence = End::from(Outcome::timed_out());
        let acts = [
            ('a', Operation::Ask(request)),
            ('s', Operation::See(request)),
            ('u', Operation::Use(request)),
            ('e', Operation::End(request, &answer)),
            ('r', Operation::End(request, &report)),
            ('t', Operation::End(request, &silence)),
            ('w', Operation::End(request, &End::Withdraw)),
            ('c', Operation::Consider(request)),
            ('f', Operation::Follow),
            ('p', Operation::Purge),
        ];
        acts.into_iter().filter(|(_, act)| principal.check(*act).is_ok()).map(|(letter, _)| letter).collect()
    }

    #[test]
    fn a_principal_does_what_the_table_says_and_no_more() {
        let of_ci = Origin::default().with_agent("tester").with_credential("ci");
        let key = RequestKey::new("session", "call").for_purpose(Purpose::Permission);
        let requests = [
            request(),
            request().with_origin(of_ci.clone()),
            Request::new(key, request().set().clone()).with_origin(of_ci.clone()),
            request().with_origin(of_ci.clone()).with_audience(["ada"]),
        ];
        let agent = |name: &str| Principal::agent(&Origin::default().with_agent(name));
        for (principal, expected) in [
            (Principal::person("ada", Via::Inbox), ["serwcfp"; 4]),
            (Principal::person("bob", Via::Inbox), ["serwcfp", "serwcfp", "serwcfp", "sfp"]),
            (agent("tester"), ["asuw", "", "", ""]),
            (agent("other"), [""; 4]),
            (Principal::agent(&of_ci), ["", "asuerw", "asuerw", "asurw"]),
            (Principal::person("ada", Via::AnswersFile), ["ser", "ser", "s", "s"]),
            (Principal::observer(), ["sf"; 4]),
        ] {
            let found = requests.each_ref().map(|request| allowed(&principal, request));
            assert_eq!(found, expected, "{principal:?}");
        }
    }

    #[test]
    fn no_file_and_no_rule_permits_or_approves_a_plan() {
        for purpose in [Purpose::Permission, Purpose::Plan] {
            let asked = Request::new(RequestKey::new("session", "call").for_purpose(purpose), request().set().clone());
            for via in [Via::AnswersFile, Via::Policy] {
                let by = Principal::person("ada", via).on_device("phone");
                assert_eq!(allowed(&by, &asked), "s", "{via:?} settles no {purpose:?}");
            }
        }
    }

    #[test]
    fn a_principal_is_named_with_its_surface_and_device() {
        let named = |principal: &Principal| {
            let texts = [principal.name(), principal.device(), principal.settles_as(), principal.credential_id()];
            (texts.map(|text| text.map(str::to_owned)), principal.via(), principal.is_a_person())
        };
        let texts = |texts: [Option<&str>; 4]| texts.map(|text| text.map(str::to_owned));
        let ada = Principal::person("ada", Via::Web).on_device("phone").with_credential_id("c1");
        assert_eq!(named(&ada), (texts([Some("ada"), Some("phone"), None, Some("c1")]), Some(Via::Web), true));
        let agent = Principal::agent(&Origin::default().with_agent("tester")).on_device("phone");
        assert_eq!(named(&agent), (texts([Some("tester"), None, None, None]), None, false));
        let of_ci = Principal::agent(&Origin::default().with_agent("tester").with_credential("ci"));
        assert_eq!(named(&of_ci), (texts([Some("ci"), None, Some("ci"), None]), None, false));
        let file = Principal::person("ada", Via::AnswersFile);
        assert_eq!(named(&file), (texts([None; 4]), Some(Via::AnswersFile), false));
        assert!(ada.is_asked(&request()) && !of_ci.is_asked(&request()));
        assert!(!ada.is_asked(&request().with_audience(["bob"])));
    }

    #[test]
    fn a_principal_sees_the_questions_of_its_scope() {
        let of_ci = Origin::default().with_agent("tester").with_credential("ci");
        let scopes = [
            (Principal::person("ada", Via::Web), Scope::Person("ada")),
            (Principal::person("ada", Via::Policy), Scope::Everything),
            (Principal::observer(), Scope::Everything),
            (Principal::agent(&Origin::default().with_agent("tester")), Scope::Of(Some("tester"))),
            (Principal::agent(&of_ci), Scope::OfCredential("ci")),
        ];
        for (principal, scope) in &scopes {
            assert_eq!(principal.scope(), *scope);
        }
    }

    #[test]
    fn an_outcome_is_stamped_with_its_principal() {
        let stamp = |principal: &Principal| {
            let resolution = principal.stamp(Outcome::cancelled(), 7);
            let text = |text: Option<&str>| text.map(str::to_owned);
            (text(resolution.by()), text(resolution.device()), resolution.via(), resolution.at_ms())
        };
        let ada = Principal::person("ada", Via::Web).on_device("phone");
        assert_eq!(stamp(&ada), (Some("ada".into()), Some("phone".into()), Some(Via::Web), Some(7)));
        let file = Principal::person("ada", Via::AnswersFile);
        assert_eq!(stamp(&file), (None, None, Some(Via::AnswersFile), Some(7)));
        let observer = Principal::observer().stamp(Outcome::cancelled(), 7);
        assert!(matches!(observer.outcome().status(), Status::Unavailable { .. }) && observer.via().is_none());
    }
}
