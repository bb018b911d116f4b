-- safe: yes

CREATE TABLE attachments (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  url_key          TEXT    NOT NULL DEFAULT (lower(hex(randomblob(8)))), -- random part of its address
  post_id          INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
  kind             TEXT    NOT NULL CHECK (kind IN ('native', 'remote')),
  position         INTEGER NOT NULL, -- within its post
  filename         TEXT    NOT NULL,
  media_type       TEXT,             -- as the publisher says for remote ones
  bytes            INTEGER,
  sha256           TEXT,             -- of native ones
  remote_url       TEXT,
  title            TEXT,
  duration_seconds INTEGER,          -- of podcasts
  owner_id         INTEGER REFERENCES accounts (id), -- of native ones: whose quota they count for
  is_inline        INTEGER NOT NULL DEFAULT 0, -- an image within the content, not listed below it
  created_at       INTEGER NOT NULL
) STRICT;

CREATE INDEX attachments_post ON attachments (post_id, position);
CREATE INDEX attachments_upload ON attachments (sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX attachments_owner ON attachments (owner_id) WHERE owner_id IS NOT NULL;

-- Files that people gave us, once each: uploads/<first two digits>/<sha256> in DATA_DIR. The file comes before the row.
CREATE TABLE uploads (
  sha256        TEXT    PRIMARY KEY, -- of the bytes, hex
  bytes         INTEGER NOT NULL,
  media_type    TEXT    NOT NULL,    -- decided by content
  width         INTEGER,             -- pixels, of images
  height        INTEGER,
  scan          TEXT    NOT NULL CHECK (scan IN ('clean', 'unscanned', 'infected')),
  created_at    INTEGER NOT NULL,
  unnamed_since INTEGER              -- unix ms; no attachment has named it since; NULL while one does
) STRICT, WITHOUT ROWID;

CREATE INDEX uploads_unnamed ON uploads (unnamed_since) WHERE unnamed_since IS NOT NULL;
CREATE INDEX uploads_unscanned ON uploads (sha256) WHERE scan = 'unscanned';

CREATE TRIGGER uploads_count_insert AFTER INSERT ON uploads BEGIN
  INSERT INTO counts (metric, value) VALUES ('uploads_bytes', NEW.bytes)
    ON CONFLICT DO UPDATE SET value = value + NEW.bytes;
END;
CREATE TRIGGER uploads_count_delete AFTER DELETE ON uploads BEGIN
  UPDATE counts SET value = value - OLD.bytes WHERE metric = 'uploads_bytes';
END;
-- A verdict changes what readers see of every post with the file.
CREATE TRIGGER uploads_content_version AFTER UPDATE OF scan ON uploads WHEN OLD.scan <> NEW.scan BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;

-- Bytes of native attachments by account, for its quota.
CREATE TABLE upload_usage (
  account_id INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  bytes      INTEGER NOT NULL
) STRICT;

CREATE TRIGGER attachments_usage_insert AFTER INSERT ON attachments WHEN NEW.owner_id IS NOT NULL BEGIN
  INSERT INTO upload_usage (account_id, bytes) VALUES (NEW.owner_id, NEW.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;
CREATE TRIGGER attachments_usage_delete AFTER DELETE ON attachments WHEN OLD.owner_id IS NOT NULL BEGIN
  UPDATE upload_usage SET bytes = bytes - OLD.bytes WHERE account_id = OLD.owner_id;
END;
CREATE TRIGGER attachments_owner_change AFTER UPDATE OF owner_id ON posts WHEN OLD.owner_id <> NEW.owner_id BEGIN
  UPDATE attachments SET owner_id = NEW.owner_id WHERE post_id = NEW.id AND owner_id IS NOT NULL;
END;
CREATE TRIGGER attachments_usage_update AFTER UPDATE OF owner_id ON attachments
WHEN OLD.owner_id IS NOT NULL AND NEW.owner_id <> OLD.owner_id BEGIN
  UPDATE upload_usage SET bytes = bytes - OLD.bytes WHERE account_id = OLD.owner_id;
  INSERT INTO upload_usage (account_id, bytes) VALUES (NEW.owner_id, NEW.bytes)
    ON CONFLICT DO UPDATE SET bytes = bytes + NEW.bytes;
END;
-- Remote ones change with their post only.
CREATE TRIGGER attachments_content_version AFTER DELETE ON attachments WHEN OLD.kind = 'native' BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
CREATE TRIGGER attachments_content_version_insert AFTER INSERT ON attachments WHEN NEW.kind = 'native' BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;

-- Files of publishers that readers asked for: cache/<first two digits>/<sha256 of the URL>.
CREATE TABLE cached_files (
  url_hash     TEXT    PRIMARY KEY, -- SHA-256 of the URL, hex
  bytes        INTEGER NOT NULL,    -- 0 for a failure that is remembered
  media_type   TEXT,
  sha256       TEXT,                -- of the bytes, for the entity tag
  width        INTEGER,             -- pixels, of images
  height       INTEGER,
  fetched_at   INTEGER NOT NULL,    -- unix ms
  used_at      INTEGER NOT NULL,    -- unix ms, to within an hour
  failed_until INTEGER,             -- unix ms; not asked for again before
  error        TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX cached_files_used ON cached_files (used_at) WHERE failed_until IS NULL;
CREATE INDEX cached_files_failed ON cached_files (failed_until) WHERE failed_until IS NOT NULL;

CREATE TRIGGER cached_files_count_insert AFTER INSERT ON cached_files WHEN NEW.failed_until IS NULL BEGIN
  INSERT INTO counts (metric, value) VALUES ('attachment_cache_files', 1) ON CONFLICT DO UPDATE SET value = value + 1;
  INSERT INTO counts (metric, value) VALUES ('attachment_cache_bytes', NEW.bytes)
    ON CONFLICT DO UPDATE SET value = value + NEW.bytes;
END;
CREATE TRIGGER cached_files_count_delete AFTER DELETE ON cached_files WHEN OLD.failed_until IS NULL BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'attachment_cache_files';
  UPDATE counts SET value = value - OLD.bytes WHERE metric = 'attachment_cache_bytes';
END;

-- Icons of sites, each once however many sources have it. They are few and small, and so part of every backup.
CREATE TABLE icons (
  sha256     TEXT PRIMARY KEY, -- of the content, hex
  media_type TEXT NOT NULL,    -- decided by content
  content    BLOB NOT NULL
) STRICT;

CREATE TABLE source_icons (
  source_id INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  named_url TEXT,                            -- what the feed itself names
  sha256    TEXT REFERENCES icons (sha256),  -- NULL: none was found
  due_at    INTEGER                          -- unix ms; when it is looked for next; NULL: its owner wants none
) STRICT;

CREATE INDEX source_icons_due ON source_icons (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX source_icons_of ON source_icons (sha256) WHERE sha256 IS NOT NULL;

CREATE TRIGGER source_icons_removed AFTER DELETE ON source_icons WHEN OLD.sha256 IS NOT NULL BEGIN
  DELETE FROM icons WHERE sha256 = OLD.sha256 AND NOT EXISTS (SELECT 1 FROM source_icons WHERE sha256 = OLD.sha256);
END;
CREATE TRIGGER source_icons_changed AFTER UPDATE OF sha256 ON source_icons WHEN OLD.sha256 IS NOT NEW.sha256 BEGIN
  DELETE FROM icons WHERE sha256 = OLD.sha256 AND NOT EXISTS (SELECT 1 FROM source_icons WHERE sha256 = OLD.sha256);
  UPDATE counts SET value = value + 1 WHERE metric = 'content_version';
END;
