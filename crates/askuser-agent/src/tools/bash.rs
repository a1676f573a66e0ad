//! Bash: runs a shell command. It never outlives its call: background processes are stopped with it.

use super::head_tail::HeadTail;
use super::kept_files;
use super::live_output::LiveOutput;
use super::process::{self, ProcessGroup};
use super::surroundings;
use super::utf8::Utf8Decoder;
use crate::message::ToolCall;
use crate::permission_rules::PermissionRule;
use crate::tool::{Access, Consent, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
use askuser::{Limits, sanitize};
use serde::Deserialize;
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
const MAX_COMMAND: usize = 8_000;
const MAX_OUTPUT: usize = 30_000;
const DEFAULT_MS: u64 = 120_000;
const MAX_MS: u64 = 600_000;
const MAX_SUBTITLE: usize = 80;
/// How long background processes may go on after the shell has exited.
const BACKGROUND_GRACE: Duration = Duration::from_millis(200);
const BUFFER: usize = 16 << 10;

impl Tool for Bash {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/bash.txt"),
            json!({
                "command": {"type": "string"},
                "timeout_ms": {
                    "type": "integer", "minimum": 1, "maximum": MAX_MS,
                    "description": format!("Default {DEFAULT_MS}"),
                },
                "description": {"type": "string", "description": "What it does, in 5-10 words"},
            }),
            &["command"],
        )
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        let CommandInput { command, .. } = parse(call)?;
        Ok(Consent {
            question: question(command),
            context: None,
            rule: PermissionRule::Command(command.to_owned()),
            always: "Run exactly this command in this folder without asking".into(),
            prefixes: surroundings::prefixes(command, context),
            always_ask: kept_files::decides_for_the_person(command, &context.cwd, &context.protected),
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let input = match parse(call) {
                Ok(input) => input,
                Err(rejected) => return Ok(rejected),
            };
            let Ran { result, was_stopped } = run(&call.id, input.command, input.timeout, context).await;
            if was_stopped { Err(Stop::Interrupted) } else { Ok(result.with_title(NAME, input.subtitle())) }
        })
    }
}

/// The question, with the whole command; indented if that fits.
fn question(command: &str) -> String {
    let ask = "Run this command?\n\n";
    let indented = format!("{ask}  {}", command.replace('\n', "\n  "));
    let fits = indented.chars().count() <= Limits::DEFAULT.question_chars().max;
    if fits { indented } else { format!("{ask}{command}") }
}

#[derive(Deserialize)]
struct Input<'a> {
    command: &'a str,
    timeout_ms: Option<u64>,
    description: Option<&'a str>,
}

struct CommandInput<'a> {
    command: &'a str,
    timeout: Duration,
    description: Option<&'a str>,
}

impl CommandInput<'_> {
    fn subtitle(&self) -> String {
        let text = self.description.unwrap_or(self.command).trim();
        let first = text.lines().next().unwrap_or_default();
        let cut: String = first.chars().take(MAX_SUBTITLE).collect();
        if cut.len() < text.len() { format!("{cut}…") } else { cut }
    }
}

fn parse(call: &ToolCall) -> Result<CommandInput<'_>, ToolResult> {
    let Input { command, timeout_ms, description } = call.typed_input()?;
    let command = call.non_blank("command", command)?;
    let length = command.chars().count();
    if length > MAX_COMMAND {
        let (fact, limit) = (format!("{length} characters"), format!("at most {MAX_COMMAND}; put it in a file"));
        return Err(call.invalid_input("command", &fact, &limit));
    }
    // The user must see all of what they approve.
    let shown = command.replace('\t', "    ");
    if sanitize::block(&shown) != shown {
        let limit = "must be readable to the user; spell control characters as escapes";
        return Err(call.invalid_input("command", "has characters that cannot be shown", limit));
    }
    let timeout = match timeout_ms.unwrap_or(DEFAULT_MS) {
        ms @ 1..=MAX_MS => Duration::from_millis(ms),
        ms => return Err(call.invalid_input("timeout_ms", &ms.to_string(), &format!("must be from 1 to {MAX_MS}"))),
    };
    Ok(CommandInput { command, timeout, description })
}

enum Exit {
    Exited(ExitStatus),
    /// The same, and its background processes were stopped.
    LeftProcesses(ExitStatus),
    TimedOut,
    /// The person stopped it.
    Stopped,
    /// Its supervisor was killed, so it is unknown how it ended and whether all of it did.
    Unsupervised,
}

pub(crate) struct Ran {
    pub(crate) result: ToolResult,
    pub(crate) was_stopped: bool,
}

/// Runs a command of the person's own: it takes as long as they let it.
pub(crate) async fn run_command(call: &str, command: &str, context: &ToolContext) -> Ran {
    run(call, command, Duration::MAX, context).await
}

/// What a command writes: kept for the result, and told while it runs.
struct Output<'a> {
    decoder: Utf8Decoder,
    kept: HeadTail,
    live: LiveOutput<'a>,
}

