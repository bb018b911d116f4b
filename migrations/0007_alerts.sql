-- safe: yes

-- One message to the operator's receiver. It is written in the transaction that takes it from alert_events.
CREATE TABLE alert_deliveries (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  event       TEXT    NOT NULL,      -- the kind of trouble, such as sync-failed
  severity    TEXT    NOT NULL CHECK (severity IN ('error', 'warning', 'info', 'resolved')),
  title       TEXT    NOT NULL,
  body        TEXT    NOT NULL,
  suppressed  INTEGER NOT NULL,      -- more of the kind that this message does not name
  state       TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts    INTEGER NOT NULL DEFAULT 0, -- that have ended
  created_at  INTEGER NOT NULL,      -- unix ms
  next_at     INTEGER,               -- unix ms; about when it is tried again; NULL once it is delivered or failed
  finished_at INTEGER,               -- unix ms
  last_error  TEXT,
  CHECK ((state = 'pending') = (finished_at IS NULL))
) STRICT;

CREATE INDEX alert_deliveries_state ON alert_deliveries (state, id);
CREATE INDEX alert_deliveries_finished ON alert_deliveries (state, finished_at) WHERE finished_at IS NOT NULL;

CREATE TRIGGER alert_deliveries_count_insert AFTER INSERT ON alert_deliveries BEGIN
  INSERT INTO counts (metric, label, value) VALUES ('alert_deliveries', NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER alert_deliveries_count_update AFTER UPDATE OF state ON alert_deliveries WHEN OLD.state <> NEW.state BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'alert_deliveries' AND label = OLD.state;
  INSERT INTO counts (metric, label, value) VALUES ('alert_deliveries', NEW.state, 1)
    ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER alert_deliveries_count_delete AFTER DELETE ON alert_deliveries BEGIN
  UPDATE counts SET value = value - 1 WHERE metric = 'alert_deliveries' AND label = OLD.state;
END;

-- Of each kind of trouble: what has happened and is not told yet, and when the kind was last told of.
CREATE TABLE alert_events (
  event        TEXT    PRIMARY KEY,
  is_open      INTEGER NOT NULL DEFAULT 0 CHECK (is_open IN (0, 1)),    -- the trouble lasts
  is_told      INTEGER NOT NULL DEFAULT 0 CHECK (is_told IN (0, 1)),    -- the last message said that it lasts
  untold       INTEGER NOT NULL DEFAULT 0, -- times it was raised since the last message
  subjects     TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(subjects)), -- the first few of them, in words
  raised_at    INTEGER,              -- unix ms
  told_at      INTEGER,              -- unix ms; the last message that it happened
  over_told_at INTEGER               -- unix ms; the last message that it is over
) STRICT, WITHOUT ROWID;
