//! Medians and ratios, as text and as JSON. One list of metrics drives both.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::Result;
use crate::count::Count;
use crate::measure::{Arrow, Measured, Round, own_anonymous_kib};
use crate::options::{Colours, Options};
use crate::program::{BASELINE, build_name};
use crate::pty::TERM;
use crate::screen::{COLUMNS, ROWS};

struct Metric {
    title: &'static str,
    key: &'static str,
    /// `None` where it was not measured.
    of: fn(&Measured) -> Option<f64>,
}

const METRICS: [Metric; 9] = [
    Metric { title: "first frame, µs", key: "first_frame_us", of: |m| per_round(m, |r| micros(r.first_frame)) },
    Metric { title: "key to repaint, µs", key: "key_to_repaint_us", of: |m| per_arrow(m, |a| micros(a.repaint)) },
    Metric { title: "bytes per arrow key", key: "bytes_per_arrow_key", of: |m| per_arrow(m, |a| a.bytes as f64) },
    Metric { title: "Enter to exit, µs", key: "enter_to_exit_us", of: |m| per_round(m, |r| micros(r.leave)) },
    Metric { title: "CPU per answer, µs", key: "cpu_us", of: |m| per_round(m, |r| micros(r.cpu)) },
    Metric { title: "peak RSS, KiB", key: "peak_rss_kib", of: |m| per_round(m, |r| r.peak_rss_kib as f64) },
    Metric { title: "ru_maxrss, KiB", key: "ru_maxrss_kib", of: |m| per_round(m, |r| r.max_rss_kib as f64) },
    Metric { title: "wake-ups waiting", key: "wakeups_waiting", of: |m| m.wakeups.map(|wakeups| wakeups as f64) },
    Metric { title: "binary, KiB", key: "binary_kib", of: |m| Some(m.binary_bytes as f64 / 1024.0) },
];

pub fn text(measured: &[Measured], options: &Options) -> Result<String> {
    let mut text = format!("{:<20}", "");
    for program in measured {
        write!(text, "{:>17}", program.program.name)?;
    }
    for metric in &METRICS {
        let values: Vec<_> = measured.iter().filter_map(metric.of).collect();
        if values.is_empty() {
            continue;
        }
        write!(text, "\n{:<20}", metric.title)?;
        for value in values {
            let ratio = match ratio(metric, value, measured) {
                Some(ratio) => format!("{ratio:.2}x"),
                None => "-".into(),
            };
            write!(text, "{value:>9.0} {ratio:>7}")?;
        }
    }
    let colours = if options.colours == Colours::True { "true colour" } else { "256 colours" };
    writeln!(text, "\n\nmedians; x is the ratio to {BASELINE} in this run")?;
    writeln!(text, "{} rounds, {COLUMNS}x{ROWS}, {TERM}, {colours}", options.rounds)?;
    writeln!(
        text,
        "ru_maxrss is approximate and at least the {} KiB that each fork copies; trust peak RSS",
        own_anonymous_kib()?
    )?;
    if options.askuser.len() > 1 {
        for (index, path) in options.askuser.iter().enumerate() {
            writeln!(text, "{} is {}", build_name(index), path.display())?;
        }
    }
    if let Some(wait) = options.idle {
        writeln!(text, "wake-ups of all threads in {} s without a key, one wait", wait.as_secs())?;
    }
    Ok(text)
}

pub fn json(measured: &[Measured], options: &Options) -> Result<Value> {
    let programs = measured.iter().map(|program| {
        let mut values = Map::new();
        let mut ratios = Map::new();
        for metric in &METRICS {
            let value = (metric.of)(program);
            let ratio = value.and_then(|value| ratio(metric, value, measured));
            values.insert(metric.key.into(), value.map(three_decimals).into());
            ratios.insert(metric.key.into(), ratio.map(three_decimals).into());
        }
        json!({ "name": program.program.name, "median": values, "ratio": ratios })
    });
    Ok(json!({
        "rounds": options.rounds,
        "terminal": {
            "columns": COLUMNS,
            "rows": ROWS,
            "TERM": TERM,
            "COLORTERM": (options.colours == Colours::True).then_some("truecolor"),
        },
        "baseline": BASELINE,
        "idle_seconds": options.idle.map(|wait| wait.as_secs()),
        "ru_maxrss_floor_kib": own_anonymous_kib()?,
        "programs": programs.collect::<Vec<_>>(),
    }))
}

pub fn counted_text(counts: &[Count], options: &Options) -> Result<String> {
    let mut text = format!("{:<28}{:>16}{:>16}{:>16}\n", "", "instructions", "per arrow key", "system calls");
    for count in counts {
        let number = |value: Option<u64>| value.map(grouped).unwrap_or_default();
        let [whole, key, calls] = [Some(count.instructions), count.per_key, count.calls].map(number);
        writeln!(text, "{:<28}{whole:>16}{key:>16}{calls:>16}", count.name)?;
    }
    let colours = if options.colours == Colours::True { "true colour" } else { "256 colours" };
    writeln!(text, "\nfrom start to end; {COLUMNS}x{ROWS}, {TERM}, {colours}")?;
    Ok(text)
}

pub fn counted_json(counts: &[Count]) -> Value {
    let rows = counts.iter().map(|count| {
        let Count { name, instructions, per_key, calls } = count;
        json!({ "name": name, "instructions": instructions, "per_arrow_key": per_key, "system_calls": calls })
    });
    rows.collect()
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// Nothing where the baseline is nought: no wake-ups, for one.
fn ratio(metric: &Metric, value: f64, measured: &[Measured]) -> Option<f64> {
    let baseline = measured.iter().find(|program| program.program.name == BASELINE).and_then(metric.of)?;
    (baseline > 0.0).then(|| value / baseline)
}

fn per_round(measured: &Measured, of: fn(&Round) -> f64) -> Option<f64> {
    median(measured.rounds.iter().map(of).collect())
}

fn per_arrow(measured: &Measured, of: fn(&Arrow) -> f64) -> Option<f64> {
    median(measured.rounds.iter().flat_map(|round| &round.arrows).map(of).collect())
}

fn three_decimals(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn micros(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1000.0
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[upper]),
        _ => Some((values[upper - 1] + values[upper]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_lies_between_the_middle_two() {
        assert_eq!(median(vec![9.0, 1.0, 4.0, 2.0]), Some(3.0));
    }

    #[test]
    fn nothing_has_no_median() {
        assert_eq!(median(vec![]), None);
    }
}
