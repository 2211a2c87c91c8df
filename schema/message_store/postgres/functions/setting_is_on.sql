-- Whether one of the settings sql_condition, debug, debug_get and debug_write is on. Their prefix is
-- message_store in every namespace.
CREATE FUNCTION message_store.setting_is_on(setting_name varchar) RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(lower(current_setting(concat_ws('.', 'message_store', setting_name), true))
                    IN ('on', 'true', 'yes', '1'), false)
$$;
