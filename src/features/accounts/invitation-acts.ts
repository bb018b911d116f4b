import { choice, id, named, noted, object, text, time } from '../../platform/http/fields.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { ROLES } from './account-store.ts';
import { showInvitations } from './invitation-list.ts';
import { invite, INVITING, joinUrl, withdrawInvitation } from './join-hub.ts';
import { CONFIRMED } from './passwords.ts';

const MADE_INVITATION = named('NewInvitation', object({
  id, url: noted(text, 'Shown only once'), role: choice(ROLES), expiresAt: time,
}));

export const INVITATION_ROUTES: Endpoint[] = [
  ...act({
    api: 'POST /api/invitations', form: 'POST /admin/invitations', access: 'admin',
    summary: 'Create an invitation link', fields: INVITING, ...CONFIRMED,
    async run(hub, wanted, req) {
      const { token, ...made } = await invite(hub, wanted, req);
      return { ...made, url: joinUrl(hub.config, token) };
    },
    status: 201, shape: MADE_INVITATION, show: MADE_INVITATION.show,
    next: ({ url }, hub, req) => showInvitations(hub, req, { newUrl: url }), again: showInvitations,
  }),
  ...act({
    api: 'DELETE /api/invitations/:id', form: 'POST /admin/invitations/:id/withdraw', access: 'admin',
    summary: 'Withdraw an invitation', run: byId(withdrawInvitation),
    to: saying('/admin/invitations', 'invitation-withdrawn'),
  }),
];
