-- Replaced in version 3: see functions/append.
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
                            probe_request, probe_type, probe_tags, probe_after, unsettled,
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
    -- whole cluster until the commit.
    IF NOT pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int) THEN
        PERFORM pg_notify(trim('"' FROM left('dcb.event', -6)), '');
    END IF;
END
$$;
