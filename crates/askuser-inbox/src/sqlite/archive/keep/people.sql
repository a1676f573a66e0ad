INSERT INTO person (name, added_ms) VALUES (?1->>'name', ?1->>'added_ms')
ON CONFLICT (name) DO UPDATE SET added_ms = excluded.added_ms