impl<'a> Output<'a> {
    fn new(call: &'a str, context: &'a ToolContext) -> Output<'a> {
        let live = LiveOutput::new(call, context);
        Output { decoder: Utf8Decoder::default(), kept: HeadTail::new(MAX_OUTPUT), live }
    }

    fn push(&mut self, bytes: &[u8]) {
        let text = self.decoder.decode(bytes);
        self.live.push(&text);
        self.kept.push(&text);
    }

    fn finish(mut self) -> String {
        self.kept.push(self.decoder.finish());
        self.kept.finish()
    }
}

async fn run(call: &str, command: &str, time_limit: Duration, context: &ToolContext) -> Ran {
    let (mut group, mut pipe) = match process::spawn_shell(command, context) {
        Ok(spawned) => spawned,
        Err(error) => {
            let cwd = context.cwd.display();
            let result = ToolResult::error(format!("Not run: no shell could be started in {cwd}: {error}"));
            return Ran { result, was_stopped: false };
        }
    };
    let mut output = Output::new(call, context);
    let exit = tokio::select! {
        biased;
        () = context.abort.cancelled() => {
            group.stop().await;
            let _ = timeout(BACKGROUND_GRACE, read_output(&mut pipe, &mut output)).await;
            Ok(Exit::Stopped)
        }
        exit = supervise(&mut group, &mut pipe, &mut output, time_limit) => exit,
    };
    let was_stopped = matches!(exit, Ok(Exit::Stopped));
    let result = match exit {
        Ok(exit) => report(&output.finish(), &exit, time_limit),
        Err(error) => ToolResult::error(format!("The command could not be waited for: {error}\n\n{}", output.finish())),
    };
    Ran { result, was_stopped }
}

async fn supervise(
    group: &mut ProcessGroup,
    pipe: &mut ChildStdout,
    output: &mut Output<'_>,
    time_limit: Duration,
) -> io::Result<Exit> {
    let exited = timeout(time_limit, async {
        tokio::select! {
            status = group.wait() => status,
            // The shell may close the pipe before it exits.
            () = read_output(pipe, output) => group.wait().await,
        }
    });
    let Ok(status) = exited.await else {
        // Its output while it is being stopped is kept too.
        tokio::select! {
            () = group.stop() => {}
            never = async { read_output(pipe, output).await; std::future::pending().await } => never,
        }
        let _ = timeout(BACKGROUND_GRACE, read_output(pipe, output)).await;
        return Ok(Exit::TimedOut);
    };
    let status = status?;
    if group.has_lost_supervisor() {
        group.stop().await;
        let _ = timeout(BACKGROUND_GRACE, read_output(pipe, output)).await;
        return Ok(Exit::Unsupervised);
    }
    let _ = timeout(BACKGROUND_GRACE, async { tokio::join!(read_output(pipe, output), group.wait_all()) }).await;
    if !group.is_alive() {
        group.mark_finished();
        // A process that left the group may still hold the pipe; it is not waited for.
        return Ok(if group.others_stopped() { Exit::LeftProcesses(status) } else { Exit::Exited(status) });
    }
    group.stop().await;
    let _ = timeout(BACKGROUND_GRACE, read_output(pipe, output)).await;
    Ok(Exit::LeftProcesses(status))
}

/// Reads until the pipe ends. Cancel safe: what was read is kept.
async fn read_output(pipe: &mut ChildStdout, output: &mut Output<'_>) {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = tokio::select! {
            read = pipe.read(&mut buffer) => read,
            () = output.live.wait_until_due() => {
                output.live.tell();
                continue;
            }
        };
        match read {
            // Nothing more can be read from a broken pipe.
            Ok(0) | Err(_) => return output.live.tell(),
            Ok(bytes) => output.push(&buffer[..bytes]),
        }
    }
}

/// What the model reads: first how it ended, if there is something to say about that, then what it wrote.
fn report(output: &str, exit: &Exit, time_limit: Duration) -> ToolResult {
    let mut notes = Vec::new();
    let (success, details) = match exit {
        Exit::TimedOut => {
            let ms = time_limit.as_millis();
            notes.push(format!("Timed out after {ms} ms and was stopped. It may have taken effect in part."));
            (false, json!({"exit_code": null, "timed_out": true}))
        }
        Exit::Stopped => {
            notes.push("The user stopped it. It may have taken effect in part.".into());
            (false, json!({"exit_code": null, "stopped": true}))
        }
        Exit::Unsupervised => {
            notes.push(
                "The process that supervises this command was killed, so it is not known how the command ended. It was stopped as far \
                 as it could be found; something of it may still run."
                    .into(),
            );
            (false, json!({"exit_code": null, "unsupervised": true}))
        }
        Exit::Exited(status) | Exit::LeftProcesses(status) => match (status.code(), signal(status)) {
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
    if matches!(exit, Exit::LeftProcesses(_)) {
        notes.push("Its background processes were stopped.".into());
    }
    let output = output.trim_end();
    let text = match (output.is_empty(), notes.is_empty()) {
        (true, true) => "(no output)".into(),
        (true, false) => notes.join("\n"),
        (false, true) => output.to_owned(),
        (false, false) => format!("{}\n\n{output}", notes.join("\n")),
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
