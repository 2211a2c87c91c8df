WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT h.head, NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], NULL::json, NULL::bytea FROM h
UNION ALL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position DESC LIMIT $3)
