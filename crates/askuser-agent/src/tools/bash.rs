//! Bash, the tool that runs shell commands. Background processes are stopped when the call ends.

use super::head_tail::HeadTail;
use super::live_output::LiveOutput;
use super::output_file::OutputFile;
use super::process::{self, ProcessGroup};
use super::sensitive::instructing_since;
use super::utf8::Utf8Decoder;
use crate::command_prefix;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission::PermissionMode;
use crate::permission_rules::PermissionRule;
use crate::sandbox::{Reach, Sandbox, Wall};
use crate::secrets::Redactor;
use crate::tool::{Access, Agreed, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tool_input;
use askuser::{Context, sanitize};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A tool that runs shell commands.
#[derive(Clone, Debug)]
pub struct Bash {
    /// The sandbox, or the reason why it is missing.
    sandbox: Result<Arc<Sandbox>, String>,
}

impl Default for Bash {
    fn default() -> Bash {
        Bash::with_sandbox(Err("none was set up".into()))
    }
}

impl Bash {
    /// Creates the tool with a sandbox, or with the reason why the sandbox is missing. Without a sandbox, every command
    /// that no rule allows needs permission.
    pub fn with_sandbox(sandbox: Result<Sandbox, String>) -> Bash {
        Bash { sandbox: sandbox.map(Arc::new) }
    }

    /// Returns the access that a command gets in this mode; `None` if there is no sandbox.
    fn reach(
        &self,
        call: &ToolCall,
        input: &CommandInput<'_>,
        mode: PermissionMode,
    ) -> Result<Option<Reach>, ToolResult> {
        if self.sandbox.is_err() {
            return Ok(None);
        }
        Ok(Some(match (mode, input.wish) {
            (PermissionMode::Allow, _) => Reach::Outside,
            (PermissionMode::Plan, None) => Reach::Look,
            (PermissionMode::Plan, Some((wish, _))) => {
                let field = if wish == Reach::Network { "network" } else { "outside" };
                return Err(call.invalid_input(field, "true", "must wait until the plan is approved"));
            }
            (_, wish) => wish.map_or(Reach::Folder, |(wish, _)| wish),
        }))
    }
}

const NAME: &str = "Bash";
const MAX_COMMAND: usize = 8_000;
const MAX_OUTPUT: usize = 30_000;
const DEFAULT_MS: u64 = 120_000;
const MAX_MS: u64 = 600_000;
const MAX_SUBTITLE: usize = 80;
const MAX_REASON: usize = 300;
/// The granularity of file times, rounded up.
const CLOCK: Duration = Duration::from_millis(10);
/// The maximum number of changed files that the result names.
const MAX_NAMED: usize = 8;
/// The time for which background processes may run after the shell has exited.
const BACKGROUND_GRACE: Duration = Duration::from_millis(200);
const BUFFER: usize = 16 << 10;

impl Tool for Bash {
    fn definition(&self) -> ToolDefinition {
        let mut description = include_str!("../../prompts/tools/bash.txt").trim_ascii_end().to_owned();
        let mut properties = json!({
            "command": {"type": "string"},
            "timeout_ms": {
                "type": "integer", "minimum": 1, "maximum": MAX_MS,
                "description": format!("Default {DEFAULT_MS}"),
            },
            "description": {"type": "string", "description": "What it does, in 5-10 words"},
        });
        if self.sandbox.is_ok() {
            description.push_str("\n\n");
            description.push_str(include_str!("../../prompts/tools/bash-sandbox.txt").trim_ascii_end());
            properties["network"] = json!({"type": "boolean", "description": "Run it with the network; asks the user"});
            properties["outside"] =
                json!({"type": "boolean", "description": "Run it outside the sandbox; asks the user"});
            let reason = "Why it has to leave the sandbox, for the user; required with network or outside";
            properties["reason"] = json!({"type": "string", "description": reason});
        }
        super::built_in(NAME, &description, properties, &["command"])
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn is_offered(&self, mode: PermissionMode, _can_ask: bool) -> bool {
        mode != PermissionMode::Plan || self.sandbox.is_ok()
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        let input = parse(call)?;
        let command = input.command.to_owned();
        let reach = self.reach(call, &input, context.shared.permissions().mode)?;
        let always = |how: &str| format!("Run exactly this command{how} in this folder without asking");
        let consent = |rule, how: &str| Consent {
            agreed: Some(Agreed::Reach(reach)),
            ..Consent::new(question(&input, how), Context::Command(input.command.into()), rule, always(how))
        };
        Ok(match (reach, &self.sandbox) {
            (Some(Reach::Network), _) => Consent {
                because: Some("it leaves the sandbox for the network".into()),
                ..consent(PermissionRule::CommandWithNetwork(command), " with the network")
            },
            (Some(Reach::Outside), _) => Consent {
                because: Some("it leaves the sandbox".into()),
                ..consent(PermissionRule::CommandOutside(command), " outside the sandbox, with your access")
            },
            (_, Err(why)) => Consent {
                because: Some(format!("there is no sandbox here: {why}")),
                ..consent(PermissionRule::Command(command), "")
            },
            (_, Ok(_)) => Consent {
                is_inside: true,
                plain_words: command_prefix::plain_words(input.command).unwrap_or_default(),
                ..consent(PermissionRule::Command(command), "")
            },
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let parsed = parse(call).and_then(|input| match context.agreed {
                Some(Agreed::Reach(reach)) => Ok((input, reach)),
                _ => self.reach(call, &input, context.shared.permissions().mode).map(|reach| (input, reach)),
            });
            let (input, reach) = match parsed {
                Ok(parsed) => parsed,
                Err(rejected) => return Ok(rejected),
            };
            let wall = match (&self.sandbox, reach) {
                (Ok(sandbox), Some(reach)) => sandbox.wall(reach).map(Some),
                _ => Ok(None),
            };
            let wall = match wall {
                Ok(wall) => wall,
                Err(why) => return Ok(ToolResult::error(format!("Not run, since there is no sandbox now: {why}"))),
            };
            let start = SystemTime::now();
            // The pause ensures that files changed by the command have later times than files changed before.
            tokio::time::sleep(CLOCK).await;
            let mut result = run(&call.id, input.command, wall, input.timeout, context).await;
            if reach != Some(Reach::Look) {
                name_instructions(&mut result, start, context);
            }
            Ok(result.with_title(NAME, input.subtitle()))
        })
    }
}

/// Adds to the result the files from which git or an agent takes instructions, if the command created or changed them.
/// Emits the same notice for the person.
fn name_instructions(result: &mut ToolResult, start: SystemTime, context: &ToolContext) {
    let folders = std::iter::once(&context.cwd).chain(&context.allowed);
    let changed: Vec<String> = folders.flat_map(|folder| instructing_since(folder, start)).collect();
    if changed.is_empty() {
        return;
    }
    let more = changed.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named = changed[..changed.len().min(MAX_NAMED)].join(", ");
    let named = sanitize::line(&named);
    let message = format!("The command made or changed what git or agents take instructions from: {named}{more}");
    result.output.push_str(&format!("\n\n{message}. The user has been told."));
    context.emit(AgentEvent::Notice { message });
}

/// Returns the question about a command. The command itself is the question's context.
fn question(input: &CommandInput<'_>, how: &str) -> String {
    match input.wish {
        Some((_, reason)) if !how.is_empty() => format!("Run this command{how}?\n\nThe agent's reason: {reason}"),
        _ => format!("Run this command{how}?"),
    }
}

#[derive(Deserialize)]
struct Input<'a> {
    command: &'a str,
    #[serde(default, deserialize_with = "tool_input::number")]
    timeout_ms: Option<u64>,
    #[serde(default, borrow, deserialize_with = "tool_input::text")]
    description: Option<&'a str>,
    #[serde(default, deserialize_with = "tool_input::flag")]
    network: Option<bool>,
    #[serde(default, deserialize_with = "tool_input::flag")]
    outside: Option<bool>,
    #[serde(default, borrow, deserialize_with = "tool_input::text")]
    reason: Option<&'a str>,
}

struct CommandInput<'a> {
    command: &'a str,
    timeout: Duration,
    description: Option<&'a str>,
    /// The wider access that the model requests and its reason; `None` for the usual access.
    wish: Option<(Reach, &'a str)>,
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
    let Input { command, timeout_ms, description, network, outside, reason } = call.typed_input()?;
    let command = call.non_blank("command", command)?;
    call.at_most("command", command, MAX_COMMAND, "; put it in a file")?;
    // The user must see the whole command before approving it.
    let shown = command.replace('\t', "    ");
    if sanitize::block(&shown) != shown {
        let limit = "must be readable to the user; spell control characters as escapes";
        return Err(call.invalid_input("command", "has characters that cannot be shown", limit));
    }
    let timeout = match timeout_ms.unwrap_or(DEFAULT_MS) {
        ms @ 1..=MAX_MS => Duration::from_millis(ms),
        ms => return Err(call.invalid_input("timeout_ms", &ms.to_string(), &format!("must be from 1 to {MAX_MS}"))),
    };
    let wish = match (outside, network) {
        (Some(true), _) => Some(Reach::Outside),
        (_, Some(true)) => Some(Reach::Network),
        _ => None,
    };
    let wish = wish.map(|wish| Ok((wish, shown_reason(call, reason)?))).transpose()?;
    Ok(CommandInput { command, timeout, description, wish })
}

/// Returns the reason without surrounding white space.
///
/// # Errors
/// If the reason is blank, too long or not one readable line. Such a text could imitate the question.
fn shown_reason<'a>(call: &ToolCall, reason: Option<&'a str>) -> Result<&'a str, ToolResult> {
    let reason = call.non_blank("reason", reason.unwrap_or_default())?.trim();
    call.at_most("reason", reason, MAX_REASON, "")?;
    if sanitize::line(reason) == reason {
        Ok(reason)
    } else {
        Err(call.invalid_input("reason", "has characters that cannot be shown", "must be one line of text"))
    }
}

