//! Bash: a command in a shell. It never outlives its call: what it leaves in the background is ended with it.

use super::excerpt::Excerpt;
use super::input::{Fields, refuse};
use super::process::{self, Apart, Group};
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use askuser::{Limits, sanitize};
use serde_json::json;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::time::timeout;

/// Runs a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

const NAME: &str = "Bash";
const MOST_COMMAND: usize = 8_000;
const MOST_OUTPUT: usize = 30_000;
const DEFAULT_MS: u64 = 120_000;
const MOST_MS: u64 = 600_000;
const MOST_SUBTITLE: usize = 80;
/// How long what a shell has left behind may go on once it is over.
const LINGER: Duration = Duration::from_millis(200);
const BUFFER: usize = 16 << 10;

impl Tool for Bash {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/bash.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout_ms": {
                        "type": "integer", "minimum": 1, "maximum": MOST_MS,
                        "description": format!("Default {DEFAULT_MS}"),
                    },
                    "description": {"type": "string", "description": "What it does, in 5-10 words"},
                },
                "required": ["command"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, _context: &ToolContext) -> Result<Consent, ToolResult> {
        let Order { command, .. } = parse(call)?;
        Ok(Consent {
            question: question(command),
            context: None,
            rule: command.to_owned(),
            always: "Run exactly this command in this folder without asking".into(),
            edits_here: false,
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let order = match parse(call) {
                Ok(order) => order,
                Err(refused) => return Ok(refused),
            };
            let result = run(&order, context, Apart::best()).await?;
            Ok(result.titled(NAME, order.subtitle()))
        })
    }
}

/// All of the command, set off from the words around it unless its lines are too many for that.
fn question(command: &str) -> String {
    let ask = "Run this command?\n\n";
    let indented = format!("{ask}  {}", command.replace('\n', "\n  "));
    let fits = indented.chars().count() <= Limits::DEFAULT.question_chars.max;
    if fits { indented } else { format!("{ask}{command}") }
}

/// What is to be run.
struct Order<'a> {
    command: &'a str,
    timeout: Duration,
    description: Option<&'a str>,
}

impl Order<'_> {
    fn subtitle(&self) -> String {
        let text = self.description.unwrap_or(self.command).trim();
        let first = text.lines().next().unwrap_or_default();
        let cut: String = first.chars().take(MOST_SUBTITLE).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    }
}

fn parse(call: &ToolCall) -> Result<Order<'_>, ToolResult> {
    let fields = Fields::of(call)?;
    let command = fields.words("command")?;
    let length = command.chars().count();
    if length > MOST_COMMAND {
        let (fact, limit) = (format!("{length} characters"), format!("at most {MOST_COMMAND}; put it in a file"));
        return Err(refuse(call, "command", &fact, &limit));
    }
    // A person can only agree to what they see.
    let shown = command.replace('\t', "    ");
    if sanitize::block(&shown) != shown {
        let limit = "must be readable to the user; spell control characters as escapes";
        return Err(refuse(call, "command", "has characters that cannot be shown", limit));
    }
    let timeout = match fields.optional_number("timeout_ms")?.unwrap_or(DEFAULT_MS) {
        ms @ 1..=MOST_MS => Duration::from_millis(ms),
        ms => return Err(refuse(call, "timeout_ms", &ms.to_string(), &format!("must be from 1 to {MOST_MS}"))),
    };
    Ok(Order { command, timeout, description: fields.optional_text("description")? })
}

/// How a command ended.
enum Ended {
    Exited(ExitStatus),
    /// The same, and something it had left in the background was ended.
    Left(ExitStatus),
    TimedOut,
}

