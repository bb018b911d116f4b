-- safe: yes

-- What the hub knows of the sender of a source of kind webhook. Secrets are as sealSecret stores them.
CREATE TABLE webhooks (
  source_id         INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
  secret            TEXT    NOT NULL,
  previous_secret   TEXT,            -- the one before the last rotation
  previous_until_at INTEGER,         -- unix ms; until then it is valid too
  state             TEXT    NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'silent', 'disabled')),
  last_event_at     INTEGER,         -- unix ms; the last event with a valid signature
  quiet_since_at    INTEGER NOT NULL, -- unix ms; the last event, or when it was made or resumed
  silence_told_at   INTEGER,         -- unix ms; when its silence was last told; NULL while it is not silent
  arrives_at        INTEGER NOT NULL DEFAULT 0, -- unix ms; theoretical arrival time of its rate limit (rate_limits)
  created_at        INTEGER NOT NULL,
  CHECK ((previous_secret IS NULL) = (previous_until_at IS NULL))
) STRICT;

CREATE INDEX webhooks_quiet ON webhooks (quiet_since_at) WHERE state <> 'disabled';

CREATE TRIGGER webhooks_count_insert AFTER INSERT ON webhooks BEGIN
  INSERT INTO counts (metric, label, value) VALUES ('webhooks', NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER webhooks_count_update AFTER UPDATE OF state ON webhooks WHEN OLD.state <> NEW.state BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'webhooks' AND label = OLD.state;
  INSERT INTO counts (metric, label, value) VALUES ('webhooks', NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER webhooks_count_delete AFTER DELETE ON webhooks BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'webhooks' AND label = OLD.state;
END;

-- A paused source takes no events. A resumed one has a week again to let itself be heard.
CREATE TRIGGER sources_pause_webhook AFTER UPDATE OF state ON sources
WHEN NEW.kind = 'webhook' AND NEW.state = 'paused' BEGIN
  UPDATE webhooks SET state = 'disabled', silence_told_at = NULL WHERE source_id = NEW.id;
END;
CREATE TRIGGER sources_resume_webhook AFTER UPDATE OF state ON sources
WHEN NEW.kind = 'webhook' AND OLD.state = 'paused' AND NEW.state <> 'paused' BEGIN
  UPDATE webhooks SET state = 'active', quiet_since_at = NEW.updated_at WHERE source_id = NEW.id;
END;
CREATE TRIGGER sources_hide_webhook AFTER UPDATE OF removed_at ON sources
WHEN NEW.kind = 'webhook' AND NEW.removed_at IS NOT NULL BEGIN
  UPDATE webhooks SET state = 'disabled', silence_told_at = NULL WHERE source_id = NEW.id;
END;

-- Events that were accepted, so that a repeated one changes nothing.
CREATE TABLE webhook_events (
  source_id   INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  event_id    TEXT    NOT NULL,      -- the sender's, or sha256:… of a body whose id is not signed
  received_at INTEGER NOT NULL,      -- unix ms
  guid        TEXT,                  -- of the post that it speaks of
  happened_at INTEGER,               -- unix ms; its own time, never later than received_at
  PRIMARY KEY (source_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_events_age ON webhook_events (received_at);
CREATE INDEX webhook_events_post ON webhook_events (source_id, guid, happened_at) WHERE guid IS NOT NULL;
