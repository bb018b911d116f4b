import { pathId } from '../../platform/http/input.ts';
import { page, seeOther, type Reply } from '../../platform/http/reply.ts';
import { route, type MemberRequest, type Route } from '../../platform/http/router.ts';
import { toHttpError } from '../../platform/http/answer-request.ts';
import type { PostWithAttachments } from './post-store.ts';
import { htmlToText } from './read-draft.ts';
import { firstValues, withForm, type ReceiveForm } from './received-form.ts';
import type { WritingPosts } from './write-post.ts';
import { changePostPage, writePostPage, type PostForm } from './write-views.ts';

export type WritePageDeps<File> = {
  writing: WritingPosts<File>;
  receive: ReceiveForm<File>;
  /** What files may be, in words; given by app. */
  filesHint: string;
  /** Told of trouble of the hub's own, such as a full disk, that the form survives; given by app. */
  noteTrouble(error: unknown): void;
};

/** The pages on which posts are written and changed, with files. */
export function writePages<File>({ writing, receive, filesHint, noteTrouble }: WritePageDeps<File>): Route[] {
  return [
    route('GET /sources/:id/write', 'member', 'Page: write a post', showEmpty),
    route('POST /sources/:id/posts', 'member', 'Form: write a post, with files', create),
    route('GET /posts/:id/edit', 'member', 'Page: change a post', showFilled),
    route('POST /posts/:id/edit', 'member', 'Form: change a post and add files', change),
  ];

  function showEmpty(req: MemberRequest): Reply {
    const source = writing.writable(pathId(req.params), req.viewer);
    return page(writePostPage(source, { values: {}, filesHint }));
  }

  function create(req: MemberRequest): Promise<Reply> {
    const source = writing.writable(pathId(req.params), req.viewer);
    const sourceId = String(source.id);
    return submitted(req, (form, values) => writing.create({ ...values, sourceId }, form, req),
      (form) => writePostPage(source, form));
  }

  function showFilled(req: MemberRequest): Reply {
    const post = writing.changeable(pathId(req.params), req.viewer);
    return page(changePostPage(post, { values: valuesOf(post), filesHint }));
  }

  function change(req: MemberRequest): Promise<Reply> {
    const post = writing.changeable(pathId(req.params), req.viewer);
    return submitted(req, (form, values) => writing.change(post.id, values, form, req),
      (form) => changePostPage(post, form));
  }

  /** Does what the form asks for and leads to the post; on a refusal the form comes again with what was typed. */
  async function submitted(
    req: MemberRequest,
    act: (form: Awaited<ReturnType<typeof receive>>, values: Record<string, string>) => Promise<PostWithAttachments>,
    again: (form: PostForm) => ReturnType<typeof writePostPage>,
  ): Promise<Reply> {
    const typed = new Map<string, string[]>();
    try {
      const post = await withForm(receive(req, typed), (form) => act(form, firstValues(typed)));
      return seeOther(`/posts/${post.id}`);
    } catch (error) {
      const problem = toHttpError(error);
      if (problem.status === 500 || typed.size === 0) throw error;
      if (problem !== error) noteTrouble(error);
      return page(again({ values: firstValues(typed), filesHint, problem }), problem.status, problem.headers);
    }
  }
}

/** The post as its form shows it: as text where it was written as text, else as markup. */
function valuesOf({ title, contentHtml, url }: PostWithAttachments): Record<string, string> {
  const text = htmlToText(contentHtml);
  const content = text ?? contentHtml;
  return { title, content, contentType: text === undefined ? 'text/html' : 'text/plain', url: url ?? '' };
}
