WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT h.head, NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], NULL::json, NULL::bytea, NULL::bigint FROM h
UNION ALL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data, r.number
FROM (SELECT u.above, u.below, u.most, u.types::text[] AS types, u.tag, u.number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY u(above, below, most, types, tag, number) OFFSET 0) r
CROSS JOIN LATERAL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE (SELECT least(h.head + 1, r.below) - r.above FROM h) <= 256 AND e.position > r.above AND e.position < r.below AND (e.type = ANY (r.types)) IS NOT FALSE AND (r.tag IS NULL OR r.tag = ANY (e.tags))
ORDER BY e.position LIMIT r.most) e)
