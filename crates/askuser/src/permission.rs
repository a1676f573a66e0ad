//! Permissions: the question whether an action may run, its possible answers and their meaning. Every asker uses this
//! module: askuser's agent, the permission tool of an MCP client, and the hook of another agent.
//!
//! Two rules hold for a permission and for the approval of a plan:
//! - Only a person's own choice counts as consent. [`MayPermit`] has the one exception.
//! - A note beside a yes may be a condition, which no program can check. So the action does not run. The model reads
//!   the note and may call again.

use crate::asker::AskError;
use crate::input::QuestionInput;
use crate::limits::Limits;
use crate::lookalikes::{begins_like, reads_like};
use crate::outcome::{Answer, Outcome, Status};
use crate::question::{Question, QuestionSet};
use crate::request::Purpose;
use crate::resolution::{Resolution, Via};
use crate::rules::Rules;
use crate::tool_use::{self, ToolUse};
use crate::violation::{Gathered, Violations};
use std::convert::Infallible;

/// The question whether a tool may run. `R` is the type of the rules that the asker stores. A permission without rules
/// does not offer "always".
///
/// ```
/// use askuser::permission::{MayPermit, Permission, Verdict, verdict};
/// use askuser::{Outcome, ToolUse, Via};
///
/// let set = Permission::to_use(&ToolUse::new("Bash", Default::default())).question_set()?;
/// let chosen = |row, note: Option<&str>| set.questions()[0].answer(&[row], None, note.map(str::to_owned));
/// let ended = |answer| Outcome::answered(&set, Vec::from_iter(answer)).map(|outcome| outcome.through(Via::Inbox));
/// assert_eq!(verdict(&set, &ended(chosen(0, None))?, MayPermit::Person), Verdict::Agreed(0));
/// let note = ended(chosen(0, Some("in a branch")))?;
/// assert_eq!(verdict(&set, &note, MayPermit::Person), Verdict::Conditional { note: "in a branch".into() });
/// # Ok::<(), askuser::Violations>(())
/// ```
#[derive(Clone, Debug)]
pub struct Permission<R = Infallible> {
    tool: String,
    question: String,
    /// The reason for asking, if any.
    why: Option<String>,
    always: Vec<Always<R>>,
}

/// An offer to allow the tool in future cases, too: the stored rule, the label, and the meaning.
#[derive(Clone, Debug)]
struct Always<R> {
    rule: R,
    label: String,
    meaning: String,
}

const ALLOW_ONCE: &str = "Allow once";
const ALWAYS_ALLOW: &str = "Always allow";
const REFUSE: &str = "Don't run it";

/// The tool result if the file of an edit changed between the question and the answer.
pub const FILE_CHANGED: &str =
    "Not run: the file changed since the user was shown this edit. Read the file again, then call again.";

/// The headers that a model's question must not have, besides the names of tools. Such a question would imitate a
/// permission.
const RESERVED_HEADERS: [&str; 6] = ["Permission", "Permissions", ALLOW_ONCE, ALWAYS_ALLOW, REFUSE, "Not allowed"];

/// Rejects a model's questions that imitate a permission. `headers` are further reserved headers.
///
/// # Errors
/// Returns a violation for every such header and label.
pub fn reject_imitation<'a>(
    set: QuestionSet,
    headers: impl IntoIterator<Item = &'a str>,
) -> Result<QuestionSet, Violations> {
    let headers: Vec<&str> = RESERVED_HEADERS.into_iter().chain(tool_use::known_tools()).chain(headers).collect();
    let mut bad = Gathered::default();
    for (i, question) in set.questions().iter().enumerate() {
        if let Some(name) = headers.iter().find(|name| reads_like(question.header(), name)) {
            let fact = format!("reads like {name:?}, which heads questions of another kind");
            bad.add(format!("questions[{i}].header"), fact, "must say what the question is about");
        }
        for (j, option) in question.options().iter().enumerate() {
            let is_offer = [ALLOW_ONCE, REFUSE].iter().any(|offer| reads_like(option.name(), offer));
            if is_offer || begins_like(option.name(), ALWAYS_ALLOW) {
                let fact = format!("{:?} reads like an answer to a permission", option.name());
                bad.add(format!("questions[{i}].options[{j}].label"), fact, "must use other words");
            }
        }
    }
    bad.into_result(Some(set))
}

