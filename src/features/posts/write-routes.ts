import { readJson } from '../../platform/http/body.ts';
import { pathId } from '../../platform/http/input.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { attachmentJson, postJson } from './post-json.ts';
import { firstValues, isMultipart, withForm, type ReceiveForm } from './received-form.ts';
import type { Serving } from './served-attachments.ts';
import type { ReceivedFiles, WritingPosts } from './write-post.ts';

/** Bytes. 400,000 characters of a post, each written as \u…, and its other members. */
const JSON_LIMIT = 2.5 * 1024 * 1024;

export type WriteRouteDeps<File> = { writing: WritingPosts<File>; receive: ReceiveForm<File>; serving: Serving };

/** The API for writing posts and adding files to them. */
export function writeRoutes<File>({ writing, receive, serving }: WriteRouteDeps<File>): Route[] {
  return [
    route('POST /api/posts', 'member', 'Write a post (JSON, or multipart/form-data with files)', create),
    route('PATCH /api/posts/:id', 'member', 'Change a post of a source of own posts', change),
    route('POST /api/posts/:id/attachments', 'member', 'Add files to a post of a source of own posts', addFiles),
  ];

  async function create(req: MemberRequest): Promise<Reply> {
    const post = isMultipart(req)
      ? await withForm(receive(req), (form) => writing.create(firstValues(form.fields), form, req))
      : await writing.create(await readJson(req, JSON_LIMIT), noFiles<File>(), req);
    return json(postJson(post, serving), 201, { location: `${serving.baseUrl}/api/posts/${post.id}` });
  }

  async function change(req: MemberRequest): Promise<Reply> {
    const values = await readJson(req, JSON_LIMIT);
    return json(postJson(await writing.change(pathId(req.params), values, noFiles<File>(), req), serving));
  }

  async function addFiles(req: MemberRequest): Promise<Reply> {
    const id = pathId(req.params);
    writing.changeable(id, req.viewer); // before megabytes are read for nothing
    const added = await withForm(receive(req), (form) => writing.addFiles(id, form, req));
    return json({ items: added.map((attachment) => attachmentJson(attachment, serving)) }, 201);
  }
}

function noFiles<File>(): ReceivedFiles<File> {
  return { files: [], keep: async () => {} };
}
