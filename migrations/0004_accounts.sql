-- safe: yes

CREATE TABLE accounts (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  username      TEXT    NOT NULL COLLATE NOCASE UNIQUE,
  display_name  TEXT    NOT NULL,
  role          TEXT    NOT NULL CHECK (role IN ('admin', 'member')),
  password_hash TEXT    NOT NULL,    -- PHC string
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  disabled_at   INTEGER,             -- unix ms; it can neither sign in nor do anything, its sources go on
  left_at       INTEGER              -- unix ms; nobody sees it, it can do nothing, a job removes it
) STRICT;

-- How a person wants pages to be; without a row as everybody has them at first.
CREATE TABLE preferences (
  account_id   INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  time_zone    TEXT,                 -- a name of IANA's; NULL: that of the hub's machine
  density      TEXT    NOT NULL CHECK (density IN ('comfortable', 'compact')),
  text_size    TEXT    NOT NULL CHECK (text_size IN ('normal', 'large', 'larger')),
  keys         INTEGER NOT NULL CHECK (keys IN (0, 1)),         -- whether single keys do something
  marks_opened INTEGER NOT NULL CHECK (marks_opened IN (0, 1)), -- whether opening a post marks it as read
  next_steps   INTEGER NOT NULL CHECK (next_steps IN (0, 1))    -- whether what is to be done first is shown
) STRICT;

CREATE TABLE sessions (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the cookie's value, hex
  created_at INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,        -- unix ms; last use, to within ten minutes
  address    TEXT,                    -- of the client, then
  expires_at INTEGER NOT NULL         -- moves on while the session is used
) STRICT;

CREATE INDEX sessions_account ON sessions (account_id);
CREATE INDEX sessions_expired ON sessions (expires_at);

CREATE TABLE api_tokens (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name       TEXT    NOT NULL,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the token, hex
  scope      TEXT    NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,                 -- NULL: never
  seen_at    INTEGER                  -- unix ms; last use, to within ten minutes
) STRICT;

CREATE INDEX api_tokens_account ON api_tokens (account_id);

-- Where an account has signed in: who guesses passwords elsewhere keeps nobody out there.
CREATE TABLE sign_in_networks (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  network    TEXT    NOT NULL,        -- an IPv4 address, or the /64 of an IPv6 one
  seen_at    INTEGER NOT NULL,        -- unix ms
  PRIMARY KEY (account_id, network)
) STRICT, WITHOUT ROWID;

-- A link by which somebody chooses a new password: one for each account, until it is used or has expired.
CREATE TABLE password_links (
  account_id INTEGER PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  token_hash TEXT    NOT NULL UNIQUE, -- SHA-256 of the link's token, hex
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX password_links_expired ON password_links (expires_at);

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
