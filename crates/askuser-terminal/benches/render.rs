//! Benchmarks for showing a prompt in 80 columns and 24 rows: its layout, the drawing of its cells, and the bytes for a
//! key.
//!
//! `cargo bench -p askuser-terminal`

use askuser::prompt::{Event, PromptOptions};
use askuser::{Key, KeyCode, Prompt, QuestionSet, Rules};
use askuser_terminal::PromptWidget;
use askuser_terminal::bench::Frames;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::widgets::StatefulWidget;
use std::hint::black_box;
use std::time::Duration;

const DATABASE: &str = include_str!("../examples/database.json");

fn prompt(json: &str) -> Prompt {
    let set = QuestionSet::from_json(json, &Rules::default()).expect("a valid question");
    Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, deadline: None })
}

/// Returns a prompt with a question of the maximum length.
fn long() -> Prompt {
    let text = "Which of these should we use, and why? ".repeat(257);
    prompt(&DATABASE.replace("Which database should we use for this project?", &text[..10_000]))
}

fn frames(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("render");
    let area = Rect::new(0, 0, 80, 24);
    for (name, mut prompt) in [("one question", prompt(DATABASE)), ("10,000 characters", long())] {
        let mut buffer = Buffer::empty(area);
        group.bench_function(format!("{name}, to cells"), |bencher| {
            bencher.iter(|| PromptWidget::default().render(area, &mut buffer, black_box(&mut prompt)));
        });
        group.bench_function(format!("{name}, first frame to bytes"), |bencher| {
            bencher.iter(|| Frames::default().paint(black_box(&prompt)));
        });
    }
    let shown = || {
        let prompt = prompt(DATABASE);
        let mut frames = Frames::default();
        frames.paint(&prompt);
        (prompt, frames)
    };
    group.bench_function("arrow key to bytes", |bencher| {
        bencher.iter_batched_ref(
            shown,
            |(prompt, frames)| {
                prompt.update(Event::Key(Key::plain(KeyCode::Down)), Duration::ZERO);
                frames.paint(prompt)
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, frames);
criterion_main!(benches);
