WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT h.head, NULL::timestamptz, h.id, NULL::text, NULL::text[], NULL::json, uuid_send(CASE WHEN $2 = h.head THEN h.id WHEN $2 > 0 AND $2 < h.head THEN (SELECT e.id FROM "log".event e
WHERE e.position = $2) END)
FROM (SELECT) one
LEFT JOIN h ON true
UNION ALL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE (e.type, e.position) > ($4, $1) AND (e.type, e.position) < ($4, $2)
ORDER BY e.type DESC, e.position DESC LIMIT $3)
