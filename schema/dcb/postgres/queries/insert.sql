-- Appends a batch without reading the head: inserts its events behind the event that the writer
-- believes to be the last of the log. Returns the number of inserted events, or 0 if it inserted
-- nothing.
--
-- $1, $2     position and id of that event, each the first of an array
-- $3 to $7   the events: ids, types, tags, metadata, data
-- $8, $9     the tags of the events: number of the event, key
--
-- The snapshot is older than the lock, so it can't show the current head. If others have appended
-- since, their events have these positions, and the primary key refuses the INSERT. If the log's
-- lock is taken, another session is appending or clearing, and nothing is inserted. The statement
-- does not wait for the lock: it already holds locks on the tables, and would deadlock with a session
-- that empties the log and takes the locks in the other order.
--
-- The arrays are unnested in a SELECT list. If they were functions in FROM, the server would store
-- all their rows before it reads the first, which costs a batch of 100 events about 25 us.
WITH last AS MATERIALIZED (
    SELECT CASE
        WHEN pg_try_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int)
         AND (SELECT e.id FROM dcb.event e WHERE e.position = ($1::bigint[])[1]) = ($2::uuid[])[1]
        -- True. Also notifies the listeners, as dcb.append does.
        THEN pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int)
          OR pg_notification_queue_usage() >= 0.5
          OR pg_notify(trim('"' FROM left('dcb.event', -6)), '') IS NOT NULL
        END AS is_it
), inserted_tags AS (
    INSERT INTO dcb.event_tag (key, position)
    SELECT u.key, ($1::bigint[])[1] + u.event
      FROM (SELECT unnest($8::int[]) AS event, unnest($9::bigint[]) AS key) u
     WHERE (SELECT l.is_it FROM last l)
)
INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
SELECT ($1::bigint[])[1] + u.ordinal, statement_timestamp(),
       u.id, u.type, u.tags::text[], u.metadata::json, u.data
  FROM (SELECT generate_series(1, cardinality($3::uuid[])) AS ordinal,
               unnest($3::uuid[]) AS id, unnest($4::text[]) AS type,
               unnest($5::text[]) AS tags, unnest($6::text[]) AS metadata,
               unnest($7::bytea[]) AS data) u
 WHERE (SELECT l.is_it FROM last l)
