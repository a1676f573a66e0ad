//! Rules for rights and for recorded authors.

use crate::Place;
use crate::support::{Process, TestEnv, agent, choice, is_forbidden, new_attempt, ok, person, request, wait};
use askuser::store::{
    AskerPresence, Draft, End, Ending, Filter, NotifierFailure, Principal, QuestionId, State, StoreError, Watched,
};
use askuser::{Origin, Reported, Request, Via};

/// The name of an operation on a question, and a function that performs it. The function fails if the operation has no
/// effect.
type Deed = (&'static str, fn(&Process, &Principal, &Request, &QuestionId) -> Result<(), StoreError>);

const DEEDS: [Deed; 16] = [
    ("ask", |process, by, request, _| wait(process.by(by.clone()).put(request, None)).map(drop)),
    ("see", |process, by, _, id| wait(process.by(by.clone()).get(id)).map(drop)),
    ("see by key", |process, by, request, _| wait(process.by(by.clone()).get(request.key())).map(drop)),
    ("watch", |process, by, _, id| wait(process.by(by.clone()).watch(&Watched::Question(id.clone()))).map(drop)),
    ("wait", |process, by, _, id| wait(process.by(by.clone()).attach(id)).map(drop)),
    ("send", |process, by, _, id| wait(process.by(by.clone()).sent(id)).map(drop)),
    ("deliver", |process, by, _, id| wait(process.by(by.clone()).delivered(id))),
    ("claim", |process, by, _, id| wait(process.by(by.clone()).claim(id, &new_attempt())).map(drop)),
    ("hold", |process, by, _, id| wait(process.by(by.clone()).hold(id))),
    ("draft", |process, by, _, id| wait(process.by(by.clone()).save_draft(id, &Draft::default().into())).map(drop)),
    ("read draft", |process, by, _, id| wait(process.by(by.clone()).draft(id)).map(drop)),
    ("follow", |process, by, _, _| wait(process.by(by.clone()).watch(&Watched::All)).map(drop)),
    ("read events", |process, by, _, _| wait(process.by(by.clone()).events(0, 1)).map(drop)),
    ("purge", |process, by, _, _| wait(process.by(by.clone()).purge(0)).map(drop)),
    ("answer", |process, by, _, id| wait(process.by(by.clone()).answer(id, choice(0), &new_attempt())).map(drop)),
    ("withdraw", |process, by, _, id| wait(process.by(by.clone()).withdraw(id, &new_attempt())).map(drop)),
];

/// The store itself sets the author, surface, device and time of an answer, for every surface. It records the
/// statements in the answer separately.
pub fn the_store_says_who_answered_through_what_and_when(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    for (i, via) in Via::ALL.into_iter().enumerate() {
        stage.advance(1_000);
        let id = process.ask(&request(&i.to_string()));
        let reported = Some(Reported { by: Some("root".into()), via: Some(Via::Terminal) });
        let end = End::Resolve { outcome: choice(0), reported: reported.clone() };
        let by = Principal::person("ada", via).on_device("phone");
        let told = ok(wait(process.by(by).end(&id, &end, &new_attempt())));
        let stored = stage.open().get(&id).ending;
        assert_eq!(stored.as_ref(), Some(&told), "what was told is what is stored");
        let Ending::Resolved(resolution) = told else { panic!("it was answered") };
        assert_eq!(
            (resolution.via(), resolution.at_ms()),
            (Some(via), Some(stage.now())),
            "the store says how and when"
        );
        assert_eq!(resolution.is_a_persons(), via.is_a_person());
        let who = via.is_a_person().then_some(("ada", "phone"));
        assert_eq!(resolution.by(), who.map(|(name, _)| name), "the store says who answered");
        assert_eq!(resolution.device(), who.map(|(_, device)| device));
        assert_eq!(
            (resolution.reported(), resolution.outcome()),
            (reported.as_ref(), &choice(0)),
            "and keeps what it says"
        );
    }
}

/// An answer by an agent's credential is a report of that agent. It is stored and returned to the agent, and never
/// counts as a person's answer.
pub fn an_agent_with_a_credential_settles_its_own_questions_and_is_never_a_person(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let of = |credential: &str, call: &str| {
        let origin = Origin::default().with_agent("claude").with_credential(credential);
        request(call).with_origin(origin)
    };
    let id = process.ask(&of("ci", "1"));
    let [ci, other] = ["ci", "other"].map(|name| process.by(Principal::agent(of(name, "").origin())));
    let reported = Some(Reported { by: Some("root".into()), via: Some(Via::Terminal) });
    let end = End::Resolve { outcome: choice(0), reported };
    for stranger in [other, process.agent()] {
        assert!(is_forbidden(wait(stranger.end(&id, &end, &new_attempt()))), "it is another's question");
    }
    stage.advance(10);
    let attempt = new_attempt();
    let ending = ok(wait(ci.end(&id, &end, &attempt)));
    assert_eq!((ending.state(), ending.by(), ending.at_ms()), (State::Settled, Some("ci"), Some(stage.now())));
    assert_eq!(ending.resolution(), None, "it is nobody's answer");
    let reported = ending.recorded().expect("its report");
    assert_eq!((reported.outcome(), reported.by(), reported.via()), (&choice(0), Some("root"), Some(Via::Terminal)));
    assert_eq!((reported.reported_by(), reported.is_a_persons()), (Some("ci"), false), "whatever it claims");
    assert_eq!(ok(wait(ci.end(&id, &end, &attempt))), ending, "the same attempt gets the same result");
    assert_eq!(process.get(&id).ending.as_ref(), Some(&ending), "and it is kept so");
}

/// Each credential has separate keys. The same key of another credential is another question.
pub fn each_credential_has_keys_of_its_own(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let of = |credential: &str| request("1").with_origin(Origin::default().with_credential(credential));
    let ids = ["ci", "cd", "c]"].map(|name| process.ask(&of(name)));
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "each has a question of its own");
    for (name, id) in ["ci", "cd", "c]"].into_iter().zip(&ids) {
        assert_eq!(&process.ask(&of(name)), id, "the same key is the same question");
        let agent = process.by(Principal::agent(of(name).origin()));
        assert_eq!(ok(wait(agent.get(request("1").key()))).id, *id);
    }
    let ada = process.person("ada");
    let several = wait(ada.get(request("1").key()));
    assert!(matches!(several, Err(StoreError::NotFound(_))), "it names several: {several:?}");
    let only = process.ask(&request("2").with_origin(Origin::default().with_credential("ci")));
    assert_eq!(ok(wait(ada.get(request("2").key()))).id, only, "to a person it names the only one");
}

