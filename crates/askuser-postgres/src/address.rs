//! Parses `postgres://` addresses.
//!
//! By default, TLS verifies the certificate, and only a server that accepts writes is used.

use crate::tls::Tls;
use askuser::store::StoreError;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

/// The longest time without a TCP acknowledgement. A keep-alive probe follows the same idle time.
const TCP_SILENCE: Duration = Duration::from_secs(20);

/// A parsed address of a database, with a configuration for each host.
pub(crate) struct Address {
    /// The configurations, one per host. A host that accepts and stays silent thus does not block the other hosts.
    pub(crate) hosts: Vec<Config>,
    pub(crate) tls: Tls,
    /// The address without the password, for display.
    pub(crate) shown: String,
}

impl Address {
    /// Parses an address. `PGPASSWORD` supplies a missing password, so that the command line need not contain one.
    pub(crate) fn parse(text: &str, password: Option<String>) -> Result<Address, StoreError> {
        let shown = without_password(text);
        let refused =
            |why: Box<dyn Error + Send + Sync>| StoreError::unavailable(format!("cannot use the address {shown}"), why);
        let (text, mode, roots) = take_tls(text).map_err(|why| refused(why.into()))?;
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            // The library's error does not quote the address, which may contain a password.
            refused(askuser::error_chain(&error).into())
        })?;
        if config.get_password().is_none()
            && let Some(password) = password
        {
            config.password(password);
        }
        if config.get_hosts().is_empty() {
            return Err(refused(
                "it names no host: postgres://USER@HOST/DATABASE, or ?host=/FOLDER/OF/THE/SOCKET".into(),
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("askuser");
        }
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_SILENCE);
        }
        config.keepalives_idle(TCP_SILENCE);
        let is_encrypted =
            mode == Mode::VerifyFull && config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        let tls = if is_encrypted { Tls::verifying(roots.as_deref()).map_err(refused)? } else { Tls::none() };
        let hosts = (0..config.get_hosts().len()).map(|i| only(&config, i, mode)).collect();
        Ok(Address { hosts, tls, shown })
    }
}

/// Returns the configuration of host `i` alone.
fn only(all: &Config, i: usize, mode: Mode) -> Config {
    let mut config = Config::new();
    let host = &all.get_hosts()[i];
    match host {
        Host::Tcp(name) => config.host(name),
        #[cfg(unix)]
        Host::Unix(path) => config.host_path(path),
    };
    if let Some(address) = all.get_hostaddrs().get(i) {
        config.hostaddr(*address);
    }
    if let Some(port) = all.get_ports().get(i).or(all.get_ports().first()) {
        config.port(*port);
    }
    all.get_user().map(|user| config.user(user));
    all.get_password().map(|password| config.password(password));
    all.get_dbname().map(|name| config.dbname(name));
    all.get_options().map(|options| config.options(options));
    all.get_application_name().map(|name| config.application_name(name));
    all.get_tcp_user_timeout().map(|timeout| config.tcp_user_timeout(*timeout));
    config.keepalives(all.get_keepalives()).keepalives_idle(all.get_keepalives_idle());
    config.target_session_attrs(all.get_target_session_attrs()).channel_binding(all.get_channel_binding());
    config.ssl_mode(match (host, mode) {
        (Host::Tcp(_), Mode::VerifyFull) => SslMode::Require,
        _ => SslMode::Disable,
    });
    config
}

/// The encryption of a network connection. A Unix socket is never encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    VerifyFull,
    Disable,
}

/// Splits off `sslmode` and `sslrootcert`, which this crate parses itself. Returns the rest of the address.
fn take_tls(text: &str) -> Result<(String, Mode, Option<PathBuf>), String> {
    let mut mode = Mode::VerifyFull;
    let mut roots = None;
    let Some((base, query)) = text.split_once('?') else { return Ok((text.to_owned(), mode, roots)) };
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", "verify-full")) => mode = Mode::VerifyFull,
            Some(("sslmode", "disable")) => mode = Mode::Disable,
            Some(("sslmode", other)) => {
                return Err(format!(
                    "sslmode is {other:?}, must be verify-full, which is the default, or disable: anything between them \
                     does not check who answers"
                ));
            }
            Some(("sslrootcert", file)) => roots = Some(PathBuf::from(decode(file)?)),
            _ => rest.push(pair),
        }
    }
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    Ok((base.to_owned() + &query, mode, roots))
}

fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit = |byte: &u8| (*byte as char).to_digit(16).map(|digit| digit as u8);
                let (Some(high), Some(low)) = (digit(high), digit(low)) else {
                    return Err(format!("sslrootcert is {text:?}, which has a % without two hexadecimal digits"));
                };
                bytes.push(high << 4 | low);
                rest = tail;
            }
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("sslrootcert is {text:?}, which is no UTF-8"))
}

/// Returns the parts of an address that are safe to display: hosts, database and a few parameters.
///
/// Text before the last `@` is left out, because it may be a badly escaped password.
pub fn without_password(text: &str) -> String {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let place = match rest.rsplit_once('@') {
        Some((before, _)) if before.contains("password=") => "…",
        Some((_, place)) => place,
        None => rest,
    };
    let (place, query) = place.split_once('?').unwrap_or((place, ""));
    let is_open = |pair: &&str| ["host=", "port=", "dbname=", "sslmode="].iter().any(|name| pair.starts_with(name));
    let open = query.split('&').filter(is_open).collect::<Vec<_>>().join("&");
    format!("postgres://{place}{}{open}", if open.is_empty() { "" } else { "?" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        Address::parse(text, None).map_err(|error| error.chain())
    }

    #[test]
    fn a_network_is_encrypted_and_checked_unless_it_is_said_otherwise_and_a_socket_is_not() {
        let modes =
            |text: &str| -> Vec<SslMode> { parse(text).unwrap().hosts.iter().map(Config::get_ssl_mode).collect() };
        assert_eq!(modes("postgres://ada@one,two:5433/db"), [SslMode::Require; 2]);
        assert_eq!(modes("postgres://ada@one/db?sslmode=verify-full"), [SslMode::Require]);
        assert_eq!(modes("postgres://ada@one/db?sslmode=disable"), [SslMode::Disable]);
        assert_eq!(modes("postgres:///db?host=/run/postgresql"), [SslMode::Disable]);
        for weak in ["allow", "prefer", "require", "verify-ca"] {
            let why = parse(&format!("postgres://ada:secret@one/db?sslmode={weak}")).err().unwrap();
            assert!(why.contains(weak) && why.contains("verify-full") && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn several_hosts_are_tried_one_by_one_and_each_must_take_writes() {
        let address = parse("postgres://ada@one:5432,two:5433/db?target_session_attrs=any&sslmode=disable").unwrap();
        let hosts: Vec<_> =
            address.hosts.iter().map(|host| (host.get_hosts()[0].clone(), host.get_ports()[0])).collect();
        assert_eq!(hosts, [(Host::Tcp("one".into()), 5432), (Host::Tcp("two".into()), 5433)]);
        let attributes = address.hosts.iter().map(Config::get_target_session_attrs);
        assert!(attributes.into_iter().all(|one| one == TargetSessionAttrs::ReadWrite), "never read from a replica");
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (address, shown) in [
            ("postgres://ada:secret@one/db", "postgres://one/db"),
            ("postgresql://ada:se@secret@one/db?sslmode=disable", "postgres://one/db?sslmode=disable"),
            ("postgres://ada:secret?x@one/db", "postgres://one/db"),
            ("postgres://one/db?password=secret&user=ada", "postgres://one/db"),
            ("postgres://one/db?password=x@secret", "postgres://…"),
            ("postgres:///db?host=/run/it&password=secret", "postgres:///db?host=/run/it"),
        ] {
            assert_eq!(without_password(address), shown);
            let why = parse(&format!("{address}{}nonsense=1", if address.contains('?') { "&" } else { "?" })).err();
            assert!(why.is_none_or(|why| !why.contains("secret")), "{address}");
        }
    }

    #[test]
    fn what_an_address_lacks_is_said() {
        assert!(parse("postgres://ada:secret@one/db?nonsense=1").err().unwrap().contains("nonsense"));
        assert!(parse("postgres:///db").err().unwrap().contains("no host"));
        let why = parse("postgres://one/db?sslrootcert=/nowhere/at/all.pem").err().unwrap();
        assert!(why.contains("/nowhere/at/all.pem"), "{why}");
        assert_eq!(decode("/a%20b%2Fc").unwrap(), "/a b/c");
        assert!(decode("%4").is_ok() && decode("%zz").is_err());
        let given = Address::parse("postgres://ada@one/db?sslmode=disable", Some("secret".into())).unwrap();
        assert_eq!(given.hosts[0].get_password(), Some(&b"secret"[..]), "from the environment");
    }
}
