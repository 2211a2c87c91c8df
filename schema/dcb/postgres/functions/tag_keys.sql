-- The key of a tag on events of this type. Without a type (NULL), the keys of the tag on all types
-- that occur with it, found by a skip scan with one descent per key.
CREATE FUNCTION dcb.tag_keys(wanted_tag text, wanted_type text) RETURNS SETOF bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE found(key) AS (
        SELECT CASE WHEN wanted_type IS NOT NULL THEN dcb.tag_key(wanted_tag, wanted_type)
               ELSE (SELECT t.key FROM dcb.event_tag t
                      WHERE t.key >= dcb.tag_key(wanted_tag, NULL)
                        AND t.key <= dcb.tag_key(wanted_tag, NULL) + 16777215
                      ORDER BY t.key, t.position LIMIT 1) END
        UNION ALL
        SELECT (SELECT t.key FROM dcb.event_tag t
                 WHERE t.key > f.key AND t.key <= dcb.tag_key(wanted_tag, NULL) + 16777215
                 ORDER BY t.key, t.position LIMIT 1)
          FROM found f WHERE f.key IS NOT NULL AND wanted_type IS NULL
    )
    SELECT f.key FROM found f WHERE f.key IS NOT NULL
$$;
