-- Appends a batch of requests in one transaction. Each request is appended whole, or refused with
-- nothing written.
--
-- event_*     one row per event, in order; request is the number of the event's request in the
--             batch, from 1. A request without events is only checked
-- tag_*       one row per tag of each event: the number of the event and the tag's key (dcb.tag_key)
-- known_*     the ids that callers chose, which may be stored already
-- probe_*     one row per alternative of each condition: type (NULL: any), tags ({}: any), after, and
--             the key of the tag that is the rarest as far as the caller knows (NULL: no tag).
--             Without a type it is the first of the keys that the tag can have
-- recent_*    position and id of the last event that the caller knows, and the probes that are open
--             if that event is the last of the log: no other probe can match then. After that id,
--             recent_id has for each probe the id of the event at its after (NULL: any, or another
--             probe of the condition has it). The caller knows those of the other probes
-- tracking_*  the upstream positions that must increase
--
-- Returns the head before the batch; the accepted events follow it in order. For each refused
-- request it returns the number, the reason (1 an id is stored, 2 after is beyond the head or, with a
-- position, another event is there, 3 tracked already, 3 + n conflict with probe n) and, from reason 3
-- on, a position.
--
-- An array without elements is passed as NULL, because plpgsql expands every other array at entry.
-- Tags are array literals, because an array of arrays can't be ragged. Their keys are a flat array,
-- so that no statement has to unnest an array per row.
--
-- Lookups are scalar subqueries with a limit wherever possible. EXISTS would become a join, and a
-- planner that believes the tables are empty would scan them.
--
-- The lock is taken before the first statement, so that every statement sees all that was committed
-- before the lock was granted. That requires READ COMMITTED. The call is an expression, because
-- PERFORM costs ten times as much.
CREATE OR REPLACE FUNCTION dcb.append(
    event_request int[], event_id uuid[], event_type text[], event_tags text[],
    event_metadata text[], event_data bytea[],
    tag_event int[], tag_key bigint[],
    known_request int[], known_id uuid[],
    probe_request int[], probe_type text[], probe_tags text[], probe_after bigint[], probe_key bigint[],
    recent_position bigint[], recent_id uuid[], recent_open int[],
    tracking_request int[], tracking_source text[], tracking_position bigint[],
    OUT head bigint, OUT refused int[], OUT reasons int[], OUT positions bigint[]
) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
    locked      boolean;
    appended_at timestamptz;
    open_probes int[]; -- the probes to check
    unsettled   int[]; -- the open probes that one index descent does not settle
    ordinals    int[]; -- for each event its number among the accepted ones, 0 if it is refused;
                       -- NULL if all are accepted
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'dcb.append needs a READ COMMITTED transaction, this one is %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    locked := pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int) IS NOT NULL;
    head := coalesce((SELECT e.position FROM dcb.event e ORDER BY e.position DESC LIMIT 1), 0);
    appended_at := clock_timestamp();

    -- Position and id both: after dcb.event was cleared, another event may have the position.
    IF probe_request IS NOT NULL THEN
        IF recent_position[1] = head
           AND recent_id[1] = (SELECT e.id FROM dcb.event e WHERE e.position = head) THEN
            open_probes := recent_open;
        ELSE
            open_probes := ARRAY(SELECT generate_subscripts(probe_request, 1));
        END IF;
    END IF;
    IF open_probes IS NOT NULL THEN
        unsettled := (
            SELECT array_agg(o.probe) FROM unnest(open_probes) o(probe)
             WHERE CASE
                WHEN recent_id[1 + o.probe] IS NOT NULL
                 AND recent_id[1 + o.probe] <> (SELECT e.id FROM dcb.event e
                                                 WHERE e.position = probe_after[o.probe]) THEN true
                WHEN probe_after[o.probe] >= head THEN probe_after[o.probe] > head
                WHEN probe_key[o.probe] IS NULL THEN true
                ELSE (SELECT t.position FROM dcb.event_tag t
                       WHERE (t.key, t.position) > (probe_key[o.probe], probe_after[o.probe])
                         AND t.key <= probe_key[o.probe]
                                    | CASE probe_key[o.probe] & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
                       ORDER BY t.key, t.position LIMIT 1) IS NOT NULL END);
    END IF;
    IF known_request IS NOT NULL OR unsettled IS NOT NULL OR tracking_request IS NOT NULL THEN
        SELECT array_agg(r.request), array_agg(r.reason), array_agg(r.position)
          INTO refused, reasons, positions
          FROM dcb.refusals(head, known_request, known_id,
                            probe_request, probe_type, probe_tags, probe_after, recent_id[2:], unsettled,
                            tracking_request, tracking_source, tracking_position) r;
        IF refused IS NOT NULL THEN
            ordinals := (
                SELECT array_agg(CASE WHEN e.accepted THEN e.new_ordinal ELSE 0 END ORDER BY e.ordinal)
                  FROM (SELECT u.ordinal, o.accepted,
                               count(*) FILTER (WHERE o.accepted) OVER (ORDER BY u.ordinal) AS new_ordinal
                          FROM unnest(event_request) WITH ORDINALITY u(request, ordinal)
                         CROSS JOIN LATERAL (SELECT u.request <> ALL (refused) AS accepted) o) e);
        END IF;
    END IF;

    WITH inserted AS (
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
        SELECT head + coalesce(ordinals[u.ordinal], u.ordinal), appended_at,
               u.id, u.type, u.tags::text[], u.metadata::json, u.data
          FROM unnest(event_id, event_type, event_tags, event_metadata, event_data)
               WITH ORDINALITY u(id, type, tags, metadata, data, ordinal)
         WHERE ordinals IS NULL OR ordinals[u.ordinal] > 0
    )
    INSERT INTO dcb.event_tag (key, position)
    SELECT u.key, head + coalesce(ordinals[u.event], u.event)
      FROM unnest(tag_event, tag_key) u(event, key)
     WHERE ordinals IS NULL OR ordinals[u.event] > 0;

    IF tracking_request IS NOT NULL THEN
        INSERT INTO dcb.tracking AS t (source, position)
        SELECT u.source, u.position
          FROM unnest(tracking_request, tracking_source, tracking_position) u(request, source, position)
         WHERE u.request = ANY (event_request) AND (refused IS NULL OR u.request <> ALL (refused))
            ON CONFLICT ON CONSTRAINT tracking_pkey DO UPDATE SET position = excluded.position;
    END IF;

    -- Listeners share this lock. Without listeners there is no NOTIFY: it would hold a lock of the
    -- whole cluster until the commit. Nor is there one while the server's queue of notifications is
    -- half full, because a full queue fails the commit. Asking for the usage also makes the server
    -- drop what every listener has read.
    IF NOT pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int)
       AND pg_notification_queue_usage() < 0.5 THEN
        PERFORM pg_notify(trim('"' FROM left('dcb.event', -6)), '');
    END IF;
END
$$;
