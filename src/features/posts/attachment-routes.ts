import { pathId } from '../../platform/http/input.ts';
import { HttpError, notFound } from '../../platform/http/http-error.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { HubRequest, Viewer } from '../../platform/http/router.ts';
import { viewerOfAddress } from '../accounts/signed-address-store.ts';
import { attachments, type Attachment } from '../attachments/attachment-store.ts';
import { draftFiles, type DraftFile } from '../attachments/draft-file-store.ts';
import { KEPT_ONLY } from '../attachments/post-pictures.ts';
import { openKeptFile, openRemoteFile } from '../attachments/remote-cache.ts';
import { serveFile, type ServedFile } from '../attachments/serve-file.ts';
import { uploadFiles } from '../attachments/upload-files.ts';
import { follows } from '../follows/follow-store.ts';
import type { Hub } from '../hub/hub.ts';
import { visibleFile } from './post-access.ts';
import type { PostAccess } from './post-store.ts';

/** The file of an address: of a post, or of a draft. */
export function requestedFile(hub: Hub, req: HubRequest): object {
  return req.params['key']?.startsWith('-') ? requestedDraftFile(hub, req) : requestedAttachment(hub, req);
}

function requestedAttachment(hub: Hub, req: HubRequest) {
  const signedFor = appOfAddress(hub, req);
  const found = visibleFile(hub, attachmentAt(hub, req), req.viewer ?? signedFor);
  requireFollowed(hub, signedFor, found.post);
  return { ...found, signedFor };
}

/** GET /attachments/:key/:filename: an uploaded file, or the hub's copy of a publisher's file. */
export async function showAttachment(hub: Hub, req: HubRequest): Promise<Reply> {
  if (req.params['key']?.startsWith('-')) return showDraftFile(hub, req);
  const { attachment, post, signedFor } = requestedAttachment(hub, req);
  const isPublic = post.isPublic === 1;
  const isSigned = signedFor !== null;
  const { remoteUrl, sha256, mediaType, bytes, filename, scan } = attachment;
  const about = { filename, isPublic, isSigned };
  if (remoteUrl !== null && req.query.has(KEPT_ONLY)) {
    return serveFile({ ...await openKeptFile(hub, remoteUrl), ...about }, req);
  }
  if (remoteUrl !== null) return serveRemote(hub, { url: remoteUrl, post, about }, req);
  if (scan === 'infected') throw new HttpError(410, 'This file is infected and has been quarantined.');
  if (sha256 === null || mediaType === null || bytes === null) throw notFound('file');
  return serveFile({ path: uploadFiles(hub).pathOf(sha256), sha256, bytes, mediaType, ...about }, req);
}

/** The viewer for whose app a file's address is signed; null without a valid signature, or if somebody is signed in. */
export function appOfAddress(hub: Hub, { viewer, path, query }: HubRequest): Viewer | null {
  return viewer === null ? viewerOfAddress(hub, path, query) : null;
}

function requestedDraftFile(hub: Hub, req: HubRequest): DraftFile {
  const [, id = '', urlKey = ''] = /^-(\d+)-([0-9a-f]+)$/.exec(req.params['key'] ?? '') ?? [];
  const file = draftFiles(hub).find(pathId({ id }));
  if (file?.urlKey !== urlKey || file.accountId !== req.viewer?.id) throw notFound('file');
  return file;
}

function showDraftFile(hub: Hub, req: HubRequest): Promise<Reply> {
  const file = requestedDraftFile(hub, req);
  if (file.scan === 'infected') throw new HttpError(410, 'This file is infected and has been quarantined.');
  return serveFile({ ...file, path: uploadFiles(hub).pathOf(file.sha256), isPublic: false }, req);
}

/** Throws 404 if the account that a file's address was signed for no longer follows the post's private source. */
export function requireFollowed(hub: Hub, signedFor: Viewer | null, { sourceId, isPublic }: PostAccess): void {
  if (signedFor && isPublic === 0 && !follows(hub).isFollowed(signedFor.id, sourceId)) throw notFound('file');
}

function attachmentAt(hub: Hub, { params }: HubRequest): Attachment | undefined {
  const [, id = '', urlKey = ''] = /^(\d+)-([0-9a-f]+)$/.exec(params['key'] ?? '') ?? [];
  const found = attachments(hub).find(pathId({ id }));
  return found?.urlKey === urlKey ? found : undefined;
}

type RemoteFile = { url: string; post: PostAccess; about: Pick<ServedFile, 'filename' | 'isPublic' | 'isSigned'> };

/** Serves the hub's copy of a remote file; fetches the file again if the copy is evicted before it is opened. */
export async function serveRemote(
  hub: Hub, { url, post, about }: RemoteFile, req: HubRequest,
): Promise<Reply> {
  const content = await openRemoteFile(hub, url, post);
  return serveFile({ ...content, ...about }, req).catch(async (error: unknown) => {
    if (!(error instanceof HttpError && error.status === 404)) throw error;
    return serveFile({ ...await openRemoteFile(hub, url, post), ...about }, req);
  });
}
