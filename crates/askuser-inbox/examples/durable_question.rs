//! Asks through the inbox and waits without a time limit: `cargo run -p askuser-inbox --example durable_question`. Then
//! run `askuser inbox --store inbox.sqlite` in another terminal to answer.
//!
//! The program can be stopped and started again. It then waits for the same question.

use askuser::input::QuestionInput;
use askuser::{Asker, Origin, QuestionSet, Request, RequestKey, Rules, report};
use askuser_inbox::{InboxAsker, Location};

#[tokio::main(flavor = "current_thread")]
#[allow(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let question = QuestionInput::new("Deploy version 2.1 to production?", "Deploy")
        .option("Deploy", "All checks have passed")
        .option("Wait", "Keep version 2.0 for now");
    // The key identifies the question after a restart.
    let request =
        Request::new(RequestKey::new("release-2.1", "deploy"), QuestionSet::new([question], &Rules::strict())?)
            .with_origin(Origin::default().with_agent("release bot"));
    let store = Location::File("inbox.sqlite".into()).open()?;
    let asker = InboxAsker::new(store.clone(), "me").on_waiting(|question| println!("waits as {}", question.id));
    let delivery = asker.ask(&request).await?;
    // Act on the answer or store it here. `stored` then marks it as delivered.
    println!("{}", report::prose(request.set(), delivery.resolution()));
    drop(delivery.stored());
    store.flush().await?;
    Ok(())
}
