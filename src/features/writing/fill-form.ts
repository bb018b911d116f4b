import { MAX_PAGE_BYTES } from '../../platform/http/answer-request.ts';
import { contentText, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import type { MemberRequest, Viewer } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { attachments } from '../attachments/attachment-store.ts';
import { asAttachment, draftFiles } from '../attachments/draft-file-store.ts';
import { bytesLeft } from '../attachments/receive-upload.ts';
import { contentOnPage } from '../attachments/serve-file.ts';
import type { Hub } from '../hub/hub.ts';
import { inTurn } from '../posts/ingest-posts.ts';
import { posts, type WholePost } from '../posts/post-store.ts';
import { postTexts } from '../posts/post-text-store.ts';
import { revisionOf } from './check-versions.ts';
import { drafts, type DraftFields } from './draft-store.ts';
import type { Typed } from './form-fields.ts';
import { formPath, postIdOf, proofFor } from './keep-draft.ts';
import { POST_MAX } from './post-fields.ts';
import { paragraphsToText, shortMarkup } from './written-text.ts';
import type { PostForm } from './write-views.ts';

/** Bytes that the form's text and the preview share; 512 KiB are for the rest of the page. */
const TEXT_BYTES = MAX_PAGE_BYTES - 512 * 1024;
const LEAST_PREVIEW_BYTES = 16 * 1024;

/** After a refusal because of another tab, sending the form again replaces the text of the other tab. */
export function fillForm(
  hub: Hub, req: MemberRequest, path: string, { fields, cut, tab }: Typed, problem?: HttpError,
): PostForm {
  const { id, via } = req.viewer;
  const draft = drafts(hub).find(id, path);
  const version = posts(hub).versionOf(postIdOf(path) ?? 0);
  const { members: told = {} } = problem ?? {};
  return {
    path, viewerId: id, values: fields, cut, isWhole: true, hasFiles: true, isOpened: false,
    revision: ('revision' in told ? undefined : tab.revision) ?? revisionOf(hub, id, path),
    version: ('version' in told ? undefined : fields['version']) ?? version,
    isChanged: fields['version'] !== undefined && fields['version'] !== version,
    proof: via === 'session' ? proofFor(hub, id, path) : '',
    fileBytes: hub.config.uploadMaxBytes, bytesLeft: bytesLeft(hub, id), times: timesOf(hub, req.viewer),
    tab: tab.name, draft, scheduled: drafts(hub).scheduled(id, path),
    files: draft ? draftFiles(hub).ofDraft(draft.id) : [],
  };
}

/** Returns the form fields of a stored post. Version 1.0.0 stored no texts; one is then made from the post's HTML. */
export async function fieldsOfPost(
  hub: Hub, { id, title, contentHtml, url }: WholePost, viewer: Viewer,
): Promise<DraftFields> {
  const written = postTexts(hub).find(id);
  if (written) return { title, ...written, url: url ?? '' };
  const turn = { length: contentHtml.length, accountOf: () => viewer.id };
  const text = await inTurn(hub, turn, () => paragraphsToText(contentHtml));
  const content = text ?? (contentHtml.length <= POST_MAX.content ? contentHtml : shortMarkup(contentHtml));
  return { title, content, contentType: text === undefined ? 'text/html' : 'text/plain', url: url ?? '' };
}

/** A preview's content as the post's page will show it, or as plain text if it has no room beside the form's text. */
export function shownContent(
  hub: Hub, req: MemberRequest, { content }: DraftFields, contentHtml: string,
): Promise<Html> {
  const path = formPath(req);
  const draft = drafts(hub).find(req.viewer.id, path);
  const kept = attachments(hub).ofPosts([postIdOf(path) ?? 0]);
  const files = [...kept, ...draft ? draftFiles(hub).ofDraft(draft.id).map(asAttachment) : []];
  const room = Math.max(TEXT_BYTES - contentText(content).bytes.length, LEAST_PREVIEW_BYTES);
  return contentOnPage(hub, { contentHtml, url: null, attachments: files }, room);
}
