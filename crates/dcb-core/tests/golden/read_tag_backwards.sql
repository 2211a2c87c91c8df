SELECT h.head, e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
FROM (SELECT max(position) AS head FROM "log".event) h
LEFT JOIN LATERAL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position DESC LIMIT $3) e ON true
