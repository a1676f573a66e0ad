INSERT INTO event (seq, question, state, at_ms)
VALUES (?1->>'n', ?1->>'question', ?1->>'state', ?1->>'at_ms') ON CONFLICT (seq) DO NOTHING
