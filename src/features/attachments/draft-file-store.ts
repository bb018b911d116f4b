import { store } from '../hub/hub.ts';
import { uploads, type Attachment, type NewUpload } from './attachment-store.ts';

export type DraftFile = Omit<NewUpload, 'scan'> & {
  id: number;
  urlKey: string; // the random part of the file's address
  draftId: number;
  accountId: number;
  scan: 'clean' | 'unscanned' | 'infected';
};

/** A draft's file as an attachment for a preview; the file's id is negative, and its path begins `/attachments/-`. */
export function asAttachment({ id, accountId, draftId, ...file }: DraftFile): Attachment {
  const nothing = { remoteUrl: null, title: null, durationSeconds: null, isInline: 0 };
  return { ...file, ...nothing, id: -id, postId: 0, kind: 'native' };
}

type InsertRow = Pick<NewUpload, 'filename' | 'mediaType' | 'bytes' | 'sha256'> & {
  draftId: number; accountId: number; now: number;
};

export const draftFiles = store((hub) => {
  const { db, clock } = hub;
  const { put } = uploads(hub);
  const select = `
    SELECT f.id, f.url_key AS urlKey, f.draft_id AS draftId, f.account_id AS accountId, f.filename,
           f.media_type AS mediaType, f.bytes, f.sha256, u.scan, u.width, u.height
      FROM draft_files f JOIN uploads u ON u.sha256 = f.sha256`;
  const selectOf = db.prepare<[draftId: number], DraftFile>(
    'files of a draft', `${select} WHERE f.draft_id = ? ORDER BY f.id`);
  const insert = db.prepare<[InsertRow], { id: number }>('add a file to a draft', `
    INSERT INTO draft_files (draft_id, account_id, filename, media_type, bytes, sha256, created_at)
    VALUES (@draftId, @accountId, @filename, @mediaType, @bytes, @sha256, @now) RETURNING id`);
  const remove = db.prepare<[number, number]>('remove a file of a draft',
    'DELETE FROM draft_files WHERE id = ? AND draft_id = ?');
  const removeAll = db.prepare<[number]>('remove all files of a draft', 'DELETE FROM draft_files WHERE draft_id = ?');

  const copy = db.prepare<[{ from: number; to: number; now: number }]>('copy the files of a draft', `
    INSERT INTO draft_files (draft_id, account_id, filename, media_type, bytes, sha256, created_at)
    SELECT @to, account_id, filename, media_type, bytes, sha256, @now FROM draft_files
     WHERE draft_id = @from ORDER BY id`);
  const swap = db.prepare<[{ one: number; other: number }]>('swap the files of two drafts', `
    UPDATE draft_files SET draft_id = iif(draft_id = @one, @other, @one) WHERE draft_id IN (@one, @other)`);

  return {
    find: db.prepare<[id: number], DraftFile>('file of a draft', `${select} WHERE f.id = ?`).get,
    ofDraft: selectOf.all,
    add: (draftId: number, accountId: number, files: NewUpload[]): number[] => files.map((file) => {
      put(file);
      return insert.get({ ...file, draftId, accountId, now: clock() })?.id ?? 0;
    }),
    copy: (from: number, to: number): void => void copy.run({ from, to, now: clock() }),
    swap: (one: number, other: number): void => void swap.run({ one, other }),
    remove: (draftId: number, id: number): void => void remove.run(id, draftId),
    take(draftId: number): NewUpload[] {
      const files = selectOf.all(draftId);
      removeAll.run(draftId);
      return files.map(({ scan, ...file }) => ({ ...file, scan: scan === 'clean' ? 'clean' : 'unscanned' }));
    },
  };
});