async fn run(order: &Order<'_>, context: &ToolContext, apart: Apart) -> Result<ToolResult, Stop> {
    let (mut group, mut pipe) = match process::shell(order.command, &context.cwd, apart) {
        Ok(started) => started,
        Err(error) => {
            let cwd = context.cwd.display();
            return Ok(ToolResult::error(format!("Not run: no shell could be started in {cwd}: {error}")));
        }
    };
    let mut output = Excerpt::new(MOST_OUTPUT);
    let ended = tokio::select! {
        biased;
        () = context.abort.cancelled() => {
            group.end().await;
            return Err(Stop::Interrupted);
        }
        ended = supervise(&mut group, &mut pipe, &mut output, order.timeout) => ended,
    };
    Ok(match ended {
        Ok(ended) => report(output.finish(), &ended, order.timeout),
        Err(error) => ToolResult::error(format!("{}\n\nThe command was lost: {error}", output.finish())),
    })
}

async fn supervise(
    group: &mut Group,
    pipe: &mut ChildStdout,
    output: &mut Excerpt,
    time: Duration,
) -> io::Result<Ended> {
    let exited = timeout(time, async {
        tokio::select! {
            status = group.wait() => status,
            // The pipe may end before the shell does.
            () = read_on(pipe, output) => group.wait().await,
        }
    });
    let Ok(status) = exited.await else {
        // Its last words count too.
        tokio::select! {
            () = group.end() => {}
            never = async { read_on(pipe, output).await; std::future::pending().await } => never,
        }
        let _ = timeout(LINGER, read_on(pipe, output)).await;
        return Ok(Ended::TimedOut);
    };
    let status = status?;
    let _ = timeout(LINGER, async { tokio::join!(read_on(pipe, output), group.gone()) }).await;
    if !group.is_alive() {
        group.let_go();
        // Somebody who left the group may hold the pipe; they are not waited for.
        return Ok(Ended::Exited(status));
    }
    group.end().await;
    let _ = timeout(LINGER, read_on(pipe, output)).await;
    Ok(Ended::Left(status))
}

/// Reads until the pipe ends. What was read is kept even if this is dropped.
async fn read_on(pipe: &mut ChildStdout, output: &mut Excerpt) {
    let mut buffer = vec![0; BUFFER];
    loop {
        match pipe.read(&mut buffer).await {
            // There is nothing to do about a broken pipe but to stop.
            Ok(0) | Err(_) => return,
            Ok(bytes) => output.push(&buffer[..bytes]),
        }
    }
}

fn report(output: String, ended: &Ended, time: Duration) -> ToolResult {
    let mut notes = Vec::new();
    let (success, details) = match ended {
        Ended::TimedOut => {
            let ms = time.as_millis();
            notes.push(format!("Timed out after {ms} ms and was stopped. It may have taken effect in part."));
            (false, json!({"exit_code": null, "timed_out": true}))
        }
        Ended::Exited(status) | Ended::Left(status) => match (status.code(), signal(status)) {
            (Some(0), _) => (true, json!({"exit_code": 0})),
            (Some(code), _) => {
                notes.push(format!("Exit code {code}"));
                (false, json!({"exit_code": code}))
            }
            (None, signal) => {
                notes.push(signal.map_or("It was killed".into(), |signal| format!("Killed by signal {signal}")));
                (false, json!({"exit_code": null, "signal": signal}))
            }
        },
    };
    if matches!(ended, Ended::Left(_)) {
        notes.push("What it had left running in the background was stopped.".into());
    }
    let output = output.trim_end();
    let text = match (output.is_empty(), notes.is_empty()) {
        (true, true) => "(no output)".into(),
        (true, false) => notes.join("\n"),
        (false, true) => output.to_owned(),
        (false, false) => format!("{output}\n\n{}", notes.join("\n")),
    };
    ToolResult { success, ..ToolResult::ok(text) }.with_details(details)
}

fn signal(status: &ExitStatus) -> Option<i32> {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(status);
    #[cfg(not(unix))]
    return status.code().and(None);
}

#[cfg(all(test, unix))]
#[path = "bash_tests.rs"]
mod tests;
