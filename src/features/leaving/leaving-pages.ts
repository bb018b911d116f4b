import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { inputField, narrowPage, postForm } from '../../platform/http/page-parts.ts';
import { page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { passwordField, problemAbove } from '../accounts/account-views.ts';
import type { Hub } from '../hub/hub.ts';
import { offers } from '../manage-sources/offer-store.ts';
import { endedSession } from '../accounts/authenticate.ts';
import { CONFIRMED } from '../accounts/passwords.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import {
  LEAVE_CONFIRMATION, obstacleToLeaving, ownedSources, leaveHub, LEAVING, type OwnedSource,
} from './leave-hub.ts';
import { exportAccount } from './export-account.ts';
import { ACCOUNT_EXPORT } from './exported-rows.ts';

/** Page: the form for deleting the viewer's account, or the obstacle to it. `problem`: the error of a refused form. */
export function showLeave(hub: Hub, { viewer }: MemberRequest, problem?: HttpError): Reply {
  const { backupRetentionDays } = hub.config;
  const owned = ownedSources(hub, viewer.id).map((source, index) =>
    ({ ...source, isOffered: index < SHOWN && offers(hub).ofSource(source.id) !== undefined }));
  const form = leavePage(owned, obstacleToLeaving(hub, viewer), backupRetentionDays, problem);
  return page(form, problem?.status, problem?.headers);
}

function leavePage(
  sources: ListedSource[], obstacle: HttpError | undefined, backupDays: number | null, problem: HttpError | undefined,
): Page {
  const backupsEnd = backupDays === null
    ? 'the operator removes them' : `they expire, after ${backupDays} days`;
  const lead = 'Your name, sessions, tokens, drafts, reading list, stars, reading history, notifications, offers and ' +
    'invitations are deleted for good. In the audit log, a made-up name stands for yours.';
  return narrowPage('Delete your account', lead, html`
  <p>Backups still contain your data until ${backupsEnd}.
    Files of posts that you delete leave the disk within three days.</p>
  <p><a class="button" href="/api/account/export">Download your data first</a></p>
  <p class="hint">It has the addresses of your posts’ files, not the files: save those before you delete their
    source.</p>
  ${sources.length > 0 && sourceList(sources)}
  ${sources.length === 0 && obstacle && html`<div class="problem"><p>${obstacle.message}</p></div>`}
  ${!obstacle && form(problem)}
  <p><a class="quiet" href="/settings">Keep the account</a></p>`, { section: 'settings' });
}

/** The page `/sources` lists all sources. */
const SHOWN = 100;

type ListedSource = OwnedSource & { isOffered: boolean };

function sourceList(sources: ListedSource[]): Html {
  const more = sources.length - SHOWN;
  return html`
  <div class="problem"><p>You own sources. Transfer or delete each of them first.</p></div>
  <p class="hint">One that you offer to a member stays yours until they accept; an administrator owns it at once.</p>
  ${more > 0 && html`
  <p class="hint">${more} more are in the <a href="/sources?show=mine">list of your sources</a>.</p>`}
  <ul class="items">${sources.slice(0, SHOWN).map(({ id, title, isOffered }) => html`
    <li><div><a class="title" href="/sources/${id}">${title}</a>${
      isOffered && html` <span class="state off">offered</span>`}</div>
      <span><a href="/sources/${id}/transfer" aria-label="Transfer ${title}">Transfer</a>
        <a href="/sources/${id}/delete" aria-label="Delete ${title}">Delete</a></span></li>`)}
  </ul>`;
}

function form(problem: HttpError | undefined): Html {
  return postForm('/settings/delete', html`
    ${problemAbove(problem)}
    ${passwordField(problem)}
    ${inputField({ problem }, 'confirmation', `Type ${LEAVE_CONFIRMATION} to confirm`,
      html`required autocomplete="off" autocapitalize="characters" spellcheck="false"`)}`,
  html`<button class="danger">Delete account for good</button>`);
}

/** Page: tells a former member that the account has been deleted. */
export function showGoodbye(): Reply {
  const lead = 'You are signed out everywhere. The hub is removing the rest of your personal data.';
  return page(narrowPage('Your account has been deleted', lead, html`
  <p><a class="button" href="/">Newest posts</a></p>`, { title: 'Account deleted', shape: 'door' }));
}

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
