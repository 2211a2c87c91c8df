-- The installed migrations.
CREATE TABLE dcb_migration (
    version      INTEGER NOT NULL PRIMARY KEY,
    installed_at TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP
) STRICT;
