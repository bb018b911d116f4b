-- safe: yes

-- Sources that members are offered. Offers that were declined or have expired stay for 90 days: a source is then handed
-- over to another follower next.
CREATE TABLE source_offers (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id   INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  sender_id   INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  receiver_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  to_follower INTEGER NOT NULL CHECK (to_follower IN (0, 1)), -- the hub chose a follower: the sender does not learn whom
  offered_at  INTEGER NOT NULL,      -- unix ms
  expires_at  INTEGER NOT NULL,      -- unix ms
  ended_at    INTEGER,               -- unix ms; when it was declined, or found to have expired. NULL: neither yet
  UNIQUE (source_id, receiver_id)
) STRICT;

CREATE INDEX source_offers_sender ON source_offers (sender_id, id);
CREATE INDEX source_offers_receiver ON source_offers (receiver_id, id);
CREATE INDEX source_offers_expiring ON source_offers (expires_at) WHERE ended_at IS NULL;
CREATE INDEX source_offers_ended ON source_offers (ended_at) WHERE ended_at IS NOT NULL;

-- An offer ends with the source, with its owner's ownership, and with an account that is disabled or leaves.
CREATE TRIGGER source_offers_source_update AFTER UPDATE OF owner_id, removed_at ON sources BEGIN
  DELETE FROM source_offers WHERE source_id = NEW.id;
END;
CREATE TRIGGER source_offers_account_end AFTER UPDATE OF disabled_at, left_at ON accounts
WHEN NEW.disabled_at IS NOT NULL OR NEW.left_at IS NOT NULL BEGIN
  DELETE FROM source_offers WHERE sender_id = NEW.id OR receiver_id = NEW.id;
END;
-- Somebody who is no longer an administrator cannot give away what others own.
CREATE TRIGGER source_offers_account_role AFTER UPDATE OF role ON accounts WHEN NEW.role <> 'admin' BEGIN
  DELETE FROM source_offers WHERE sender_id = NEW.id
     AND source_id NOT IN (SELECT id FROM sources WHERE owner_id = NEW.id);
END;
