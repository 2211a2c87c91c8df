-- The first eight bytes of the MD5 of a text, as a signed big-endian number.
CREATE FUNCTION message_store.hash_64(value varchar) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ('x' || left(md5(value), 16))::bit(64)::bigint
$$;
