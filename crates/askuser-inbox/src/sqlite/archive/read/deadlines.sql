SELECT json_object('n', n, 'expires_ms', expires_ms) FROM question
WHERE n > ?1 AND state = 'pending' AND expires_ms IS NOT NULL ORDER BY n LIMIT ?2
