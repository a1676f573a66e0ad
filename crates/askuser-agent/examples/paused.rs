//! Measures the cost of waiting: a thousand agents, each paused on a question, in one process on one thread. `cargo run
//! --release -p askuser-agent --example paused [AGENTS] [SECONDS]`
//!
//! The example prints the memory per agent and the number of times that the process woke up. It asserts neither.
#![allow(clippy::print_stdout, reason = "the numbers belong on stdout")]

use askuser::{Asker, Asking, Outcome, Request, Via};
use askuser_agent::{Agent, AgentEvent, Script, tools};
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Answers all waiting questions at once when it is notified.
#[derive(Default)]
struct Later {
    waiting: AtomicUsize,
    answer: Notify,
}

impl Asker for Later {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let answer = self.answer.notified();
            self.waiting.fetch_add(1, Ordering::Relaxed);
            answer.await;
            let answers = request.set().questions().iter().filter_map(|question| question.answer(&[0], None, None));
            let outcome = Outcome::answered(request.set(), answers.collect());
            Ok(outcome.unwrap_or_else(|_| Outcome::cancelled()).through(Via::FrontEnd).into())
        })
    }
}

const SCRIPT: &str = r#"{"turns": [
    {"text": "Let me ask.", "calls": [{"name": "AskUserQuestion", "input": {"questions": [{
        "question": "Which database?", "header": "Database", "multiSelect": false, "options": [
            {"label": "PostgreSQL", "description": "Relational"}, {"label": "SQLite", "description": "A file"}
        ]}]}}]},
    {"text": "Done."}
]}"#;

/// Returns a number in `/proc/self/status`; 0 on other systems.
fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Returns the processor time of this process.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse::<usize>());
    let agents = numbers.next().transpose()?.unwrap_or(1000);
    let seconds = numbers.next().transpose()?.unwrap_or(5);
    let asker = Arc::new(Later::default());
    let script = Script::parse(SCRIPT)?;
    let tools = tools::talking();

    let before = status("VmRSS");
    let began = Instant::now();
    let mut runs = Vec::with_capacity(agents);
    for _ in 0..agents {
        let asker = asker.clone();
        let script = script.clone();
        let tools = tools.clone();
        runs.push(tokio::spawn(async move {
            let mut agent = Agent::new(script).with_tools(tools).with_asker(asker);
            let events: Vec<AgentEvent> = agent.run("go").collect().await;
            matches!(events.last(), Some(AgentEvent::Done { .. }))
        }));
    }
    while asker.waiting.load(Ordering::Relaxed) < agents {
        tokio::task::yield_now().await;
    }
    println!("agents paused on a question   {agents}");
    println!("time until all were           {:.1?}", began.elapsed());
    println!("memory per agent              {:.1} KiB", (status("VmRSS") - before) as f64 / agents as f64);

    let woken = status("voluntary_ctxt_switches");
    let computed = cpu();
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    println!("wake-ups in {seconds} s               {}", status("voluntary_ctxt_switches") - woken);
    println!("processor time in {seconds} s         {:.0?}", cpu() - computed);

    let answered = Instant::now();
    asker.answer.notify_waiters();
    let mut done = 0;
    for run in runs {
        done += usize::from(run.await?);
    }
    println!("done once answered            {done}, in {:.1?}", answered.elapsed());
    Ok(())
}
