import { readJson, type JsonObject } from '../../platform/http/body.ts';
import {
  anyOf, array, choice, line, named, noted, object, optional, text,
} from '../../platform/http/fields.ts';
import { pathId } from '../../platform/http/input.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { ATTACHMENT, attachmentJson } from '../attachments/attachment-links.ts';
import { contentWithImages } from '../attachments/own-files.ts';
import { firstValues, isMultipart, receiveUpload, type ReceivedFile } from '../attachments/receive-upload.ts';
import { FOLDER_MAX } from '../follows/follow-store.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { addSource } from '../manage-sources/add-source.ts';
import { changeablePost } from '../posts/post-access.ts';
import { POST, postJson } from '../posts/query-posts.ts';
import { TITLE_MAX, VISIBILITIES } from '../sources/source-store.ts';
import { drafts, type Draft } from './draft-store.ts';
import { restoreDraft } from './keep-draft.ts';
import { inThePast, JSON_LIMIT, readSentPost, SENT_CHANGE_FIELDS, SENT_FIELDS, TEXT_FIELDS } from './post-fields.ts';
import { changePost, DRAFT, draftJson, draftOfChange, scheduleNew } from './scheduled-posts.ts';
import { formOfWithdrawn, withdrawPost } from './withdraw-post.ts';
import { formOfPlace, showPlaceAgain } from './write-pages.ts';
import { addFilesToPost, previewContent, removeFile, writePost } from './write-post.ts';

const PREVIEW = named('Preview', object({ contentHtml: text }));

const POST_OR_DRAFT = anyOf(POST, DRAFT);
const FILES = array(noted(text, { format: 'binary' }));
const OF_UPLOADS = [404, 409, 429, 503, 507];

export const WRITING_ROUTES: Endpoint[] = [
  {
    pattern: 'POST /api/posts', access: 'member', summary: 'Write a post (JSON, or multipart/form-data with files)',
    handler: createPost,
    operation: {
      body: {
        'application/json': object(SENT_FIELDS).schema,
        'multipart/form-data': object({ ...SENT_FIELDS, attachments: optional(FILES) }).schema,
      },
      answers: { 201: { 'application/json': POST_OR_DRAFT.schema } }, refusals: OF_UPLOADS,
    },
  },
  ...act({
    api: 'PATCH /api/posts/:id', summary: 'Change a post of a native source',
    fields: SENT_CHANGE_FIELDS, jsonLimit: JSON_LIMIT,
    check(input, changes, hub, { viewer, params }) {
      inThePast(hub)(input, changes);
      const isRefused = input.has('publishAt') && changes.publishAt === undefined;
      if (isRefused || draftOfChange(hub, pathId(params), changes, viewer)) return;
      changeablePost(hub, pathId(params), viewer); // the rights come before the faults
    },
    run: (hub, changes, req) => changePost(hub, pathId(req.params), changes, req),
    shape: POST_OR_DRAFT, refusals: [409],
    show: (made, hub) => ('form' in made ? draftJson(hub, made) : postJson(hub, made)),
  }),
  ...act({
    api: 'POST /api/preview', summary: 'A text as a post would show it',
    fields: TEXT_FIELDS, jsonLimit: JSON_LIMIT,
    run: previewContent,
    shape: PREVIEW,
    show: (contentHtml, hub) =>
      ({ contentHtml: contentWithImages(hub, { contentHtml, attachments: [] }, hub.config.baseUrl) }),
  }),
  ...act({
    api: 'POST /api/posts/:id/withdraw', summary: 'Take a post back into a draft',
    run: byId(withdrawPost),
    shapes: { 201: DRAFT }, refusals: [409],
    reply: (draft: Draft, hub) => [201, draftJson(hub, draft), atItsPage(hub, draft)],
  }),
  ...act({
    form: 'POST /posts/:id/withdraw', summary: 'Take a post back into a draft',
    run: byId(formOfWithdrawn), next: (form: string) => saying(form, 'post-withdrawn'),
  }),
  {
    pattern: 'POST /api/posts/:id/attachments', access: 'member', summary: 'Add files to a post of a native source',
    handler: createAttachments,
    operation: {
      body: { 'multipart/form-data': object({ attachments: FILES }).schema },
      answers: { 201: { 'application/json': object({ items: array(ATTACHMENT) }).schema } }, refusals: OF_UPLOADS,
    },
  },
  ...act({
    api: 'DELETE /api/attachments/:id', summary: 'Remove an uploaded file from its post',
    run: byId(removeFile), refusals: [409],
  }),
  ...act({
    form: 'POST /write/source', summary: 'Make a source for the member’s own posts',
    fields: {
      title: line({ max: TITLE_MAX }), visibility: optional(choice(VISIBILITIES)),
      folder: optional(line({ max: FOLDER_MAX })),
    },
    run: (hub, place, req) => addSource(hub, { kind: 'native', ...place }, req),
    next: ({ source }, _hub, _req, values) => saying(`${formOfPlace(values)}?source=${source.id}`, 'own-source-made'),
    again: showPlaceAgain,
  }),
  ...act({
    form: 'POST /drafts/:id/discard', summary: 'Discard a draft',
    run: byId((hub, id, { viewer }) => hub.db.write('discard draft', () => drafts(hub).discard(viewer.id, id))),
    usesReserve: true, to: saying('/write', 'draft-discarded'),
  }),
  ...act({
    form: 'POST /drafts/:id/restore', summary: 'Restore a discarded draft',
    run: byId((hub, id, { viewer }) => restoreDraft(hub, viewer.id, id)),
    next: (form: string) => saying(form, 'draft-restored'),
  }),
];

async function createPost(hub: Hub, req: MemberRequest): Promise<Reply> {
  if (!isMultipart(req)) return createFrom(hub, req, await readJson(req, JSON_LIMIT), []);
  return receiveUpload(hub, req, ({ fields, files }) => createFrom(hub, req, firstValues(fields), files));
}

async function createFrom(hub: Hub, req: MemberRequest, values: JsonObject, files: ReceivedFile[]): Promise<Reply> {
  const { publishAt, ...given } = readSentPost(hub, values, req.viewer);
  if (publishAt !== undefined) {
    const draft = await scheduleNew(hub, given, { sent: values, at: publishAt, files }, req);
    return json(draftJson(hub, draft), 201, atItsPage(hub, draft));
  }
  const post = await writePost(hub, given, { files }, req);
  return json(postJson(hub, post), 201, { location: `${hub.config.baseUrl}/api/posts/${post.id}` });
}

function atItsPage(hub: Hub, { form }: Draft): { location: string } {
  return { location: hub.config.baseUrl + form };
}

async function createAttachments(hub: Hub, req: MemberRequest): Promise<Reply> {
  const id = pathId(req.params);
  changeablePost(hub, id, req.viewer); // the rights are checked before the hub reads megabytes
  const added = await receiveUpload(hub, req, ({ files }) => addFilesToPost(hub, id, files, req));
  return json({ items: added.map((attachment) => attachmentJson(hub, attachment)) }, 201);
}
