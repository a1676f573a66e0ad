//! `askuser mcp`: an MCP server through which other agents ask in the inbox.

pub(super) mod log;
mod secret;

use crate::config::Settings;
use crate::failure::{self, Failure, exit};
use crate::signals;
use crate::source;
use crate::store::{actor, asker, done, open, origin, runtime};
use crate::surfaces::Surfaces;
use askuser::store::Principal;
use askuser::{Inbox, Origin, Via};
use askuser_inbox::InboxAsker;
use askuser_mcp::{Options, Server};
use clap::ArgMatches;
use std::io::IsTerminal;
use std::sync::Arc;

/// The name of the key that signs the state of clients while their dialog is open.
const STATE_KEY: &str = "mcp-state.key";

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    if args.value_source("http").is_some() {
        return Err(Failure::new("`askuser mcp --http` is gone: `askuser serve` offers /mcp at its own address")
            .hint("askuser serve, then askuser token new NAME --ask --mcp-config CLIENT"));
    }
    if std::io::stdin().is_terminal() {
        return Err(Failure::new("`askuser mcp` talks to an agent on standard input, which is a terminal here")
            .hint("give the command to your agent as an MCP server: askuser mcp"));
    }
    log::start(args)?;
    let inbox = asker(settings, open(settings)?, None)?;
    let store = inbox.handle(Principal::agent(&origin("askuser mcp")));
    let server = server(settings, inbox, args.get_flag("approve"), origin("an MCP client"))?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let end = signals::listen()?;
        let (read, write) = askuser_mcp::stdio_streams();
        askuser_mcp::serve(server, read, write, end).await.map_err(Failure::new)
    });
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    // The last message is written before this process ends. It reports that the process no longer waits.
    let _ = done(store.flush());
    served.map(|()| exit::ANSWERED)
}

/// Returns the server that asks on behalf of clients, with this origin.
pub(super) fn server(settings: &Settings, inbox: InboxAsker, approve: bool, origin: Origin) -> Result<Server, Failure> {
    let mut options = Options::default();
    options.origin = origin;
    options.rules = source::rules(settings);
    options.limit = settings.mcp_limit;
    options.deadline = settings.timeout;
    options.dialogs = actor(Via::Elicitation).is_a_person();
    options.background = !settings.mcp_without;
    options.approve = approve;
    options.state_key = match secret::of(STATE_KEY) {
        Ok(key) => Some(key.into_bytes()),
        Err(failure) => {
            failure::notice(&failure.message);
            None
        }
    };
    // Questions that the policy does not settle are asked in the inbox and in the client's own dialog. The terminal is
    // not used, because an inherited terminal belongs to the client.
    options.chain = Surfaces::of(settings)?.chain;
    Ok(Server::new(Arc::new(inbox), options))
}
