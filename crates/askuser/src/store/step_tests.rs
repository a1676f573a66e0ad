use super::*;
use crate::input::QuestionInput;
use crate::store::{Draft, DraftSave, DraftVersion, PERMISSION_LASTS};
use crate::{Origin, Outcome, QuestionSet, Reported, RequestKey, Resolution, Rules, Via};
use std::time::Duration;

const NOW: u64 = 1_000_000;
const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

fn set() -> QuestionSet {
    let question = QuestionInput::new("Run it?", "Bash").option("Yes", "now").option("No", "not now");
    QuestionSet::new([question], &Rules::strict()).unwrap()
}

fn request(purpose: Purpose) -> Request {
    let key = RequestKey::new("session", "call").for_purpose(purpose);
    Request::new(key, set()).with_origin(Origin::default().with_agent("tester"))
}

fn yes() -> Outcome {
    let answer = set().questions()[0].answer(&[0], None, None).unwrap();
    Outcome::answered(&set(), vec![answer]).unwrap()
}

fn id() -> QuestionId {
    QuestionId::parse("3f2a9c0d11aa").unwrap()
}

fn series(conversation: &str) -> Series {
    Series { name: "the same".into(), conversation: conversation.into() }
}

fn record(request: Request) -> Record {
    Record::new(&id(), &Arc::new(request), Some(&series("mine")), NOW)
}

/// Returns the record of a question that ada answered with yes.
fn answered(purpose: Purpose) -> Record {
    let mut record = record(request(purpose));
    let resolution = Resolution::new(yes(), Via::Inbox).with_by("ada").with_time(NOW);
    record.question.ending = Some(Ending::Resolved(resolution));
    record.attempt = Some(Attempt::new("k"));
    record
}

fn found(record: Record) -> Found {
    Found { record: Some(record), credential_is_live: true, ..Found::default() }
}

fn agent() -> Principal {
    Principal::agent(&Origin::default().with_agent("tester"))
}

fn ada() -> Principal {
    Principal::person("ada", Via::Inbox)
}

fn end(outcome: Outcome) -> Command {
    Command::End { which: (&id()).into(), end: outcome.into(), attempt: Attempt::new("k") }
}

fn put(id: &str, request: Request, series: Option<Series>) -> Command {
    Command::Put { request: Arc::new(request), series, id: QuestionId::parse(id).unwrap() }
}

fn claim(attempt: &str) -> Command {
    Command::Claim { id: id(), attempt: Attempt::new(attempt) }
}

/// Returns the record that a step writes.
fn updated(step: &Step) -> &Record {
    match &step.write {
        Write::Update(record) => record,
        other => panic!("no update: {other:?}"),
    }
}

#[test]
fn an_outcome_is_checked_against_its_questions() {
    let other = QuestionInput::new("Drop it?", "Drop").option("Yes", "now").option("No", "not now");
    let other = QuestionSet::new([other], &Rules::strict()).unwrap();
    let answer = other.questions()[0].answer(&[0], None, None).unwrap();
    let misfit = Outcome::answered(&other, vec![answer]).unwrap();
    let refused = step(&found(record(request(Purpose::Question))), NOW, &ada(), &end(misfit));
    assert!(matches!(refused, Err(StoreError::Misfit(_))), "{refused:?}");
}

#[test]
fn the_first_answer_is_written_with_its_event() {
    let step = step(&found(record(request(Purpose::Question))), NOW + 5, &ada(), &end(yes())).unwrap();
    let record = updated(&step);
    assert_eq!((record.revision, record.attempt.as_ref()), (1, Some(&Attempt::new("k"))));
    assert_eq!(step.event, Some(NewEvent { state: State::Answered, at_ms: NOW + 5 }));
    let Reply::Ended(ending) = &step.reply else { panic!("{step:?}") };
    assert_eq!((ending.by(), record.question.ending.as_ref()), (Some("ada"), Some(ending)));
}

#[test]
fn a_clock_that_was_set_back_ends_nothing_before_it_was_asked() {
    let step = step(&found(record(request(Purpose::Question))), NOW - 5, &ada(), &end(yes())).unwrap();
    assert_eq!(step.event.map(|event| event.at_ms), Some(NOW));
}

