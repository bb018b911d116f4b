-- safe: yes

-- What somebody wrote into a form for a post and was not accepted: one for each form of an account.
CREATE TABLE drafts (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  form          TEXT    NOT NULL,     -- path of the form's page: /write, /posts/7/edit
  pending_hash  TEXT    UNIQUE,       -- it came after the session ended: SHA-256 of what whoever signs in has to show
  fields        TEXT    NOT NULL CHECK (json_valid(fields)), -- sourceId, title, content, contentType, url
  saved_at      INTEGER NOT NULL      -- unix ms
) STRICT;

CREATE UNIQUE INDEX drafts_form ON drafts (account_id, form) WHERE pending_hash IS NULL;
CREATE INDEX drafts_account ON drafts (account_id, saved_at DESC);
CREATE INDEX drafts_saved ON drafts (saved_at);
