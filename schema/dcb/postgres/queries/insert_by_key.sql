-- insert.sql for a batch with open probes: inserts nothing if one of them may match. A separate
-- statement, because even a lookup that does not run costs the server time to set up.
--
-- $1 to $9   as in insert.sql
-- $10        the open probes
-- $11, $12   of every probe: after, and the key that is likely the rarest
--
-- $2 also has, after that id, for each probe the id of the event at its after (NULL: any).
--
-- A probe may match if its key occurs after its position. A key without type bits stands for every
-- key of its tag. A probe whose position is beyond the last event, or has another event, counts as a
-- match too, so that dcb.append refuses it.
WITH last AS MATERIALIZED (
    SELECT CASE
        WHEN pg_try_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int)
         AND (SELECT e.id FROM dcb.event e WHERE e.position = ($1::bigint[])[1]) = ($2::uuid[])[1]
         AND (SELECT 1
                FROM (SELECT ($11::bigint[])[o.probe] AS after, ($12::bigint[])[o.probe] AS key,
                             ($2::uuid[])[1 + o.probe] AS after_id
                        FROM unnest($10::int[]) o(probe)) p
               WHERE CASE
                    WHEN p.after > ($1::bigint[])[1] THEN 1
                    WHEN p.after_id IS NOT NULL
                     AND p.after_id <> (SELECT e.id FROM dcb.event e WHERE e.position = p.after) THEN 1
                    ELSE
                    (SELECT t.position FROM dcb.event_tag t
                      WHERE (t.key, t.position) > (p.key, p.after)
                        AND t.key <= p.key | CASE p.key & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
                      ORDER BY t.key, t.position LIMIT 1)
                    END IS NOT NULL
               LIMIT 1) IS NULL
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
