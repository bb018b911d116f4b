-- safe: yes
-- A post that joins a row of posts with the same link is muted by the rules that have muted a post of the row, as far as
-- the owners of these rules follow the sources of both posts and may see the earlier post.
CREATE TRIGGER doubles_muted AFTER INSERT ON doubles BEGIN
  INSERT INTO muted_posts (account_id, source_id, post_id, rule_id, published_at)
  SELECT DISTINCT a.id, p.source_id, p.id, u.rule_id, p.published_at
    FROM doubles e
    JOIN sources s ON s.id = e.source_id AND s.removed_at IS NULL
    JOIN muted_posts u ON u.post_id = e.post_id
    JOIN follows g ON g.account_id = u.account_id AND g.source_id = e.source_id
    JOIN follows f ON f.account_id = u.account_id AND f.source_id = NEW.source_id
    JOIN accounts a ON a.id = u.account_id
    JOIN posts p ON p.id = NEW.post_id
    LEFT JOIN preferences c ON c.account_id = a.id
   WHERE e.row_id = NEW.row_id AND e.post_id <> NEW.post_id AND COALESCE(c.joins_doubles, 1)
     AND (s.visibility = 'public' OR s.owner_id = a.id OR a.role = 'admin')
  ON CONFLICT DO NOTHING;
END;
