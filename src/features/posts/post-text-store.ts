import { presentNameOf } from '../accounts/account-store.ts';
import { store } from '../hub/hub.ts';

/** The formats in which members write posts. */
export const FORMATS = ['text/plain', 'text/html', 'text/markdown'] as const;

/**
 * SQL: the author's name of the post `p` of the source `s`. The names of members are not copied into posts: a source
 * shows the names if its owner wants, and the name of a member who has left is gone.
 */
export const AUTHOR = `COALESCE(p.author, iif(s.shows_authors,
  (SELECT ${presentNameOf('t.author_id')} FROM post_texts t WHERE t.post_id = p.id), NULL))`;

/** A post's text as its author wrote the text. */
export type PostText = { content: string; contentType: (typeof FORMATS)[number] };

/** The texts of posts of native sources as their authors wrote them, beside the sanitised HTML of the posts. */
export const postTexts = store(({ db }) => {
  const upsert = db.prepare<[PostText & { id: number; authorId: number }]>('store the text of a post', `
    INSERT INTO post_texts (post_id, author_id, format, text) VALUES (@id, @authorId, @contentType, @content)
    ON CONFLICT DO UPDATE SET format = excluded.format, text = excluded.text`);

  return {
    /** Returns the text of a post; undefined for posts of feeds, and for posts that version 1.0.0 stored. */
    find: db.prepare<[id: number], PostText>('text of post',
      'SELECT text AS content, format AS contentType FROM post_texts WHERE post_id = ?').get,
    /** Stores a post's text. The author of the first text stays the author of the post. */
    put: (id: number, authorId: number, text: PostText): void => void upsert.run({ id, authorId, ...text }),
  };
});
