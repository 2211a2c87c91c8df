-- The commands after position $1, in order, at most $2.
SELECT c.position, c.events, e.recorded_at, c.type, c.metadata, c.data
  FROM dcb.command c JOIN dcb.event e USING (position)
 WHERE c.position > $1 ORDER BY c.position LIMIT $2
