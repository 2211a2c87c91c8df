-- Appends a batch of requests in one transaction: each whole, or refused and nothing of it written.
--
-- event_*     a row for each event, in order; request numbers the requests of the batch from 1.
--             A request without events is only checked
-- known_*     the ids that callers chose themselves, which may be stored already
-- probe_*     a row for each alternative of each condition: type (NULL: any), tags ({}: any), after
-- tracking_*  the upstream positions that must increase
--
-- Tags come as array literals: an array of arrays can't be ragged. Returns the head before the
-- batch; the accepted events follow it in order. For each refused request: its number, the reason
-- (1 an id is stored, 2 after is beyond the head, 3 tracked already, 4 conflict) and the position
-- that goes with reasons 3 and 4.
--
-- What is looked up is a scalar subquery with a limit wherever it can be: EXISTS becomes a join, for
-- which a planner that knows the tables as empty takes a walk through all of them.
--
-- The lock is taken in a statement of its own: those that follow then see all that was committed
-- before the lock was got. That needs READ COMMITTED.
CREATE FUNCTION dcb.append(
    event_request int[], event_id uuid[], event_type text[], event_tags text[],
    event_metadata text[], event_data bytea[],
    known_request int[], known_id uuid[],
    probe_request int[], probe_type text[], probe_tags text[], probe_after bigint[],
    tracking_request int[], tracking_source text[], tracking_position bigint[],
    OUT head bigint, OUT refused int[], OUT reasons int[], OUT positions bigint[]
) LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
DECLARE
    moment   timestamptz;
    suspects int[]; -- the probes that a glance at each tag does not settle
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE 'dcb.append needs a READ COMMITTED transaction, this one is %',
            upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int);
    head := coalesce((SELECT e.position FROM dcb.event e ORDER BY e.position DESC LIMIT 1), 0);
    moment := clock_timestamp();

    IF probe_request <> '{}' THEN
        suspects := (
            SELECT array_agg(p.ordinal)
              FROM unnest(probe_type, probe_tags, probe_after)
                   WITH ORDINALITY p(type, tags, after, ordinal)
             WHERE p.after > head OR p.after < head AND (p.tags = '{}' OR NOT EXISTS (
                SELECT FROM unnest(p.tags::text[]) g(tag)
                 WHERE (SELECT t.position FROM dcb.event_tag t
                         WHERE (t.key, t.position) > (dcb.tag_key(g.tag, p.type),
                                                      CASE WHEN p.type IS NULL THEN 0 ELSE p.after END)
                           AND t.key <= dcb.tag_key(g.tag, p.type)
                                      + CASE WHEN p.type IS NULL THEN 16777215 ELSE 0 END
                         ORDER BY t.key, t.position LIMIT 1) IS NULL)));
    END IF;
    IF known_request <> '{}' OR suspects <> '{}' OR tracking_request <> '{}' THEN
        SELECT array_agg(r.request), array_agg(r.reason), array_agg(r.position)
          INTO refused, reasons, positions
          FROM dcb.refusals(head, known_request, known_id,
                            probe_request, probe_type, probe_tags, probe_after, suspects,
                            tracking_request, tracking_source, tracking_position) r;
    END IF;

    WITH accepted AS (
        SELECT head + row_number() OVER (ORDER BY u.ordinal) AS position,
               u.id, u.type, u.tags::text[] AS tags, u.metadata::json AS metadata, u.data
          FROM unnest(event_request, event_id, event_type, event_tags, event_metadata, event_data)
               WITH ORDINALITY u(request, id, type, tags, metadata, data, ordinal)
         WHERE refused IS NULL OR u.request <> ALL (refused)
    ), inserted AS (
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
        SELECT a.position, moment, a.id, a.type, a.tags, a.metadata, a.data FROM accepted a
    )
    INSERT INTO dcb.event_tag (key, position)
    SELECT dcb.tag_key(g.tag, a.type), a.position FROM accepted a, unnest(a.tags) g(tag);

    IF tracking_request <> '{}' THEN
        INSERT INTO dcb.tracking AS t (source, position)
        SELECT u.source, u.position
          FROM unnest(tracking_request, tracking_source, tracking_position) u(request, source, position)
         WHERE u.request = ANY (event_request) AND (refused IS NULL OR u.request <> ALL (refused))
            ON CONFLICT ON CONSTRAINT tracking_pkey DO UPDATE SET position = excluded.position;
    END IF;
END
$$;
