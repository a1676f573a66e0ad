//! Benchmarks of the time between a tool call and the first frame, per key, and after the last key.

use askuser::prompt::{Event, PromptOptions};
use askuser::{Key, KeyCode, Limits, Outcome, Prompt, QuestionSet, Rules, report, sanitize, tool};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

/// The example of the proposals, a call with two questions.
const INPUT: &str = r#"{"questions":[{"question":"Which authentication method should we use?","header":"Auth Method",
"options":[{"label":"OAuth 2.0 (Recommended)","description":"Industry standard, supports social login"},
{"label":"JWT","description":"Stateless tokens, good for APIs"},
{"label":"Session-based","description":"Traditional cookie sessions"}],"multiSelect":false},
{"question":"Which OAuth providers should we support?","header":"Providers",
"options":[{"label":"Google","description":"Most widely used"},
{"label":"GitHub","description":"Popular for developer tools"},
{"label":"Microsoft","description":"Enterprise integration"},
{"label":"Apple","description":"Required for iOS apps"}],"multiSelect":true}]}"#;

const HOSTILE: &str =
    "\x1b[31mdrop\x1b]0;title\x07 all \u{202e}selbat\u{202c}\u{200b}\u{200b}?\x1b[2J\r\n👩‍👩‍👧 e\u{301}\u{301}\u{301}";

fn core(c: &mut Criterion) {
    let rules = Rules::default();
    let set = QuestionSet::from_json(INPUT, &rules).expect("the proposal's input");

    c.bench_function("parse and build", |b| b.iter(|| QuestionSet::from_json(black_box(INPUT), &rules)));

    let prompt = Prompt::new(set.clone(), PromptOptions { key_delay: Duration::ZERO, deadline: None });
    c.bench_function("update for one arrow key", |b| {
        let mut prompt = prompt.clone();
        let mut keys = [KeyCode::Down, KeyCode::Up].map(|code| Event::Key(Key::plain(code))).into_iter().cycle();
        b.iter(|| prompt.update(keys.next().expect("endless"), black_box(Duration::from_secs(1))))
    });
    c.bench_function("update from question to outcome", |b| {
        let keys = [KeyCode::Enter, KeyCode::Char('1'), KeyCode::Char('2'), KeyCode::Enter, KeyCode::Enter];
        b.iter_batched_ref(
            || prompt.clone(),
            |prompt| keys.map(|code| prompt.update(Event::Key(Key::plain(code)), Duration::ZERO)),
            BatchSize::SmallInput,
        )
    });

    let answers = [(0, vec![0]), (1, vec![0, 1])].map(|(i, picks)| set.questions()[i].answer(&picks, None, None));
    let outcome = Outcome::answered(&set, answers.into_iter().flatten().collect())
        .expect("every question answered")
        .through(askuser::Via::Terminal);
    c.bench_function("report as prose", |b| b.iter(|| report::prose(black_box(&set), black_box(&outcome))));
    c.bench_function("report as JSON", |b| b.iter(|| report::json(black_box(&set), black_box(&outcome))));

    let plain = "Industry standard, supports social login";
    c.bench_function("sanitize a plain line", |b| b.iter(|| sanitize::line(black_box(plain)).len()));
    c.bench_function("sanitize a hostile line", |b| b.iter(|| sanitize::line(black_box(HOSTILE)).len()));

    c.bench_function("tool definition", |b| {
        b.iter(|| tool::definition(black_box(tool::Provider::Anthropic), &Limits::DEFAULT, &[]))
    });
}

criterion_group!(benches, core);
criterion_main!(benches);
