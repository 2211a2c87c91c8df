-- The requests of a batch that can't be appended to a log with this head, each with its first
-- reason (see dcb.append). Checks conditions only by the unsettled probes.
CREATE FUNCTION dcb.refusals(
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
        SELECT p.request, 4, m.position
          FROM (SELECT probe_request[s] AS request, probe_type[s] AS type,
                       probe_tags[s]::text[] AS tags, probe_after[s] AS after
                  FROM unnest(unsettled) s
                 WHERE probe_after[s] < head OFFSET 0) p
          -- With a type: the first events after p.after with the rarest of the tags. Ten of them are
          -- checked one by one; an eleventh means that there may be more.
          LEFT JOIN LATERAL (
            SELECT f.positions
              FROM unnest(p.tags) g(tag)
             CROSS JOIN LATERAL (
                SELECT ARRAY(SELECT t.position FROM dcb.event_tag t
                              WHERE t.key = dcb.tag_key(g.tag, p.type) AND t.position > p.after
                              ORDER BY t.position LIMIT 11) AS positions OFFSET 0) f
             WHERE p.type IS NOT NULL
             ORDER BY cardinality(f.positions) LIMIT 1) few ON true
         CROSS JOIN LATERAL (
            SELECT coalesce(
                (SELECT n.position FROM unnest(few.positions[:10]) n(position)
                  WHERE (SELECT e.type = p.type AND e.tags @> p.tags
                           FROM dcb.event e WHERE e.position = n.position) LIMIT 1),
                CASE WHEN cardinality(few.positions) <= 10 THEN NULL
                     ELSE (SELECT f.position
                             FROM dcb.first_match(p.type, p.tags, p.after) f(position))
                END) AS position) m
         WHERE m.position IS NOT NULL
      ) f
     ORDER BY f.request, f.reason, f.position
$$;
