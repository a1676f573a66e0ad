//! The page and its assets. They are part of the executable, the same for all users, and contain no secret. `app.js`
//! draws the data from `model`.

mod model;

pub(crate) use model::model;

use crate::server::{Body, Response};
use askuser_sys::random::hex;
use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, StatusCode};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// A file that a browser may request.
struct Asset {
    path: String,
    kind: &'static str,
    content: Bytes,
    /// Whether the file never changes, because its path contains its hash.
    is_immutable: bool,
}

/// The page and the files that it names. The path of such a file contains its hash, so that no browser shows an old
/// version.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let hashed = |name: &str, kind, text: &str| {
        let hash = hex(&Sha256::digest(text)[..8]);
        let (stem, end) = name.split_once('.').unwrap_or((name, ""));
        let path = format!("/assets/{stem}-{hash}.{end}");
        Asset { path, kind, content: Bytes::from(text.to_owned()), is_immutable: true }
    };
    // The script is sent without its indentation and comments, because a phone may load it.
    let lines = include_str!("app.js").lines().map(str::trim_start);
    let script: Vec<&str> = lines.filter(|line| !line.starts_with("//") && !line.starts_with("/** ")).collect();
    let script = hashed("app.js", "text/javascript; charset=utf-8", &script.join("\n"));
    let style = hashed("style.css", "text/css; charset=utf-8", include_str!("style.css"));
    let icon = hashed("icon.svg", "image/svg+xml", include_str!("icon.svg"));
    let naming = |path: &str, kind, text: &str| {
        let text = text.replace("{{script}}", &script.path).replace("{{style}}", &style.path);
        let content = Bytes::from(text.replace("{{icon}}", &icon.path));
        Asset { path: path.to_owned(), kind, content, is_immutable: false }
    };
    let page = naming("/", "text/html; charset=utf-8", include_str!("index.html"));
    let manifest = naming("/manifest.webmanifest", "application/manifest+json", include_str!("manifest.webmanifest"));
    vec![page, manifest, script, style, icon]
});

/// Answers a request outside the API. The server adds the headers that all replies share.
pub(crate) fn answer(method: &Method, path: &str) -> Response {
    let text = |status, words: &'static str| (status, "text/plain", Bytes::from_static(words.as_bytes()), false);
    let (status, kind, content, is_immutable) = match ASSETS.iter().find(|asset| asset.path == path) {
        _ if !matches!(*method, Method::GET | Method::HEAD) => text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n"),
        Some(asset) => (StatusCode::OK, asset.kind, asset.content.clone(), asset.is_immutable),
        None => text(StatusCode::NOT_FOUND, "not found\n"),
    };
    let mut reply = Response::new(Body::from(content));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if is_immutable {
        let forever = HeaderValue::from_static("public, max-age=31536000, immutable");
        reply.headers_mut().insert(CACHE_CONTROL, forever);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_files_that_are_there_and_takes_no_more_than_60_kb() {
        let page = String::from_utf8(ASSETS[0].content.to_vec()).unwrap();
        let named: Vec<&str> = page.split(['"']).filter(|part| part.starts_with('/')).collect();
        assert_eq!(named.len(), 4, "{named:?}");
        for path in named {
            assert_eq!(answer(&Method::GET, path).status(), StatusCode::OK, "{path}");
        }
        assert!(!page.contains("{{"), "{page}");
        let size: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        assert!(size <= 60_000, "{size}");
    }

    #[test]
    fn only_a_file_with_its_hash_in_its_name_is_kept_by_browsers() {
        let keeps = |path: &str| answer(&Method::GET, path).headers().contains_key(CACHE_CONTROL);
        let kept: Vec<bool> = ASSETS.iter().map(|asset| keeps(&asset.path)).collect();
        assert_eq!(kept, [false, false, true, true, true]);
        assert_eq!(answer(&Method::GET, "/assets/app.js").status(), StatusCode::NOT_FOUND);
        assert_eq!(answer(&Method::POST, "/").status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[test]
    fn the_page_fetches_nothing_from_elsewhere_and_makes_no_markup_of_text() {
        let script = include_str!("app.js");
        let is_one_line = |line: &&str| line.matches('`').count().is_multiple_of(2);
        assert_eq!(script.lines().find(|line| !is_one_line(line)), None, "a text of several lines has its indentation");
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
            assert!(!script.contains(word), "{word}");
        }
        // The namespace of SVG is no address.
        let all = [script, include_str!("style.css"), include_str!("index.html")].concat();
        assert!(!all.replace("http://www.w3.org/2000/svg", "").contains("://"));
    }
}
