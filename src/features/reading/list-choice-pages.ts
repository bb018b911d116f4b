import { readForm } from '../../platform/http/body.ts';
import { HttpError, seeOther, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import type { Hub } from '../hub/hub.ts';
import { listOfSection, listPath, showsOf } from './list-address.ts';
import { LIST_ORDERS, LIST_SHOWS, listChoices, type Choice } from './list-choice-store.ts';
import { nameOf } from './list-pages.ts';

/** POST /reading/choice: stores the order and the posts that the viewer chose for a list, and shows the list. */
export async function submitChoice(hub: Hub, req: MemberRequest): Promise<Reply> {
  const { list = '', choice = '' } = await readForm(req);
  const [view, chosen] = [listOfSection(list), readChoice(choice)];
  if (!view || !chosen || !showsOf(view).includes(chosen.show)) {
    throw new HttpError(422, 'Name a list, an order, and posts that this list can show.');
  }
  nameOf(hub, req.viewer, view); // throws 404 for an unknown folder or a hidden source
  hub.db.write('choose for a list', () => listChoices(hub).put(req.viewer.id, list, chosen));
  return seeOther(listPath(view));
}

function readChoice(text: string): Choice | undefined {
  const all = LIST_ORDERS.flatMap((order) => LIST_SHOWS.map((show) => ({ order, show })));
  return all.find(({ order, show }) => text === `${order} ${show}`);
}
