//! A PostgreSQL server for tests. It uses a temporary folder and is reachable only through its socket.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The user who runs the server if the tests run as root. PostgreSQL refuses to run as root.
const USER: &str = "postgres";

/// A PostgreSQL server that runs until it is dropped.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
    settings: Vec<String>,
    running: Option<Child>,
}

impl PostgresServer {
    /// Starts a server with these settings. Returns `None` if PostgreSQL is not installed.
    ///
    /// # Panics
    /// If the server does not start. Also if `CI` is set and PostgreSQL is not installed.
    pub fn start(settings: &[&str]) -> Option<PostgresServer> {
        let Some(programs) = programs() else {
            crate::left_out_without("PostgreSQL's server: apt-get install postgresql");
            return None;
        };
        let mut server = PostgresServer {
            folder: tempfile::Builder::new().prefix("askuser-postgres-").tempdir().expect("a folder"),
            settings: Vec::new(),
            running: None,
            programs,
        };
        server.set(settings);
        server.make_data();
        server.start_again();
        Some(server)
    }

    /// Returns the address of the server's database. Every user of this machine may open it.
    pub fn address(&self) -> String {
        format!("postgres://{USER}@/postgres?host={}&port={}", self.folder.path().display(), self.port())
    }

    /// Returns the port, which is also part of the socket's name.
    pub fn port(&self) -> &str {
        self.settings.iter().rev().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432")
    }

    /// Returns the folder of the socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the data folder of the server.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the process id of the server; `None` if it is stopped.
    pub fn process(&self) -> Option<u32> {
        self.running.as_ref().map(Child::id)
    }

    /// Returns a command for a PostgreSQL program, which runs as the server's user.
    pub fn program(&self, name: &str) -> Command {
        as_user(&self.programs.join(name))
    }

    /// Stops the server immediately, as in a crash.
    ///
    /// # Panics
    /// If the server does not end.
    pub fn stop_immediately(&mut self) {
        self.stop("immediate");
    }

    /// Shuts the server down in order.
    ///
    /// # Panics
    /// If the server does not end.
    pub fn stop_in_order(&mut self) {
        self.stop("fast");
    }

    fn stop(&mut self, mode: &str) {
        let Some(mut child) = self.running.take() else { return };
        let stopped = self.program("pg_ctl").args(["stop", "-m", mode, "-D"]).arg(self.data()).output();
        assert!(stopped.expect("pg_ctl").status.success(), "it cannot be stopped");
        child.wait().expect("it has ended");
    }

    /// Sets the options for the next start of the server.
    pub fn set(&mut self, settings: &[&str]) {
        self.settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
    }

    /// Starts a stopped server again.
    ///
    /// # Panics
    /// If the server does not start.
    pub fn start_again(&mut self) {
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).args(["-c", "listen_addresses=", "-c", "max_connections=200"]);
        command.arg("-c").arg(format!("unix_socket_directories={}", self.folder.path().display()));
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("log")).expect("its log");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("a server");
        self.running = Some(child);
        let began = Instant::now();
        let is_ready = || {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            let asked = ready.args(["-q", "-U", USER, "-p", self.port(), "-h"]).arg(self.folder.path()).status();
            asked.expect("pg_isready").success()
        };
        while !is_ready() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "the server does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Creates the data folder as a copy of a template, because initialising a folder takes a second. The first test
    /// creates the template.
    fn make_data(&self) {
        let template =
            std::env::temp_dir().join(format!("askuser-postgres-template-{}-{}", version(&self.programs), who()));
        if !template.exists() {
            let fresh = tempfile::Builder::new().prefix("askuser-postgres-new-").tempdir().expect("a folder");
            own(fresh.path());
            let made = as_user(&self.programs.join("initdb"))
                .args("--no-sync --auth=trust --encoding=UTF8 --locale=C --wal-segsize=1 -U".split(' '))
                .args([USER, "-D"])
                .arg(fresh.path().join("data"))
                .output()
                .expect("initdb");
            assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
            // One of several concurrent tests creates the template. The others discard theirs.
            let kept = fresh.keep();
            if fs::rename(&kept, &template).is_err() {
                let _ = fs::remove_dir_all(&kept);
            }
        }
        let copied = Command::new("cp").arg("-a").arg(template.join("data")).arg(self.data()).status();
        assert!(copied.expect("cp").success(), "the data cannot be copied");
        own(self.folder.path());
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.running.take() {
            let _ = self.program("pg_ctl").args(["stop", "-m", "immediate", "-D"]).arg(self.data()).output();
            let _ = child.wait();
        }
    }
}

/// Returns the folder of the server's programs; `None` if there is none. Debian does not add it to `PATH`.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|folder| folder.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect())
        .unwrap_or_default();
    versions.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = versions.into_iter().rev().chain(std::env::split_paths(&path));
    candidates.into_iter().find(|folder| folder.join("postgres").exists() && folder.join("pg_ctl").exists())
}

fn version(programs: &Path) -> String {
    let output = Command::new(programs.join("postgres")).arg("--version").output().expect("postgres --version");
    String::from_utf8_lossy(&output.stdout).split_whitespace().nth(2).unwrap_or_default().to_owned()
}

fn who() -> String {
    let id = Command::new("id").arg("-u").output().expect("id");
    String::from_utf8_lossy(&id.stdout).trim().to_owned()
}

fn is_root() -> bool {
    who() == "0"
}

/// Returns a command that runs a program as the server's user. The program ends with the thread that started it.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_root() {
        command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]);
    }
    command.args(["--pdeathsig", "QUIT", "--"]).arg(program).current_dir("/");
    command
}

/// Makes the server's user the owner of a folder, if the tests run as root.
fn own(folder: &Path) {
    if is_root() {
        let given = Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(folder).status();
        assert!(given.expect("chown").success(), "{} cannot be given to {USER}", folder.display());
    }
}
