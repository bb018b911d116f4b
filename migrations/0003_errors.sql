-- safe: yes

CREATE TABLE error_events (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  fingerprint TEXT    NOT NULL UNIQUE, -- SHA-256 over program, name and place of the error
  program     TEXT    NOT NULL,
  message     TEXT    NOT NULL,      -- of the latest one
  stack       TEXT    NOT NULL,
  count       INTEGER NOT NULL,
  first_at    INTEGER NOT NULL,      -- unix ms
  last_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX error_events_latest ON error_events (last_at);
