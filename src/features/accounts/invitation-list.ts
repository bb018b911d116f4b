import { choice, id, named, object, time, noted, text } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import {
  inputField, optionOf, postButton, postForm, selectField, type FormState,
} from '../../platform/http/page-parts.ts';
import type { Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { showTime, type Times } from '../../platform/http/times.ts';
import { adminList, each } from '../hub/lists.ts';
import type { Hub } from '../hub/hub.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { invitations, ROLES, type Invitation } from './account-store.ts';
import { passwordField, problemAbove } from './account-views.ts';
import { INVITATION_HOURS, invite, INVITING, joinUrl, withdrawInvitation } from './join-hub.ts';
import { CONFIRMED } from './passwords.ts';

export const INVITATION = named('Invitation', object({
  id, role: choice(ROLES), createdAt: time, expiresAt: time,
}));

export const invitationList = adminList<Invitation>({
  name: 'invitations',
  api: '/api/invitations',
  title: 'Invitations',
  summary: 'Invitations that can still be used',
  key: ['id'],
  select: (hub, { after, limit }) => invitations(hub).list(after?.id ?? 0, limit),
  shape: INVITATION,
  above: () => inviteForm({}),
  rows: each(invitationItem),
  empty: 'No open invitations.',
  more: 'More invitations',
});

type SentInvitation = FormState & { newUrl?: string };

/** The page again, with a refused form or a new link, which is shown once. */
export function showInvitations(hub: Hub, req: MemberRequest, sent: SentInvitation): Reply {
  return invitationList.showPage(hub, req, {
    above: inviteForm(sent), ...(sent.problem && { status: sent.problem.status }),
  });
}

function inviteForm({ values = {}, problem, newUrl }: SentInvitation): Html {
  return html`
${newUrl && html`
<div class="done" role="status"><p>Send somebody this link. It is shown only once, and works once:</p>
  <p><code class="secret">${newUrl}</code></p></div>`}
${postForm('/admin/invitations', html`
  <h2>Invite someone</h2>
  ${problemAbove(problem)}
  ${selectField(problem, 'role', 'Role', [
    optionOf('member', 'member', values['role']), optionOf('admin', 'administrator', values['role']),
  ])}
  ${inputField({ problem }, 'hours', 'Valid for how many hours',
    html`type="number" min="1" max="${INVITATION_HOURS.max}" required`,
    { value: values['hours'] ?? String(INVITATION_HOURS.standard) })}
  ${passwordField(problem)}`, 'Create link', 'panel stack')}`;
}

function invitationItem({ id, role, createdAt, expiresAt }: Invitation, times: Times): Html {
  return html`
  <li><div><p class="title">${role === 'admin' ? 'An administrator' : 'A member'}</p>
      <p class="meta"><span>created ${showTime(times, createdAt)}</span>
        <span>valid until ${showTime(times, expiresAt)}</span></p></div>
    ${postButton(`/admin/invitations/${id}/withdraw`, 'Withdraw', 'link', `Withdraw invitation ${id}`)}</li>`;
}

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
