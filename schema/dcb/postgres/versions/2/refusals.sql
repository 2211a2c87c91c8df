-- Replaced in version 3: see functions/refusals.
CREATE OR REPLACE FUNCTION dcb.refusals(
    head bigint, known_request int[], known_id uuid[],
    probe_request int[], probe_type text[], probe_tags text[], probe_after bigint[],
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
        SELECT p.request, 2, NULL
          FROM unnest(probe_request, probe_after) p(request, after)
         WHERE p.after > head
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
