SELECT count(*), max(e.position), (SELECT max(position) FROM "log".event)
FROM (SELECT e.position FROM "log".event e
WHERE e.position > $1 AND e.position < $2
ORDER BY e.position ASC LIMIT $3) e
