SELECT c.position, c.events, e.recorded_at, c.type, c.metadata, c.data FROM "log".command c JOIN "log".event e USING (position)
WHERE c.position > $1
ORDER BY c.position LIMIT $2
