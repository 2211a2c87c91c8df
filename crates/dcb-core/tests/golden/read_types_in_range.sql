WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT h.head, NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], NULL::json, NULL::bytea FROM h
UNION ALL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE (SELECT least(h.head + 1, $2) - $1 FROM h) <= 256 AND e.position > $1 AND e.position < $2 AND e.type = ANY ($4)
ORDER BY e.position ASC LIMIT $3)
