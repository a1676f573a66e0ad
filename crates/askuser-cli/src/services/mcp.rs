//! `askuser mcp`: other people's agents ask through our inbox.

use crate::inbox::{asker, origin, runtime};
use crate::signals::Signals;
use askuser::store::{Store, StoreError, StoredQuestion};
use askuser::{Asker, Asking, Closed, Decision, Request, RequestKey, Rules};
use askuser_cli::config::Settings;
use askuser_cli::failure::{self, Failure, exit};
use askuser_cli::state_folder::{state_folder, trusted};
use askuser_cli::surfaces::Surfaces;
use askuser_inbox::InboxAsker;
use askuser_mcp::{Inbox, Options, Server};
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Signs what clients carry while their dialog is open.
const STATE_KEY: &str = "mcp-state.key";
/// How long a secret is.
const SECRET_BYTES: usize = 32;

pub(crate) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = crate::inbox::parse(askuser_cli::args::mcp(), words)?;
    if std::io::stdin().is_terminal() {
        return Err(Failure::new("`askuser mcp` talks to an agent on standard input, which is a terminal here")
            .hint("give the command to your agent as an MCP server: askuser mcp"));
    }
    let server = server(&settings, args.get_flag("approve"))?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|error| Failure::new(format!("cannot start: {error}")))?;
        let end = CancellationToken::new();
        let told = end.clone();
        tokio::spawn(async move {
            signals.next().await;
            told.cancel();
        });
        let (read, write) = askuser_mcp::stdio_streams();
        askuser_mcp::serve(server, read, write, end).await.map_err(Failure::new)
    });
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    served.map(|()| exit::ANSWERED)
}

fn server(settings: &Settings, approve: bool) -> Result<Server, Failure> {
    let rules = if settings.repair { Rules::repair() } else { Rules::strict() };
    let mut options = Options::default();
    options.origin = origin("an MCP client");
    options.rules = rules;
    options.limit = settings.mcp_limit;
    options.deadline = settings.timeout;
    options.approve = approve;
    options.state_key = secret(STATE_KEY).inspect_err(|failure| failure::notice("askuser", &failure.message)).ok();
    let questions = Questions { surfaces: Arc::new(Surfaces::of(settings)?), asker: asker(settings, None)? };
    Ok(Server::new(Arc::new(questions), options))
}

/// A secret of this user's that outlives the process: made once, and readable by nobody else.
fn secret(name: &str) -> Result<Vec<u8>, Failure> {
    let path = state_folder()?.join(name);
    let failed = |error: io::Error| Failure::new(format!("cannot use {}: {error}", path.display()));
    let known = || fs::read(&path).ok().filter(|secret| secret.len() == SECRET_BYTES);
    trusted(&path).map_err(failed)?;
    if known().is_none() {
        make_secret(&path).map_err(failed)?;
    }
    known().ok_or_else(|| Failure::new(format!("{} is damaged; remove it", path.display())))
}

/// It appears whole or not at all; whoever makes it first has made it for all.
fn make_secret(path: &Path) -> io::Result<()> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let mut ours = path.as_os_str().to_owned();
    ours.push(format!(".{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if let Some(folder) = path.parent() {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut file = options.open(&ours)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    let linked = fs::hard_link(&ours, path);
    fs::remove_file(&ours)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// The inbox as the settings describe it. The terminal that this process may have inherited is its client's, not ours.
struct Questions {
    surfaces: Arc<Surfaces>,
    asker: InboxAsker,
}

impl Inbox for Questions {
    fn store(&self) -> Arc<dyn Store> {
        self.asker.inbox().store().clone()
    }

    fn put(&self, request: &Request) -> Result<StoredQuestion, StoreError> {
        self.asker.put(request)
    }

    fn asker(&self, beside: Option<Arc<dyn Asker>>) -> Arc<dyn Asker> {
        let person = match beside {
            Some(surface) => self.asker.clone().beside(surface),
            None => self.asker.clone(),
        };
        Arc::new(PolicyAndInbox { surfaces: self.surfaces.clone(), person })
    }
}

/// What the policy does not settle is asked.
struct PolicyAndInbox {
    surfaces: Arc<Surfaces>,
    person: InboxAsker,
}

impl Asker for PolicyAndInbox {
    fn decide(&self, request: &Request) -> Decision {
        self.surfaces.decide(request).unwrap_or_else(|_| Decision::Ask(Vec::new()))
    }

    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.person.ask(request)
    }

    fn close(&self, key: &RequestKey, why: &Closed) {
        self.person.close(key, why);
    }
}
