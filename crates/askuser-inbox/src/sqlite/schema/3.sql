ALTER TABLE question ADD COLUMN credential TEXT;    -- the name of the credential that asked; none in this file's own processes
CREATE INDEX question_credential ON question (credential, n) WHERE credential IS NOT NULL;
CREATE TABLE credential (
    id         TEXT PRIMARY KEY,                    -- the part of a token that is no secret
    name       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    is_device  INTEGER NOT NULL,
    person     TEXT NOT NULL,
    digest     BLOB NOT NULL,                       -- SHA-256 of the secret part
    made_ms    INTEGER NOT NULL,
    seen_ms    INTEGER,
    address    TEXT,
    revoked_ms INTEGER
);
CREATE TABLE pairing (
    id          TEXT PRIMARY KEY,
    is_link     INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    address     TEXT,
    browser     TEXT,
    expires_ms  INTEGER NOT NULL,
    tries       INTEGER NOT NULL DEFAULT 0,
    is_approved INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE failed_credential (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    count   INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    address TEXT NOT NULL
);
