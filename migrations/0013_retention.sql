-- safe: yes

-- The last time that old rows were removed, or the run that is under way.
CREATE TABLE retention_runs (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  started_at  INTEGER NOT NULL,      -- unix ms
  finished_at INTEGER,               -- unix ms; NULL while it is under way
  removed     TEXT    NOT NULL CHECK (json_valid(removed)) -- rows by kind, as of the last step
) STRICT;
