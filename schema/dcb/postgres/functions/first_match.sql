-- The position of the first event after a position that has the type (NULL: any) and all the tags
-- ({}: any); NULL if there is none. Always one row.
--
-- Keys are hashes, so the event's type and tags decide. With a type, the first ten events with the
-- rarest of the tags are checked one by one; an eleventh means that there may be more. Then, and
-- without a type, the tags are intersected by a leapfrog walk: each step descends to the first
-- position of the next key at or after the candidate, until all keys agree. The number of rounds is
-- at most the number of events with the rarest tag.
CREATE FUNCTION dcb.first_match(wanted_type text, wanted_tags text[], after bigint)
RETURNS SETOF bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN wanted_tags = '{}' AND wanted_type IS NULL THEN
            (SELECT e.position FROM dcb.event e
              WHERE e.position > after ORDER BY e.position LIMIT 1)
        -- A row comparison. With separate comparisons, a planner with statistics may scan by
        -- position and filter out other types.
        WHEN wanted_tags = '{}' THEN
            (SELECT e.position FROM dcb.event e
              WHERE (e.type, e.position) > (wanted_type, after) AND e.type <= wanted_type
              ORDER BY e.type, e.position LIMIT 1)
        -- One tag and one type, the usual case: one descent.
        WHEN cardinality(wanted_tags) = 1 AND wanted_type IS NOT NULL THEN
            (SELECT t.position FROM dcb.event_tag t
              WHERE t.key = dcb.tag_key(wanted_tags[1], wanted_type) AND t.position > after
                AND (SELECT e.type = wanted_type AND e.tags @> wanted_tags
                       FROM dcb.event e WHERE e.position = t.position)
              ORDER BY t.position LIMIT 1)
        -- If one of the tags does not occur, nothing matches.
        WHEN wanted_type IS NULL AND EXISTS (
            SELECT FROM unnest(wanted_tags) g(tag)
             WHERE (SELECT t.position FROM dcb.event_tag t
                     WHERE (t.key, t.position) > (dcb.tag_key(g.tag, NULL), 0)
                       AND t.key <= dcb.tag_key(g.tag, NULL) + 16777215
                     ORDER BY t.key, t.position LIMIT 1) IS NULL)
            THEN NULL
        ELSE
            (SELECT coalesce(
                (SELECT n.position FROM unnest(few.positions[:10]) n(position)
                  WHERE (SELECT e.type = wanted_type AND e.tags @> wanted_tags
                           FROM dcb.event e WHERE e.position = n.position) LIMIT 1),
                CASE WHEN cardinality(few.positions) <= 10 THEN NULL ELSE
                (SELECT min(w.position)
                   FROM dcb.tag_keys(wanted_tags[1], wanted_type) k(key)
                  CROSS JOIN LATERAL (
                    WITH RECURSIVE step(candidate, turn, agreed, matches) AS (
                        SELECT after + 1, 1, 0, false
                        UNION ALL
                        SELECT r.reached, s.turn % cardinality(wanted_tags) + 1, a.agreed,
                               a.agreed = cardinality(wanted_tags) AND
                               (SELECT e.tags @> wanted_tags
                                       AND (wanted_type IS NULL OR e.type = wanted_type)
                                  FROM dcb.event e WHERE e.position = r.reached)
                          FROM step s
                         CROSS JOIN LATERAL (
                            SELECT s.candidate + CASE s.agreed WHEN cardinality(wanted_tags) THEN 1 ELSE 0 END AS least
                         ) c
                         CROSS JOIN LATERAL (
                            -- The low bits of a key are the type, which is the same for every tag of an
                            -- event.
                            SELECT t.position AS reached FROM dcb.event_tag t
                             WHERE t.key = (dcb.tag_key(wanted_tags[s.turn], NULL) | (k.key & 16777215))
                               AND t.position >= c.least
                             ORDER BY t.position LIMIT 1
                         ) r
                         CROSS JOIN LATERAL (
                            SELECT CASE WHEN r.reached = s.candidate THEN s.agreed ELSE 0 END + 1 AS agreed
                         ) a
                         WHERE NOT s.matches
                    )
                    SELECT s.candidate AS position FROM step s WHERE s.matches
                  ) w)
                END)
               FROM (SELECT) one
               LEFT JOIN LATERAL (
                SELECT f.positions
                  FROM unnest(wanted_tags) g(tag)
                 CROSS JOIN LATERAL (
                    SELECT ARRAY(SELECT t.position FROM dcb.event_tag t
                                  WHERE t.key = dcb.tag_key(g.tag, wanted_type) AND t.position > after
                                  ORDER BY t.position LIMIT 11) AS positions OFFSET 0) f
                 WHERE wanted_type IS NOT NULL
                 ORDER BY cardinality(f.positions) LIMIT 1) few ON true)
    END
$$;
