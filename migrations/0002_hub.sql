-- safe: yes

-- What this hub is, wherever it runs and is restored to: one row.
CREATE TABLE hub (
  id         INTEGER PRIMARY KEY CHECK (id = 1),
  id_seed    TEXT    NOT NULL,       -- random, hex; the Atom ids of the feeds of all its posts are derived from it
  name       TEXT    NOT NULL DEFAULT 'Content Hub',
  front_text TEXT    NOT NULL DEFAULT '', -- what its public page says of it
  hue        INTEGER NOT NULL DEFAULT 268 CHECK (hue BETWEEN 0 AND 359) -- of its accent, degrees in OKLCH
) STRICT;

-- Pages that are kept show them.
CREATE TRIGGER hub_content_version AFTER UPDATE OF name, front_text, hue ON hub BEGIN
  INSERT INTO counts (metric, value) VALUES ('content_version', 1) ON CONFLICT DO UPDATE SET value = value + 1;
END;

INSERT INTO hub (id, id_seed) VALUES (1, lower(hex(randomblob(16))));
