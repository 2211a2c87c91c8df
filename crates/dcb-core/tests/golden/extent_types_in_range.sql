WITH h AS MATERIALIZED (SELECT max(position) AS head FROM "log".event) SELECT count(*), max(e.position), (SELECT h.head FROM h)
FROM (SELECT e.position FROM "log".event e
WHERE (SELECT least(h.head + 1, $2) - $1 FROM h) <= 256 AND e.position > $1 AND e.position < $2 AND e.type = ANY ($4)
ORDER BY e.position ASC LIMIT $3) e
