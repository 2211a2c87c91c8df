WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT count(*), max(e.position), (SELECT h.head FROM h)
FROM (SELECT e.position FROM unnest($4::text[]) u(type)
CROSS JOIN LATERAL ( SELECT e.position FROM "log".event e
WHERE (e.type, e.position) > (u.type, $1) AND (e.type, e.position) < (u.type, $2)
ORDER BY e.type ASC, e.position ASC LIMIT $3) e
ORDER BY e.position ASC LIMIT $3) e
