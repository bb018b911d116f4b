-- safe: yes

-- Documents of feeds (OPML) that people brought with them, and what became of each line. The last few are kept.
CREATE TABLE imports (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  visibility TEXT    NOT NULL CHECK (visibility IN ('public', 'private')), -- of the sources that it adds
  made_at    INTEGER NOT NULL,       -- unix ms
  done_at    INTEGER                 -- unix ms; NULL: there are lines to do
) STRICT;

CREATE INDEX imports_account ON imports (account_id, id);

CREATE TABLE import_lines (
  import_id  INTEGER NOT NULL REFERENCES imports (id) ON DELETE CASCADE,
  line       INTEGER NOT NULL,       -- from 1
  url        TEXT    NOT NULL,       -- as it was written, a long one shortened
  title      TEXT    NOT NULL,
  folder     TEXT,
  outcome    TEXT    CHECK (outcome IN ('added', 'had', 'followed', 'left-out', 'refused')), -- NULL: to be done
  reason     TEXT,                   -- why it was refused
  source_id  INTEGER,                -- which may be deleted by now
  PRIMARY KEY (import_id, line)
) STRICT, WITHOUT ROWID;

CREATE INDEX import_lines_waiting ON import_lines (import_id, line) WHERE outcome IS NULL;
