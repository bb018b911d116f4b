-- safe: yes
-- Posts of several sources with the same link. The table takes the place of doubles, which no code reads any more: its
-- triggers (0033, 0036) would write states that 0043_reading_entries.sql has moved.

CREATE TABLE link_rows (
  post_id   INTEGER PRIMARY KEY REFERENCES posts (id) ON DELETE CASCADE,
  source_id INTEGER NOT NULL,
  row_id    INTEGER NOT NULL         -- posts with the same link have the same number
) STRICT;

CREATE INDEX link_rows_row ON link_rows (row_id, post_id, source_id);

INSERT INTO link_rows (post_id, source_id, row_id) SELECT post_id, source_id, row_id FROM doubles;

