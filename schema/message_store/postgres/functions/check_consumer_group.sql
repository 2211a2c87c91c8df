-- Raises an error unless member and size are both NULL or both valid.
CREATE FUNCTION message_store.check_consumer_group(member bigint, size bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    given text := format('(Consumer Group Member: %s, Consumer Group Size: %s)',
                         coalesce(member::text, '<NULL>'), coalesce(size::text, '<NULL>'));
BEGIN
    IF member IS NULL AND size IS NULL THEN
        RETURN;
    ELSIF member IS NULL OR size IS NULL THEN
        RAISE EXCEPTION 'Consumer group member and size must be specified %', given;
    ELSIF size < 1 THEN
        RAISE EXCEPTION 'Consumer group size must not be less than 1 %', given;
    ELSIF member < 0 THEN
        RAISE EXCEPTION 'Consumer group member must not be less than 0 %', given;
    ELSIF member >= size THEN
        RAISE EXCEPTION 'Consumer group member must be less than the group size %', given;
    END IF;
END
$$;
