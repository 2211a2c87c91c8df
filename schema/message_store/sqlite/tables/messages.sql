CREATE TABLE messages (
  global_position INTEGER PRIMARY KEY,
  position INTEGER NOT NULL,
  time INTEGER NOT NULL,
  stream_name TEXT NOT NULL,
  category TEXT NOT NULL,
  type TEXT NOT NULL,
  -- The JSON text as it was given, or a zstd frame of it, which is a BLOB.
  data ANY NOT NULL,
  metadata ANY,
  id BLOB NOT NULL,
  -- The category of the metadata's correlationStreamName.
  correlation TEXT
) STRICT