impl Permission {
    /// Creates the permission for another agent's tool call. The request shows the call as
    /// [context](crate::Context::ToolUse).
    pub fn to_use(call: &ToolUse) -> Permission {
        Permission::new(call.tool(), call.question())
    }
}

impl<R> Permission<R> {
    /// Creates a permission for a tool.
    pub fn new(tool: &str, question: impl Into<String>) -> Permission<R> {
        let question = question.into();
        // The header may be too short for the full name.
        let is_named = header(tool) == tool || question.contains(tool);
        let question = if is_named { question } else { format!("{tool}: {question}") };
        Permission { tool: tool.to_owned(), question, why: None, always: Vec::new() }
    }

    /// Adds the reason, which is shown beside the first offer. The same question may have another reason later.
    #[must_use]
    pub fn because(self, why: impl Into<String>) -> Permission<R> {
        Permission { why: Some(why.into()), ..self }
    }

    /// Adds a lasting offer: `Always allow WORDS`. An offer that is too long for a label is left out.
    #[must_use]
    pub fn or_always(mut self, rule: R, words: impl Into<String>, meaning: &str) -> Permission<R> {
        let label = format!("{ALWAYS_ALLOW} {}", words.into());
        if label.chars().count() <= Limits::DEFAULT.label_chars.max {
            self.always.push(Always { rule, label, meaning: meaning.to_owned() });
        }
        self
    }

    /// Returns the question set of the permission.
    ///
    /// # Errors
    /// If the question cannot be shown in full.
    pub fn question_set(&self) -> Result<QuestionSet, Violations> {
        let question = QuestionInput::new(&self.question, header(&self.tool));
        let once = self.why.as_ref().map_or("This time only".to_owned(), |why| format!("This time only. {why}"));
        // The last option is the refusal.
        let offers = [(ALLOW_ONCE, once.as_str())]
            .into_iter()
            .chain(self.always.iter().map(|always| (always.label.as_str(), always.meaning.as_str())))
            .chain([(REFUSE, "A note or Other says what to do instead")]);
        let question = offers.fold(question, |question, (label, meaning)| {
            let meaning: String = meaning.chars().take(Limits::DEFAULT.description_chars.max).collect();
            question.option(label, meaning)
        });
        QuestionSet::new([question], &Rules::strict())
    }

    /// Returns the rule of the agreed option; `None` for a single use. `set` is the question as it was asked, which may
    /// have had other offers.
    pub fn rule(&self, set: &QuestionSet, agreed: usize) -> Option<&R> {
        let shown = set.questions().first()?.options().get(agreed)?.label_verbatim();
        self.always.iter().find(|always| always.label == shown).map(|always| &always.rule)
    }
}

/// Returns the header of a permission: the tool's name, cut to the maximum length of a header.
pub fn header(tool: &str) -> &str {
    let end = tool.char_indices().nth(Limits::DEFAULT.header_chars.max).map_or(tool.len(), |(end, _)| end);
    &tool[..end]
}

/// The sources from which a yes counts as consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MayPermit {
    /// Only a person's own choice.
    #[default]
    Person,
    /// A person's own choice, or an answers file that the person named on the agent's command line.
    PersonOrAnswers,
}

impl MayPermit {
    /// Whether a yes through this surface counts. A yes from a rule never counts.
    pub(crate) fn covers(self, via: Option<Via>) -> bool {
        match via {
            Some(Via::AnswersFile) => self == MayPermit::PersonOrAnswers,
            via => via.is_some_and(Via::is_a_person),
        }
    }
}

/// The meaning of an answer to a permission or plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<T> {
    /// A yes without a note, with the agreed option.
    Agreed(T),
    /// A yes with a note, which may be a condition.
    Conditional {
        /// The note, as the person typed it.
        note: String,
    },
    /// The person refused.
    Refused {
        /// The person's reason, if given.
        words: Option<String>,
    },
    /// The person wants to talk first.
    Discuss {
        /// The person's message, if given.
        words: Option<String>,
    },
    /// The person closed the question without an answer.
    Dismissed,
    /// The time limit passed.
    TimedOut,
    /// No person was asked, and the source of the answer does not count.
    NotAsked {
        /// The reason why the answer does not count.
        reason: String,
    },
}

