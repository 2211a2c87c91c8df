WITH h AS MATERIALIZED ( SELECT position AS head, id FROM "log".event
ORDER BY position DESC LIMIT 1) SELECT n.count, n.last, (SELECT e.id FROM "log".event e
WHERE e.position = n.last), h.head, h.id
FROM (SELECT count(*) AS count, max(e.position) AS last
FROM (SELECT e.position FROM "log".event e
WHERE e.position > $1 AND e.position < $2
ORDER BY e.position ASC LIMIT $3) e) n
LEFT JOIN h ON true
