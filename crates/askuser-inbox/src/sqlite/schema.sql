CREATE TABLE question (
    n            INTEGER PRIMARY KEY,        -- the order of asking
    id           TEXT NOT NULL UNIQUE,       -- what people call it
    key          TEXT NOT NULL UNIQUE,       -- the key of the request, and the credential that asked
    request      TEXT NOT NULL,              -- the whole request, as it serialises
    agent        TEXT,                       -- who asks
    agent_words  TEXT,                       -- the same in lower case, to search by
    words        TEXT NOT NULL,              -- what a person reads of it, in lower case, to search by
    audience     TEXT,                       -- for whom it is, as a JSON array; none for everybody
    background   INTEGER NOT NULL DEFAULT 0, -- whether the asker works on meanwhile
    credential   TEXT,                       -- the name of the credential that asked; none in this file's own processes
    series       TEXT,                       -- the same for questions that are the same to a person
    conversation TEXT,                       -- which conversation asked it, or took it over
    state        TEXT NOT NULL,
    asked_ms     INTEGER NOT NULL,
    expires_ms   INTEGER,
    ending       TEXT,                       -- as it serialises
    ended_ms     INTEGER,
    attempt      TEXT,                       -- the attempt that ended it
    sent_ms      INTEGER,                    -- when the asker was told of the answer
    delivered_ms INTEGER,
    claim        TEXT,                       -- the attempt that used its permission
    revision     INTEGER NOT NULL DEFAULT 0, -- the number of changes since it was put
    asker        TEXT,                       -- the process that asked and waits: the name of its lock
    left_ms      INTEGER,                    -- when the last waiter left
    asker_died   INTEGER NOT NULL DEFAULT 0
);
-- This index suffices to count a person's pending questions, and to find dead askers.
CREATE INDEX question_waiting ON question (n, audience, background, asker) WHERE state = 'pending';
CREATE INDEX question_for_some ON question (n) WHERE state = 'pending' AND audience IS NOT NULL;
CREATE INDEX question_expiring ON question (expires_ms) WHERE state = 'pending' AND expires_ms IS NOT NULL;
CREATE INDEX question_ended ON question (ended_ms, n) WHERE state <> 'pending';
CREATE INDEX question_series ON question (series) WHERE series IS NOT NULL;
CREATE INDEX question_credential ON question (credential, n) WHERE credential IS NOT NULL;
-- AUTOINCREMENT ensures that no sequence number is used twice.
CREATE TABLE event (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL REFERENCES question (n),
    state    TEXT NOT NULL,
    at_ms    INTEGER NOT NULL
);
-- The waiters of a question other than the process that asked it.
CREATE TABLE waiter (
    question INTEGER NOT NULL REFERENCES question (n),
    id       TEXT NOT NULL,
    process  TEXT NOT NULL,                  -- the name of its lock
    PRIMARY KEY (question, id)
) WITHOUT ROWID;
CREATE TABLE shown_list (
    id      TEXT PRIMARY KEY,
    process TEXT NOT NULL
) WITHOUT ROWID;
-- A person has one draft for each time that a surface opened the question. The opening is the draft's writer.
CREATE TABLE draft (
    question INTEGER NOT NULL REFERENCES question (n),
    person   TEXT NOT NULL,
    writer   TEXT NOT NULL,
    edit     INTEGER NOT NULL,               -- the number of the writer's save
    draft    TEXT NOT NULL,                  -- as it serialises
    unsent   TEXT NOT NULL,                  -- the beginning of its words, for lists
    PRIMARY KEY (question, person, writer)
) WITHOUT ROWID;
CREATE TABLE notifier_failure (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    at_ms INTEGER NOT NULL,
    what  TEXT NOT NULL,
    why   TEXT NOT NULL
);
-- People, credentials, unfinished pairings of devices, and the count of rejected credentials.
CREATE TABLE register (
    n          INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL,
    id         TEXT NOT NULL,
    entry      TEXT NOT NULL,                -- as it serialises; of a token only the SHA-256 of its secret part
    is_revoked INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, id)
);
