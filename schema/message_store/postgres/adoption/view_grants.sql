-- Grants the rights on the views again that their predecessors had.
DO $$
DECLARE
    kept record;
BEGIN
    FOR kept IN SELECT g.*, r.rolname FROM pg_temp.view_grant g
                  LEFT JOIN pg_catalog.pg_roles r ON r.oid = g.grantee
                 WHERE to_regclass('message_store.' || quote_ident(g.view)) IS NOT NULL
    LOOP
        EXECUTE format('GRANT %s ON message_store.%I TO %s %s', kept.privilege, kept.view,
                       coalesce(quote_ident(kept.rolname), 'PUBLIC'),
                       CASE WHEN kept.is_grantable THEN 'WITH GRANT OPTION' END);
    END LOOP;
END
$$;

-- A temporary table that stays would count as an object of the fresh installation in the check.
DROP TABLE pg_temp.view_grant;
