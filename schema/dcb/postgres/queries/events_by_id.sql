-- The events with these ids.
SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
  FROM dcb.event e WHERE e.id = ANY ($1)
