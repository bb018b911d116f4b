-- safe: yes
-- What the hub was like: figures for the plots of the overview, runs of backups, the certificate of its address.

-- Where each figure stands in the arrays of `history`. A place is never given to another figure.
CREATE TABLE history_figures (
  position INTEGER PRIMARY KEY,      -- from 0
  name     TEXT    NOT NULL UNIQUE
) STRICT;

-- At most 577 rows of five minutes (two days) and 1441 of an hour (60 days), 1.5 MB.
CREATE TABLE history (
  step    INTEGER NOT NULL,          -- ms; how long the bucket lasts
  at      INTEGER NOT NULL,          -- unix ms; when it begins, a multiple of the step
  figures TEXT    NOT NULL CHECK (json_valid(figures)), -- numbers by position, null for what is not known
  PRIMARY KEY (step, at)
) STRICT, WITHOUT ROWID;

-- What was last read: web's figures of itself, and the counters from which the next bucket is reckoned.
CREATE TABLE history_readings (
  name    TEXT    PRIMARY KEY,
  at      INTEGER NOT NULL,          -- unix ms
  reading TEXT    NOT NULL CHECK (json_valid(reading))
) STRICT, WITHOUT ROWID;

-- Runs of backups here and elsewhere, of 60 days and at most 500 for each place.
CREATE TABLE backup_runs (
  place   TEXT    NOT NULL,          -- 'here', or the name of an off-site destination
  at      INTEGER NOT NULL,          -- unix ms; when it ended
  result  TEXT    NOT NULL CHECK (result IN ('good', 'degraded', 'failed')),
  bytes   INTEGER,
  seconds REAL    NOT NULL,
  problem TEXT,
  PRIMARY KEY (place, at)
) STRICT, WITHOUT ROWID;

-- What the worker last saw of the certificate at BASE_URL.
CREATE TABLE certificates (
  origin     TEXT    PRIMARY KEY,    -- of BASE_URL
  checked_at INTEGER NOT NULL,       -- unix ms
  expires_at INTEGER,                -- unix ms; of the last one that was seen
  problem    TEXT                    -- why the last look saw none, or browsers refuse it
) STRICT, WITHOUT ROWID;

-- Since when something fails.
CREATE INDEX sources_failing ON sources (state_since) WHERE state = 'failing';
CREATE INDEX jobs_failed_at ON jobs (finished_at) WHERE state = 'failed';
