WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT h.head, NULL::timestamptz, h.id, NULL::text, NULL::text[], NULL::json, (SELECT string_agg(uuid_send(coalesce( (SELECT e.id FROM "log".event e
WHERE e.position = a.after), '00000000-0000-0000-0000-000000000000')), ''::bytea
ORDER BY a.number) FROM unnest($6::bigint[]) WITH ORDINALITY a(after, number)), NULL::bigint
FROM (SELECT) one
LEFT JOIN h ON true
UNION ALL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data, r.number
FROM (SELECT u.above, u.below, u.most, u.types::text[] AS types, u.tag, u.number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) WITH ORDINALITY u(above, below, most, types, tag, number) OFFSET 0) r
CROSS JOIN LATERAL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE (SELECT least(h.head + 1, r.below) - r.above FROM h) <= 256 AND e.position > r.above AND e.position < r.below AND (e.type = ANY (r.types)) IS NOT FALSE AND (r.tag IS NULL OR r.tag = ANY (e.tags))
ORDER BY e.position LIMIT r.most) e)
