CREATE TABLE person (
    name     TEXT PRIMARY KEY,
    added_ms INTEGER NOT NULL
) WITHOUT ROWID;
-- A credential without a person acts under its own name; those of before that ask or administer act for nobody.
INSERT INTO person SELECT person, min(made_ms) FROM credential WHERE revoked_ms IS NULL AND scope = 'answer' GROUP BY 1;
UPDATE credential SET person = '' WHERE scope <> 'answer';
ALTER TABLE pairing ADD COLUMN person TEXT;         -- whose device it becomes
CREATE INDEX question_for_some ON question (n) WHERE state = 'pending' AND audience IS NOT NULL;
