//! Admits or refuses a request by its headers alone. This is a pure function, the same for each of askuser's servers.
//!
//! Every program and every page in a browser that can reach a port can send requests to it. A page with a rebinding
//! name sends that name as `Host`. For a page of another origin, the browser names the origin (`Sec-Fetch-Site`,
//! `Origin`). None of these headers is a credential. Only a token is, and the gate does no more than find it. Headers
//! that a proxy adds have no effect.

use core::net::SocketAddr;

/// The value of a header. A repeated header is invalid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeaderValue<'a> {
    /// The header is missing.
    #[default]
    Missing,
    /// The header has one value.
    Once(&'a str),
    /// The header has several values, or a value that is no text.
    Invalid,
}

impl<'a> HeaderValue<'a> {
    /// Creates the value of a header from all of its values.
    pub(crate) fn of(values: impl IntoIterator<Item = &'a [u8]>) -> HeaderValue<'a> {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => HeaderValue::Missing,
            (Some(value), None) => std::str::from_utf8(value).map_or(HeaderValue::Invalid, HeaderValue::Once),
            _ => HeaderValue::Invalid,
        }
    }

    fn is(self, text: &str) -> bool {
        self == HeaderValue::Once(text)
    }
}

/// The headers that the gate reads.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "they are named as the headers are")]
pub(crate) struct HeaderValues<'a> {
    pub(crate) host: HeaderValue<'a>,
    pub(crate) origin: HeaderValue<'a>,
    pub(crate) sec_fetch_site: HeaderValue<'a>,
    pub(crate) sec_fetch_mode: HeaderValue<'a>,
    pub(crate) authorization: HeaderValue<'a>,
    pub(crate) content_type: HeaderValue<'a>,
    pub(crate) x_askuser: HeaderValue<'a>,
}

/// The part of the server that a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// The page and its assets, which contain no secret and change no state.
    Page,
    /// The pairing, in which a device exchanges a code for a token.
    Pairing,
    /// The API.
    Api {
        /// Whether the request has a body.
        has_body: bool,
    },
    /// The Model Context Protocol.
    Mcp,
}

/// The reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request calls this server by a name that is not its own.
    Host,
    /// A page of another origin sent the request.
    CrossSite,
    /// The request has no token.
    NoToken,
    /// The request is not marked as meant for this API, so that any page could have sent it.
    Unmarked,
    /// The body is not JSON.
    NotJson,
}

impl Refusal {
    /// Returns the message of the refusal.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Refusal::Host => "the Host header is not the address of this server",
            Refusal::CrossSite => "a page of another origin sent this",
            Refusal::NoToken => "the bearer token is missing or wrong",
            Refusal::Unmarked => "the header X-Askuser: 1 is missing",
            Refusal::NotJson => "the body must be application/json",
        }
    }
}

/// The names of a server. They must match exactly: no other case, no trailing dot, no `0.0.0.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The name `localhost:PORT`, for MCP clients only; `None` unless the server is on this machine without TLS.
    localhost: Option<String>,
}

impl Gate {
    /// Creates the gate of a server that is reached at this address of an accepting socket. The default port of its
    /// scheme is left out.
    pub(crate) fn of_socket(address: SocketAddr, is_tls: bool) -> Gate {
        // An IPv6 socket maps the addresses of its IPv4 clients.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let (scheme, default) = if is_tls { ("https", 443) } else { ("http", 80) };
        let mut host = address.to_string();
        if address.port() == default {
            host.truncate(host.len() - format!(":{default}").len());
        }
        // A client never connects to the wildcard address, so it is no valid host.
        let hosts = if address.ip().is_unspecified() { Vec::new() } else { vec![host] };
        let is_local = address.ip().is_loopback() && !is_tls;
        let localhost = is_local.then(|| format!("localhost:{}", address.port()));
        Gate { localhost, ..Gate::named(scheme, hosts) }
    }

