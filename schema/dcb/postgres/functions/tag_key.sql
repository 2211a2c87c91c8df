-- The key of a tag on events of one type. Its upper 40 bits are from the tag's hash and its lower 24
-- bits from the type's, so all keys of a tag are adjacent. Without a type (NULL), the lowest key that
-- the tag can have. The highest one is that plus 16777215.
CREATE FUNCTION dcb.tag_key(tag text, type text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (hashtextextended(tag, 0) & -16777216)
         | CASE WHEN type IS NULL THEN 0 ELSE hashtextextended(type, 0) & 16777215 END
$$;
