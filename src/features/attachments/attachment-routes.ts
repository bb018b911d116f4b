import type { Db } from '../../platform/db/open-database.ts';
import { pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/problem.ts';
import { noContent, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type HubRequest, type MemberRequest, type Route, type Viewer } from '../../platform/http/router.ts';
import { actorOf, type RecordAct } from '../audit/audit.ts';
import type { RemoteCache } from './remote-cache.ts';
import { serveFile, type ServedFile } from './serve-file.ts';
import type { UploadFiles } from './upload-files.ts';
import type { StoredAttachment, UploadStore } from './upload-store.ts';

export type AttachmentRouteDeps = {
  db: Db;
  uploads: UploadStore;
  uploadFiles: UploadFiles;
  remoteCache: RemoteCache;
  /** Whether the viewer may see the posts of a source; given by app. */
  maySeeSource(sourceId: number, viewer: Viewer | null): boolean;
  recordAct: RecordAct;
};

/** Files of posts: giving them out, and taking them off a post. */
export function attachmentRoutes(deps: AttachmentRouteDeps): Route[] {
  const { db, uploads, uploadFiles, remoteCache, maySeeSource, recordAct } = deps;

  return [
    route('GET /attachments/:id/:filename', 'public', 'File: an attachment', show),
    route('DELETE /api/attachments/:id', 'member', 'Remove an uploaded file from its post', remove),
    route('POST /attachments/:id/delete', 'member', 'Form: remove an uploaded file from its post', removeByForm),
  ];

  async function show(req: HubRequest): Promise<Reply> {
    const attachment = visible(req);
    const isPublic = attachment.isPublic === 1;
    const { remoteUrl, sha256, mediaType, bytes, filename, scan } = attachment;
    if (remoteUrl !== null) return serveRemote(remoteUrl, { filename, isPublic }, req);
    if (scan === 'infected') throw new HttpError(410, 'This file was found to be infected and is kept away.');
    if (sha256 === null || mediaType === null || bytes === null) throw notFound('file');
    return serveFile({ path: uploadFiles.pathOf(sha256), sha256, bytes, mediaType, filename, isPublic }, req);
  }

  /** Once more where the copy makes room for others just before it is opened. */
  async function serveRemote(url: string, about: Pick<ServedFile, 'filename' | 'isPublic'>, req: HubRequest) {
    const content = await remoteCache.open(url);
    return serveFile({ ...content, ...about }, req).catch(async (error: unknown) => {
      if (!(error instanceof HttpError && error.status === 404)) throw error;
      return serveFile({ ...await remoteCache.open(url), ...about }, req);
    });
  }

  function visible({ params, viewer }: HubRequest): StoredAttachment {
    const attachment = uploads.find(pathId(params));
    if (attachment?.isPublic === 1 || attachment && maySeeSource(attachment.sourceId, viewer)) return attachment;
    throw notFound('file');
  }

  function take(req: MemberRequest): StoredAttachment {
    const attachment = visible(req);
    const mayChange = req.viewer.id === attachment.ownerId || req.viewer.role === 'admin';
    if (!mayChange) throw new HttpError(403, 'Only the owner of its source may remove a file.');
    if (attachment.remoteUrl !== null) throw new HttpError(409, 'This file belongs to its publisher’s post.');
    const { id, filename } = attachment;
    const work = db.transaction('remove attachment', () => {
      uploads.detach(id);
      recordAct('attachment.deleted', actorOf(req), { kind: 'attachment', id, name: filename });
    });
    work();
    return attachment;
  }

  function remove(req: MemberRequest): Reply {
    take(req);
    return noContent();
  }

  function removeByForm(req: MemberRequest): Reply {
    return seeOther(`/posts/${take(req).postId}`);
  }
}
