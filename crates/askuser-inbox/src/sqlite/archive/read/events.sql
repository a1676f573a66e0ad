SELECT json_object('n', seq, 'question', question, 'state', state, 'at_ms', at_ms) FROM event
WHERE seq > ?1 ORDER BY seq LIMIT ?2
