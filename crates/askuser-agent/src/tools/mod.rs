//! The tools an agent comes with, one file each.

mod ask_user;
mod exit_plan_mode;
mod input;
mod task;

pub use ask_user::AskUserQuestion;
pub use exit_plan_mode::ExitPlanMode;
pub use task::Task;

use crate::tool::Registry;

/// All of them.
pub fn all() -> Registry {
    talking()
}

/// Those that need no file system: asking, planning, subagents.
pub fn talking() -> Registry {
    Registry::new().with(AskUserQuestion::default()).with(ExitPlanMode).with(Task)
}
