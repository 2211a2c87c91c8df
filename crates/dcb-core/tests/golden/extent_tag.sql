WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT count(*), max(e.position), (SELECT h.head FROM h)
FROM (SELECT e.position FROM "log".event_tag t
CROSS JOIN LATERAL ( SELECT * FROM "log".event e
WHERE e.position = t.position OFFSET 0) e
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position ASC LIMIT $3) e
