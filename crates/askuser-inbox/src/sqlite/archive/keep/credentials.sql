INSERT INTO credential (id, name, scope, is_device, person, digest, made_ms, seen_ms, address, revoked_ms)
VALUES (?1->>'id', ?1->>'name', ?1->>'scope', ?1->>'is_device', ?1->>'person', unhex(?1->>'digest'), ?1->>'made_ms',
    ?1->>'seen_ms', ?1->>'address', ?1->>'revoked_ms')
ON CONFLICT (id) DO UPDATE SET seen_ms = excluded.seen_ms, address = excluded.address, revoked_ms = excluded.revoked_ms
