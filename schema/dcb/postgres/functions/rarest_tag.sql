-- The tag with the fewest events of the type (NULL: any). Counts at most 256 events per tag. No row if
-- there is no tag. OFFSET 0 stops the planner from repeating the count wherever the tag is used.
CREATE FUNCTION dcb.rarest_tag(wanted_type text, wanted_tags text[]) RETURNS SETOF text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN cardinality(wanted_tags) = 1 THEN wanted_tags[1] ELSE (
        SELECT g.tag FROM unnest(wanted_tags) g(tag)
         ORDER BY (SELECT count(*) FROM (
                    SELECT FROM dcb.event_tag t
                     WHERE t.key >= dcb.tag_key(g.tag, wanted_type)
                       AND t.key <= dcb.tag_key(g.tag, wanted_type)
                                  + CASE WHEN wanted_type IS NULL THEN 16777215 ELSE 0 END
                     LIMIT 256) few)
         LIMIT 1) END
     WHERE wanted_tags <> '{}' OFFSET 0
$$;
