-- A person has a draft for each opening of a question at a surface (its writer).
CREATE TABLE saved_draft (
    question INTEGER NOT NULL REFERENCES question (n),
    person   TEXT NOT NULL,                         -- empty in drafts of version 1
    writer   TEXT NOT NULL,
    edit     INTEGER NOT NULL,                      -- the number of the writer's save
    place    TEXT NOT NULL,                         -- the device or surface
    saved_ms INTEGER NOT NULL,
    answers  TEXT NOT NULL,
    PRIMARY KEY (question, person, writer)
) WITHOUT ROWID;
INSERT INTO saved_draft SELECT question, person, '', 0, '', 0, answers FROM person_draft
    UNION ALL SELECT question, '', 'version 1', 0, '', 0, answers FROM draft;
UPDATE saved_draft SET answers = json_object('answers', json(answers)) WHERE answers LIKE '[%';
DROP TABLE person_draft;
DELETE FROM draft;
