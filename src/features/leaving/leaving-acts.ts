import { seeOther } from '../../platform/http/reply.ts';
import { endedSession } from '../accounts/authenticate.ts';
import { CONFIRMED } from '../accounts/passwords.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { exportAccount } from './export-account.ts';
import { ACCOUNT_EXPORT } from './exported-rows.ts';
import { leaveHub, LEAVING } from './leave-hub.ts';
import { showLeave } from './leaving-pages.ts';

export const LEAVING_ROUTES: Endpoint[] = [
  ...act({
    api: 'DELETE /api/account', form: 'POST /settings/delete', summary: 'Delete your account', usesReserve: true,
    fields: LEAVING, ...CONFIRMED, refusals: [409, 429],
    run: (hub, { password }, req) => leaveHub(hub, password, req),
    shapes: { 204: null }, reply: (_gone, hub) => [204, null, endedSession(hub)],
    next: (_gone, hub) => seeOther('/goodbye', endedSession(hub)),
    again: (hub, req, { problem }) => showLeave(hub, req, problem),
  }),
  {
    pattern: 'GET /api/account/export', access: 'member', summary: 'All your personal data as one JSON document',
    handler: (hub, req) => ({
      status: 200, body: exportAccount(hub, req),
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-disposition': 'attachment; filename="content-hub-account.json"',
      },
    }),
    operation: { answers: { 200: { 'application/json': ACCOUNT_EXPORT.schema } } },
  },
];
