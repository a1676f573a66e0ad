//! Who may do what, and who is written down.

use crate::Place;
use crate::support::{
    Process, Stage, agent, by_agent, choice, is_forbidden, new_attempt, ok, person, request, request_for, wait,
};
use askuser::store::{
    AskerPresence, Draft, End, Ending, Filter, NotifierFailure, Principal, QuestionId, State, StoreError, Watched,
};
use askuser::{Origin, Outcome, Purpose, Reported, Request, Via};

/// Something that can be done with a question; whether it was.
type Deed = (&'static str, fn(&Process, &Principal, &Request, &QuestionId) -> Result<(), StoreError>);

const DEEDS: [Deed; 15] = [
    ("ask", |process, by, request, _| wait(process.by(by.clone()).put(request, None)).map(drop)),
    ("see", |process, by, _, id| wait(process.by(by.clone()).get(id)).map(drop)),
    ("see by key", |process, by, request, _| wait(process.by(by.clone()).get(request.key())).map(drop)),
    ("watch", |process, by, _, id| wait(process.by(by.clone()).watch(&Watched::Question(id.clone()))).map(drop)),
    ("wait", |process, by, _, id| wait(process.by(by.clone()).attach(id)).map(drop)),
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

/// The table of principals, each line against each question.
pub fn every_principal_may_do_what_the_table_says_and_nothing_else(place: &dyn Place) {
    let stage = Stage::new(place);
    let process = stage.open();
    let policy = || Principal::person("ada", Via::AnswersFile);
    let mine = |purpose| request_for(purpose, "");
    let for_ada = |purpose| request_for(purpose, "").with_audience(["ada"]);
    let others = |purpose| by_agent(request_for(purpose, ""), "another");
    let (people, agents) = (
        ["see", "see by key", "watch", "hold", "draft", "read draft", "answer", "withdraw"],
        ["ask", "see", "see by key", "watch", "wait", "deliver", "claim", "withdraw"],
    );
    let following: Vec<&str> = people.into_iter().chain(["follow", "read events", "purge"]).collect();
    let (answers, sees) = (["see", "see by key", "watch", "answer"], ["see", "see by key", "watch"]);
    type Make<'a> = &'a dyn Fn(Purpose) -> Request;
    let table: [(&str, Principal, Make<'_>, Vec<&str>); 9] = [
        ("a person and a question for everybody", person("ada"), &mine, following.clone()),
        ("a person and a question for them", person("ada"), &for_ada, following.clone()),
        (
            "a person and a question for others",
            person("bob"),
            &for_ada,
            vec!["see", "see by key", "watch", "follow", "read events", "purge"],
        ),
        ("a person at a web page", Principal::person("ada", Via::Web), &others, following),
        ("an agent and its own", agent("tester"), &mine, agents.to_vec()),
        ("an agent and another's", agent("tester"), &others, vec![]),
        ("an agent without a name", Principal::agent(&Default::default()), &mine, vec![]),
        ("a policy", policy(), &mine, answers.to_vec()),
        ("a policy and a question for one person", policy(), &for_ada, sees.to_vec()),
    ];
    let mut number = 0;
    for (who, by, make, allowed) in table {
        for purpose in [Purpose::Question, Purpose::Permission, Purpose::Plan, Purpose::Choice] {
            for (deed, act) in DEEDS {
                number += 1;
                let key = make(purpose).key().clone();
                let key = askuser::RequestKey::new(format!("{number}"), "call").for_purpose(key.purpose);
                let request = make(purpose);
                let request = Request::new(key, request.set().clone())
                    .with_origin(request.origin().clone())
                    .with_audience(request.audience().to_vec());
                let id = process.ask(&request);
                if deed == "claim" {
                    // Only what has an answer can be used.
                    let name = request.audience().first().cloned().unwrap_or_else(|| "ada".into());
                    process.answer(&id, 0, &name);
                }
                let is_allowed = match purpose {
                    _ if deed == "claim" => allowed.contains(&deed) && purpose == Purpose::Permission,
                    Purpose::Permission | Purpose::Plan if by == policy() => sees.contains(&deed),
                    _ => allowed.contains(&deed),
                };
                let result = act(&process, &by, &request, &id);
                let is_as_it_should = match &result {
                    Ok(()) => is_allowed,
                    Err(StoreError::Forbidden(why)) => !is_allowed && !why.is_empty(),
                    // Behind a server each credential has keys of its own.
                    Err(StoreError::NotFound(_)) => !is_allowed && deed == "see by key",
                    Err(_) => false,
                };
                assert!(is_as_it_should, "{who}, {purpose:?}: may they {deed}? {result:?}");
            }
        }
    }
}

/// Only a person's own choice permits, or approves a plan: no file, no rule, whatever it calls itself.
pub fn no_file_and_no_rule_gives_permission_or_approves_a_plan(place: &dyn Place) {
    let process = Stage::new(place).open();
    for (i, purpose) in [Purpose::Permission, Purpose::Plan].into_iter().enumerate() {
        let id = process.ask(&request_for(purpose, &i.to_string()));
        for via in [Via::AnswersFile, Via::Policy] {
            for outcome in [choice(0), Outcome::declined(None), Outcome::cancelled()] {
                let by = Principal::person("ada", via).on_device("phone");
                let result = wait(process.by(by).answer(&id, outcome, &new_attempt()));
                assert!(matches!(result, Err(StoreError::Forbidden(_))), "{via:?} settles no {purpose:?}: {result:?}");
            }
        }
        assert_eq!(process.get(&id).state(), State::Pending);
        let ending = process.answer(&id, 0, "ada");
        assert!(ending.resolution().is_some_and(|resolution| resolution.is_a_persons()));
    }
}

/// By, via, device and time are the store's to say, for every way there is; what an answer says of itself is kept beside.
pub fn the_store_says_who_answered_through_what_and_when(place: &dyn Place) {
    let stage = Stage::new(place);
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

/// What an agent with a credential says of its own question is its word: kept, given back to it, and never a person's answer.
pub fn an_agent_with_a_credential_settles_its_own_questions_and_is_never_a_person(place: &dyn Place) {
    let stage = Stage::new(place);
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
    let late = wait(process.person("ada").answer(&id, choice(1), &new_attempt()));
    assert!(matches!(late, Err(StoreError::Ended(first)) if *first == ending), "the first wins");
    let answered = process.ask(&of("ci", "2"));
    process.answer(&answered, 0, "ada");
    let late = wait(ci.end(&answered, &end, &new_attempt()));
    assert!(matches!(late, Err(StoreError::Ended(first)) if first.by() == Some("ada")), "the first wins");
}

/// The same key means the same question to one credential alone; another finds, and changes, nothing by it.
pub fn each_credential_has_keys_of_its_own(place: &dyn Place) {
    let process = Stage::new(place).open();
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

/// Whoever a question is not for may read it, and do nothing else with it; they are told for whom it is.
pub fn only_its_audience_answers_declines_discusses_or_drafts(place: &dyn Place) {
    let process = Stage::new(place).open();
    let outcomes = [choice(0), Outcome::declined(Some("no".into())), Outcome::discuss(None), Outcome::cancelled()];
    for (i, outcome) in outcomes.into_iter().enumerate() {
        let origin = request("").origin().clone().with_credential("ci");
        let asked = request(&i.to_string()).with_origin(origin.clone()).with_audience(["o'neil", "ada", "ada"]);
        let id = process.ask(&asked);
        let others = [person("bob").on_device("ada"), person("ad"), person("ada, o'neil")];
        for by in others.into_iter().chain([Principal::person("ada", Via::AnswersFile), Principal::agent(&origin)]) {
            let handle = process.by(by.clone());
            let mut refused = vec![wait(handle.answer(&id, outcome.clone(), &new_attempt())).map(drop)];
            if by.is_a_person() {
                refused.push(wait(handle.save_draft(&id, &Draft::default().into())).map(drop));
                refused.push(wait(handle.draft(&id)).map(drop));
                refused.push(wait(handle.hold(&id)));
                refused.push(wait(handle.withdraw(&id, &new_attempt())).map(drop));
            }
            for result in refused {
                let says = matches!(&result, Err(StoreError::Forbidden(why)) if why.contains("for ada, o'neil"));
                assert!(says, "{by:?} is told for whom it is: {result:?}");
            }
            let read = ok(wait(handle.get(&id)));
            assert_eq!((read.state(), read.request.audience()), (State::Pending, asked.audience()), "and reads it");
        }
        let ada = process.by(person("ada").on_device("phone"));
        ok(wait(ada.save_draft(&id, &Draft { discuss: Some("hm".into()), ..Draft::default() }.into())));
        let ending = ok(wait(ada.answer(&id, outcome, &new_attempt())));
        let resolution = ending.resolution().expect("a person's");
        assert_eq!((resolution.by(), resolution.device()), (Some("ada"), Some("phone")), "it says who did");
    }
    // What an asker was told at its own terminal is its word, and only of whom it asked.
    let origin = request("").origin().clone().with_credential("ci");
    let id = process.ask(&request("own").with_origin(origin.clone()).with_audience(["ada"]));
    let word =
        |by: &str| End::Resolve { outcome: choice(0), reported: Some(Reported { by: Some(by.to_owned()), via: None }) };
    let agent = process.by(Principal::agent(&origin));
    assert!(is_forbidden(wait(agent.end(&id, &word("bob"), &new_attempt()))), "bob was not asked");
    assert_eq!(ok(wait(agent.end(&id, &word("ada"), &new_attempt()))).state(), State::Settled);
}

/// A refused call changes nothing, and no watcher hears of it.
pub fn what_no_principal_may_do_leaves_no_trace(place: &dyn Place) {
    let stage = Stage::new(place);
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
                // Behind a server each credential has keys, and so questions, of its own.
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

/// A person who could not be called is remembered until they were, with the store's time.
pub fn a_failed_notice_is_remembered_with_the_stores_time(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
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
