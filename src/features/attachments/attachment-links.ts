import type { Config } from '../hub/read-config.ts';
import type { Attachment } from './attachment-store.ts';

/** What decides where a file is had: of the hub, its address and whether it keeps copies of publishers' files. */
export type LinkHub = { config: Pick<Config, 'baseUrl' | 'attachmentCacheMaxBytes'> };

/** Of what the hub keeps copies: see recognise-file. Sounds and films stay links to their publisher. */
const KEPT_TYPE = /^(?:image\/(?:\*|png|jpeg|jpg|pjpeg|gif|webp|avif)|application\/pdf)$/i;
const KEPT_NAME = /\.(?:png|jpe?g|jfif|gif|webp|avif|pdf)$/i;

/** An attachment as the API shows it. */
export function attachmentJson(hub: LinkHub, attachment: Attachment) {
  const { id, kind, filename, mediaType, bytes, sha256, scan } = attachment;
  const url = attachmentUrl(hub, attachment);
  return { id, kind, filename, mediaType, bytes, sha256, url, scan: scan ?? 'unscanned' };
}

/** Where a reader gets the file: from the hub, or from its publisher. */
export function attachmentUrl(hub: LinkHub, attachment: Attachment): string | null {
  const path = attachmentPath(hub, attachment);
  return path === null ? attachment.remoteUrl : hub.config.baseUrl + path;
}

/** The path at the hub under which a file is served, or null for one that only its publisher has. */
export function attachmentPath({ config }: LinkHub, attachment: Attachment): string | null {
  const { kind, filename, isInline, mediaType } = attachment;
  const isKept = isInline === 1 || (mediaType === null ? KEPT_NAME.test(filename) : KEPT_TYPE.test(mediaType));
  if (kind === 'remote' && !(config.attachmentCacheMaxBytes > 0 && isKept)) return null;
  return servedPath(attachment);
}

/** The id would do; the random part makes sure that no address is ever another file's, whatever becomes of ids. */
export function servedPath({ id, urlKey, filename }: Pick<Attachment, 'id' | 'urlKey' | 'filename'>): string {
  return `/attachments/${id}-${urlKey}/${encodeURIComponent(filename)}`;
}

/** The files to list beside a post: neither images within it nor what is in quarantine. */
export function listedAttachments(attachments: Attachment[]): Attachment[] {
  return attachments.filter(({ isInline, scan }) => isInline === 0 && scan !== 'infected');
}
