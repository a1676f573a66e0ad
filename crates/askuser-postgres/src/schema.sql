-- Every record has the time of this server's clock.
CREATE FUNCTION askuser.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
CREATE TABLE askuser.question (
    n            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of asking
    id           text COLLATE "C" NOT NULL UNIQUE,  -- what people call it
    key          bytea NOT NULL UNIQUE,             -- SHA-256 of the request's key and its credential: the same is the same question
    bare_key     bytea NOT NULL,                    -- the same without the credential
    request      text NOT NULL,                     -- the whole request, as it serialises
    agent        text,                              -- who asks, to search by, and in lower case
    agent_words  text,
    words        text NOT NULL,                     -- what a person reads of it, in lower case, to search by
    audience     text[],                            -- for whom it is; none for everybody
    background   boolean NOT NULL DEFAULT false,    -- whether the asker works on meanwhile
    credential   text,                              -- the name of the credential that asked
    state        text NOT NULL,
    asked_ms     bigint NOT NULL,
    expires_ms   bigint,
    ending       text,                              -- as it serialises
    ended_ms     bigint,
    attempt      text,                              -- the attempt that ended it
    sent_ms      bigint,                            -- when the asker was told of the answer
    delivered_ms bigint,
    series       bytea,                             -- SHA-256: the same for questions that are the same to a person
    conversation text,                              -- which conversation asked it, or took it over
    claim        text,                              -- the attempt that used its permission
    revision     bigint NOT NULL DEFAULT 0,         -- the number of changes since it was put
    left_ms      bigint,                            -- when the last waiter left
    asker_died   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);
CREATE INDEX question_bare_key ON askuser.question (bare_key);
CREATE INDEX question_pending ON askuser.question (n) WHERE state = 'pending';
CREATE INDEX question_ended ON askuser.question (ended_ms, n) WHERE state <> 'pending';
CREATE INDEX question_for_some ON askuser.question (n) WHERE state = 'pending' AND audience IS NOT NULL;
CREATE INDEX question_expiring ON askuser.question (expires_ms) WHERE state = 'pending' AND expires_ms IS NOT NULL;
CREATE INDEX question_series ON askuser.question (series, n) WHERE series IS NOT NULL AND delivered_ms IS NULL;
CREATE INDEX question_credential ON askuser.question (credential, n) WHERE credential IS NOT NULL;
-- An event gets its number after the commit, so that numbers become visible in order and without gaps.
CREATE TABLE askuser.event (
    n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seq      bigint UNIQUE,
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    state    text NOT NULL,
    at_ms    bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX event_unnumbered ON askuser.event (n) WHERE seq IS NULL;
CREATE INDEX event_question ON askuser.event (question);
CREATE TABLE askuser.numbering (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    last bigint NOT NULL
);
INSERT INTO askuser.numbering (last) VALUES (0);
-- The waiters and the shown lists. They count while their process renews its lease, by the real time of this server.
CREATE TABLE askuser.process (
    id      text PRIMARY KEY,
    expires timestamptz NOT NULL
);
CREATE TABLE askuser.waiter (
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    id       text NOT NULL,
    process  text NOT NULL,
    PRIMARY KEY (question, id)
);
CREATE INDEX waiter_process ON askuser.waiter (process);
CREATE TABLE askuser.shown_list (
    id      text PRIMARY KEY,
    process text NOT NULL
);
-- A person has one draft for each time that a surface opened the question. The opening is the draft's writer.
CREATE TABLE askuser.draft (
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    person   text NOT NULL,
    writer   text NOT NULL,
    edit     bigint NOT NULL,                       -- the number of the writer's save
    draft    text NOT NULL,                         -- as it serialises
    unsent   text NOT NULL,                         -- the beginning of its words, for lists
    PRIMARY KEY (question, person, writer)
);
CREATE TABLE askuser.notifier_failure (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    at_ms bigint NOT NULL,
    what  text NOT NULL,
    why   text NOT NULL
);
-- People, credentials, unfinished pairings of devices, and the count of rejected credentials.
CREATE TABLE askuser.register (
    n          bigint GENERATED ALWAYS AS IDENTITY,
    kind       text NOT NULL,
    id         text NOT NULL,
    entry      text NOT NULL,                       -- as it serialises; of a token only the SHA-256 of its secret part
    revoked_by text,                                -- the call that revoked the credential
    PRIMARY KEY (kind, id)
);
