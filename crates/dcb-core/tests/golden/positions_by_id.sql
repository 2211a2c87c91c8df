SELECT e.id::text, e.position FROM "log".event e
WHERE e.id = ANY ($1)
