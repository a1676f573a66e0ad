//! `askuser serve`: serves the inbox over HTTP, for people and agents on other machines.

use crate::config::Settings;
use crate::failure::{self, Failure, OrFail, exit};
use crate::notifier;
use crate::result::write;
use crate::signals;
use crate::store::{done, location, only_a_person, open_kept, person, runtime};
use askuser::Origin;
use askuser_inbox::InboxAsker;
use askuser_mcp::HttpService;
use askuser_serve::{Body, Caller, Mcp, Options, Response, ServerStore, WriteReceipts};
use clap::ArgMatches;
use hyper::Request;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    only_a_person("serve the inbox")?;
    super::mcp::log::start(args)?;
    let store = open_kept(settings)?;
    let listen = args.get_one::<SocketAddr>("listen").copied().unwrap_or(([127, 0, 0, 1], 7420).into());
    let end = signals::listen()?;
    let options = options(args, settings, &store, end.clone())?;
    if !listen.ip().is_loopback() && options.tls.is_none() && done(store.credentials())?.is_empty() {
        return Err(Failure::new(format!("{listen} can be reached from elsewhere, and no device is paired yet"))
            .hint("pair a browser on this machine first, make a token, or give --tls CERT KEY"));
    }
    let served = runtime()?.block_on(async {
        let listener = TcpListener::bind(listen).await;
        let listener = listener.or_fail(format!("cannot listen on {listen}"));
        let listener = listener.map_err(|failure| failure.hint("`--listen 127.0.0.1:0` takes a free port"))?;
        greet(&*store, listener.local_addr().unwrap_or(listen), &options).await?;
        let served = askuser_serve::serve(store.clone(), store.clone(), listener, options, end).await;
        served.or_fail("cannot serve")
    });
    notifier::wait_until_called();
    served.map(|()| exit::ANSWERED)
}

fn options(
    args: &ArgMatches,
    settings: &Settings,
    store: &Arc<dyn ServerStore>,
    end: CancellationToken,
) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.person = person();
    let public_url = args.get_one::<String>("public-url").map(|url| askuser_serve::public_url(url)).transpose();
    options.public_url = public_url.map_err(|wrong| Failure::new(format!("--public-url: {wrong}")))?;
    if let Some(mut files) = args.get_many::<PathBuf>("tls")
        && let (Some(certificate), Some(key)) = (files.next(), files.next())
    {
        let tls = askuser_serve::tls::config(certificate, key).or_fail("--tls")?;
        options.tls = Some(Arc::new(tls));
    }
    let asker = InboxAsker::new(store.clone(), person());
    options.on_new = Some(Arc::new(notifier::notifier(settings, &location(settings)?, &asker, false)));
    let inbox = crate::store::asker(settings, store.clone(), None)?;
    let approve = args.get_flag("approve");
    let settings = settings.clone();
    options.mcp = Some(Arc::new(McpClients { settings, inbox, approve, end, services: Mutex::default() }));
    Ok(options)
}

/// The MCP services by credential. The clients of a credential share a service, but no session.
struct McpClients {
    settings: Settings,
    inbox: InboxAsker,
    /// Whether clients get the tool `approve`.
    approve: bool,
    end: CancellationToken,
    services: Mutex<HashMap<String, HttpService>>,
}

impl McpClients {
    fn service(&self, caller: &Caller) -> Result<HttpService, Failure> {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(service) = services.get(caller.name()) {
            return Ok(service.clone());
        }
        let origin = caller.origin(Origin::default().with_agent("an MCP client"));
        let server = super::mcp::server(&self.settings, self.inbox.clone(), self.approve, origin)?;
        let service = HttpService::new(server, self.end.clone());
        services.insert(caller.name().to_owned(), service.clone());
        Ok(service)
    }
}

impl Mcp for McpClients {
    fn handle(
        &self,
        caller: &Caller,
        request: Request<Body>,
        written: WriteReceipts,
    ) -> Pin<Box<dyn Future<Output = Result<Response, String>> + Send>> {
        let service = self.service(caller).map_err(|failure| failure.message);
        Box::pin(async move {
            let reply = service?.handle(request, Arc::new(move |tell| written.then(tell))).await;
            Ok(reply.map(Body::new))
        })
    }
}

/// Prints the address, the link for a browser, and a warning if the connection is not encrypted.
async fn greet(store: &dyn ServerStore, address: SocketAddr, options: &Options) -> Result<(), Failure> {
    let invitation = askuser_serve::invite(store, address, options).await.map_err(Failure::new)?;
    write(&format!("{}{}\n", invitation.picture.map(|code| code + "\n").unwrap_or_default(), invitation.link))?;
    failure::notice("the link lets one browser in, for five minutes; Ctrl-C ends the server");
    invitation.warning.into_iter().for_each(failure::notice);
    Ok(())
}
