SELECT h.head, e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
FROM (SELECT max(position) AS head FROM "log".event) h
LEFT JOIN LATERAL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE e.position > $1 AND e.position < $2
ORDER BY e.position DESC LIMIT $3) e ON true