/// A refused call changes no state and records no event.
pub fn what_no_principal_may_do_leaves_no_trace(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let put = process.put(&request("1").with_audience(["ada"]));
    let id = &put.question.id;
    let stranger = [person("bob"), agent("another"), Principal::agent(&Default::default())];
    for by in stranger {
        let reads = ["see", "see by key", "watch"];
        let may = |deed: &str| {
            ["follow", "read events", "purge"].contains(&deed) || by.is_a_person() && reads.contains(&deed)
        };
        for (deed, act) in DEEDS.into_iter().filter(|(deed, _)| !may(deed)) {
            let result = act(&process, &by, &request("1").with_audience(["ada"]), id);
            let is_refused = match result {
                Err(StoreError::Forbidden(_)) => true,
                // Behind a server, each credential has separate keys and so separate questions.
                Err(StoreError::NotFound(_)) => deed == "see by key",
                _ => false,
            };
            assert!(is_refused, "may they {deed}? {result:?}");
        }
    }
    assert!(matches!(wait(process.person("ada").put(&request("2"), None)), Err(StoreError::Forbidden(_))));
    let question = process.get(id);
    assert_eq!((question.state(), question.delivered_ms, question.asker), (State::Pending, None, AskerPresence::Waits));
    assert_eq!(ok(wait(process.person("ada").count(&Filter::default()))), 1);
    crate::until("that it was asked is visible", || !ok(wait(process.person("ada").events(0, 10))).events.is_empty());
    ok(wait(process.agent().flush()));
    assert_eq!(ok(wait(process.person("ada").events(0, 10))).events.len(), 1, "nothing but that it was asked");
}

/// A failed notification of a person is stored with the time of the store's clock, until a notification succeeds.
pub fn a_failed_notice_is_remembered_with_the_stores_time(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let last = || ok(wait(there.person("ada").last_failure()));
    assert_eq!(last(), None);
    let failure = |at_ms| NotifierFailure { at_ms, what: "on_question".into(), why: "no such command".into() };
    ok(wait(here.agent().note_failure(Some(&failure(1)))));
    stage.advance(5);
    assert_eq!(last(), Some(failure(1_000_000)), "the store says when");
    ok(wait(here.agent().note_failure(Some(&failure(2)))));
    assert_eq!(last(), Some(failure(1_000_005)), "the last counts");
    ok(wait(here.agent().note_failure(None)));
    assert_eq!(last(), None);
}
