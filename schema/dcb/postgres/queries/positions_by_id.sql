-- The positions of the events with these ids.
SELECT e.id::text, e.position FROM dcb.event e WHERE e.id = ANY ($1)
