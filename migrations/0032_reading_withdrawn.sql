-- safe: yes
-- A post that its author has taken back is a draft. Publishing it again gives it its id and its readers' state back.

ALTER TABLE drafts ADD COLUMN withdrawn TEXT CHECK (json_valid(withdrawn)); -- id, guid and times of the post; or NULL

CREATE TABLE withdrawn_states (
  draft_id   INTEGER NOT NULL REFERENCES drafts (id) ON DELETE CASCADE,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  is_read    INTEGER CHECK (is_read IN (0, 1)), -- as in read_marks; NULL: the reader had no mark
  marked_at  INTEGER,                           -- unix ms
  starred_at INTEGER,                           -- unix ms; NULL: the reader had not starred the post
  PRIMARY KEY (draft_id, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX withdrawn_states_account ON withdrawn_states (account_id);
