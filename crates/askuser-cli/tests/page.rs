//! Tests the page in a real browser, from the link to the answer. `tests/web/run` has further tests.
//!
//! Without Chromium and its driver this test is skipped. If CI is set, it fails instead.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;
use thirtyfour::prelude::*;

/// The timeout for an immediate effect. A loaded machine is slower than usual, but never this slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program. Returns it with the part of its output that `find` finds in a line.
fn start(mut command: Command, find: fn(&str) -> Option<String>) -> (Running, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a process");
    let streams: [Box<dyn Read + Send>; 2] =
        [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
    let (found, heard) = mpsc::channel();
    for stream in streams {
        let found = found.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let _ = find(&line).map(|part| found.send(part));
            }
        });
    }
    let part = heard.recv_timeout(PATIENCE).expect("what is looked for in its output");
    (Running(child), part)
}

fn askuser(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_askuser"));
    command.args(args).env_clear().env("HOME", home).env("USER", "ada").env("PATH", "/usr/bin:/bin").current_dir(home);
    command
}

fn link(line: &str) -> Option<String> {
    let link = &line[line.find("http://127.0.0.1:")?..];
    link.contains("/#pair=").then(|| link.split_whitespace().next().unwrap_or_default().to_owned())
}

fn port(line: &str) -> Option<String> {
    let port = line.split("successfully on port ").nth(1)?;
    Some(port.trim_end_matches('.').to_owned()).filter(|port| port.chars().all(|c| c.is_ascii_digit()))
}

fn browser_is_here() -> bool {
    let is_here = ["chromium", "chromedriver"].iter().all(|program| Path::new("/usr/bin").join(program).exists());
    if !is_here {
        askuser_conformance::left_out_without("chromium and chromium-driver");
    }
    is_here
}

#[test]
fn a_question_is_answered_in_a_browser_that_a_link_let_in() {
    if !browser_is_here() {
        return;
    }
    let home = TempDir::new().unwrap();
    let profile = TempDir::new().unwrap();
    let home = home.path();
    let input = json!({"questions": [{"question": "Which <b>database</b>?", "header": "Database", "multiSelect": false,
        "options": [{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}]}]});
    std::fs::write(home.join("question.json"), input.to_string()).unwrap();
    let asked = askuser(home, &["ask", "question.json", "--via", "inbox", "--detach"]).output().unwrap();
    assert_eq!(asked.status.code(), Some(75), "{}", String::from_utf8_lossy(&asked.stderr));
    let (_server, link) = start(askuser(home, &["serve", "--listen", "127.0.0.1:0"]), link);
    let mut driver = Command::new("/usr/bin/chromedriver");
    driver.arg("--port=0");
    let (_driver, port) = start(driver, port);
    // The driver is used without TLS, but its client needs a TLS provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shown = runtime.block_on(answer(&link, &port, profile.path())).unwrap();
    assert!(shown.contains("Which <b>database</b>?"), "the model's text is text: {shown}");
    let stored = askuser(home, &["log", "--json"]).output().unwrap().stdout;
    let stored: Value = serde_json::from_slice(&stored).unwrap();
    assert_eq!(stored["resolution"]["answers"][0]["selectedOptions"], json!(["SQLite"]), "{stored}");
    assert_eq!(stored["resolution"]["via"], "web");
}

/// Answers the only waiting question, and returns the page's text about it before the answer.
async fn answer(link: &str, port: &str, profile: &Path) -> WebDriverResult<String> {
    let mut browser = DesiredCapabilities::chrome();
    let profile = format!("--user-data-dir={}", profile.display());
    for arg in
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", &profile]
    {
        browser.add_arg(arg)?;
    }
    for arg in ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"] {
        browser.add_arg(arg)?;
    }
    let driver = WebDriver::new(format!("http://127.0.0.1:{port}"), browser).await?;
    let result = async {
        driver.goto(link).await?;
        click(&driver, ".list a").await?;
        click(&driver, "input[value='SQLite']").await?;
        let shown = find(&driver, "main").await?.text().await?;
        click(&driver, "button.main:not([aria-disabled])").await?;
        find(&driver, ".notice.good").await?;
        WebDriverResult::Ok(shown)
    }
    .await;
    driver.quit().await?;
    result
}

async fn find(driver: &WebDriver, selector: &str) -> WebDriverResult<WebElement> {
    driver.query(By::Css(selector)).wait(PATIENCE, Duration::from_millis(50)).first().await
}

/// Clicks an element, and retries if the page has replaced it meanwhile.
async fn click(driver: &WebDriver, selector: &str) -> WebDriverResult<()> {
    for _ in 0..20 {
        match find(driver, selector).await?.click().await {
            Err(error) if error.to_string().contains("stale") => {}
            clicked => return clicked,
        }
    }
    find(driver, selector).await?.click().await
}
