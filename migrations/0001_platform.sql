-- safe: yes
-- What every feature stands on: kept counts, jobs, heartbeats, rate limits.

-- Numbers that a scrape reads. They are kept as the data changes, never counted from it.
CREATE TABLE counts (
  metric TEXT NOT NULL,              -- without prefix: public_posts, sync_runs_total
  label  TEXT NOT NULL DEFAULT '',   -- label values in the order of the metric's labels, joined by commas
  value  REAL NOT NULL,
  PRIMARY KEY (metric, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE jobs (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  kind             TEXT    NOT NULL,                -- names the handler
  payload          TEXT    NOT NULL CHECK (json_valid(payload)),
  dedupe_key       TEXT,                            -- at most one live job per kind and key
  lane             TEXT,                            -- at most one running job per lane, such as a host
  owner            INTEGER,                         -- on whose account; owners take turns
  rank             INTEGER NOT NULL DEFAULT 1       -- of jobs with an owner: 0 asked for, 1 usual, 2 doubtful
                   CHECK (rank BETWEEN 0 AND 2),
  state            TEXT    NOT NULL DEFAULT 'queued'
                   CHECK (state IN ('queued', 'running', 'retrying', 'failed', 'done', 'discarded')),
  run_at           INTEGER NOT NULL,                -- unix ms; not before
  attempts         INTEGER NOT NULL DEFAULT 0,      -- counted when claimed
  max_attempts     INTEGER NOT NULL CHECK (max_attempts > 0),
  lease_token      TEXT,                            -- set while a worker holds the job
  lease_expires_at INTEGER,                         -- unix ms
  last_error       TEXT,
  progress         INTEGER,                         -- how much of a long one is done: posts, lines, rows; NULL: short
  progress_total   INTEGER,                         -- of so much; NULL: unknown
  created_at       INTEGER NOT NULL,
  finished_at      INTEGER,                         -- done, failed or discarded
  CHECK ((state = 'running') = (lease_token IS NOT NULL AND lease_expires_at IS NOT NULL))
) STRICT;

CREATE INDEX jobs_due ON jobs (kind, run_at, id) WHERE state IN ('queued', 'retrying');
CREATE INDEX jobs_turns ON jobs (kind, rank, owner, run_at, id)
  WHERE owner IS NOT NULL AND state IN ('queued', 'retrying');
CREATE INDEX jobs_leased ON jobs (lease_expires_at) WHERE state = 'running';
CREATE UNIQUE INDEX jobs_live ON jobs (kind, dedupe_key)
  WHERE dedupe_key IS NOT NULL AND state IN ('queued', 'retrying', 'running');
CREATE UNIQUE INDEX jobs_lane ON jobs (lane) WHERE lane IS NOT NULL AND state = 'running';
CREATE INDEX jobs_failed ON jobs (kind, dedupe_key) WHERE state = 'failed';
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE state IN ('done', 'discarded');

CREATE TRIGGER jobs_count_insert AFTER INSERT ON jobs BEGIN
  INSERT INTO counts (metric, label, value) VALUES ('jobs', NEW.kind || ',' || NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER jobs_count_update AFTER UPDATE OF state ON jobs WHEN OLD.state <> NEW.state BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'jobs' AND label = OLD.kind || ',' || OLD.state;
  INSERT INTO counts (metric, label, value) VALUES ('jobs', NEW.kind || ',' || NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER jobs_count_delete AFTER DELETE ON jobs BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'jobs' AND label = OLD.kind || ',' || OLD.state;
END;

CREATE TABLE heartbeats (
  program    TEXT    PRIMARY KEY,
  started_at INTEGER NOT NULL,       -- unix ms
  seen_at    INTEGER NOT NULL        -- unix ms
) STRICT, WITHOUT ROWID;

CREATE TABLE rate_limits (
  key        TEXT    PRIMARY KEY,    -- limit and whom it concerns: sign-in:203.0.113.7
  arrives_at INTEGER NOT NULL        -- unix ms; theoretical arrival time of the generic cell rate algorithm
) STRICT, WITHOUT ROWID;

CREATE INDEX rate_limits_idle ON rate_limits (arrives_at);
