WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT count(*), max(e.position), (SELECT h.head FROM h)
FROM (SELECT e.position FROM "log".event e
WHERE e.position > $1 AND e.position < $2
ORDER BY e.position ASC LIMIT $3) e
