SELECT json_object('n', 1, 'last', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0))
WHERE ?1 < 1 LIMIT ?2
