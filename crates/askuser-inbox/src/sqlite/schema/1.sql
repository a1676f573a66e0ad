CREATE TABLE question (
    n            INTEGER PRIMARY KEY,        -- the order of asking
    id           TEXT NOT NULL UNIQUE,       -- what people call it
    key          TEXT NOT NULL UNIQUE,       -- the request's key: the same key is the same question
    request      TEXT NOT NULL,              -- the whole request, as it serialises
    agent        TEXT,                       -- who asks, to search by
    state        TEXT NOT NULL,
    asked_ms     INTEGER NOT NULL,
    expires_ms   INTEGER,
    resolution   TEXT,                       -- the resolution, as it serialises; none for a withdrawal
    ended_by     TEXT,
    ended_ms     INTEGER,
    answer_key   TEXT,                       -- the attempt that ended it
    delivered_ms INTEGER,
    asker        TEXT,                       -- the process that waits: the name of its lock
    left_ms      INTEGER,                    -- when it stopped waiting
    asker_died   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX question_pending ON question (n) WHERE state = 'pending';
CREATE INDEX question_expiring ON question (expires_ms) WHERE state = 'pending' AND expires_ms IS NOT NULL;
-- AUTOINCREMENT: a sequence number is never given twice.
CREATE TABLE event (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL REFERENCES question (n),
    state    TEXT NOT NULL,
    at_ms    INTEGER NOT NULL
);
CREATE TABLE draft (
    question INTEGER PRIMARY KEY REFERENCES question (n),
    answers  TEXT NOT NULL
);
