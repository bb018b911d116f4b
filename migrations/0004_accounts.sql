-- safe: yes

CREATE TABLE accounts (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  username      TEXT    NOT NULL COLLATE NOCASE UNIQUE,
  display_name  TEXT    NOT NULL,
  role          TEXT    NOT NULL CHECK (role IN ('admin', 'member')),
  password_hash TEXT    NOT NULL,    -- PHC string
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  left_at       INTEGER              -- unix ms; nobody sees it, it can do nothing, a job removes it
) STRICT;

CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the cookie's value, hex
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_account ON sessions (account_id);
CREATE INDEX sessions_expired ON sessions (expires_at);

CREATE TABLE api_tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the token, hex
  created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX api_tokens_account ON api_tokens (account_id);

-- A row is a link that still works or has just expired; using it removes it.
CREATE TABLE invitations (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the link's token, hex
  role       TEXT    NOT NULL CHECK (role IN ('admin', 'member')),
  purpose    TEXT    NOT NULL CHECK (purpose IN ('set-up', 'invite')), -- set-up links work only while no account exists
  created_by INTEGER REFERENCES accounts (id) ON DELETE CASCADE,       -- NULL: made on the command line
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX invitations_expired ON invitations (expires_at);
CREATE INDEX invitations_creator ON invitations (created_by) WHERE created_by IS NOT NULL;