/// Returns the verdict on a permission or a plan, with the index of the agreed option. `set` is the question as it was
/// asked. Every option but the last agrees. An outcome that the asker reported itself never agrees.
pub fn verdict(set: &QuestionSet, resolution: &Resolution, may_permit: MayPermit) -> Verdict<usize> {
    if let Some(by) = resolution.reported_by() {
        return Verdict::NotAsked { reason: AskError::Reported(by.to_owned()).to_string() };
    }
    let outcome = resolution.outcome();
    let (question, answer) = match (outcome.status(), set.questions(), outcome.answers()) {
        (Status::Answered, [question], [answer]) => (question, answer),
        (Status::Answered | Status::Cancelled, ..) => return Verdict::Dismissed,
        (Status::Declined { reason }, ..) => return Verdict::Refused { words: reason.clone() },
        (Status::Discuss { message }, ..) => return Verdict::Discuss { words: message.clone() },
        (Status::TimedOut, ..) => return Verdict::TimedOut,
        (Status::Unavailable { reason }, ..) => return Verdict::NotAsked { reason: reason.clone() },
    };
    let agreed = agreed(question, answer).filter(|_| may_permit.covers(resolution.via()));
    match (agreed, &answer.note) {
        (Some(option), None) => Verdict::Agreed(option),
        (agreed, note) if !resolution.is_a_persons() => {
            let would = if agreed.is_some() { "would agree" } else { "do not agree" };
            let note = note.as_ref().map(|note| format!("; their note: {note}")).unwrap_or_default();
            Verdict::NotAsked { reason: format!("answers that were written beforehand {would}{note}") }
        }
        (Some(_), Some(note)) => Verdict::Conditional { note: note.clone() },
        (None, note) => {
            let words: Vec<&str> = answer.custom_input.iter().chain(note).map(String::as_str).collect();
            Verdict::Refused { words: (!words.is_empty()).then(|| words.join("\n")) }
        }
    }
}

/// Returns the index of the agreed option; `None` for a refusal. Typed text never agrees.
pub(crate) fn agreed(question: &Question, answer: &Answer) -> Option<usize> {
    let options = question.options();
    let [label] = &answer.selected_options[..] else { return None };
    let option = options.iter().position(|option| option.label_verbatim() == label)?;
    (option + 1 < options.len()).then_some(option)
}

/// Returns the note beside a yes; `None` for any other outcome. The note may be a condition, so the action has not run.
pub fn condition<'a>(purpose: Purpose, set: &QuestionSet, outcome: &'a Outcome) -> Option<&'a str> {
    let ([question], [answer]) = (set.questions(), outcome.answers()) else { return None };
    let is_yes = *outcome.status() == Status::Answered && agreed(question, answer).is_some();
    answer.note.as_deref().filter(|_| is_yes && purpose.note_hint().is_some())
}

impl<T> Verdict<T> {
    /// Returns the tool result of a call that must not run; `None` if the call may run.
    pub fn refusal(&self) -> Option<String> {
        let quoted =
            |words: &Option<String>| words.as_ref().map(|words| format!(" Their words: {words}")).unwrap_or_default();
        Some(match self {
            Verdict::Agreed(_) => return None,
            Verdict::Conditional { note } => format!(
                "Not run: the user would allow this, and noted: {note}\nThe note may be a condition, so nothing has run yet. \
                 Keep to it, and call again if you still need to: the user is asked again."
            ),
            Verdict::Refused { words } => format!("The user did not allow this.{}", quoted(words)),
            Verdict::Discuss { words } => format!(
                "Not run: the user wants to talk about it first.{} Reply to them before you go on.",
                quoted(words)
            ),
            Verdict::Dismissed => {
                "Not run: the user dismissed the request for permission. Wait for them to say how to go on.".into()
            }
            Verdict::TimedOut => "Not run: the time for permission ran out. Silence is not consent.".into(),
            Verdict::NotAsked { reason } => {
                format!("Not run: this needs the user's permission, and the user was not asked ({reason}).")
            }
        })
    }
}

impl Purpose {
    /// What a person reads while they note something beside a yes.
    pub fn note_hint(self) -> Option<&'static str> {
        match self {
            Purpose::Permission => Some("With a note it does not run yet: the agent reads the note and may ask again"),
            Purpose::Plan => Some("With a note it is not approved yet: the agent reads the note and may ask again"),
            Purpose::Question | Purpose::Choice => None,
        }
    }
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
