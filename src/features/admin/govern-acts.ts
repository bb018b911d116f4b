import { named, noted, object, readGiven, text, time } from '../../platform/http/fields.ts';
import { pathId } from '../../platform/http/input.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import {
  checkGoverning, governAccount, GOVERNING, linkForPassword, type PasswordLink,
} from '../accounts/govern-account.ts';
import { CONFIRMED, currentPassword } from '../accounts/passwords.ts';
import { act, requireSession, view, type Endpoint } from '../hub/acts.ts';
import type { Hub } from '../hub/hub.ts';
import { LISTED_ACCOUNT, requestedAccount, showAccountPage } from './account-list.ts';

const PASSWORD_LINK = named('PasswordLink', object({ url: noted(text, 'Shown only once'), expiresAt: time }));

const CONFIRMATION = { currentPassword };

const makeLink = (hub: Hub, given: { currentPassword: string }, req: MemberRequest): Promise<PasswordLink> =>
  linkForPassword(hub, pathId(req.params), given.currentPassword, req);

async function showNewLink(hub: Hub, req: MemberRequest, values: Record<string, string>): Promise<Reply | undefined> {
  if (values['act'] !== 'reset-password') return undefined;
  requireSession(req.viewer);
  const { url } = await makeLink(hub, readGiven(CONFIRMATION, values), req);
  return showAccountPage(hub, req, { url });
}

/** The fields of a button of the form. */
const BUTTONS: Record<string, { role: string } | { disabled: string }> = {
  'make-admin': { role: 'admin' },
  'make-member': { role: 'member' },
  'disable': { disabled: '1' },
  'enable': { disabled: '0' },
};

/** The guard of their paths has found the account. */
export const GOVERNING_ROUTES: Endpoint[] = [
  view('GET /api/admin/accounts/:id', { access: 'admin', summary: 'One account' }, LISTED_ACCOUNT, requestedAccount),
  ...act({
    api: 'PATCH /api/admin/accounts/:id', form: 'POST /admin/accounts/:id', access: 'admin',
    summary: 'Give an account another role or state',
    fields: GOVERNING, check: checkGoverning, ...CONFIRMED, refusals: [409, 429],
    run: (hub, change, req) => governAccount(hub, pathId(req.params), change, req),
    shape: LISTED_ACCOUNT, show: (_changed, hub, req) => LISTED_ACCOUNT.show(requestedAccount(hub, req)),
    instead: showNewLink,
    typed: ({ act: button = '', currentPassword: password }) => ({ ...BUTTONS[button], currentPassword: password }),
    next: (_changed, hub, req) => showAccountPage(hub, req, { done: 'The account was changed.' }),
    again: (hub, req, { problem }) => showAccountPage(hub, req, { problem }),
  }),
  ...act({
    api: 'POST /api/admin/accounts/:id/reset-password', access: 'admin',
    summary: 'Make a link for a new password, which is shown only once',
    fields: CONFIRMATION, ...CONFIRMED, refusals: [409, 429],
    run: makeLink, status: 201, shape: PASSWORD_LINK, show: PASSWORD_LINK.show,
  }),
];
