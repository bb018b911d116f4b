-- safe: yes

-- Messages that were made while no receiver was configured; nothing ever sends them. They share the ids of
-- alert_deliveries, so that one list shows both in order.
CREATE TABLE unsent_alerts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  event      TEXT    NOT NULL,       -- as in alert_deliveries
  severity   TEXT    NOT NULL CHECK (severity IN ('error', 'warning', 'info', 'resolved')),
  title      TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  suppressed INTEGER NOT NULL,
  created_at INTEGER NOT NULL        -- unix ms
) STRICT;

CREATE INDEX unsent_alerts_created ON unsent_alerts (created_at);

-- 1: the trouble was last raised without a receiver, so what is told of it and of its end is not sent either.
ALTER TABLE alert_events ADD COLUMN is_unsent INTEGER NOT NULL DEFAULT 0 CHECK (is_unsent IN (0, 1));
