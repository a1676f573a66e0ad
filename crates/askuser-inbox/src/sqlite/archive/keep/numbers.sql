DELETE FROM sqlite_sequence WHERE name = 'event';
INSERT INTO sqlite_sequence (name, seq) VALUES ('event', ?1->>'last')
