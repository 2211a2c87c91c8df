-- Inserts the missing keys of the events with $1 < position <= $2.
INSERT INTO dcb.event_tag (key, position)
SELECT DISTINCT dcb.tag_key(u.tag, e.type), e.position
  FROM dcb.event e CROSS JOIN LATERAL unnest(e.tags) u(tag)
 WHERE e.position > $1 AND e.position <= $2
    ON CONFLICT DO NOTHING
