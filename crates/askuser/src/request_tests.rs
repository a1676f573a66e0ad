use super::*;
use crate::input::QuestionInput;
use crate::prompt::{Effect, Event};
use crate::report;
use crate::resolution::Via;
use crate::rules::Rules;
use crate::{Key, KeyCode, Limits, Prompt, Span};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

fn set() -> QuestionSet {
    let question = |text: &str| QuestionInput::new(text, "Pick").option("A (Recommended)", "a").option("B", "b");
    QuestionSet::new([question("Which?"), question("Which all?").multi_select()], &Rules::strict()).unwrap()
}

fn stored(request: &Request) -> Value {
    serde_json::to_value(request).unwrap()
}

fn read(stored: Value) -> Result<Request, String> {
    serde_json::from_value(stored).map_err(|error| error.to_string())
}

#[test]
fn a_request_is_read_back_as_it_was_stored() {
    let known = set().questions()[1].answer(&[1], Some("mine".into()), Some("a note".into())).unwrap();
    let request = Request::new(RequestKey::new("s", "c").in_tasks(["t"]).for_purpose(Purpose::Choice), set())
        .with_origin(Origin::default().with_agent("a").with_task("t").with_folder("/f").with_host("h"))
        .with_context(Context::Diff("-a\n+b".into()))
        .with_why("I need to know.".to_owned())
        .with_deadline(Duration::from_secs(90));
    let request = request.with_known(vec![known]).unwrap();
    insta::assert_snapshot!("stored_request", serde_json::to_string_pretty(&request).unwrap());
    assert_eq!(read(stored(&request)).unwrap(), request);
}

#[test]
fn a_long_reason_keeps_its_last_words() {
    let request = |why: &str| Request::new(RequestKey::new("s", "c"), set()).with_why(why.to_owned());
    let long = request(&format!("{}the end", "x".repeat(5_000)));
    let why = long.why().unwrap();
    assert!(why.starts_with("…x") && why.ends_with("the end"), "{why}");
    assert_eq!(why.chars().count(), MAX_WHY);
    assert_eq!(read(stored(&long)).unwrap(), long, "and is not cut again");
    assert_eq!(request(" \u{200b}\n").why(), None);
    assert!(long.asks_the_same(&request("another")));
}

#[test]
fn a_title_tells_one_command_from_another() {
    let question = QuestionInput::new("Run this command?", "Bash").option("Yes", "y").option("No", "n");
    let set = QuestionSet::new([question], &Rules::strict()).unwrap();
    let request = Request::new(RequestKey::new("s", "c").for_purpose(Purpose::Permission), set);
    let command = request.clone().with_context(Context::Command("\nrm -rf \u{1b}[2J x \nls".into()));
    assert_eq!(command.title(), "Run this command? rm -rf <U+001B>[2J x");
    assert_eq!(request.title(), "Run this command?");
}

#[test]
fn known_answers_never_preselect_what_a_person_agrees_to() {
    let yes = |set: &QuestionSet| set.questions()[0].answer(&[0], None, None).unwrap();
    for purpose in [Purpose::Permission, Purpose::Plan] {
        let request = Request::new(RequestKey::new("s", "c").for_purpose(purpose), set());
        let error = request.clone().with_known(vec![yes(request.set())]).unwrap_err();
        assert_eq!(error.to_string(), "known: an answer to a question that asks to agree, must be empty");
        let mut stored = stored(&request);
        stored["known"] = json!([yes(request.set())]);
        assert!(read(stored).is_err(), "nor in what another program sends");
        assert!(request.with_known(Vec::new()).is_ok());
    }
    let question = QuestionInput::new("Deploy?", "Confirm").option("Yes", "").option("No", "");
    let confirm = Request::new(RequestKey::new("s", "c"), QuestionSet::new([question], &Rules::confirm()).unwrap());
    assert!(confirm.asks_to_agree() && confirm.clone().with_known(vec![yes(confirm.set())]).is_err());
}

#[test]
fn a_key_and_a_context_tell_what_was_put_in() {
    let key = RequestKey::new("s", "c").in_tasks(["t", "u"]).for_purpose(Purpose::Permission);
    assert_eq!((&*key.session, &*key.call, key.purpose), ("s", "c", Purpose::Permission));
    assert_eq!(key.tasks, ["t", "u"]);
    assert!(RequestKey::new("s", "c").tasks.is_empty());
    for context in [
        Context::Command("x".into()),
        Context::Diff("x".into()),
        Context::ToolInput("x".into()),
        Context::Prose("x".into()),
    ] {
        assert_eq!(context.text(), "x", "{context:?}");
    }
}

#[test]
fn a_request_of_a_later_program_is_refused_by_its_version() {
    let mut stored = stored(&Request::new(RequestKey::new("s", "c"), set()));
    stored["version"] = json!(VERSION + 1);
    assert_eq!(read(stored).unwrap_err(), "a request of version 2, this program knows 1 to 1");
}

