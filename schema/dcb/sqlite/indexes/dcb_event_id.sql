-- An id is in the log once.
CREATE UNIQUE INDEX dcb_event_id ON dcb_event (id);
