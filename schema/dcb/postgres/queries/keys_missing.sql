-- The number of keys that dcb.event_tag lacks of the events with $1 < position <= $2, and the first
-- position that lacks one. A scalar subquery, because a join might scan the whole table for each part.
SELECT count(*), min(e.position)
  FROM (SELECT DISTINCT dcb.tag_key(u.tag, e.type) AS key, e.position
          FROM dcb.event e CROSS JOIN LATERAL unnest(e.tags) u(tag)
         WHERE e.position > $1 AND e.position <= $2) e
 WHERE (SELECT t.position FROM dcb.event_tag t
         WHERE t.key = e.key AND t.position = e.position) IS NULL
