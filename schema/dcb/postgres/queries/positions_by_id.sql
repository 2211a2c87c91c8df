-- The positions of the events with these ids. Waits for a synchronous standby, as `events_by_id.sql`
-- does.
SELECT e.id::text, e.position,
       CASE WHEN current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery()
            THEN pg_logical_emit_message(true, 'dcb', '')::text END
  FROM dcb.event e WHERE e.id = ANY ($1)
