//! Who is let in to a server, by the values of a request's headers alone: a pure function, the same for every server of ours.
//!
//! A port is open to every program that can reach it, and to every page in a browser that can. A page that made its own name
//! point here calls us by that name (`Host`); a page of another origin is named by the browser (`Sec-Fetch-Site`, `Origin`).
//! Neither is a credential: only a token is, and the gate only finds it. What a proxy adds decides nothing.

use core::net::SocketAddr;

/// What one header says. Said twice, it says nothing that can be relied on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Said<'a> {
    /// Nothing.
    #[default]
    Nothing,
    /// This, once.
    Once(&'a str),
    /// Several things, or what is no text.
    Unclear,
}

impl<'a> Said<'a> {
    /// What these values of one header say.
    pub(crate) fn of(values: impl IntoIterator<Item = &'a [u8]>) -> Said<'a> {
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (None, _) => Said::Nothing,
            (Some(value), None) => std::str::from_utf8(value).map_or(Said::Unclear, Said::Once),
            _ => Said::Unclear,
        }
    }

    fn is(self, text: &str) -> bool {
        self == Said::Once(text)
    }
}

/// The headers that the gate reads.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs, reason = "they are named as the headers are")]
pub(crate) struct Headers<'a> {
    pub(crate) host: Said<'a>,
    pub(crate) origin: Said<'a>,
    pub(crate) sec_fetch_site: Said<'a>,
    pub(crate) sec_fetch_mode: Said<'a>,
    pub(crate) authorization: Said<'a>,
    pub(crate) content_type: Said<'a>,
    pub(crate) x_askuser: Said<'a>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Area {
    /// The page and its assets: no secret in them, and they change nothing.
    Page,
    /// A device that exchanges a code for a token.
    Pairing,
    /// The API; whether the request has a body.
    Api {
        /// Whether it brings anything.
        has_body: bool,
    },
    /// The Model Context Protocol.
    Mcp,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It calls this server by a name that is not its own.
    Host,
    /// A page of another origin sent it.
    CrossSite,
    /// No token.
    NoToken,
    /// Not marked as meant for this API, so that any page could have sent it.
    Unmarked,
    /// A body that is no JSON.
    NotJson,
}

impl Refusal {
    /// The status of the reply.
    pub(crate) fn status(self) -> u16 {
        match self {
            Refusal::Host | Refusal::CrossSite => 403,
            Refusal::NoToken => 401,
            Refusal::Unmarked => 400,
            Refusal::NotJson => 415,
        }
    }

    /// Its words.
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

/// The names of a server. They are exact: no other case, no trailing dot, no `0.0.0.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Gate {
    /// A server that is reached at this address of an accepting socket. The default port of its scheme is left out.
    pub(crate) fn of_socket(address: SocketAddr, is_tls: bool) -> Gate {
        // An IPv6 socket names its IPv4 clients so.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        let (scheme, default) = if is_tls { ("https", 443) } else { ("http", 80) };
        let mut host = address.to_string();
        if address.port() == default {
            host.truncate(host.len() - format!(":{default}").len());
        }
        // No client connects to "any address", whatever it says.
        let hosts = if address.ip().is_unspecified() { Vec::new() } else { vec![host] };
        Gate::named(scheme, hosts)
    }

    /// The same server, called by one more name, over the same scheme.
    #[must_use]
    pub(crate) fn or_localhost(self, port: u16) -> Gate {
        self.or(Gate::named("http", vec![format!("localhost:{port}")]))
    }

    /// The same server behind a proxy that calls it by the authority of this address; the path is of no interest.
    #[must_use]
    pub(crate) fn or_public_url(self, url: &str) -> Gate {
        let Some((scheme, rest)) = url.split_once("://") else { return self };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default().to_ascii_lowercase();
        let default = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(default).unwrap_or(&authority).to_owned();
        self.or(Gate::named(scheme, vec![authority]))
    }

    fn named(scheme: &str, hosts: Vec<String>) -> Gate {
        Gate { origins: hosts.iter().map(|host| format!("{scheme}://{host}")).collect(), hosts }
    }

    fn or(mut self, other: Gate) -> Gate {
        self.hosts.extend(other.hosts);
        self.origins.extend(other.origins);
        self
    }

