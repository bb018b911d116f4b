-- safe: yes
-- An app password is an API token with which an app uses the Google Reader API, and nothing else. Its scope is stored as
-- 'read', because the CHECK of `scope` knows no other name for it; for_reader decides.

ALTER TABLE api_tokens ADD COLUMN for_reader INTEGER NOT NULL DEFAULT 0 CHECK (for_reader IN (0, 1));
ALTER TABLE api_tokens ADD COLUMN address TEXT; -- the client's address at the last use that was stored