#[test]
fn only_the_same_attempt_author_and_answer_repeats() {
    let found = found(answered(Purpose::Question));
    let again = step(&found, NOW + 9, &ada(), &end(yes())).unwrap();
    assert_eq!((again.write, again.event), (Write::Nothing, None));
    let other_attempt = Command::End { which: (&id()).into(), end: yes().into(), attempt: Attempt::new("another") };
    for (by, command) in [
        (ada(), end(Outcome::cancelled())),
        (ada(), other_attempt),
        (Principal::person("bob", Via::Inbox), end(yes())),
        (ada().on_device("phone"), end(yes())),
        (Principal::person("ada", Via::Web), end(yes())),
    ] {
        let late = step(&found, NOW + 9, &by, &command);
        assert!(matches!(&late, Err(StoreError::Ended(first)) if first.by() == Some("ada")), "{late:?}");
    }
}

#[test]
fn an_answer_after_the_deadline_is_late() {
    let mut record = record(request(Purpose::Question));
    record.question.expires_ms = Some(NOW + 10);
    assert!(step(&found(record.clone()), NOW + 9, &ada(), &end(yes())).is_ok());
    let late = step(&found(record.clone()), NOW + 10, &ada(), &end(yes()));
    assert!(matches!(late, Err(StoreError::Ended(ending)) if ending.state() == State::TimedOut));
    let expire = Command::Expire { id: id() };
    let early = step(&found(record.clone()), NOW + 9, &ada(), &expire).unwrap();
    assert_eq!((early.write, early.event), (Write::Nothing, None));
    let due = step(&found(record), NOW + 10, &ada(), &expire).unwrap();
    assert_eq!(due.event, Some(NewEvent { state: State::TimedOut, at_ms: NOW + 10 }));
    assert_eq!((updated(&due).question.expires_ms, updated(&due).revision), (None, 1));
}

#[test]
fn what_has_ended_does_not_expire() {
    let step = step(&found(answered(Purpose::Question)), NOW, &ada(), &Command::Expire { id: id() }).unwrap();
    assert_eq!((step.write, step.event), (Write::Nothing, None));
}

#[test]
fn a_held_question_has_no_deadline() {
    let hold = Command::Hold { which: (&id()).into() };
    let mut timed = record(request(Purpose::Question));
    timed.question.expires_ms = Some(NOW + 10);
    let held = step(&found(timed), NOW, &ada(), &hold).unwrap();
    assert_eq!((updated(&held).question.expires_ms, held.event), (None, None));
    assert!(matches!(
        step(&found(record(request(Purpose::Question))), NOW, &agent(), &hold),
        Err(StoreError::Forbidden(_))
    ));
    for other in [record(request(Purpose::Question)), answered(Purpose::Question)] {
        assert_eq!(step(&found(other), NOW, &ada(), &hold).unwrap().write, Write::Nothing);
    }
}

#[test]
fn a_permission_is_claimed_once_by_one_attempt() {
    let first = step(&found(answered(Purpose::Permission)), NOW + LASTS, &agent(), &claim("a")).unwrap();
    assert_eq!((&first.reply, first.waiters), (&Reply::Claimed(Claim::Won), Waiters::Remove));
    let used = found(updated(&first).clone());
    let reply = |attempt| step(&used, NOW + LASTS * 2, &agent(), &claim(attempt)).unwrap();
    assert_eq!((reply("a").reply, reply("a").write), (Reply::Claimed(Claim::Won), Write::Nothing));
    assert_eq!(reply("b").reply, Reply::Claimed(Claim::Used { at_ms: NOW + LASTS }));
}

#[test]
fn a_permission_lapses() {
    for now in [NOW + LASTS + 1, NOW - 1] {
        let late = step(&found(answered(Purpose::Permission)), now, &agent(), &claim("a")).unwrap();
        assert_eq!((late.reply, late.write), (Reply::Claimed(Claim::Lapsed), Write::Nothing));
    }
}

#[test]
fn only_an_ended_permission_of_its_own_agent_is_claimed() {
    let mut withdrawn = answered(Purpose::Permission);
    withdrawn.question.ending = Some(Ending::Withdrawn { by: "tester".into(), at_ms: NOW });
    let other = Principal::agent(&Origin::default().with_agent("another"));
    for (record, by) in [
        (answered(Purpose::Question), agent()),
        (record(request(Purpose::Permission)), agent()),
        (withdrawn, agent()),
        (answered(Purpose::Permission), other),
        (answered(Purpose::Permission), ada()),
    ] {
        let refused = step(&found(record), NOW, &by, &claim("a"));
        assert!(matches!(refused, Err(StoreError::Forbidden(_))), "{refused:?}");
    }
}

