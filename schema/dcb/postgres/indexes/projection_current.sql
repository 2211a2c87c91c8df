CREATE UNIQUE INDEX projection_current ON dcb.projection (name) WHERE state = 'current';
