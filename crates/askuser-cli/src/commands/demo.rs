//! `askuser demo`: shows the proposals' four examples. Further questions have previews, a diff, a time limit, or wait
//! in an inbox.

use super::answer;
use super::ask;
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::result::{exit_code, write};
use crate::source;
use crate::store::{self, done, open};
use crate::surfaces::{Surfaces, terminal_options};
use crate::wrapped::wrapped_for;
use askuser::prompt::Trigger;
use askuser::store::Handle;
use askuser::{Asker, Context, Decision, Inbox, Request, RequestKey, Resolution, Status, Via, report};
use askuser_inbox::InboxAsker;
use clap::ArgMatches;
use std::sync::Arc;
use std::time::Duration;

const EXAMPLES: [(&str, &str); 6] = [
    ("choose one", include_str!("../../demo/database.json")),
    ("choose several; n adds a note to an option", include_str!("../../demo/features.json")),
    ("two questions with a review", include_str!("../../demo/authentication.json")),
    ("your own words, under Other", include_str!("../../demo/package-manager.json")),
    ("a preview of each option", include_str!("../../demo/layout.json")),
    ("a diff to agree to, before time runs out", include_str!("../../demo/apply.json")),
];
const COUNT: usize = EXAMPLES.len() + 1;

/// The diff of the last example, and its time limit.
const DIFF: &str = "--- a/src/retry.rs\n+++ b/src/retry.rs\n@@ -7,3 +7,3 @@\n fn delay(attempt: u32) -> Duration {\n\
                    -    Duration::from_secs(1)\n+    Duration::from_millis(100 * 2u64.pow(attempt))\n }\n";
const TIME: Duration = Duration::from_secs(90);

pub(super) fn run(_: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let mut code = exit::ANSWERED;
    for (i, (title, json)) in EXAMPLES.into_iter().enumerate() {
        announce(i + 1, title)?;
        let mut request = request(json, settings)?;
        if i + 1 == EXAMPLES.len() {
            request = request.with_context(Context::Diff(DIFF.into())).with_deadline(settings.timeout.unwrap_or(TIME));
        }
        let resolution = answered(request.clone(), settings)?;
        if let Status::Unavailable { reason } = resolution.outcome().status() {
            return Err(Failure::new(format!("no person can be asked: {reason}"))
                .hint("run the demo in a terminal")
                .code(exit::UNAVAILABLE));
        }
        let prose = report::prose(request.set(), &resolution);
        write(&format!("\nThe model reads:\n\n{}\n", wrapped_for(std::io::stdout(), &prose)))?;
        code = code.max(exit_code(request.set(), &resolution));
    }
    // An inbox can be opened only if a person is there.
    if settings.headless.is_none() && settings.answers.is_none() {
        announce(COUNT, "a question that waits in an inbox; Esc leaves it there")?;
        let folder = std::env::temp_dir().join(format!("askuser-demo-{}", std::process::id()));
        let shown = std::fs::create_dir(&folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))
            .and_then(|()| open_inbox(Settings { store: Some(folder.join("inbox.db")), ..settings.clone() }));
        let _ = std::fs::remove_dir_all(folder);
        shown?;
    }
    write("\nNext: askuser init\n")?;
    Ok(code)
}

fn announce(number: usize, title: &str) -> Result<(), Failure> {
    let heading = format!("Example {number} of {COUNT}: {title} (? for keys, Ctrl-C to leave)");
    write(&format!("\n{}\n", wrapped_for(std::io::stdout(), &heading)))
}

fn request(json: &str, settings: &Settings) -> Result<Request, Failure> {
    let set = source::parse(json, settings).map_err(source::invalid)?;
    Ok(Request::new(RequestKey::new("askuser demo", "ask"), set).with_deadline(settings.timeout))
}

fn answered(request: Request, settings: &Settings) -> Result<Resolution, Failure> {
    let surfaces = Surfaces::of(settings)?;
    let known = match ask::decide(&surfaces, &request)? {
        Decision::Settled(resolution) => return Ok(resolution),
        Decision::Ask(known) => known,
    };
    let request = request.with_known(known).map_err(Failure::new)?;
    let chain = surfaces.chain.with_person(Arc::new(ask::ThisTerminal(terminal_options(settings))));
    let delivery = pollster::block_on(chain.ask(&request)).map_err(ask::broken_off)?;
    Ok(delivery.stored())
}

/// Stores a question in a separate inbox, as an agent would, and opens it as its person would.
fn open_inbox(settings: Settings) -> Result<(), Failure> {
    let request = request(include_str!("../../demo/database.json"), &settings)?.with_origin(store::origin("demo"));
    let store = open(&settings)?;
    let put = done(InboxAsker::new(store.clone(), store::person()).keep(&request, None))?;
    write("\nAn agent has asked in the background. `askuser inbox` lists such questions; Enter there opens one:\n")?;
    let person = Handle::new(store, store::actor(Via::Inbox));
    answer::at_the_prompt(&person, &put.question, &settings, Trigger::Opened)?;
    Ok(())
}
