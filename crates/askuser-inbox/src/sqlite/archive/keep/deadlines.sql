UPDATE question SET expires_ms = ?1->>'expires_ms' WHERE n = ?1->>'n' AND state = 'pending'