#[test]
fn a_stored_request_whose_parts_do_not_fit_is_refused() {
    let request = Request::new(RequestKey::new("s", "c"), set());
    let mut tampered = stored(&request);
    tampered["input"]["questions"][0]["header"] = json!("");
    assert!(read(tampered).unwrap_err().contains("questions[0].header: empty"));
    let mut tampered = stored(&request);
    tampered["known"] = json!([{"question": "Which?", "header": "Pick", "selectedOptions": ["C"]}]);
    assert!(read(tampered).unwrap_err().contains("\"C\" is not an option"));
}

#[test]
fn it_is_rebuilt_by_the_rules_it_was_asked_under() {
    let options = || {
        [
            json!({"label": "A", "description": "a"}),
            json!({"label": "Other", "description": "b"}),
            json!({"label": "B", "description": "b"}),
        ]
    };
    let input = json!({"questions": [{
        "question": "Which?", "header": "A header that is far too long", "options": options(), "multiSelect": "true",
    }], "metadata": {"source": "remember"}});
    assert!(QuestionSet::parse(input.clone(), &Rules::strict()).is_err());
    let set = QuestionSet::parse(input, &Rules::repair()).unwrap();
    let request = Request::new(RequestKey::new("s", "c"), set);
    let again = read(stored(&request)).unwrap();
    assert_eq!(again, request);
    assert_eq!(again.set().mended(), request.set().mended());
    assert_eq!(again.set().source(), Some("remember"));
}

#[test]
fn the_source_is_shown_with_the_task() {
    let with_source = json!({"questions": set().questions_json(), "metadata": {"source": "remember\u{1b}[2J"}});
    let set_with = QuestionSet::parse(with_source, &Rules::strict()).unwrap();
    let asked_by = |set: &QuestionSet, task: Option<&str>| {
        let origin = Origin { task: task.map(str::to_owned), ..Origin::default() };
        Request::new(RequestKey::new("s", "c"), set.clone()).with_origin(origin).asked_by()
    };
    assert_eq!(asked_by(&set_with, Some("audit")).as_deref(), Some("task 'audit', remember"));
    assert_eq!(asked_by(&set_with, None).as_deref(), Some("remember"));
    assert_eq!(asked_by(&set(), Some("audit")).as_deref(), Some("task 'audit'"));
    assert_eq!(asked_by(&set(), None), None);
}

#[test]
fn a_request_tells_what_was_put_in() {
    let known = set().questions()[0].answer(&[1], None, None).unwrap();
    let origin = Origin::default().with_agent("a");
    let request = Request::new(RequestKey::new("s", "c"), set())
        .with_origin(origin.clone())
        .with_context(Context::Command("ls".into()))
        .with_deadline(Duration::from_secs(90))
        .with_known(vec![known.clone()])
        .unwrap();
    assert_eq!((request.key(), request.set(), request.origin()), (&RequestKey::new("s", "c"), &set(), &origin));
    assert_eq!(request.context(), Some(&Context::Command("ls".into())));
    assert_eq!((request.known(), request.deadline()), (&[known][..], Some(Duration::from_secs(90))));
}

#[test]
fn a_person_elsewhere_reads_which_agent_asks_and_where_it_works() {
    let asked_from = |agent: &str, folder: &str, task: Option<&str>| {
        let origin = Origin { task: task.map(str::to_owned), ..Origin::default() };
        let origin = origin.with_agent(agent).with_folder(folder);
        Request::new(RequestKey::new("s", "c"), set()).with_origin(origin).asked_from()
    };
    let everything = asked_from("claude\u{1b}[2J", " /work ", Some("audit"));
    assert_eq!(everything.as_deref(), Some("claude in /work, task 'audit'"));
    assert_eq!(asked_from("claude", "", None).as_deref(), Some("claude"));
    assert_eq!(asked_from(" ", "/work", None).as_deref(), Some("/work"));
    assert_eq!(asked_from("", " ", None), None);
}

#[test]
fn a_plain_question_is_named_by_its_call_and_every_other_is_opaque() {
    let key = RequestKey::new("s", "call_1");
    assert_eq!(key.id_in_session(), "call_1");
    assert_ne!(key.clone().for_purpose(Purpose::Permission).id_in_session(), "call_1:permission");
    assert_eq!(serde_json::to_value(&key).unwrap(), json!({"session": "s", "call": "call_1"}));
}

/// Ids as a hostile provider might choose them, including parts of askuser's own encoding.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a/:]{0,3}",
        Just("a:permission".to_owned()),
        Just("ask:[[],\"a\",\"permission\"]".to_owned()),
        Just("ask:".to_owned()),
        Just("[\"s\",[],\"a\",\"question\"]".to_owned()),
        any::<String>(),
    ]
}

