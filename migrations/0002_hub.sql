-- safe: yes

-- What this hub is, wherever it runs and is restored to: one row.
CREATE TABLE hub (
  id      INTEGER PRIMARY KEY CHECK (id = 1),
  id_seed TEXT    NOT NULL           -- random, hex; the Atom ids of the feeds of all its posts are derived from it
) STRICT;

INSERT INTO hub (id, id_seed) VALUES (1, lower(hex(randomblob(16))));
