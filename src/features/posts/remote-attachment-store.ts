import { store } from '../hub/hub.ts';


export type RemoteAttachment = {
  url: string;
  filename: string;
  mediaType: string | null;
  bytes: number | null;
  title: string | null;
  durationSeconds: number | null;
  /** An image within the content, not listed below it. */
  isInline: boolean;
};

export type RemoteAttachmentStore = ReturnType<typeof remoteAttachments>;

type Row = Omit<RemoteAttachment, 'url' | 'isInline'> & { position: number; isInline: 0 | 1 };

/** Files that publishers name beside their posts. */
export const remoteAttachments = store(({ db, clock }) => {
  const select = db.prepare<[number], { id: number; url: string }>('remote attachments',
    `SELECT id, remote_url AS url FROM attachments WHERE post_id = ? AND kind = 'remote'`);
  const insert = db.prepare<[Row & { postId: number; url: string; now: number }]>('add remote attachment', `
    INSERT INTO attachments (post_id, kind, position, filename, media_type, bytes, remote_url, title,
                             duration_seconds, is_inline, created_at)
    VALUES (@postId, 'remote', @position, @filename, @mediaType, @bytes, @url, @title,
            @durationSeconds, @isInline, @now)`);
  const update = db.prepare<[Row & { id: number }]>('update remote attachment', `
    UPDATE attachments SET position = @position, filename = @filename, media_type = @mediaType, bytes = @bytes,
           title = @title, duration_seconds = @durationSeconds, is_inline = @isInline
     WHERE id = @id`);
  const remove = db.prepare<[number]>('remove attachment', 'DELETE FROM attachments WHERE id = ?');

  return {
    /** Makes these the post's remote attachments. What a URL named before keeps its id, and so its links. */
    replace(postId: number, wanted: RemoteAttachment[]): void {
      const known = new Map(select.all(postId).map((row) => [row.url, row.id]));
      wanted.forEach(({ url, isInline, ...columns }, position) => {
        const id = known.get(url);
        const row: Row = { ...columns, position, isInline: isInline ? 1 : 0 };
        if (id === undefined) insert.run({ ...row, postId, url, now: clock() });
        else update.run({ ...row, id });
        known.delete(url);
      });
      for (const id of known.values()) remove.run(id);
    },
  };
});
