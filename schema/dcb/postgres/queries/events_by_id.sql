-- The events with these ids, for the answer to an append that found them. If the session of that append
-- was ended while its commit waited for a synchronous standby, they are visible before the standby has
-- them. The message is a write of this transaction: its commit waits until the standby has everything.
SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data,
       CASE WHEN current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery()
            THEN pg_logical_emit_message(true, 'dcb', '')::text END
  FROM dcb.event e WHERE e.id = ANY ($1)
