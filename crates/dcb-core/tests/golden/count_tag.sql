SELECT count(*)
FROM (SELECT e.position FROM "log".event_tag t JOIN "log".event e ON e.position = t.position
WHERE t.key = "log".tag_key($5, $4) AND t.position > $1 AND t.position < $2
AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END
ORDER BY t.position ASC LIMIT $3) e
