SELECT json_object('n', row_number() OVER (ORDER BY rowid), 'id', id, 'name', name, 'scope', scope,
    'is_device', is_device, 'person', person, 'digest', lower(hex(digest)), 'made_ms', made_ms, 'seen_ms', seen_ms,
    'address', address, 'revoked_ms', revoked_ms)
FROM credential ORDER BY rowid LIMIT ?2 OFFSET ?1
