SELECT json_object('n', row_number() OVER (ORDER BY name), 'name', name, 'added_ms', added_ms) FROM person
ORDER BY name LIMIT ?2 OFFSET ?1