#[test]
fn a_settled_permission_is_claimed_by_its_asker() {
    let origin = Origin::default().with_agent("tester").with_credential("ci");
    let asker = Principal::agent(&origin);
    let mut settled = answered(Purpose::Permission);
    settled.question.request = Arc::new(request(Purpose::Permission).with_origin(origin));
    settled.question.ending = Some(Ending::settled("ci", yes().through(Via::Terminal).with_time(NOW)));
    let first = step(&found(settled), NOW, &asker, &claim("a")).unwrap();
    assert_eq!(first.reply, Reply::Claimed(Claim::Won));
    let again = step(&found(updated(&first).clone()), NOW, &asker, &claim("b")).unwrap();
    assert_eq!(again.reply, Reply::Claimed(Claim::Used { at_ms: NOW }));
}

#[test]
fn an_asker_settles_for_an_audience_only_what_one_of_it_said() {
    let origin = Origin::default().with_agent("tester").with_credential("ci");
    let request = request(Purpose::Question).with_origin(origin.clone()).with_audience(["ada"]);
    let settle = |by: Option<&str>| {
        let reported = Some(Reported { by: by.map(str::to_owned), via: Some(Via::Terminal) });
        let end = End::Resolve { outcome: yes(), reported };
        let command = Command::End { which: (&id()).into(), end, attempt: Attempt::new("k") };
        step(&found(record(request.clone())), NOW, &Principal::agent(&origin), &command)
    };
    assert!(settle(Some("bob")).is_err() && settle(None).is_err());
    let Reply::Ended(ending) = settle(Some("ada")).unwrap().reply else { panic!("no ending") };
    let reported = ending.recorded().unwrap();
    assert_eq!((ending.state(), ending.by(), reported.by()), (State::Settled, Some("ci"), Some("ada")));
    assert_eq!((reported.via(), reported.reported_by()), (Some(Via::Terminal), Some("ci")));
}

#[test]
fn only_what_has_ended_is_delivered_and_the_first_time_counts() {
    let deliver = Command::Delivered { id: id() };
    let early = step(&found(record(request(Purpose::Question))), NOW, &agent(), &deliver).unwrap();
    assert_eq!((early.write, early.waiters), (Write::Nothing, Waiters::Keep));
    let first = step(&found(answered(Purpose::Question)), NOW + 1, &agent(), &deliver).unwrap();
    assert_eq!((updated(&first).question.delivered_ms, first.event), (Some(NOW + 1), None));
    assert_eq!(first.waiters, Waiters::Remove);
    let again = step(&found(updated(&first).clone()), NOW + 2, &agent(), &deliver).unwrap();
    assert_eq!((again.write, again.waiters), (Write::Nothing, Waiters::Remove));
    assert!(step(&found(answered(Purpose::Question)), NOW, &ada(), &deliver).is_err());
}

#[test]
fn only_what_has_ended_is_sent_and_one_sender_is_the_first() {
    let send = Command::Sent { id: id() };
    let early = step(&found(record(request(Purpose::Question))), NOW, &agent(), &send).unwrap();
    assert_eq!((early.write, early.reply), (Write::Nothing, Reply::Sent(None)));
    let first = step(&found(answered(Purpose::Question)), NOW + 1, &agent(), &send).unwrap();
    assert_eq!((updated(&first).question.sent_ms, &first.reply), (Some(NOW + 1), &Reply::Sent(None)));
    assert_eq!((updated(&first).question.delivered_ms, first.event), (None, None));
    let again = step(&found(updated(&first).clone()), NOW + 2, &agent(), &send).unwrap();
    assert_eq!((again.write, again.reply), (Write::Nothing, Reply::Sent(Some(NOW + 1))));
    let mut delivered = answered(Purpose::Question);
    delivered.question.delivered_ms = Some(NOW);
    let late = step(&found(delivered), NOW + 2, &agent(), &send).unwrap();
    assert_eq!((late.write, late.reply), (Write::Nothing, Reply::Sent(Some(NOW))), "there is nothing to tell any more");
    assert!(step(&found(answered(Purpose::Question)), NOW, &ada(), &send).is_err());
}

#[test]
fn a_delivery_after_the_deadline_ends_the_question_too() {
    let mut record = record(request(Purpose::Question));
    record.question.expires_ms = Some(NOW);
    let step = step(&found(record), NOW, &agent(), &Command::Delivered { id: id() }).unwrap();
    assert_eq!(step.event, Some(NewEvent { state: State::TimedOut, at_ms: NOW }));
}