    /// Adds the name of a proxy in front of the server: the authority of this address. The path of the address is
    /// ignored.
    #[must_use]
    pub(crate) fn or_public_url(self, url: &str) -> Gate {
        let Some((scheme, rest)) = url.split_once("://") else { return self };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        let default = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(default).unwrap_or(&authority).to_owned();
        self.or(Gate::named(scheme, vec![authority]))
    }

    fn named(scheme: &str, hosts: Vec<String>) -> Gate {
        let origins = hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
        Gate { hosts, origins, localhost: None }
    }

    fn or(mut self, other: Gate) -> Gate {
        self.hosts.extend(other.hosts);
        self.origins.extend(other.origins);
        self
    }

    /// Admits a request and returns its token. The token is not verified here.
    ///
    /// # Errors
    /// Returns the reason for the refusal.
    pub(crate) fn admit<'a>(&self, headers: &HeaderValues<'a>, area: Area) -> Result<Option<&'a str>, Refusal> {
        let localhost = self.localhost.as_ref().filter(|_| area == Area::Mcp);
        if !self.hosts.iter().chain(localhost).any(|host| headers.host.is(host)) {
            return Err(Refusal::Host);
        }
        // A link that a person follows from another site opens the page, which is harmless.
        let is_followed = area == Area::Page && headers.sec_fetch_mode.is("navigate");
        let site = headers.sec_fetch_site;
        let is_own_site = matches!(site, HeaderValue::Missing | HeaderValue::Once("same-origin" | "none"));
        let is_own_origin = headers.origin == HeaderValue::Missing
            || self.origins.iter().any(|origin| headers.origin.is(origin))
            || localhost.is_some_and(|host| headers.origin.is(&format!("http://{host}")));
        if !(is_followed || is_own_site && is_own_origin) {
            return Err(Refusal::CrossSite);
        }
        let token = match headers.authorization {
            HeaderValue::Once(value) => value.strip_prefix("Bearer ").filter(|token| !token.is_empty()),
            _ => None,
        };
        let has_body = match area {
            Area::Page => return Ok(None),
            Area::Pairing => true,
            Area::Api { has_body } => has_body,
            Area::Mcp => return token.map(Some).ok_or(Refusal::NoToken),
        };
        if !headers.x_askuser.is("1") {
            return Err(Refusal::Unmarked);
        }
        if has_body && !is_json(headers.content_type) {
            return Err(Refusal::NotJson);
        }
        match area {
            Area::Pairing => Ok(None),
            _ => token.map(Some).ok_or(Refusal::NoToken),
        }
    }
}

