//! A network connection is encrypted, and the certificate must be valid for the name of the host.

use crate::support::options;
use askuser_conformance::PostgresServer;
use askuser_postgres::PostgresStore;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Creates a self-signed certificate for a name. Returns `false` if `openssl` fails.
fn certificate(folder: &Path, name: &str) -> bool {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-subj",
        ])
        .args([&format!("/CN={name}"), "-addext", &format!("subjectAltName=DNS:{name}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(folder.join(format!("{name}.key")))
        .arg("-out")
        .arg(folder.join(format!("{name}.pem")))
        .output();
    made.is_ok_and(|made| made.status.success())
}

#[test]
fn a_certificate_is_checked_for_its_name_unless_encryption_is_off() {
    let folder = tempfile::tempdir().unwrap();
    if !certificate(folder.path(), "localhost") || !certificate(folder.path(), "elsewhere") {
        askuser_conformance::left_out_without("openssl");
        return;
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(mut server) = PostgresServer::start(&["fsync=off"]) else { return };
    let copy = |from: &str, to: &str| {
        let to = server.data().join(to);
        assert!(Command::new("cp").arg(folder.path().join(from)).arg(&to).status().unwrap().success());
        let owner = format!("--reference={}", server.data().display());
        assert!(Command::new("chown").arg(owner).arg(&to).status().unwrap().success());
        assert!(Command::new("chmod").arg("600").arg(&to).status().unwrap().success());
    };
    copy("localhost.pem", "server.crt");
    copy("localhost.key", "server.key");
    server.stop_in_order();
    // The socket admits everybody. The network admits only encrypted connections, except those of the user `plain`.
    let lines = "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostnossl all plain 127.0.0.1/32 trust\n";
    std::fs::write(server.data().join("pg_hba.conf"), lines).unwrap();
    server.set(&["fsync=off", "ssl=on", "listen_addresses=127.0.0.1", &format!("port={port}")]);
    server.start_again();
    let open = |host: &str, rest: &str| {
        let mut options = options();
        options.patience = Duration::from_millis(200);
        let address = format!("postgres://postgres@{host}:{port}/postgres?{rest}");
        PostgresStore::open(&address, options).map(drop).map_err(|error| error.chain())
    };
    let trusted = format!("sslrootcert={}", folder.path().join("localhost.pem").display());
    open("localhost", &trusted).unwrap();
    open("localhost", &format!("sslmode=verify-full&{trusted}")).unwrap();
    let why = open("127.0.0.1", &trusted).unwrap_err();
    assert!(why.contains("not valid for name"), "the certificate is for localhost: {why}");
    let why = open("localhost", "").unwrap_err();
    assert!(why.contains("invalid peer certificate"), "nobody has vouched for it: {why}");
    let other = format!("sslrootcert={}", folder.path().join("elsewhere.pem").display());
    assert!(open("localhost", &other).unwrap_err().contains("invalid peer certificate"));
    let why = open("localhost", "sslmode=disable").unwrap_err();
    assert!(why.contains("no encryption"), "this server wants encryption: {why}");
}
