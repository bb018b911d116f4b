-- safe: yes
-- What a member's rules do with the posts that arrive.

CREATE TABLE rules (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id      INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  match           TEXT    NOT NULL,  -- the expression that a post must fit
  act             TEXT    NOT NULL CHECK (act IN ('mute', 'read', 'star', 'notify')),
  source_id       INTEGER REFERENCES sources (id) ON DELETE CASCADE, -- null: the rule is not for a single source
  folder          TEXT,              -- the name of a folder of the member; null: the rule is not for a folder
  version         INTEGER NOT NULL,  -- grows with each change of any rule
  applied         INTEGER NOT NULL DEFAULT 0, -- number of posts that the rule has been applied to
  last_applied_at INTEGER,           -- unix ms
  created_at      INTEGER NOT NULL,  -- unix ms
  CHECK (source_id IS NULL OR folder IS NULL)
) STRICT;

CREATE INDEX rules_account ON rules (account_id);
CREATE INDEX rules_source ON rules (source_id);
CREATE INDEX rules_version ON rules (version);

-- Tells processes, which keep all rules in memory, when the rules have changed.
CREATE TRIGGER rules_edition_insert AFTER INSERT ON rules BEGIN
  INSERT INTO counts (metric, value) VALUES ('rules_edition', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;
CREATE TRIGGER rules_edition_update AFTER UPDATE OF version ON rules BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'rules_edition';
END;
CREATE TRIGGER rules_edition_delete AFTER DELETE ON rules BEGIN
  UPDATE counts SET value = value + 1 WHERE metric = 'rules_edition';
END;
