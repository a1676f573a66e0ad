//! Asks through the inbox and waits, for as long as it takes: `cargo run -p askuser-inbox --example durable_question`, then `askuser inbox
//! --store inbox.sqlite` in another terminal. Stop it and start it again: it waits for the same question.

use askuser::input::QuestionInput;
use askuser::{Asker, Origin, QuestionSet, Request, RequestKey, Rules, report};
use askuser_inbox::{InboxAsker, Location};

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let question = QuestionInput::new("Deploy version 2.1 to production?", "Deploy")
        .option("Deploy", "All checks have passed")
        .option("Wait", "Keep version 2.0 for now");
    // The key is what makes it the same question after a restart.
    let request =
        Request::new(RequestKey::new("release-2.1", "deploy"), QuestionSet::new([question], &Rules::strict())?)
            .with_origin(Origin::default().with_agent("release bot"));
    let store = Location::File("inbox.sqlite".into()).open()?;
    let asker = InboxAsker::new(store.clone(), "me").on_waiting(|question| println!("waits as {}", question.id));
    let delivery = asker.ask(&request).await?;
    // Act on it here, or write it down; once that is done, it counts as delivered.
    println!("{}", report::prose(request.set(), delivery.resolution()));
    drop(delivery.stored());
    store.flush().await?;
    Ok(())
}