#[test]
fn only_the_asker_attaches() {
    let attach = Command::Attach { id: id() };
    let found = found(record(request(Purpose::Question)));
    assert_eq!(step(&found, NOW, &agent(), &attach).unwrap().waiters, Waiters::Add);
    assert!(matches!(step(&found, NOW, &ada(), &attach), Err(StoreError::Forbidden(_))));
}

#[test]
fn a_missing_question_and_a_revoked_credential_are_told_apart() {
    let none = Found { credential_is_live: true, ..Found::default() };
    let missing = step(&none, NOW, &ada(), &end(yes()));
    assert!(matches!(&missing, Err(StoreError::NotFound(which)) if which == id().as_str()), "{missing:?}");
    let revoked = step(&Found::default(), NOW, &ada(), &end(yes()));
    assert!(matches!(revoked, Err(StoreError::Unauthorized(_))), "{revoked:?}");
}

#[test]
fn a_new_request_is_inserted_with_its_event() {
    let none = Found { credential_is_live: true, ..Found::default() };
    let timed = request(Purpose::Question).with_deadline(Some(Duration::from_millis(9)));
    let step = step(&none, NOW, &agent(), &put("aaaaaaaaaaaa", timed, Some(series("mine")))).unwrap();
    let Write::Insert(record) = &step.write else { panic!("{step:?}") };
    assert_eq!((record.question.expires_ms, record.conversation.as_deref()), (Some(NOW + 9), Some("mine")));
    assert_eq!(step.event, Some(NewEvent { state: State::Pending, at_ms: NOW }));
    assert_eq!(step.waiters, Waiters::Add);
    assert!(matches!(&step.reply, Reply::Put { is_new: true, question } if question.asker == AskerPresence::Waits));
    assert!(super::step(&none, NOW, &ada(), &put("aaaaaaaaaaaa", request(Purpose::Question), None)).is_err());
}

#[test]
fn a_known_key_is_its_question_and_a_repeated_call_is_new() {
    let found = found(record(request(Purpose::Question)));
    let is_new = |id: &str| match step(&found, NOW, &agent(), &put(id, request(Purpose::Question), None)).unwrap() {
        Step { write: Write::Nothing, reply: Reply::Put { is_new, .. }, waiters: Waiters::Add, .. } => is_new,
        other => panic!("{other:?}"),
    };
    assert!(!is_new("aaaaaaaaaaaa") && is_new(id().as_str()));
    let other = request(Purpose::Question).with_audience(["ada"]);
    let refused = step(&found, NOW, &agent(), &put("aaaaaaaaaaaa", other, None));
    assert!(matches!(refused, Err(StoreError::OtherQuestion { .. })), "{refused:?}");
}

#[test]
fn a_known_key_comes_before_its_series() {
    let other = QuestionId::parse("bbbbbbbbbbbb").unwrap();
    let mut open = record(request(Purpose::Question));
    open.question.id = other;
    let candidates = vec![Candidate { record: open, is_waited_for: false }];
    let found = Found { candidates, ..found(record(request(Purpose::Question))) };
    let step = step(&found, NOW, &agent(), &put("aaaaaaaaaaaa", request(Purpose::Question), Some(series("mine"))));
    assert!(matches!(step.unwrap().reply, Reply::Put { question, .. } if question.id == id()));
}

/// Puts a request of a series. Returns `None` if the request does not attach to the candidate. Otherwise returns the
/// new conversation of the candidate, if it changes.
fn shared(record: &Record, is_waited_for: bool, conversation: &str, now: u64) -> Option<Option<String>> {
    let candidates = vec![Candidate { record: record.clone(), is_waited_for }];
    let found = Found { candidates, credential_is_live: true, ..Found::default() };
    let asked =
        Request::new(RequestKey::new("session", "another").for_purpose(record.question.request.key().purpose), set())
            .with_origin(Origin::default().with_agent("tester"));
    let step = step(&found, now, &agent(), &put("aaaaaaaaaaaa", asked, Some(series(conversation)))).unwrap();
    match step.write {
        Write::Insert(_) => None,
        Write::Update(record) => Some(record.conversation),
        _ => Some(None),
    }
}