    /// Lets a request in, with the token it shows, or says why not. Whether the token is any good is not decided here.
    ///
    /// # Errors
    /// Why it is not let in.
    pub(crate) fn admit<'a>(&self, headers: &Headers<'a>, area: Area) -> Result<Option<&'a str>, Refusal> {
        if !self.hosts.iter().any(|host| headers.host.is(host)) {
            return Err(Refusal::Host);
        }
        // A link that a person follows from another site opens the page, which is harmless.
        let is_followed = area == Area::Page && headers.sec_fetch_mode.is("navigate");
        let site = headers.sec_fetch_site;
        let is_own_site = matches!(site, Said::Nothing | Said::Once("same-origin" | "none"));
        let is_own_origin =
            headers.origin == Said::Nothing || self.origins.iter().any(|origin| headers.origin.is(origin));
        if !(is_followed || is_own_site && is_own_origin) {
            return Err(Refusal::CrossSite);
        }
        let token = match headers.authorization {
            Said::Once(value) => value.strip_prefix("Bearer ").filter(|token| !token.is_empty()),
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

fn is_json(content_type: Said<'_>) -> bool {
    let Said::Once(value) = content_type else { return false };
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether two secrets are the same; how long that takes does not depend on where they differ.
pub(crate) fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    // Not to be cut short by an optimiser that sees where this leads.
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

    /// A request of our own page.
    fn own() -> Headers<'static> {
        Headers {
            host: Said::Once(HOST),
            origin: Said::Once("http://127.0.0.1:7420"),
            sec_fetch_site: Said::Once("same-origin"),
            sec_fetch_mode: Said::Once("cors"),
            authorization: Said::Once("Bearer secret"),
            content_type: Said::Once("application/json"),
            x_askuser: Said::Once("1"),
        }
    }

    #[test]
    fn a_request_of_its_own_page_of_a_program_and_through_the_proxy_is_let_in() {
        let program =
            Headers { origin: Said::Nothing, sec_fetch_site: Said::Nothing, sec_fetch_mode: Said::Nothing, ..own() };
        let typed = Headers { sec_fetch_site: Said::Once("none"), origin: Said::Nothing, ..own() };
        let (host, origin) = (Said::Once("ask.example.org"), Said::Once("https://ask.example.org"));
        let proxied = Headers { host, origin, ..own() };
        let charset = Headers { content_type: Said::Once("Application/JSON; charset=utf-8"), ..own() };
        for headers in [own(), program, typed, proxied, charset] {
            for area in [API, Area::Api { has_body: true }, Area::Mcp] {
                assert_eq!(gate().admit(&headers, area), Ok(Some("secret")), "{headers:?}");
            }
            let bare = Headers { authorization: Said::Nothing, ..headers };
            assert_eq!(gate().admit(&bare, Area::Page), Ok(None));
            assert_eq!(gate().admit(&bare, Area::Pairing), Ok(None));
        }
    }

    /// CVE-2025-49596 (MCP Inspector), CVE-2025-66414, CVE-2025-66416, CVE-2026-42559 (MCP SDKs): no Host check.
    #[test]
    fn a_name_that_was_made_to_point_here_is_not_ours() {
        for host in [
            "evil.example:7420",
            "localhost:7420",
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
                let headers = Headers { host: Said::Once(host), ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::Host), "{host:?}");
            }
        }
        for host in [Said::Nothing, Said::Unclear] {
            assert_eq!(gate().admit(&Headers { host, ..own() }, Area::Page), Err(Refusal::Host));
        }
    }

    /// CVE-2026-22812 (opencode): any tab could use the API.
    #[test]
    fn a_page_of_another_origin_is_refused_whatever_it_shows() {
        for site in [Said::Once("cross-site"), Said::Once("same-site"), Said::Once(""), Said::Unclear] {
            for area in [Area::Page, Area::Pairing, API, Area::Mcp] {
                let headers = Headers { sec_fetch_site: site, ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::CrossSite), "{site:?}");
            }
        }
        for origin in ["http://127.0.0.1:7421", "https://127.0.0.1:7420", "http://localhost:7420", "null", ""] {
            for area in [Area::Page, Area::Pairing, API, Area::Mcp] {
                let headers = Headers { origin: Said::Once(origin), ..own() };
                assert_eq!(gate().admit(&headers, area), Err(Refusal::CrossSite), "{origin:?}");
                let old_browser = Headers { sec_fetch_site: Said::Nothing, ..headers };
                assert_eq!(gate().admit(&old_browser, area), Err(Refusal::CrossSite), "{origin:?}");
            }
        }
        let link = Headers {
            sec_fetch_site: Said::Once("cross-site"),
            sec_fetch_mode: Said::Once("navigate"),
            origin: Said::Nothing,
            ..own()
        };
        assert_eq!(gate().admit(&link, Area::Page), Ok(None), "a link that a person follows opens the page");
        assert_eq!(gate().admit(&link, API), Err(Refusal::CrossSite), "and nothing else");
    }

    /// vibetunnel#472: a header of a proxy authorised.
    #[test]
    fn only_a_bearer_token_said_once_is_one() {
        for authorization in ["Bearer ", "bearer secret", "secret", "Basic c2VjcmV0", ""] {
            let headers = Headers { authorization: Said::Once(authorization), ..own() };
            for area in [API, Area::Mcp] {
                assert_eq!(gate().admit(&headers, area), Err(Refusal::NoToken), "{authorization:?}");
            }
        }
        for authorization in [Said::Nothing, Said::Unclear] {
            assert_eq!(gate().admit(&Headers { authorization, ..own() }, API), Err(Refusal::NoToken));
        }
        assert_eq!(Said::of([&b"Bearer a"[..], b"Bearer b"]), Said::Unclear);
        assert_eq!(Said::of([&b"\xff"[..]]), Said::Unclear);
    }

    #[test]
    fn a_form_or_a_plain_request_does_not_reach_the_api() {
        let unmarked = Headers { x_askuser: Said::Nothing, ..own() };
        for area in [API, Area::Pairing] {
            assert_eq!(gate().admit(&unmarked, area), Err(Refusal::Unmarked));
        }
        assert_eq!(
            gate().admit(&unmarked, Area::Mcp),
            Ok(Some("secret")),
            "other people's clients send no such header"
        );
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            let headers = Headers { content_type: Said::Once(kind), ..own() };
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
        assert!(gate().or_localhost(8787).hosts.contains(&"localhost:8787".to_owned()));
    }

    /// CVE-2026-28472 (OpenClaw): that there was a token was checked, and not which.
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
