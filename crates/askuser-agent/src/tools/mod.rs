//! The tools an agent comes with, one file each, and what they share: `paths` and `folder` decide what is reached,
//! `change` how files are changed, `process` how commands end, `walk` what is searched.

mod ask_user;
mod background;
mod bash;
mod change;
mod edit;
mod excerpt;
mod exit_plan_mode;
#[cfg(all(test, unix))]
mod fixtures;
mod folder;
mod glob;
mod grep;
mod input;
mod paths;
mod process;
mod read;
mod task;
mod walk;
mod write;

pub use ask_user::AskUserQuestion;
pub use bash::Bash;
pub use edit::Edit;
pub use exit_plan_mode::ExitPlanMode;
pub use glob::Glob;
pub use grep::Grep;
pub use read::Read;
pub use task::Task;
pub use write::Write;

use crate::tool::Registry;

/// All of them.
pub fn all() -> Registry {
    talking().with(Read).with(Glob).with(Grep).with(Edit).with(Write::default()).with(Bash)
}

/// Those that need no file system: asking, planning, subagents.
pub fn talking() -> Registry {
    Registry::new().with(AskUserQuestion::default()).with(ExitPlanMode).with(Task)
}

/// The `s` of a plural.
fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