enum Exit {
    Exited(ExitStatus),
    /// The shell exited and left processes, which were stopped.
    LeftProcesses(ExitStatus),
    TimedOut,
    /// The person stopped the command.
    Stopped,
}

/// Runs a shell command of the person without a time limit.
pub(crate) async fn run_command(call: &str, command: &str, context: &ToolContext) -> ToolResult {
    run(call, command, None, Duration::MAX, context).await
}

/// The output of a command with keys redacted. It is collected for the result and streamed while the command runs.
struct Output<'a> {
    decoder: Utf8Decoder,
    redactor: Redactor<'a>,
    kept: HeadTail,
    whole: OutputFile,
    live: LiveOutput<'a>,
}

impl<'a> Output<'a> {
    fn new(call: &'a str, context: &'a ToolContext) -> Output<'a> {
        let live = LiveOutput::new(call, context);
        let kept = HeadTail::new(MAX_OUTPUT);
        let whole = OutputFile::new(context, MAX_OUTPUT);
        let redactor = context.shared.secrets.redactor();
        Output { decoder: Utf8Decoder::default(), redactor, kept, whole, live }
    }

    fn push(&mut self, bytes: &[u8]) {
        let text = self.decoder.decode(bytes);
        let text = self.redactor.push(&text);
        self.add(&text);
    }

    fn add(&mut self, text: &str) {
        self.live.push(text);
        self.kept.push(text);
        self.whole.push(text);
    }

    /// Returns the output for the model, and the file with the full output if the model gets only a part.
    fn finish(mut self) -> (String, Option<PathBuf>) {
        let rest = self.redactor.push(self.decoder.finish()) + &self.redactor.finish();
        self.add(&rest);
        self.live.tell();
        let file = self.whole.finish();
        let where_all_is = file
            .as_ref()
            .map_or_else(String::new, |file| format!("; Read and Grep find all of it in {}", file.display()));
        (clean(&self.kept.finish(&where_all_is)), file)
    }
}

