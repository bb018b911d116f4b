import type { Clock } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/open-database.ts';

export type RemoteAttachment = {
  url: string;
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  title: string | null;
  durationSeconds: number | null;
};

export type RemoteAttachmentStore = ReturnType<typeof createRemoteAttachmentStore>;

type Row = Omit<RemoteAttachment, 'url'> & { position: number };

/** Files that publishers name beside their posts. */
export function createRemoteAttachmentStore(db: Db, clock: Clock) {
  const select = db.prepare<[number], { id: number; url: string }>('remote attachments',
    `SELECT id, remote_url AS url FROM attachments WHERE post_id = ? AND kind = 'remote'`);
  const insert = db.prepare<[Row & { postId: number; url: string; now: number }]>('add remote attachment', `
    INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, remote_url, title,
                             duration_seconds, created_at)
    VALUES (@postId, 'remote', @position, @filename, @mediaType, @bytes, @url, @title, @durationSeconds, @now)`);
  const update = db.prepare<[Row & { id: number }]>('update remote attachment', `
    UPDATE attachments SET position = @position, filename = @filename, media_type = @mediaType, bytes = @bytes,
           title = @title, duration_seconds = @durationSeconds
     WHERE id = @id`);
  const remove = db.prepare<[number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?');

  return {
    /** Makes these the post's remote attachments. What a URL named before keeps its id, and so its links. */
    replace(postId: number, wanted: RemoteAttachment[]): void {
      const known = new Map(select.all(postId).map((row) => [row.url, row.id]));
      wanted.forEach(({ url, ...columns }, position) => {
        const id = known.get(url);
        if (id === undefined) insert.run({ ...columns, position, postId, url, now: clock() });
        else update.run({ ...columns, position, id });
        known.delete(url);
      });
      for (const id of known.values()) remove.run(id);
    },
  };
}
