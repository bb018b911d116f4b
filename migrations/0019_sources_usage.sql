-- safe: yes
-- How much the contents of each source take, and those of all sources of an account: for CONTENT_QUOTA_BYTES. Counted are
-- posts, their files, tombstones and remembered events: their texts, and for each row what it and its indexes take.

CREATE TABLE source_usage (
  source_id INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  bytes     INTEGER NOT NULL
) STRICT;

CREATE TABLE content_usage (
  account_id INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  bytes      INTEGER NOT NULL,       -- the sum of its sources'
  full_since INTEGER                 -- unix ms; feeds stop because of the quota, the owner was told; NULL: there is room
) STRICT;

CREATE INDEX content_usage_full ON content_usage (full_since) WHERE full_since IS NOT NULL;

-- One pass over each table: the plus keeps SQLite from reading the posts in the order of an index.
INSERT INTO source_usage (source_id, bytes)
SELECT s.id, COALESCE(SUM(c.bytes), 0) FROM sources s LEFT JOIN (
  SELECT source_id, SUM(1000 + octet_length(content_html) + octet_length(title) + octet_length(summary)
           + octet_length(guid) + COALESCE(octet_length(url), 0)) AS bytes
    FROM posts GROUP BY +source_id
  UNION ALL
  SELECT p.source_id, SUM(200 + octet_length(a.filename) + COALESCE(octet_length(a.remote_url), 0)
           + COALESCE(octet_length(a.title), 0))
    FROM attachments a JOIN posts p ON p.id = a.post_id GROUP BY +p.source_id
  UNION ALL
  SELECT source_id, SUM(200 + octet_length(guid)) FROM post_tombstones GROUP BY source_id
  UNION ALL
  SELECT source_id, SUM(200 + octet_length(event_id)) FROM webhook_events GROUP BY source_id
) c ON c.source_id = s.id GROUP BY s.id;

INSERT INTO content_usage (account_id, bytes)
SELECT a.id, COALESCE((SELECT SUM(u.bytes) FROM sources s JOIN source_usage u ON u.source_id = s.id
                        WHERE s.owner_id = a.id), 0) FROM accounts a;

-- Each account and each source has a row, so that everything below only updates.
CREATE TRIGGER accounts_usage AFTER INSERT ON accounts BEGIN
  INSERT INTO content_usage (account_id, bytes) VALUES (NEW.id, 0);
END;
CREATE TRIGGER sources_usage_insert AFTER INSERT ON sources BEGIN
  INSERT INTO source_usage (source_id, bytes) VALUES (NEW.id, 0);
END;
-- Before, so that rows that go with their source find nothing more to count.
CREATE TRIGGER sources_usage_delete BEFORE DELETE ON sources BEGIN
  UPDATE content_usage SET bytes = bytes - (SELECT bytes FROM source_usage WHERE source_id = OLD.id)
   WHERE account_id = OLD.owner_id;
  DELETE FROM source_usage WHERE source_id = OLD.id;
END;
CREATE TRIGGER sources_usage_owner AFTER UPDATE OF owner_id ON sources WHEN OLD.owner_id <> NEW.owner_id BEGIN
  UPDATE content_usage SET bytes = bytes - (SELECT bytes FROM source_usage WHERE source_id = NEW.id)
   WHERE account_id = OLD.owner_id;
  UPDATE content_usage SET bytes = bytes + (SELECT bytes FROM source_usage WHERE source_id = NEW.id)
   WHERE account_id = NEW.owner_id;
END;
CREATE TRIGGER source_usage_update AFTER UPDATE OF bytes ON source_usage BEGIN
  UPDATE content_usage SET bytes = bytes + NEW.bytes - OLD.bytes
   WHERE account_id = (SELECT owner_id FROM sources WHERE id = NEW.source_id);
END;

CREATE TRIGGER posts_usage_insert AFTER INSERT ON posts BEGIN
  UPDATE source_usage SET bytes = bytes + 1000 + octet_length(NEW.content_html) + octet_length(NEW.title)
         + octet_length(NEW.summary) + octet_length(NEW.guid) + COALESCE(octet_length(NEW.url), 0)
   WHERE source_id = NEW.source_id;
END;
CREATE TRIGGER posts_usage_update AFTER UPDATE OF content_html, title, summary, guid, url ON posts BEGIN
  UPDATE source_usage SET bytes = bytes
         + octet_length(NEW.content_html) + octet_length(NEW.title) + octet_length(NEW.summary)
         + octet_length(NEW.guid) + COALESCE(octet_length(NEW.url), 0)
         - octet_length(OLD.content_html) - octet_length(OLD.title) - octet_length(OLD.summary)
         - octet_length(OLD.guid) - COALESCE(octet_length(OLD.url), 0)
   WHERE source_id = NEW.source_id;
END;
-- Before, while the post's files are there: they go with it, and then find no post to be counted for.
CREATE TRIGGER posts_usage_delete BEFORE DELETE ON posts BEGIN
  UPDATE source_usage SET bytes = bytes - 1000 - octet_length(OLD.content_html) - octet_length(OLD.title)
         - octet_length(OLD.summary) - octet_length(OLD.guid) - COALESCE(octet_length(OLD.url), 0)
         - COALESCE((SELECT SUM(200 + octet_length(filename) + COALESCE(octet_length(remote_url), 0)
                           + COALESCE(octet_length(title), 0)) FROM attachments WHERE post_id = OLD.id), 0)
   WHERE source_id = OLD.source_id;
END;
CREATE TRIGGER attachments_content_insert AFTER INSERT ON attachments BEGIN
  UPDATE source_usage SET bytes = bytes + 200 + octet_length(NEW.filename)
         + COALESCE(octet_length(NEW.remote_url), 0) + COALESCE(octet_length(NEW.title), 0)
   WHERE source_id = (SELECT source_id FROM posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER attachments_content_update AFTER UPDATE OF filename, title ON attachments BEGIN
  UPDATE source_usage SET bytes = bytes + octet_length(NEW.filename) + COALESCE(octet_length(NEW.title), 0)
         - octet_length(OLD.filename) - COALESCE(octet_length(OLD.title), 0)
   WHERE source_id = (SELECT source_id FROM posts WHERE id = NEW.post_id);
END;
CREATE TRIGGER attachments_content_delete AFTER DELETE ON attachments BEGIN
  UPDATE source_usage SET bytes = bytes - 200 - octet_length(OLD.filename)
         - COALESCE(octet_length(OLD.remote_url), 0) - COALESCE(octet_length(OLD.title), 0)
   WHERE source_id = (SELECT source_id FROM posts WHERE id = OLD.post_id);
END;
CREATE TRIGGER post_tombstones_usage_insert AFTER INSERT ON post_tombstones BEGIN
  UPDATE source_usage SET bytes = bytes + 200 + octet_length(NEW.guid) WHERE source_id = NEW.source_id;
END;
CREATE TRIGGER post_tombstones_usage_delete AFTER DELETE ON post_tombstones BEGIN
  UPDATE source_usage SET bytes = bytes - 200 - octet_length(OLD.guid) WHERE source_id = OLD.source_id;
END;
CREATE TRIGGER webhook_events_usage_insert AFTER INSERT ON webhook_events BEGIN
  UPDATE source_usage SET bytes = bytes + 200 + octet_length(NEW.event_id) WHERE source_id = NEW.source_id;
END;
CREATE TRIGGER webhook_events_usage_delete AFTER DELETE ON webhook_events BEGIN
  UPDATE source_usage SET bytes = bytes - 200 - octet_length(OLD.event_id) WHERE source_id = OLD.source_id;
END;
