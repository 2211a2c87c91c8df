CREATE TABLE namespace (
  name TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL,
  attributes TEXT
) STRICT, WITHOUT ROWID