#[test]
fn a_series_is_shared_by_its_conversation_or_taken_over() {
    let kept = Some(None);
    let taken = Some(Some("yours".to_owned()));
    for record in [record(request(Purpose::Question)), answered(Purpose::Question)] {
        assert_eq!(shared(&record, true, "mine", NOW), kept);
        assert_eq!(shared(&record, true, "yours", NOW), None);
        assert_eq!(shared(&record, false, "yours", NOW), taken);
    }
    let pending = record(request(Purpose::Permission));
    assert_eq!(shared(&pending, true, "mine", NOW), None, "two calls need two permissions");
    assert_eq!(shared(&pending, false, "yours", NOW), taken);
    let given = answered(Purpose::Permission);
    assert_eq!(shared(&given, false, "mine", NOW + LASTS), kept);
    assert_eq!(shared(&given, true, "mine", NOW), None);
    assert_eq!(shared(&given, false, "yours", NOW), None);
    assert_eq!(shared(&given, false, "mine", NOW + LASTS + 1), None);
}

#[test]
fn what_is_delivered_withdrawn_timed_out_or_settled_is_asked_anew() {
    let is_shared = |change: &dyn Fn(&mut Record), purpose| {
        let mut record = answered(purpose);
        change(&mut record);
        shared(&record, false, "mine", NOW).is_some()
    };
    let delivered = |record: &mut Record| record.question.delivered_ms = Some(NOW);
    let withdrawn =
        |record: &mut Record| record.question.ending = Some(Ending::Withdrawn { by: "x".into(), at_ms: NOW });
    let timed_out = |record: &mut Record| {
        record.question.ending = Some(Ending::Resolved(Outcome::timed_out().through(Via::Inbox).with_time(NOW)));
    };
    let due = |record: &mut Record| (record.question.ending, record.question.expires_ms) = (None, Some(NOW));
    let settled = |record: &mut Record| {
        record.question.ending = Some(Ending::settled("ci", yes().through(Via::Terminal).with_time(NOW)));
    };
    for purpose in [Purpose::Question, Purpose::Permission] {
        assert!(!is_shared(&delivered, purpose) && !is_shared(&withdrawn, purpose));
        assert!(!is_shared(&timed_out, purpose) && !is_shared(&due, purpose));
    }
    assert!(is_shared(&settled, Purpose::Question), "an answer permits nothing");
    assert!(!is_shared(&settled, Purpose::Permission), "its asker reported it");
}

#[test]
fn a_series_is_one_agents_and_one_questions() {
    let of_another = record(request(Purpose::Question).with_origin(Origin::default().with_agent("another")));
    assert_eq!(shared(&of_another, false, "mine", NOW), None);
    let for_ada = record(request(Purpose::Question).with_audience(["ada"]));
    assert_eq!(shared(&for_ada, false, "mine", NOW), None);
}

#[test]
fn a_question_without_a_series_is_in_no_conversation() {
    let mut record = record(request(Purpose::Question));
    record.conversation = None;
    let again = put("aaaaaaaaaaaa", request(Purpose::Question), Some(series("mine")));
    assert_eq!(step(&found(record), NOW, &agent(), &again).unwrap().write, Write::Nothing);
}

#[test]
fn a_draft_is_saved_by_a_person_it_is_for() {
    let draft = Draft { discuss: Some("hm".into()), ..Draft::default() };
    let version = DraftVersion { writer: "w".into(), edit: 1 };
    let save = DraftSave { draft: draft.clone(), version: version.clone(), replaces: Vec::new() };
    let command = Command::SaveDraft { which: (&id()).into(), save };
    let found = found(record(request(Purpose::Question).with_audience(["ada"])));
    let step = |by: &Principal| super::step(&found, NOW, by, &command);
    let Write::Drafts(drafts) = step(&ada()).unwrap().write else { panic!("no draft") };
    assert_eq!(drafts.written.map(|saved| (saved.draft, saved.version)), Some((draft, version)));
    assert!(step(&Principal::person("bob", Via::Inbox)).is_err() && step(&agent()).is_err());
}

#[test]
fn only_a_person_purges() {
    let none = Found { credential_is_live: true, ..Found::default() };
    let purge = Command::Purge { before_ms: 7 };
    assert_eq!(step(&none, NOW, &ada(), &purge).unwrap().write, Write::Purge(7));
    assert!(step(&none, NOW, &agent(), &purge).is_err());
}

#[test]
fn what_must_survive_a_crash_is_synced() {
    let synced = [end(yes()), claim("a"), put("aaaaaaaaaaaa", request(Purpose::Question), None)];
    assert!(synced.iter().all(Command::must_be_synced));
    let unsynced = [Command::Attach { id: id() }, Command::Delivered { id: id() }];
    assert!(!unsynced.iter().any(Command::must_be_synced));
    assert!(!synced[0].attaches() && synced[2].attaches() && unsynced[0].attaches());
}
