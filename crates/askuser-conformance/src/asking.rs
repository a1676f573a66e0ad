//! Rules for putting a question once and finding it again.

use crate::Place;
use crate::support::{TestEnv, agent, by_agent, ok, request, wait};
use askuser::Request;
use askuser::store::{AskerPresence, Filter, QuestionId, State, StoreError};
use std::time::Duration;

/// A request with the same key finds the same question. The agent, the folder and the deadline of the second request
/// have no effect.
pub fn the_same_key_is_the_same_question_and_asking_again_changes_nothing(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let first = process.put(&request("1").with_deadline(Duration::from_secs(9)));
    assert!(first.is_new, "it was not there before");
    let question = &first.question;
    assert_eq!((question.state(), question.asked_ms), (State::Pending, 1_000_000));
    assert_eq!((question.expires_ms, question.read_ms), (Some(1_009_000), 1_000_000));
    assert_eq!((question.asker, question.delivered_ms), (AskerPresence::Waits, None));
    // A server adds the asker's credential to the origin.
    let mut origin = question.request.origin().clone();
    origin.credential = None;
    let kept = Request::clone(&question.request).with_origin(origin);
    assert_eq!(kept, request("1").with_deadline(Duration::from_secs(9)), "it is kept as it was asked");
    stage.advance(1_000);
    let moved = request("1").with_origin(request("1").origin().clone().with_folder("/moved"));
    let again = stage.open().put(&moved);
    assert!(!again.is_new && again.question.id == first.question.id, "the same key is the same question");
    assert_eq!(again.question.expires_ms, Some(1_009_000), "asking again neither shortens nor lengthens the deadline");
    assert_eq!(again.question.time_left(), Some(Duration::from_secs(8)));
    assert_eq!(again.question.request.origin().folder.as_deref(), Some("/project"));
    assert_eq!(ok(wait(process.person("ada").count(&Filter::default()))), 1);
}

/// A question is found by its id in upper or lower case, and by its key.
pub fn a_question_is_found_by_its_id_in_any_case_and_by_its_key(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let other = stage.open();
    let id = process.ask(&request("1"));
    let upper = QuestionId::parse(&id.as_str().to_uppercase()).expect("an id in any case");
    assert_eq!(other.get(&upper).id, id);
    assert_eq!(ok(wait(other.person("ada").get(request("1").key()))).id, id);
    let absent = QuestionId::parse("0123456789ab").expect("an id");
    for error in [
        wait(other.person("ada").get(&absent)).expect_err("there is none"),
        wait(other.person("ada").get(request("2").key())).expect_err("there is none"),
    ] {
        assert!(matches!(error, StoreError::NotFound(_)), "{error:?}");
    }
}

/// An abbreviation finds some of the visible questions whose id begins with it.
pub fn an_abbreviation_names_some_of_the_questions_that_begin_so(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let ids: Vec<QuestionId> = (0..64).map(|i| process.ask(&request(&i.to_string()))).collect();
    let ada = process.person("ada");
    let resolve = |text: &str| ok(wait(ada.resolve(text)));
    for id in &ids[..8] {
        assert_eq!(resolve(&id.as_str().to_uppercase()), std::slice::from_ref(id));
    }
    let shared = ids.iter().find(|id| ids.iter().filter(|other| other.as_str()[..1] == id.as_str()[..1]).count() > 1);
    let shared = &shared.expect("64 ids have 16 first digits").as_str()[..1];
    let found = resolve(shared);
    assert!(found.len() > 1 && found.iter().all(|id| id.as_str().starts_with(shared)), "{found:?}");
    for none in ["", "%", "_", "zz", "' OR 1", "0*", "00000000000000000000000000000000000000000"] {
        assert_eq!(resolve(none), [], "{none:?}");
    }
    let hidden = process.ask(&by_agent(request("hidden"), "another"));
    assert_eq!(ok(wait(process.agent().resolve(hidden.as_str()))), [], "it is a question of another agent");
    assert_eq!(ok(wait(process.by(agent("another")).resolve(hidden.as_str()))), [hidden]);
}
