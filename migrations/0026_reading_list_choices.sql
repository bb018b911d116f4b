-- safe: yes

-- The order and the posts that a member last chose for a list of posts.
CREATE TABLE list_choices (
  account_id INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  list       TEXT    NOT NULL,      -- unread, all, starred, folder:NAME or source:ID
  sort_order TEXT    NOT NULL CHECK (sort_order IN ('newest', 'oldest')), -- which posts come first
  show       TEXT    NOT NULL CHECK (show IN ('unread', 'all', 'each')),  -- each: the newest unread post of each source
  chosen_at  INTEGER NOT NULL,      -- unix ms
  PRIMARY KEY (account_id, list)
) STRICT, WITHOUT ROWID;
