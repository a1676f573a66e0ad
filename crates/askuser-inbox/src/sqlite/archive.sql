-- A row that is kept is ?1; the other values are what is searched by.
-- read people
SELECT json_object('n', row_number() OVER (ORDER BY name), 'name', name, 'added_ms', added_ms) FROM person
ORDER BY name LIMIT ?2 OFFSET ?1
-- keep people
INSERT INTO person (name, added_ms) VALUES (?1->>'name', ?1->>'added_ms')
ON CONFLICT (name) DO UPDATE SET added_ms = excluded.added_ms
-- read credentials
SELECT json_object('n', row_number() OVER (ORDER BY rowid), 'id', id, 'name', name, 'scope', scope,
    'is_device', is_device, 'person', person, 'digest', lower(hex(digest)), 'made_ms', made_ms, 'seen_ms', seen_ms,
    'address', address, 'revoked_ms', revoked_ms)
FROM credential ORDER BY rowid LIMIT ?2 OFFSET ?1
-- keep credentials
INSERT INTO credential (id, name, scope, is_device, person, digest, made_ms, seen_ms, address, revoked_ms)
VALUES (?1->>'id', ?1->>'name', ?1->>'scope', ?1->>'is_device', ?1->>'person', unhex(?1->>'digest'), ?1->>'made_ms',
    ?1->>'seen_ms', ?1->>'address', ?1->>'revoked_ms')
ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, address = excluded.address, revoked_ms = excluded.revoked_ms
-- read questions
SELECT json_object('n', n, 'id', id, 'request', request, 'state', state, 'asked_ms', asked_ms,
    'resolution', resolution, 'ended_by', ended_by, 'ended_ms', ended_ms, 'answer_key', answer_key,
    'delivered_ms', delivered_ms, 'series', series, 'conversation', conversation, 'claim', claim,
    'left_ms', left_ms, 'asker_died', asker_died, 'drafts', json((SELECT json_group_array(json_object('person', person, 'writer', writer, 'edit', edit,
        'place', place, 'saved_ms', saved_ms, 'answers', answers)) FROM (
            SELECT * FROM saved_draft WHERE question = n ORDER BY person, writer))))
FROM question WHERE n > ?1 ORDER BY n LIMIT ?2
-- keep questions
INSERT INTO question (n, id, request, state, asked_ms, resolution, ended_by, ended_ms, answer_key, delivered_ms,
    series, conversation, claim, left_ms, asker_died, key, agent, words, audience, credential)
VALUES (?1->>'n', ?1->>'id', ?1->>'request', ?1->>'state', ?1->>'asked_ms', ?1->>'resolution', ?1->>'ended_by',
    ?1->>'ended_ms', ?1->>'answer_key', ?1->>'delivered_ms', ?1->>'series', ?1->>'conversation', ?1->>'claim',
    ?1->>'left_ms', ?1->>'asker_died', ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (n) DO UPDATE SET state = excluded.state, resolution = excluded.resolution, ended_by = excluded.ended_by,
    ended_ms = excluded.ended_ms, answer_key = excluded.answer_key, delivered_ms = excluded.delivered_ms,
    conversation = excluded.conversation, claim = excluded.claim, left_ms = excluded.left_ms,
    asker_died = excluded.asker_died, expires_ms = NULL;
DELETE FROM saved_draft WHERE question = ?1->>'n';
INSERT INTO saved_draft (question, person, writer, edit, place, saved_ms, answers)
SELECT ?1->>'n', value->>'person', value->>'writer', value->>'edit', value->>'place', value->>'saved_ms', value->>'answers'
FROM json_each(?1, '$.drafts')
-- read events
SELECT json_object('n', seq, 'question', question, 'state', state, 'at_ms', at_ms) FROM event
WHERE seq > ?1 ORDER BY seq LIMIT ?2
-- keep events
INSERT INTO event (seq, question, state, at_ms)
VALUES (?1->>'n', ?1->>'question', ?1->>'state', ?1->>'at_ms') ON CONFLICT (seq) DO NOTHING
-- read numbers
SELECT json_object('n', 1, 'last', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0))
WHERE ?1 < 1 LIMIT ?2
-- keep numbers
DELETE FROM sqlite_sequence WHERE name = 'event';
INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?1->>'last')
-- read deadlines
SELECT json_object('n', n, 'expires_ms', expires_ms) FROM question
WHERE n > ?1 AND state = 'pending' AND expires_ms IS NOT NULL ORDER BY n LIMIT ?2
-- keep deadlines
UPDATE question SET expires_ms = ?1->>'expires_ms' WHERE n = ?1->>'n' AND state = 'pending'