fn is_json(content_type: HeaderValue<'_>) -> bool {
    let HeaderValue::Once(value) = content_type else { return false };
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether two secrets are equal. The duration does not depend on the position of a difference.
pub(crate) fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    // The optimiser must not stop the comparison at the first difference.
    std::hint::black_box(one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:7420";
    const API: Area = Area::Api { has_body: false };

    fn gate() -> Gate {
        Gate::of_socket(HOST.parse().unwrap(), false).or_public_url("https://ask.example.org/")
    }

    /// Returns the headers of a request from askuser's own page.
    fn own() -> HeaderValues<'static> {
        HeaderValues {
            host: HeaderValue::Once(HOST),
            origin: HeaderValue::Once("http://127.0.0.1:7420"),
            sec_fetch_site: HeaderValue::Once("same-origin"),
            sec_fetch_mode: HeaderValue::Once("cors"),
            authorization: HeaderValue::Once("Bearer secret"),
            content_type: HeaderValue::Once("application/json"),
            x_askuser: HeaderValue::Once("1"),
        }
    }

    #[test]
    fn a_request_of_its_own_page_of_a_program_and_through_the_proxy_is_let_in() {
        let program = HeaderValues {
            origin: HeaderValue::Missing,
            sec_fetch_site: HeaderValue::Missing,
            sec_fetch_mode: HeaderValue::Missing,
            ..own()
        };
        let typed = HeaderValues { sec_fetch_site: HeaderValue::Once("none"), origin: HeaderValue::Missing, ..own() };
        let origin = HeaderValue::Once("https://ask.example.org");
        let proxied = HeaderValues { host: HeaderValue::Once("ask.example.org"), origin, ..own() };
        let charset = HeaderValues { content_type: HeaderValue::Once("Application/JSON; charset=utf-8"), ..own() };
        for headers in [own(), program, typed, proxied, charset] {
            for area in [API, Area::Api { has_body: true }, Area::Mcp] {
                assert_eq!(gate().admit(&headers, area), Ok(Some("secret")), "{headers:?}");
            }
            let bare = HeaderValues { authorization: HeaderValue::Missing, ..headers };
            assert_eq!(gate().admit(&bare, Area::Page), Ok(None));
            assert_eq!(gate().admit(&bare, Area::Pairing), Ok(None));
        }
    }

    /// CVE-2025-49596 (MCP Inspector), CVE-2025-66414, CVE-2025-66416, CVE-2026-42559 (MCP SDKs): no Host check.
    #[test]
    fn a_name_that_was_made_to_point_here_is_not_ours() {
        for host in [
            "evil.example:7420",
            "LOCALHOST:7420",
            "127.0.0.1",
            "127.0.0.1:7421",
            "127.0.0.1.:7420",
            "127.0.0.1:7420.",
            "127.0.0.1:07420",
            "0.0.0.0:7420",
            "[::]:7420",
            "[::1]:7420",
            "127.1:7420",
            "ask.example.org.",
            "ask.example.org:443",
            "ASK.example.org",
            "ask.example.org.evil.example",
            " 127.0.0.1:7420",
            "",
        ] {
            for area in [Area::Page, Area::Pairing, API, Area::Mcp] {
                let headers = HeaderValues { host: HeaderValue::Once(host), ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::Host), "{host:?}");
            }
        }
        for host in [HeaderValue::Missing, HeaderValue::Invalid] {
            assert_eq!(gate().admit(&HeaderValues { host, ..own() }, Area::Page), Err(Refusal::Host));
        }
    }

    /// CVE-2026-22812 (opencode): any tab could use the API.
    #[test]
    fn a_page_of_another_origin_is_refused_whatever_it_shows() {
        for site in [
            HeaderValue::Once("cross-site"),
            HeaderValue::Once("same-site"),
            HeaderValue::Once(""),
            HeaderValue::Invalid,
        ] {
            for area in [Area::Page, Area::Pairing, API, Area::Mcp] {
                let headers = HeaderValues { sec_fetch_site: site, ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::CrossSite), "{site:?}");
            }
        }
        for origin in ["http://127.0.0.1:7421", "https://127.0.0.1:7420", "https://localhost:7420", "null", ""] {
            for area in [Area::Page, Area::Pairing, API, Area::Mcp] {
                let headers = HeaderValues { origin: HeaderValue::Once(origin), ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::CrossSite), "{origin:?}");
                let old_browser = HeaderValues { sec_fetch_site: HeaderValue::Missing, ..headers };
                assert_eq!(gate().admit(&old_browser, area), Err(Refusal::CrossSite), "{origin:?}");
            }
        }
        let link = HeaderValues {
            sec_fetch_site: HeaderValue::Once("cross-site"),
            sec_fetch_mode: HeaderValue::Once("navigate"),
            origin: HeaderValue::Missing,
            ..own()
        };
        assert_eq!(gate().admit(&link, Area::Page), Ok(None), "a link that a person follows opens the page");
        assert_eq!(gate().admit(&link, API), Err(Refusal::CrossSite), "and nothing else");
    }

    /// vibetunnel#472: a header of a proxy granted access.
    #[test]
    fn only_a_bearer_token_said_once_is_one() {
        for authorization in ["Bearer ", "bearer secret", "secret", "Basic c2VjcmV0", ""] {
            let headers = HeaderValues { authorization: HeaderValue::Once(authorization), ..own() };
            for area in [API, Area::Mcp] {
                assert_eq!(gate().admit(&headers, area), Err(Refusal::NoToken), "{authorization:?}");
            }
        }
        for authorization in [HeaderValue::Missing, HeaderValue::Invalid] {
            assert_eq!(gate().admit(&HeaderValues { authorization, ..own() }, API), Err(Refusal::NoToken));
        }
        assert_eq!(HeaderValue::of([&b"Bearer a"[..], b"Bearer b"]), HeaderValue::Invalid);
        assert_eq!(HeaderValue::of([&b"\xff"[..]]), HeaderValue::Invalid);
    }

    #[test]
    fn a_form_or_a_plain_request_does_not_reach_the_api() {
        let unmarked = HeaderValues { x_askuser: HeaderValue::Missing, ..own() };
        for area in [API, Area::Pairing] {
            assert_eq!(gate().admit(&unmarked, area), Err(Refusal::Unmarked));
        }
        assert_eq!(
            gate().admit(&unmarked, Area::Mcp),
            Ok(Some("secret")),
            "other people's clients send no such header"
        );
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            let headers = HeaderValues { content_type: HeaderValue::Once(kind), ..own() };
            for area in [Area::Api { has_body: true }, Area::Pairing] {
                assert_eq!(gate().admit(&headers, area), Err(Refusal::NotJson), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_server_is_called_as_its_socket_is_and_default_ports_are_left_out() {
        let hosts = |address: &str, is_tls| Gate::of_socket(address.parse().unwrap(), is_tls).hosts;
        assert_eq!(hosts("192.168.1.5:7420", false), ["192.168.1.5:7420"]);
        assert_eq!(hosts("192.168.1.5:80", false), ["192.168.1.5"]);
        assert_eq!(hosts("192.168.1.5:443", true), ["192.168.1.5"]);
        assert_eq!(hosts("192.168.1.5:443", false), ["192.168.1.5:443"]);
        assert_eq!(hosts("[::1]:7420", false), ["[::1]:7420"]);
        assert_eq!(hosts("[::ffff:192.168.1.5]:7420", false), ["192.168.1.5:7420"]);
        assert_eq!(hosts("0.0.0.0:7420", false), [""; 0]);
        let public = gate().or_public_url("https://Ask.example.org:443/x?y").or_public_url("http://h:81");
        assert_eq!(public.hosts[1..], ["ask.example.org", "ask.example.org", "h:81"]);
        assert_eq!(public.origins[2..], ["https://ask.example.org", "http://h:81"]);
    }

    #[test]
    fn localhost_is_a_name_of_a_local_server_for_mcp_alone() {
        let origin = HeaderValue::Once("http://localhost:7420");
        let headers = HeaderValues { host: HeaderValue::Once("localhost:7420"), origin, ..own() };
        assert_eq!(gate().admit(&headers, Area::Mcp), Ok(Some("secret")));
        for area in [Area::Page, Area::Pairing, API] {
            assert_eq!(gate().admit(&headers, area), Err(Refusal::Host), "{area:?}");
            let own_name = HeaderValues { host: own().host, ..headers };
            assert_eq!(gate().admit(&own_name, area), Err(Refusal::CrossSite), "{area:?}");
        }
        for other in
            [Gate::of_socket("192.168.1.5:7420".parse().unwrap(), false), Gate::of_socket(HOST.parse().unwrap(), true)]
        {
            assert_eq!(other.admit(&headers, Area::Mcp), Err(Refusal::Host), "{other:?}");
        }
    }

    /// CVE-2026-28472 (OpenClaw): only the presence of a token was checked.
    #[test]
    fn secrets_are_the_same_only_where_every_byte_is() {
        let secret: [u8; 32] = std::array::from_fn(|i| i as u8);
        assert!(is_same(&secret, &secret.clone()));
        for i in 0..32 {
            let mut other = secret;
            other[i] ^= 1;
            assert!(!is_same(&secret, &other), "{i}");
        }
    }
}
