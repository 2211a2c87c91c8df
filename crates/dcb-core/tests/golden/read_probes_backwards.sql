WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT h.head, NULL::timestamptz, h.id, NULL::text, NULL::text[], NULL::json, uuid_send(CASE WHEN $2 = h.head THEN h.id WHEN $2 > 0 AND $2 < h.head THEN (SELECT e.id FROM "log".event e
WHERE e.position = $2) END)
FROM (SELECT) one
LEFT JOIN h ON true
UNION ALL (SELECT DISTINCT ON (e.position) e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
FROM (SELECT u.type, u.tags::text[] AS tags FROM unnest($4::text[], $5::text[]) u(type, tags) OFFSET 0) p
CROSS JOIN LATERAL ( (SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event e
WHERE p.tags = '{}' AND (e.type, e.position) > (p.type, $1) AND (e.type, e.position) < (p.type, $2)
ORDER BY e.type DESC, e.position DESC LIMIT $3)
UNION ALL (SELECT e.* FROM "log".rarest_tag(p.type, p.tags) d(tag)
CROSS JOIN LATERAL "log".tag_keys(d.tag, p.type) k(key)
CROSS JOIN LATERAL ( SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = k.key AND t.position > $1 AND t.position < $2
AND CASE WHEN p.type IS NULL OR e.type = p.type THEN e.tags @> p.tags END
ORDER BY t.position DESC LIMIT $3) e
WHERE p.tags <> '{}') ) e
ORDER BY e.position DESC LIMIT $3)