async fn run(call: &str, command: &str, wall: Option<Wall>, time_limit: Duration, context: &ToolContext) -> ToolResult {
    let (mut group, mut pipe) = match process::spawn_shell(command, wall, context) {
        Ok(spawned) => spawned,
        Err(error) => {
            let cwd = context.cwd.display();
            return ToolResult::error(format!("Not run: no shell could be started in {cwd}: {error}"));
        }
    };
    let mut output = Output::new(call, context);
    let exit = supervise(&mut group, &mut pipe, &mut output, time_limit, &context.abort).await;
    let (text, file) = output.finish();
    let mut result = match exit {
        Ok(exit) => report(&text, &exit, time_limit),
        Err(error) => ToolResult::error(format!("The command could not be waited for: {error}\n\n{text}")),
    };
    if let (Some(file), Some(metadata)) = (file, &mut result.metadata)
        && let Some(details) = &mut metadata.details
    {
        details["output_file"] = json!(file);
    }
    result
}

/// Returns an output as a terminal finally shows it: without colours and without overwritten lines.
fn clean(text: &str) -> String {
    let line = |line: &str| {
        let shown = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        shown.split('\t').map(sanitize::line).collect::<Vec<_>>().join("\t")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

async fn supervise(
    group: &mut ProcessGroup,
    pipe: &mut ChildStdout,
    output: &mut Output<'_>,
    time_limit: Duration,
    abort: &CancellationToken,
) -> io::Result<Exit> {
    let exited = timeout(time_limit, async {
        tokio::select! {
            status = group.wait() => status,
            // The shell may close the pipe before it exits.
            () = read_output(pipe, output) => group.wait().await,
        }
    });
    let exited = tokio::select! {
        biased;
        () = abort.cancelled() => Err(Exit::Stopped),
        exited = exited => exited.map_err(|_| Exit::TimedOut),
    };
    let status = match exited {
        Ok(status) => status?,
        Err(exit) => {
            // Output that arrives during the stop is kept, too.
            tokio::select! {
                () = group.stop() => {}
                never = async { read_output(pipe, output).await; std::future::pending().await } => never,
            }
            let _ = timeout(BACKGROUND_GRACE, read_output(pipe, output)).await;
            return Ok(exit);
        }
    };
    let _ = timeout(BACKGROUND_GRACE, async { tokio::join!(read_output(pipe, output), group.wait_all()) }).await;
    if !group.is_alive() {
        group.mark_finished();
        // A process that left the group may still hold the pipe, but the call does not wait for that process.
        return Ok(if group.has_left_processes() { Exit::LeftProcesses(status) } else { Exit::Exited(status) });
    }
    group.stop().await;
    let _ = timeout(BACKGROUND_GRACE, read_output(pipe, output)).await;
    Ok(Exit::LeftProcesses(status))
}

/// Reads until the pipe ends. The function is cancel-safe: it keeps the bytes that were read.
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
            // A broken pipe yields no further bytes.
            Ok(0) | Err(_) => return output.live.tell(),
            Ok(bytes) => output.push(&buffer[..bytes]),
        }
    }
}

/// Returns the result for the model. The way in which the command ended comes first, if it matters. The output follows.
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

// The commands of these tests need a shell that Windows does not have.
#[cfg(all(test, unix))]
#[path = "bash_tests.rs"]
mod tests;
