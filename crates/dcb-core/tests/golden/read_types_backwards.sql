WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT h.head, NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], NULL::json, NULL::bytea FROM h
UNION ALL (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM unnest($4::text[]) u(type)
CROSS JOIN LATERAL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE (e.type, e.position) > (u.type, $1) AND (e.type, e.position) < (u.type, $2)
ORDER BY e.type DESC, e.position DESC LIMIT $3) e
ORDER BY e.position DESC LIMIT $3)
