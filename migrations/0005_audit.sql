-- safe: yes

-- Who did what to what. Names are copied, so that a record outlives what it speaks of. Never secrets.
CREATE TABLE audit_records (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  at          INTEGER NOT NULL,      -- unix ms
  act         TEXT    NOT NULL,      -- noun.verb: session.created, source.deleted
  actor_id    INTEGER,               -- NULL: the command line, the hub itself, or nobody signed in
  actor_name  TEXT    NOT NULL,
  target_kind TEXT,
  target_id   INTEGER,
  target_name TEXT,
  address     TEXT,                  -- where the request came from
  detail      TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(detail))
) STRICT;

CREATE INDEX audit_records_age ON audit_records (at);
CREATE INDEX audit_records_actor ON audit_records (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_records_actor_name ON audit_records (actor_name COLLATE NOCASE, at);
CREATE INDEX audit_records_act ON audit_records (act, at);
CREATE INDEX audit_records_target ON audit_records (target_kind, target_id, at);

-- A request that began before its sender left the hub may end after that: it leaves no name in here. The insert changes
-- no row then, which the hub answers with 401 and no effect.
CREATE TRIGGER audit_records_of_leavers BEFORE INSERT ON audit_records
WHEN NEW.actor_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM accounts WHERE id = NEW.actor_id AND left_at IS NULL) BEGIN
  SELECT RAISE(IGNORE);
END;
