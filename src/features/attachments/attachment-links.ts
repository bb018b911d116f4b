import { choice, id, integer, named, object, orNull, text, type Shown } from '../../platform/http/fields.ts';
import type { Config } from '../hub/read-config.ts';
import type { Attachment } from './attachment-store.ts';

export type LinkHub = { config: Pick<Config, 'baseUrl' | 'attachmentCacheMaxBytes'> };

/** Media types of remote files that the hub copies. Readers get others, such as audio and video, from the publisher. */
const KEPT_TYPE = /^(?:image\/(?:\*|png|jpeg|jpg|pjpeg|gif|webp|avif)|application\/pdf)$/i;
const KEPT_NAME = /\.(?:a?png|jpe?g|jpe|jfif|gif|webp|avif|pdf)$/i;

export const ATTACHMENT = named('Attachment', object({
  id, kind: choice(['native', 'remote']), filename: text, mediaType: orNull(text), bytes: orNull(integer),
  sha256: orNull(text), url: text, scan: choice(['clean', 'unscanned']),
}));

/** For the API, where a file on the publisher's server counts as `unscanned`; it never has infected files. */
export function attachmentJson(hub: LinkHub, attachment: Attachment): Shown<typeof ATTACHMENT> {
  const { id, kind, filename, mediaType, bytes, sha256, scan } = attachment;
  const url = attachmentUrl(hub, attachment) ?? '';
  return { id, kind, filename, mediaType, bytes, sha256, url, scan: scan === 'clean' ? scan : 'unscanned' };
}

/** Where readers get the file: on the hub, or on the publisher's server. */
export function attachmentUrl(hub: LinkHub, attachment: Attachment): string | null {
  const path = attachmentPath(hub, attachment);
  return path === null ? attachment.remoteUrl : hub.config.baseUrl + path;
}

/** Null if readers get the file from its publisher. */
export function attachmentPath({ config }: LinkHub, attachment: Attachment): string | null {
  const { kind, filename, isInline, mediaType } = attachment;
  const isKept = isInline === 1 || (mediaType === null ? KEPT_NAME.test(filename) : KEPT_TYPE.test(mediaType));
  if (kind === 'remote' && !(config.attachmentCacheMaxBytes > 0 && isKept)) return null;
  return servedPath(attachment);
}

type Served = Pick<Attachment, 'id' | 'urlKey' | 'filename' | 'servedAt'>;

/** The random part of the path keeps an old path from ever leading to another file. */
export function servedPath({ id, urlKey, filename, servedAt }: Served): string {
  return servedAt ?? `/attachments/${id}-${urlKey}/${encodeURIComponent(filename)}`;
}

/** What pages, feeds and the API list: no images that the content shows, and no files in quarantine. */
export function listedAttachments(attachments: Attachment[]): Attachment[] {
  return attachments.filter(({ isInline, scan }) => isInline === 0 && scan !== 'infected');
}
