-- Of the next $3 rows of dcb.event_tag after ($1, $2): how many there are, how many belong to no event,
-- and the last of them.
WITH part AS MATERIALIZED (
    SELECT t.key, t.position FROM dcb.event_tag t
     WHERE (t.key, t.position) > ($1, $2) ORDER BY t.key, t.position LIMIT $3
)
SELECT (SELECT count(*) FROM part),
       (SELECT count(*) FROM part p
         WHERE (SELECT true FROM dcb.event e CROSS JOIN LATERAL unnest(e.tags) u(tag)
                 WHERE e.position = p.position AND dcb.tag_key(u.tag, e.type) = p.key
                 LIMIT 1) IS NULL),
       (SELECT p.key FROM part p ORDER BY p.key DESC, p.position DESC LIMIT 1),
       (SELECT p.position FROM part p ORDER BY p.key DESC, p.position DESC LIMIT 1)
