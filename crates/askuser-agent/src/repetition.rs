//! The same call with the same result again, though the model was told: the person decides whether that goes on, once a turn.

use crate::agent::Agent;
use crate::asking::Asked;
use crate::event::{AgentEvent, FailureKind};
use crate::event_channel::EventSender;
use crate::message::ToolCall;
use crate::tool::Stop;
use crate::transcript::Entry;
use askuser::input::QuestionInput;
use askuser::permission::{MayPermit, Verdict, header, verdict};
use askuser::{Answer, Context, Purpose, QuestionSet, Resolution, Rules};
use tokio_util::sync::CancellationToken;

/// How much of a call is shown.
const MOST_CHARS: usize = 2_000;

/// Asks whether to go on, if a call repeats itself. Only a person's own word lets it.
pub(crate) async fn ask(agent: &mut Agent, events: &EventSender, abort: &CancellationToken) -> Result<(), Stop> {
    let Some(call) = agent.history.repeated.clone() else { return Ok(()) };
    let shared = agent.shared.clone();
    let recorded = shared.transcript.question(&shared.tasks, &call.id, Purpose::Choice);
    if let Some(asked) = recorded
        && let Some(resolution) = asked.resolution
        && let Ok(None) = decided(&call, asked.request.set(), &resolution)
    {
        return Ok(());
    }
    let context = shared.context(events, abort);
    context.wait_until_taken().await?;
    let shown: String = format!("{} {}", call.name, call.input).chars().take(MOST_CHARS).collect();
    let about = Some(Context::ToolInput(shown));
    let Asked { set, resolution } = tokio::select! {
        biased;
        asked = context.ask_for(Purpose::Choice, &call.id, question(&call)?, about) => asked?,
        () = abort.cancelled() => return Err(Stop::Interrupted),
    };
    if let Some(text) = decided(&call, &set, &resolution)? {
        agent.record(&Entry::User { text: text.clone() })?;
        events.send(AgentEvent::User { text });
    }
    Ok(())
}

fn question(call: &ToolCall) -> Result<QuestionSet, Stop> {
    let text = format!("{} had the same result four times, though the model was told. Go on?", header(&call.name));
    let question = QuestionInput::new(text, "Repetition")
        .option("Go on", "You are not asked again in this turn")
        // The last one refuses.
        .option("Stop", "The turn ends here. Other says something to the model instead");
    QuestionSet::new([question], &Rules::strict()).map_err(|_| Stop::Interrupted)
}

/// What the person wants to say instead, if they do not just let it go on.
fn decided(call: &ToolCall, set: &QuestionSet, resolution: &Resolution) -> Result<Option<String>, Stop> {
    let typed = |answer: &Answer| answer.selected_options.is_empty();
    let says = resolution.outcome().answers().first().is_some_and(typed);
    let why = match verdict(set, resolution, MayPermit::Person) {
        Verdict::Agreed(_) => return Ok(None),
        Verdict::Conditional { note: text } | Verdict::Discuss { words: Some(text) } => return Ok(Some(text)),
        Verdict::Refused { words: Some(text) } if says => return Ok(Some(text)),
        Verdict::Refused { .. } | Verdict::Discuss { words: None } | Verdict::Dismissed => {
            return Err(Stop::Interrupted);
        }
        Verdict::TimedOut => "the time ran out".to_owned(),
        Verdict::NotAsked { reason } => reason,
    };
    let again = format!("{} has had the same result four times and no person said to go on", call.name);
    Err(Stop::failed(FailureKind::NobodyThere, format!("stopped, because {again}: {why}")))
}
