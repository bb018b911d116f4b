import { presentNameOf } from '../accounts/account-store.ts';
import { store } from '../hub/hub.ts';
import { joinSource } from '../sources/source-store.ts';

export const FORMATS = ['text/plain', 'text/html', 'text/markdown'] as const;

/**
 * SQL: the author's name of the post `p` of the source `s`. The names of members are not copied into posts: a source
 * shows the names if its owner wants, and the name of a member who has left is gone.
 */
export const AUTHOR = `COALESCE(p.author, iif(s.shows_authors,
  (SELECT ${presentNameOf('t.author_id')} FROM post_texts t WHERE t.post_id = p.id), NULL))`;

export type PostText = { content: string; contentType: (typeof FORMATS)[number] };

export const postTexts = store(({ db }) => {
  const ofForm = db.prepare<[string, number], { id: number }>('post of form',
    'SELECT post_id AS id FROM post_texts WHERE form = ? AND author_id = ? ORDER BY post_id DESC LIMIT 1');
  const formOf = db.prepare<[number], { form: string | null }>('form of post',
    'SELECT form FROM post_texts WHERE post_id = ?');
  const lastPlace = db.prepare<[number], { id: number }>('source to which an owner wrote last', `
    SELECT p.source_id AS id FROM post_texts t JOIN posts p ON p.id = t.post_id ${joinSource('p.source_id')}
     WHERE t.author_id = ? AND s.owner_id = t.author_id ORDER BY t.post_id DESC LIMIT 1`);
  const upsert = db.prepare<[PostText & { id: number; authorId: number; form: string | null }]>('store text of post', `
    INSERT INTO post_texts (post_id, author_id, form, format, text)
    VALUES (@id, @authorId, @form, @contentType, @content)
    ON CONFLICT DO UPDATE SET format = excluded.format, text = excluded.text`);

  return {
    /** Undefined for posts of feeds and webhooks, and for posts that version 1.0.0 stored. */
    find: db.prepare<[id: number], PostText>('text of post',
      'SELECT text AS content, format AS contentType FROM post_texts WHERE post_id = ?').get,
    postOfForm: (authorId: number, form: string): number | undefined => ofForm.get(form, authorId)?.id,
    formOf: (postId: number): string | undefined => formOf.get(postId)?.form ?? undefined,
    lastPlaceOf: (authorId: number): number | undefined => lastPlace.get(authorId)?.id,
    /** Stores a post's text. A changed text does not change the stored author. */
    put: (id: number, authorId: number, text: PostText, form: string | null = null): void =>
      void upsert.run({ id, authorId, form, ...text }),
  };
});
