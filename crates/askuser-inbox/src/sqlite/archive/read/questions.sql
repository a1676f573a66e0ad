SELECT json_object('n', n, 'id', id, 'request', request, 'state', state, 'asked_ms', asked_ms,
    'resolution', resolution, 'ended_by', ended_by, 'ended_ms', ended_ms, 'answer_key', answer_key,
    'delivered_ms', delivered_ms, 'series', series, 'conversation', conversation, 'claim', claim,
    'left_ms', left_ms, 'asker_died', asker_died, 'drafts', json((SELECT json_group_object(person, answers) FROM (
        SELECT person, answers FROM person_draft WHERE question = n
        UNION ALL SELECT '', answers FROM draft WHERE question = n))))
FROM question WHERE n > ?1 ORDER BY n LIMIT ?2
