-- Finds the requests of a batch that can't be appended, each with the first reason that applies;
-- dcb.append lists the reasons. head is the last position of the log. unsettled has the probes that a
-- lookup of one key could not rule out. Only these are compared with events. probe_id has the ids of
-- the events at probe_after (NULL: any).
-- If several events conflict with a request, the one with the lowest position counts, and for equal
-- positions the first probe.
DROP FUNCTION dcb.refusals(bigint, int[], uuid[], int[], text[], text[], bigint[], int[], int[], text[], bigint[]);
CREATE FUNCTION dcb.refusals(
    head bigint, known_request int[], known_id uuid[],
    probe_request int[], probe_type text[], probe_tags text[], probe_after bigint[], probe_id uuid[],
    unsettled int[],
    tracking_request int[], tracking_source text[], tracking_position bigint[]
) RETURNS TABLE (request int, reason int, "position" bigint)
LANGUAGE sql STABLE AS $$
    SELECT DISTINCT ON (f.request) f.request, f.reason, f.position
      FROM (
        SELECT k.request, 1 AS reason, NULL::bigint AS position
          FROM unnest(known_request, known_id) k(request, id)
         WHERE (SELECT e.position FROM dcb.event e WHERE e.id = k.id LIMIT 1) IS NOT NULL
        UNION ALL
        SELECT p.request, 2, CASE WHEN p.after <= head THEN p.after END
          FROM unnest(probe_request, probe_after, probe_id) p(request, after, id)
         WHERE p.after > head
            OR p.id <> (SELECT e.id FROM dcb.event e WHERE e.position = p.after)
        UNION ALL
        SELECT u.request, 3, t.position
          FROM unnest(tracking_request, tracking_source, tracking_position) u(request, source, position)
         CROSS JOIN LATERAL (
            SELECT r.position FROM dcb.tracking r
             WHERE r.source = u.source AND r.position >= u.position LIMIT 1) t
        UNION ALL
        SELECT p.request, 3 + p.probe, m.position
          FROM (SELECT s AS probe, probe_request[s] AS request, probe_type[s] AS type,
                       probe_tags[s]::text[] AS tags, probe_after[s] AS after
                  FROM unnest(unsettled) s
                 WHERE probe_after[s] < head OFFSET 0) p
         CROSS JOIN LATERAL dcb.first_match(p.type, p.tags, p.after) m(position)
         WHERE m.position IS NOT NULL
      ) f
     ORDER BY f.request, least(f.reason, 4), f.position, f.reason
$$;
