-- safe: yes
-- Search indexes in which a search costs the same however many posts there are. The worker fills them, newest posts
-- first, and empties posts_search and full_texts_search, which nothing reads any more (full-text/index-anew.ts).

-- As posts_search, with three differences: words with invisible signs are whole, beginnings of three letters have an
-- index of their own, and `facts` holds the post's source and the blocks of row ids that it is in (posts/blocks.ts).
CREATE VIRTUAL TABLE posts_words USING fts5 (
  title, body, facts, content = '', contentless_delete = 1, prefix = '3',
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

-- The words of full texts, which only searches of members read.
CREATE VIRTUAL TABLE full_texts_words USING fts5 (
  title, body, facts, content = '', contentless_delete = 1, prefix = '3',
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE TRIGGER posts_forget_words AFTER DELETE ON posts BEGIN
  DELETE FROM posts_words WHERE rowid = OLD.search_key;
END;
CREATE TRIGGER full_texts_forget_changed_words AFTER UPDATE OF search_key ON full_texts
WHEN OLD.search_key IS NOT NULL AND NEW.search_key IS NOT OLD.search_key BEGIN
  DELETE FROM full_texts_words WHERE rowid = OLD.search_key;
END;
CREATE TRIGGER full_texts_forget_removed_words AFTER DELETE ON full_texts BEGIN
  DELETE FROM full_texts_words WHERE rowid = OLD.search_key;
END;

-- The search key below which posts are not indexed yet, plus 2^52, so that 0 stands for none.
INSERT INTO counts (metric, label, value)
SELECT 'posts_unindexed_below', '', MAX(search_key) + 1 + 4503599627370496 FROM posts HAVING COUNT(search_key) > 0;
