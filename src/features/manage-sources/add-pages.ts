import { readForm } from '../../platform/http/body.ts';
import { orAgain } from '../../platform/http/form-faults.ts';
import { page, seeOther, type HttpError, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { timesOf } from '../../platform/http/times.ts';
import { follows } from '../follows/follow-store.ts';
import { planComparison } from '../full-text/ask-for-full-text.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { newWebhookPage } from '../webhooks/webhook-pages.ts';
import { addSource, lookAtFeed } from './add-source.ts';
import { addPage, foundPage, type AddForm } from './add-views.ts';

/** Page: the form for a new source. `?url=` fills in the address field, for bookmarklets and other programs. */
export function showAddSource(hub: Hub, req: MemberRequest): Reply {
  const url = req.query.get('url');
  return page(addPage(url ? { values: { url } } : {}, follows(hub).folderNames(req.viewer.id)));
}

/** Form: fetches the feed at an address and shows a preview of the feed. */
export async function submitLook(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  return orAgain(
    async () => page(foundPage(await lookAtFeed(hub, withPassword(values), req), values, timesOf(hub, req.viewer))),
    (problem) => addAgain(hub, req, { values, problem }));
}

export async function submitSource(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  return orAgain(async () => {
    const { source, webhook, isNew } = await addSource(hub, { kind: 'feed', ...withPassword(values) }, req);
    if (isNew && source.kind === 'feed') planComparison(hub, source.id);
    if (webhook) return page(newWebhookPage(source, webhook), 201, { 'cache-control': 'no-store' });
    return seeOther(saying(`/sources/${source.id}`, isNew ? 'source-added' : 'source-followed'));
  }, (problem) => addAgain(hub, req, { values, problem }));
}

/** Leaves out the empty user name and password fields of a form. A source with a password becomes private. */
export function withPassword({ username, password, ...values }: Record<string, string>): Record<string, string> {
  return username || password ? { ...values, username: username ?? '', password: password ?? '', visibility: 'private' }
    : values;
}

function addAgain(hub: Hub, { viewer }: MemberRequest, form: AddForm & { problem: HttpError }): Reply {
  return page(addPage(form, follows(hub).folderNames(viewer.id)), form.problem.status, form.problem.headers);
}
