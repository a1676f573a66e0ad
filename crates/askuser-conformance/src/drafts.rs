//! Rules for drafts, the unsent text of people.

use crate::Place;
use crate::support::{TestEnv, choice, is_forbidden, ok, request, wait};
use askuser::store::{Draft, DraftSave, DraftVersion, MAX_DRAFT, Principal, SavedDraft};
use askuser::{Answer, Via};

fn typed(text: &str) -> Draft {
    let answer = choice(0).answers()[0].clone();
    Draft::from(vec![Answer { selected_options: vec![], custom_input: Some(text.into()), note: None, ..answer }])
}

/// Each person has a separate draft, which every surface reads.
pub fn a_draft_is_kept_for_its_person_at_every_surface(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let id = here.ask(&request("1"));
    let draft = |name: &str| ok(wait(there.by(Principal::person(name, Via::Web)).draft(&id)));
    assert_eq!(draft("ada"), Draft::default());
    ok(wait(here.person("ada").save_draft(&id, &typed("half a sen").into())));
    ok(wait(here.person("bob").save_draft(&id, &typed("some").into())));
    assert_eq!((draft("ada"), draft("bob")), (typed("half a sen"), typed("some")), "a draft is its person's own");
    ok(wait(there.person("ada").save_draft(&id, &typed("half a sentence").into())));
    ok(wait(there.person("bob").save_draft(&id, &Draft::default().into())));
    assert_eq!((draft("ada"), draft("bob")), (typed("half a sentence"), Draft::default()));
}

/// A draft has a maximum size. It outlives its question until its author clears it.
pub fn a_draft_is_bounded_and_stays_when_its_question_ends(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let id = process.ask(&request("1"));
    let ada = process.person("ada");
    ok(wait(ada.save_draft(&id, &typed("kept").into())));
    let empty = serde_json::json!(typed("")).to_string().len();
    let longest = typed(&"x".repeat(MAX_DRAFT - empty));
    let too_long = typed(&"x".repeat(MAX_DRAFT - empty + 1));
    assert!(is_forbidden(wait(ada.save_draft(&id, &too_long.into()))), "it is too long");
    assert_eq!(ok(wait(ada.draft(&id))), typed("kept"), "the earlier one is still there");
    ok(wait(ada.save_draft(&id, &longest.clone().into())));
    assert_eq!(ok(wait(ada.draft(&id))), longest);
    ok(wait(process.person("bob").save_draft(&id, &typed("other").into())));
    process.answer(&id, 0, "bob");
    assert_eq!(ok(wait(ada.draft(&id))), longest, "it stays when its question ends");
    ok(wait(ada.save_draft(request("1").key(), &typed("too late").into())));
    assert_eq!(ok(wait(ada.draft(&id))), typed("too late"), "what was typed meanwhile is kept too");
    ok(wait(ada.save_draft(&id, &Draft::default().into())));
    assert_eq!(ok(wait(ada.draft(request("1").key()))), Draft::default());
}

fn save(text: &str, writer: &str, edit: u32, replaces: &[DraftVersion]) -> DraftSave {
    let version = DraftVersion { writer: writer.into(), edit };
    DraftSave {
        draft: if text.is_empty() { Draft::default() } else { typed(text) },
        version,
        replaces: replaces.to_vec(),
    }
}

fn texts(drafts: &[SavedDraft]) -> Vec<&Draft> {
    drafts.iter().map(|saved| &saved.draft).collect()
}

/// A save replaces only drafts that its writer has seen. The author reads all remaining drafts, newest first, with
/// their devices.
pub fn a_save_replaces_only_drafts_that_its_writer_has_seen(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let desk = here.person("ada");
    let phone = stage.open().by(Principal::person("ada", Via::Web));
    let id = here.ask(&request("1"));
    let drafts = || ok(wait(desk.drafts(&id)));
    assert_eq!(ok(wait(desk.save_draft(&id, &save("desk", "d", 1, &[])))), []);
    let seen = drafts()[0].version.clone();
    assert_eq!(seen, DraftVersion { writer: "d".into(), edit: 1 }, "a save has the name that its writer gave it");
    stage.advance(1_000);
    ok(wait(desk.save_draft(&id, &save("desk 2", "d", 2, &[]))));
    stage.advance(1_000);
    // The phone read the drafts before the second save.
    let beside = ok(wait(phone.save_draft(&id, &save("phone", "p", 1, &[seen]))));
    assert_eq!(texts(&beside), [&typed("desk 2")], "nobody has seen it there");
    let both = drafts();
    assert_eq!(texts(&both), [&typed("phone"), &typed("desk 2")], "newest first");
    assert!(both.iter().all(|saved| !saved.place.is_empty()), "{both:?}");
    assert_eq!([both[0].saved_ms, both[1].saved_ms], [stage.now(), stage.now() - 1_000], "the store's time");
    assert_eq!(ok(wait(phone.drafts(&id))), both, "at every surface");
    ok(wait(desk.save_draft(&id, &save("both", "d", 4, &[both[0].version.clone()]))));
    assert_eq!(texts(&drafts()), [&typed("both")]);
}