fn key() -> impl Strategy<Value = RequestKey> {
    let purpose = prop_oneof![Just(Purpose::Question), Just(Purpose::Permission), Just(Purpose::Plan)];
    (id(), vec(id(), 0..3), id(), purpose).prop_map(|(session, tasks, call, purpose)| RequestKey {
        session,
        tasks,
        call,
        purpose,
    })
}

/// Generates inputs, with or without need of repair, that have all parts that a surface shows.
fn input() -> impl Strategy<Value = Value> {
    let option = ("[a-zé]{1,9}( \\(Recommended\\))?", "\\PC{1,30}")
        .prop_map(|(label, description)| json!({"label": label, "description": description}));
    let question = ("\\PC{1,40}", "\\PC{1,20}", vec(option, 2..5), any::<bool>(), any::<bool>()).prop_map(
        |(question, header, options, multi, quoted)| {
            let options = if quoted { json!(json!(options).to_string()) } else { json!(options) };
            json!({"question": question, "header": header, "options": options, "multiSelect": multi})
        },
    );
    (vec(question, 1..5), proptest::option::of("\\PC{0,12}")).prop_map(|(questions, source)| match source {
        Some(source) => json!({"questions": questions, "metadata": {"source": source}}),
        None => json!({ "questions": questions }),
    })
}

fn limits() -> impl Strategy<Value = Limits> {
    (1usize..3, 4usize..7, 1usize..3, 12usize..30, 0usize..2).prop_map(|(min, max, header, headers, description)| {
        Limits {
            options: Span { min, max },
            header_chars: Span { min: header, max: headers },
            description_chars: Span { min: description, max: 200 },
            ..Limits::DEFAULT
        }
    })
}

/// Plays these keys. Returns the states that the person sees and the result that the model reads.
fn played(request: &Request, keys: &[u8]) -> (Vec<String>, Option<(String, Value)>) {
    let mut prompt = Prompt::of(request, Duration::ZERO);
    let mut seen = vec![format!("{:?} {:?}", prompt.set(), prompt.origin())];
    for key in keys {
        let code = match key % 6 {
            0 => KeyCode::Down,
            1 => KeyCode::Enter,
            2 => KeyCode::Char(' '),
            3 => KeyCode::Right,
            _ => KeyCode::Char(char::from(b'1' + key % 3)),
        };
        match prompt.update(Event::Key(Key::plain(code)), Duration::from_secs(1)) {
            Effect::Finish(outcome) => {
                let resolution = outcome.through(Via::Terminal);
                let read = (report::prose(request.set(), &resolution), report::json(request.set(), &resolution));
                return (seen, Some(read));
            }
            _ => seen.push(format!("{:?} {:?} {:?}", prompt.page(), prompt.mode(), prompt.answers())),
        }
    }
    (seen, None)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stored_request_rebuilds_the_very_same_set_prompt_and_report(
        input in input(), limits in limits(), repair in any::<bool>(), keys in vec(any::<u8>(), 0..25),
    ) {
        let rules = if repair { Rules::repair() } else { Rules::strict() };
        let Ok(set) = QuestionSet::parse(input, &rules.with_limits(limits).unwrap()) else { return Ok(()) };
        let request = Request::new(RequestKey::new("s", "c"), set).with_deadline(Duration::from_secs(5));
        let again: Request = serde_json::from_str(&serde_json::to_string(&request).unwrap()).unwrap();
        prop_assert_eq!(&again, &request);
        prop_assert_eq!(played(&again, &keys), played(&request, &keys));
    }

    #[test]
    fn no_two_keys_share_a_name_whatever_ids_a_provider_sends(keys in vec(key(), 2..40)) {
        let mut texts: HashMap<String, &RequestKey> = HashMap::new();
        let mut ids: HashMap<(String, String), &RequestKey> = HashMap::new();
        for key in &keys {
            prop_assert_eq!(*texts.entry(key.to_string()).or_insert(key), key);
            prop_assert_eq!(*ids.entry((key.session.clone(), key.id_in_session())).or_insert(key), key);
            let again: RequestKey = serde_json::from_value(serde_json::to_value(key).unwrap()).unwrap();
            prop_assert_eq!(&again, key);
        }
    }
}

#[test]
fn a_known_agent_is_shown_by_the_name_that_people_know() {
    let shown = |agent: &str| Origin::default().with_agent(agent).agent_name();
    assert_eq!(shown("claude-code").as_deref(), Some("Claude Code"));
    assert_eq!(shown("codex-mcp-client").as_deref(), Some("Codex"));
    assert_eq!(shown("claude-code-2\u{1b}").as_deref(), Some("claude-code-2"), "only the very name");
    assert_eq!((shown(" "), Origin::default().agent_name()), (None, None));
    let origin = Origin::default().with_agent("claude-code").with_folder("/p");
    let request = Request::new(RequestKey::new("s", "c"), set());
    assert_eq!(request.with_origin(origin.clone()).asked_from().as_deref(), Some("Claude Code in /p"));
    assert_eq!(serde_json::to_value(origin).unwrap()["agent"], "claude-code");
}
