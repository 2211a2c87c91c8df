WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT count(*), max(e.position), (SELECT h.head FROM h)
FROM (SELECT e.position FROM "log".event e
WHERE (e.type, e.position) > ($4, $1) AND (e.type, e.position) < ($4, $2)
ORDER BY e.type ASC, e.position ASC LIMIT $3) e
