-- The first event without a key in dcb.event_tag, among the first and the last event that have tags.
-- Looks for such events among 100 at each end, so the cost does not depend on the length of the log.
SELECT min(e.position)
  FROM ((SELECT f.position, f.type, f.tags
           FROM (SELECT e.position, e.type, e.tags FROM dcb.event e ORDER BY e.position LIMIT 100) f
          WHERE f.tags <> '{}' ORDER BY f.position LIMIT 1)
        UNION ALL
        (SELECT l.position, l.type, l.tags
           FROM (SELECT e.position, e.type, e.tags FROM dcb.event e ORDER BY e.position DESC LIMIT 100) l
          WHERE l.tags <> '{}' ORDER BY l.position DESC LIMIT 1)) e
 CROSS JOIN LATERAL unnest(e.tags) u(tag)
 WHERE (SELECT t.position FROM dcb.event_tag t
         WHERE t.key = dcb.tag_key(u.tag, e.type) AND t.position = e.position) IS NULL
