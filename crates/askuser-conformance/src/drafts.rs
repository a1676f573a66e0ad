//! What a person has typed and not sent.

use crate::Place;
use crate::support::{Stage, choice, is_forbidden, ok, request, wait};
use askuser::store::{Draft, MAX_DRAFT, Principal};
use askuser::{Answer, Via};

fn typed(text: &str) -> Draft {
    let answer = choice(0).answers()[0].clone();
    Draft::from(vec![Answer { selected_options: vec![], custom_input: Some(text.into()), note: None, ..answer }])
}

/// Each person has a draft of their own, wherever they sit.
pub fn a_draft_is_kept_for_its_person_at_every_surface(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let id = here.ask(&request("1"));
    let draft = |name: &str| ok(wait(there.by(Principal::person(name, Via::Web)).draft(&id)));
    assert_eq!(draft("ada"), Draft::default());
    ok(wait(here.person("ada").save_draft(&id, &typed("half a sen"))));
    ok(wait(here.person("bob").save_draft(&id, &typed("some"))));
    assert_eq!((draft("ada"), draft("bob")), (typed("half a sen"), typed("some")), "a draft is its person's own");
    ok(wait(there.person("ada").save_draft(&id, &typed("half a sentence"))));
    ok(wait(there.person("bob").save_draft(&id, &Draft::default())));
    assert_eq!((draft("ada"), draft("bob")), (typed("half a sentence"), Draft::default()));
}

/// A draft has a bound. It outlives its question, until its person empties it.
pub fn a_draft_is_bounded_and_stays_when_its_question_ends(place: &dyn Place) {
    let process = Stage::new(place).open();
    let (id, ada) = (process.ask(&request("1")), process.person("ada"));
    ok(wait(ada.save_draft(&id, &typed("kept"))));
    let empty = serde_json::json!(typed("")).to_string().len();
    let longest = typed(&"x".repeat(MAX_DRAFT - empty));
    let too_long = typed(&"x".repeat(MAX_DRAFT - empty + 1));
    assert!(is_forbidden(wait(ada.save_draft(&id, &too_long))), "it is too long");
    assert_eq!(ok(wait(ada.draft(&id))), typed("kept"), "the earlier one is still there");
    ok(wait(ada.save_draft(&id, &longest)));
    assert_eq!(ok(wait(ada.draft(&id))), longest);
    ok(wait(process.person("bob").save_draft(&id, &typed("other"))));
    process.answer(&id, 0, "bob");
    assert_eq!(ok(wait(ada.draft(&id))), longest, "it stays when its question ends");
    ok(wait(ada.save_draft(request("1").key(), &typed("too late"))));
    assert_eq!(ok(wait(ada.draft(&id))), typed("too late"), "what was typed meanwhile is kept too");
    ok(wait(ada.save_draft(&id, &Draft::default())));
    assert_eq!(ok(wait(ada.draft(request("1").key()))), Draft::default());
}
