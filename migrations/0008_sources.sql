-- safe: yes

CREATE TABLE sources (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  owner_id        INTEGER NOT NULL REFERENCES accounts (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('feed', 'webhook', 'native')),
  title           TEXT    NOT NULL,
  title_is_own    INTEGER NOT NULL DEFAULT 0 CHECK (title_is_own IN (0, 1)), -- given by the owner: a sync keeps it
  visibility      TEXT    NOT NULL DEFAULT 'public' CHECK (visibility IN ('public', 'private')),
  state           TEXT    NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'failing', 'paused')),
  state_since     INTEGER,           -- unix ms; when it came to be in this state
  state_reason    TEXT,              -- why it is failing or paused, for its owner
  next_sync_at    INTEGER,           -- unix ms; NULL: never (paused, or not a feed)
  last_sync_at    INTEGER,           -- unix ms; the last attempt that ended, well or badly
  last_success_at INTEGER,           -- unix ms
  failures        INTEGER NOT NULL DEFAULT 0, -- jobs that ran out of attempts since the last success
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  removed_at      INTEGER,           -- unix ms; deleted by its owner, hidden until a job has removed its posts
  -- random, hex; the Atom ids of its feed and its posts are derived from it
  id_seed         TEXT    NOT NULL DEFAULT (lower(hex(randomblob(16))))
) STRICT;

CREATE INDEX sources_owner ON sources (owner_id);
CREATE INDEX sources_due ON sources (next_sync_at) WHERE next_sync_at IS NOT NULL;
CREATE INDEX sources_behind ON sources (COALESCE(last_success_at, created_at))
  WHERE kind = 'feed' AND state <> 'paused';

-- What a source of kind feed remembers about its remote document.
CREATE TABLE feeds (
  source_id     INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  url           TEXT    NOT NULL,
  host          TEXT    NOT NULL,    -- of the URL; never two requests to one host at once
  site_url      TEXT,
  description   TEXT,
  credentials   TEXT,                -- its origin and what to tell it (HTTP Basic), sealed; NULL: no password
  had_password  INTEGER NOT NULL DEFAULT 0 CHECK (had_password IN (0, 1)), -- its posts come from behind one
  etag          TEXT,
  last_modified TEXT,
  ttl           INTEGER,             -- ms; what the document itself asks to wait between requests
  timed_out     INTEGER NOT NULL DEFAULT 0 CHECK (timed_out IN (0, 1)), -- the last try ran out of time
  body_hash     TEXT                 -- SHA-256 of the last body, for servers without validators
) STRICT;

CREATE INDEX feeds_url ON feeds (url);

-- How each day went: the last 30 with runs, which are syncs of a feed or events sent to a webhook. At most 40 bytes each.
CREATE TABLE source_days (
  source_id INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  day       INTEGER NOT NULL,        -- of UTC, counted from 1970
  runs      INTEGER NOT NULL,
  failed    INTEGER NOT NULL,        -- of the runs
  added     INTEGER NOT NULL,        -- posts
  PRIMARY KEY (source_id, day)
) STRICT, WITHOUT ROWID;

-- The last 20 runs of each source.
CREATE TABLE source_runs (
  source_id INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  run       INTEGER NOT NULL,        -- counted from 1
  ended_at  INTEGER NOT NULL,        -- unix ms
  times     INTEGER NOT NULL,        -- how often the same happened: events that are refused share a row
  failed    INTEGER NOT NULL CHECK (failed IN (0, 1)),
  added     INTEGER NOT NULL,        -- posts
  changed   INTEGER NOT NULL,        -- posts, without those that were added
  took_ms   INTEGER,                 -- NULL: unknown, or an event
  bytes     INTEGER,                 -- of the document or event; NULL: nothing was sent
  event     TEXT,                    -- its type; NULL: a sync, or no valid event
  note      TEXT,                    -- what went wrong, or what the owner should know; at most 300 characters
  PRIMARY KEY (source_id, run)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER sources_count_insert AFTER INSERT ON sources BEGIN
  INSERT INTO counts (metric, label, value) VALUES ('sources', NEW.kind || ',' || NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
  INSERT INTO counts (metric, value) VALUES ('content_version', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER sources_count_update AFTER UPDATE OF state ON sources WHEN OLD.state <> NEW.state BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'sources' AND label = OLD.kind || ',' || OLD.state;
  INSERT INTO counts (metric, label, value) VALUES ('sources', NEW.kind || ',' || NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER sources_count_delete AFTER DELETE ON sources BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'sources' AND label = OLD.kind || ',' || OLD.state;
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
-- What readers see of a source with its posts. Its sync times change often and show only on pages that are not cached.
CREATE TRIGGER sources_content_version AFTER UPDATE OF title, visibility, owner_id, removed_at ON sources
WHEN (OLD.title, OLD.visibility, OLD.owner_id, OLD.removed_at)
  IS NOT (NEW.title, NEW.visibility, NEW.owner_id, NEW.removed_at) BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
