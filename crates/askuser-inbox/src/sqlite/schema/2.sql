-- Only added to, so that a program of version 1 that still waits goes on: `draft` is its table.
ALTER TABLE question ADD COLUMN words TEXT;         -- what a person reads of it, in lower case, to search by
UPDATE question SET words = words_of(request);
ALTER TABLE question ADD COLUMN audience TEXT;      -- for whom it is, as a JSON array; none for everybody
ALTER TABLE question ADD COLUMN series TEXT;        -- the same for questions that are the same to a person
ALTER TABLE question ADD COLUMN conversation TEXT;  -- which conversation asked it, or took it over
ALTER TABLE question ADD COLUMN claim TEXT;         -- the attempt that used its permission
-- To count what waits for a person, or to look whose asker has died, reads the index alone.
DROP INDEX question_pending;
CREATE INDEX question_waiting ON question (n, audience, asker) WHERE state = 'pending';
CREATE INDEX question_series ON question (series) WHERE series IS NOT NULL;
-- Who waits besides the process that asked.
CREATE TABLE waiter (
    question INTEGER NOT NULL REFERENCES question (n),
    id       TEXT NOT NULL,
    process  TEXT NOT NULL,                         -- the name of its lock
    PRIMARY KEY (question, id)
) WITHOUT ROWID;
CREATE TABLE shown_list (
    id      TEXT PRIMARY KEY,
    process TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE person_draft (
    question INTEGER NOT NULL REFERENCES question (n),
    person   TEXT NOT NULL,
    answers  TEXT NOT NULL,
    PRIMARY KEY (question, person)
) WITHOUT ROWID;
CREATE TABLE notifier_failure (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    at_ms INTEGER NOT NULL,
    what  TEXT NOT NULL,
    why   TEXT NOT NULL
);
