WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT n.count, n.last, (SELECT e.id FROM "log".event e
WHERE e.position = n.last), h.head, h.id
FROM (SELECT count(*) AS count, max(e.position) AS last
FROM (SELECT e.position FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position ASC LIMIT $3) e) n
LEFT JOIN h ON true
