-- Appends a batch of requests in one transaction: each whole, or refused and nothing of it written.
--
-- event_*     a row for each event, in order; request numbers the requests of the batch from 1.
--             A request without events is only checked
-- tag_*       a row for each tag of each event: the event's number and the tag's key (dcb.tag_key)
-- known_*     the ids that callers chose themselves, which may be stored already
-- probe_*     a row for each alternative of each condition: type (NULL: any), tags ({}: any), after,
--             and the key of one of the tags, the rarest as far as the caller knows (NULL: no tag);
--             where there is no type, the first key that the tag can have
-- recent_*    position and id of the last event, if the caller knows of no later one, and the
--             probes that are open then: all others can't match what comes after their after
-- tracking_*  the upstream positions that must increase
--
-- An array without elements is NULL: plpgsql takes every other one apart at entry. Tags come as
-- array literals, because an array of arrays can't be ragged, and a second time as keys, one after
-- the other: so no statement takes an array apart for each of its rows. Returns the head before
-- the batch; the accepted events follow it in order. For each refused request: its number, the
-- reason (1 an id is stored, 2 after is beyond the head, 3 tracked already, 4 conflict) and the
-- position that goes with reasons 3 and 4.
--
-- What is looked up is a scalar subquery with a limit wherever it can be: EXISTS becomes a join, for
-- which a planner that knows the tables as empty takes a walk through all of them.
--
-- The lock is taken before the statements: these then see all that was committed before it was got.
-- That needs READ COMMITTED. It is an expression, which costs a tenth of PERFORM.
CREATE FUNCTION dcb.append(
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
    locked   boolean;
    moment   timestamptz;
    open     int[]; -- the probes that have to be looked at
    suspects int[]; -- those that one glance does not settle
    places   int[]; -- for each event its number among those that are accepted, 0 if it is not;
                    -- NULL where all are
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'dcb.append needs a READ COMMITTED transaction, this one is %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    locked := pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int) IS NOT NULL;
    head := coalesce((SELECT e.position FROM dcb.event e ORDER BY e.position DESC LIMIT 1), 0);
    moment := clock_timestamp();

    IF probe_request IS NOT NULL THEN
        IF recent_position[1] = head
           AND recent_id[1] = (SELECT e.id FROM dcb.event e WHERE e.position = head) THEN
            open := recent_open;
        ELSE
            open := ARRAY(SELECT generate_subscripts(probe_request, 1));
        END IF;
    END IF;
    IF open IS NOT NULL THEN
        suspects := (
            SELECT array_agg(o.probe) FROM unnest(open) o(probe)
             WHERE CASE
                WHEN probe_after[o.probe] >= head THEN probe_after[o.probe] > head
                WHEN probe_key[o.probe] IS NULL THEN true
                ELSE (SELECT t.position FROM dcb.event_tag t
                       WHERE (t.key, t.position) > (probe_key[o.probe], probe_after[o.probe])
                         AND t.key <= probe_key[o.probe]
                                    | CASE probe_key[o.probe] & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
                       ORDER BY t.key, t.position LIMIT 1) IS NOT NULL END);
    END IF;
    IF known_request IS NOT NULL OR suspects IS NOT NULL OR tracking_request IS NOT NULL THEN
        SELECT array_agg(r.request), array_agg(r.reason), array_agg(r.position)
          INTO refused, reasons, positions
          FROM dcb.refusals(head, known_request, known_id,
                            probe_request, probe_type, probe_tags, probe_after, suspects,
                            tracking_request, tracking_source, tracking_position) r;
        IF refused IS NOT NULL THEN
            places := (
                SELECT array_agg(CASE WHEN e.accepted THEN e.place ELSE 0 END ORDER BY e.ordinal)
                  FROM (SELECT u.ordinal, o.accepted,
                               count(*) FILTER (WHERE o.accepted) OVER (ORDER BY u.ordinal) AS place
                          FROM unnest(event_request) WITH ORDINALITY u(request, ordinal)
                         CROSS JOIN LATERAL (SELECT u.request <> ALL (refused) AS accepted) o) e);
        END IF;
    END IF;

    WITH inserted AS (
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
        SELECT head + coalesce(places[u.ordinal], u.ordinal), moment,
               u.id, u.type, u.tags::text[], u.metadata::json, u.data
          FROM unnest(event_id, event_type, event_tags, event_metadata, event_data)
               WITH ORDINALITY u(id, type, tags, metadata, data, ordinal)
         WHERE places IS NULL OR places[u.ordinal] > 0
    )
    INSERT INTO dcb.event_tag (key, position)
    SELECT u.key, head + coalesce(places[u.event], u.event)
      FROM unnest(tag_event, tag_key) u(event, key)
     WHERE places IS NULL OR places[u.event] > 0;

    IF tracking_request IS NOT NULL THEN
        INSERT INTO dcb.tracking AS t (source, position)
        SELECT u.source, u.position
          FROM unnest(tracking_request, tracking_source, tracking_position) u(request, source, position)
         WHERE u.request = ANY (event_request) AND (refused IS NULL OR u.request <> ALL (refused))
            ON CONFLICT ON CONSTRAINT tracking_pkey DO UPDATE SET position = excluded.position;
    END IF;

    -- Whoever listens for appends shares this lock. A log without listeners is spared the NOTIFY,
    -- which takes turns with those of the whole cluster until it is committed.
    IF NOT pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int) THEN
        PERFORM pg_notify(trim('"' FROM left('dcb.event', -6)), '');
    END IF;
END
$$;
