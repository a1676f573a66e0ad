//! What it costs to show a prompt in 80 columns and 24 rows: laying it out, drawing its cells, the bytes of a key.
//!
//! `cargo bench -p askuser-terminal`

// The layout and the painter are private to the crate, so they are compiled in here once more.
#[allow(dead_code, unreachable_pub)]
#[path = "../src/paint.rs"]
mod paint;
#[allow(dead_code, unreachable_pub, unused_imports)]
#[path = "../src/view/mod.rs"]
mod view;

use askuser::prompt::{Event, Settings};
use askuser::{Key, KeyCode, Prompt, QuestionSet, Rules};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use paint::Painter;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use std::hint::black_box;
use std::time::Duration;
use view::{Depth, Mood, Theme, View};

const DATABASE: &str = include_str!("../../../examples/database.json");

fn prompt(json: &str) -> Prompt {
    let set = QuestionSet::from_json(json, &Rules::default()).expect("a valid question");
    Prompt::new(set, Settings { arm: Duration::ZERO, timeout: None })
}

/// As long as a question may be.
fn long() -> Prompt {
    let text = "Which of these should we use, and why? ".repeat(257);
    prompt(&DATABASE.replace("Which database should we use for this project?", &text[..10_000]))
}

/// Lays out as the driver does, which leaves a column and a row free.
fn lay_out(prompt: &Prompt) -> View<'_> {
    let theme = Theme { depth: Depth::Ansi256, ..Theme::default() };
    View::new(prompt, &theme, Mood::Asking, 79, 23)
}

fn paint(painter: &mut Painter, prompt: &Prompt) -> Vec<u8> {
    let view = lay_out(prompt);
    painter.paint(view.lines(), view.size().0, view.caret());
    painter.take()
}

fn frames(criterion: &mut Criterion) {
    let area = Rect::new(0, 0, 79, 23);
    let mut group = criterion.benchmark_group("render");
    for (name, prompt) in [("one question", prompt(DATABASE)), ("10,000 characters", long())] {
        let mut buffer = Buffer::empty(area);
        group.bench_function(format!("{name}, to cells"), |bencher| {
            bencher.iter(|| lay_out(black_box(&prompt)).render(area, &mut buffer));
        });
        group.bench_function(format!("{name}, first frame to bytes"), |bencher| {
            bencher.iter(|| paint(&mut Painter::new(), black_box(&prompt)));
        });
    }
    let shown = || {
        let (prompt, mut painter) = (prompt(DATABASE), Painter::new());
        paint(&mut painter, &prompt);
        (prompt, painter)
    };
    group.bench_function("arrow key to bytes", |bencher| {
        bencher.iter_batched_ref(
            shown,
            |(prompt, painter)| {
                prompt.update(Event::Key(Key::plain(KeyCode::Down)), Duration::ZERO);
                paint(painter, prompt)
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
