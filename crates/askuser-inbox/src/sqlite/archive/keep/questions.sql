INSERT INTO question (n, id, request, state, asked_ms, resolution, ended_by, ended_ms, answer_key, delivered_ms,
    series, conversation, claim, left_ms, asker_died, key, agent, words, audience, credential)
VALUES (?1->>'n', ?1->>'id', ?1->>'request', ?1->>'state', ?1->>'asked_ms', ?1->>'resolution', ?1->>'ended_by',
    ?1->>'ended_ms', ?1->>'answer_key', ?1->>'delivered_ms', ?1->>'series', ?1->>'conversation', ?1->>'claim',
    ?1->>'left_ms', ?1->>'asker_died', ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (n) DO UPDATE SET state = excluded.state, resolution = excluded.resolution, ended_by = excluded.ended_by,
    ended_ms = excluded.ended_ms, answer_key = excluded.answer_key, delivered_ms = excluded.delivered_ms,
    conversation = excluded.conversation, claim = excluded.claim, left_ms = excluded.left_ms,
    asker_died = excluded.asker_died, expires_ms = NULL;
DELETE FROM person_draft WHERE question = ?1->>'n';
DELETE FROM draft WHERE question = ?1->>'n';
INSERT INTO person_draft (question, person, answers) SELECT ?1->>'n', key, value FROM json_each(?1, '$.drafts') WHERE key <> '';
INSERT INTO draft (question, answers) SELECT ?1->>'n', value FROM json_each(?1, '$.drafts') WHERE key = ''
