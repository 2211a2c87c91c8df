WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT n.count, n.last, (SELECT e.id FROM "log".event e
WHERE e.position = n.last), h.head, h.id
FROM (SELECT count(*) AS count, max(e.position) AS last
FROM (SELECT e.position FROM unnest($4::text[]) u(type)
CROSS JOIN LATERAL ( SELECT e.position FROM "log".event e
WHERE (e.type, e.position) > (u.type, $1) AND (e.type, e.position) < (u.type, $2)
ORDER BY e.type ASC, e.position ASC LIMIT $3) e
ORDER BY e.position ASC LIMIT $3) e) n
LEFT JOIN h ON true
