WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT h.head, NULL::timestamptz, h.id, NULL::text, NULL::text[], NULL::json, uuid_send(CASE WHEN $2 = h.head THEN h.id WHEN $2 > 0 AND $2 < h.head THEN (SELECT e.id FROM "log".event e
WHERE e.position = $2) END)
FROM (SELECT) one
LEFT JOIN h ON true
UNION ALL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position DESC LIMIT $3)
