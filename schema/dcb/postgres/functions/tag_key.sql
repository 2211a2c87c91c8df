-- The key of a tag on events of one type: 40 bits of the tag's hash, then 24 bits of the type's. The
-- keys of a tag are therefore adjacent. Without a type, the first key that the tag can have; the
-- last is 16777215 higher.
CREATE FUNCTION dcb.tag_key(tag text, type text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (hashtextextended(tag, 0) & -16777216)
         | CASE WHEN type IS NULL THEN 0 ELSE hashtextextended(type, 0) & 16777215 END
$$;
