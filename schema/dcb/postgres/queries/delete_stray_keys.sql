-- Deletes the rows of dcb.event_tag that belong to no event.
DELETE FROM dcb.event_tag t
 WHERE (SELECT true FROM dcb.event e CROSS JOIN LATERAL unnest(e.tags) u(tag)
         WHERE e.position = t.position AND dcb.tag_key(u.tag, e.type) = t.key
         LIMIT 1) IS NULL
