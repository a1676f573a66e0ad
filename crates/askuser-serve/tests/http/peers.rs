//! Faults of other programs, and the tests that show their absence here. The second column names the program and the
//! report.
//!
//! | fault | who | test |
//! |---|---|---|
//! | no credential, CORS for everybody: a shell from any tab | opencode CVE-2026-22812 | `every_request_needs_a_token_that_counts_on_loopback_too`, `a_page_of_another_origin_is_refused_whatever_it_shows` |
//! | reached through 0.0.0.0 and a rebinding name | MCP Inspector CVE-2025-49596 | `a_name_that_was_made_to_point_here_is_not_ours` |
//! | no Host check | MCP SDKs CVE-2025-66414, CVE-2025-66416, rmcp CVE-2026-42559 | `a_name_that_was_made_to_point_here_is_not_ours`, `localhost_is_a_name_of_a_local_server_for_mcp_alone` |
//! | WebSocket without an origin | Claude Code IDE CVE-2025-52882, OpenClaw CVE-2026-25253 | `there_is_no_cors_no_websocket_and_no_frame` |
//! | the page sent its token to an address from the query | OpenClaw CVE-2026-25253 | `a_link_cannot_name_another_server` |
//! | a client declared its own scopes | OpenClaw GHSA-rqpp-rjj8-7wv8, CVE-2026-53821 | `a_scope_comes_from_the_stored_token_and_who_asks_cannot_answer` |
//! | only the presence of a token was checked | OpenClaw CVE-2026-28472 | `secrets_are_the_same_only_where_every_byte_is`, `every_request_needs_a_token_that_counts_on_loopback_too` |
//! | a header of a proxy was trusted | vibetunnel#472, omp-session-gateway#99 | `headers_of_a_proxy_authorise_nothing_and_give_no_other_name` |
//! | clickjacking | Home Assistant GHSA-935v-rmg9-44mw | `there_is_no_cors_no_websocket_and_no_frame` |
//! | a script or a foreign server in the return address | Home Assistant GHSA-jvxq-x42r-f7mv, GHSA-cr83-q7r2-7f5q | `no_parameter_sends_a_browser_anywhere_else`, `a_link_cannot_name_another_server` |
//! | a link that decides when it is opened | activepieces#14024, n8n#2540 | `no_get_decides_or_changes_anything` |
//! | an approval replayed from the client | Vercel VULN-6698 | `an_answer_is_checked_against_the_stored_question` |
//! | a token in the query | HAPI, Jupyter, opencode | `every_request_needs_a_token_that_counts_on_loopback_too`, `a_link_cannot_name_another_server` |
//! | a cookie that goes to every port | RFC 6265, 8.5 | `there_is_no_cors_no_websocket_and_no_frame` |
//! | a late tap decided the next question | HAPI | `a_late_answer_decides_its_own_question_or_none` |
//! | unknown routes answered 200 with a page | and-code#92 | `unknown_paths_of_the_api_are_404_and_json` |
//! | shutting down waited for streams | axum#2673 | `a_server_that_ends_tells_its_streams_and_does_not_wait_for_them` |
//! | a stalled reader held its stream | harper#2747, hermes-webui#7105, pyth-crosschain#3782 | `a_reader_that_takes_nothing_is_dropped_and_the_others_hear_everything` |
//! | two simultaneous replies both succeeded | opencode v2 | `every_question_has_one_winner_whom_all_losers_name` |
//!
//! The script `tests/web/run` tries the attacks in a browser: a page on another port, a rebinding name, a link with a
//! foreign server.

use crate::support::{Site, sqlite};
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn every_fault_of_a_peer_names_a_test_that_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources: String =
        ["askuser-serve/src", "askuser-serve/src/server", "askuser-serve/tests/http", "askuser-conformance/src"]
            .iter()
            .flat_map(|folder| std::fs::read_dir(crates.join(folder)).unwrap())
            .filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok())
            .collect();
    let rows: Vec<&str> = include_str!("peers.rs").lines().filter(|line| line.starts_with("//! | ")).skip(1).collect();
    assert!(rows.len() > 15, "{}", rows.len());
    for row in rows {
        let tests: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test is named: {row}");
        for test in tests {
            assert!(sources.contains(&format!("fn {test}(")), "there is no test {test}");
        }
    }
}

/// Home Assistant GHSA-jvxq-x42r-f7mv: the return address after signing in ran a script.
#[test]
fn no_parameter_sends_a_browser_anywhere_else() {
    let site = Site::new();
    for name in ["redirect_uri", "next", "returnTo", "url", "gatewayUrl", "hub", "server"] {
        for value in ["javascript:alert(1)", "//evil.example", "https://evil.example/"] {
            for path in ["/", "/auth", "/login", "/authorize", "/api/v1/pair"] {
                let reply = site.client().raw("GET", &format!("{path}?{name}={value}"), Value::Null);
                assert!(!(300..400).contains(&reply.status), "{path}?{name}={value}: {reply:?}");
                assert!(!reply.headers.contains_key("location") && !reply.headers.contains_key("refresh"), "{reply:?}");
                assert!(!reply.text.contains("evil.example") && !reply.text.contains("alert(1)"), "{reply:?}");
            }
        }
    }
}

/// OpenClaw CVE-2026-25253: the page sent its token to the `gatewayUrl` of the query.
#[test]
fn a_link_cannot_name_another_server() {
    let site = Site::new();
    let page = site.client().raw("GET", "/", Value::Null);
    let policy = &page.headers["content-security-policy"];
    assert!(policy.split("; ").any(|rule| rule == "connect-src 'self'"), "{policy}");
    let script = include_str!("../../src/page/app.js");
    for source in ["location.search", "location.href", "searchParams", "document.referrer"] {
        assert!(!script.contains(source), "the page reads {source}");
    }
    let requests: Vec<&str> = script.split("fetch(").skip(1).collect();
    assert!(!requests.is_empty());
    for request in requests {
        assert!(request.starts_with("`/api/v1"), "a request that may go elsewhere: {}", &request[..40]);
    }
}

/// HAPI: a tap on an ended question decided the first pending one.
#[test]
fn a_late_answer_decides_its_own_question_or_none() {
    let site = Site::new();
    let ended = site.put("1");
    let waits = site.put("2");
    let answer = |id: &str| site.send(&site.answer, "POST", &format!("/questions/{id}/answer"), sqlite()).status;
    assert_eq!(answer(&ended), 200);
    assert_eq!(answer(&ended), 409);
    for none in ["000000000000", &waits[..6], "latest", "0", "-"] {
        assert_eq!(answer(none), 404, "{none}");
    }
    let still = site.send(&site.answer, "GET", &format!("/questions/{waits}"), Value::Null);
    assert_eq!(still.body["state"], json!("pending"));
}
