import { hasPassed } from '../../platform/clock.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon } from '../../platform/http/icons.ts';
import { hiddenInput, postForm } from '../../platform/http/page-parts.ts';
import type { Viewer } from '../../platform/http/router.ts';
import { accounts, invitations } from '../accounts/account-store.ts';
import { TEST_BUTTON } from '../alerts/alert-list.ts';
import { alertDeliveries } from '../alerts/alert-store.ts';
import { DELIVERED_KEPT } from '../alerts/send-alert.ts';
import { takeSnapshot } from '../health/condition.ts';
import { findingOn, type Finding } from '../health/findings.ts';
import { hubLook, PRODUCT } from '../hub/hub-row-store.ts';
import type { Hub } from '../hub/hub.ts';
import { sourcePosts } from '../posts/source-posts-store.ts';
import { countsForPage } from '../reading/reading-counts.ts';
import { manySources } from '../sources/source-store.ts';

type NextStep = { title: string; href: string; isDone: boolean; how: Html; button?: Html | false };

/** The list of first steps; false if the viewer did all steps or hid the list. `from`: the path of the list's page. */
export function nextSteps(hub: Hub, viewer: Viewer, from: string): Html | false {
  if (!viewer.preferences.nextSteps) return false;
  const steps = viewer.role === 'admin' ? stepsOfAdmin(hub, viewer) : stepsOfMember(hub, viewer);
  const done = steps.filter(({ isDone }) => isDone).length;
  return done < steps.length && html`<section class="steps" aria-labelledby="next-steps">
<div class="section-head"><h2 id="next-steps">What to do first</h2>
<span class="meta">${done} of ${steps.length} done</span>
${postForm('/settings/next-steps', hiddenInput('from', from), html`<button class="link">Hide this list</button>`, '')}
</div>
<ol>${steps.map(stepItem)}</ol></section>`;
}

function stepItem({ title, href, isDone, how, button }: NextStep): Html {
  return html`
<li class="${isDone && 'ticked'}">${icon(isDone ? 'done' : 'ring')}<div><p><span
  class="unseen">${isDone ? 'Done' : 'To do'}: </span><a href="${href}">${title}</a></p>
${!isDone && html`<p class="hint">${how}</p>`}</div>${!isDone && button}</li>`;
}

function stepsOfAdmin(hub: Hub, viewer: Viewer): NextStep[] {
  const { name, text } = hubLook(hub).read();
  return [
    {
      title: 'Add sources', href: '/sources/add', isDone: followsAny(hub, viewer),
      how: html`Add a feed by its address, or <a href="/sources/import">import the list of another reader</a> (OPML).`,
    },
    alertStep(hub, viewer), backupStep(hub),
    {
      title: 'Invite somebody', href: '/admin/invitations',
      isDone: accounts(hub).list(0, 2).length > 1 || invitations(hub).list(0, 1).length > 0,
      how: html`Send somebody a link. It works once.`,
    },
    {
      title: 'Look at the public page', href: '/public', isDone: name !== PRODUCT || text !== '',
      how: html`It is what everybody sees. <a href="/admin/hub">Give the hub a name and a text</a>.`,
    },
  ];
}

function stepsOfMember(hub: Hub, viewer: Viewer): NextStep[] {
  const own = manySources(hub).nativeOf(viewer.id).map(({ id }) => id);
  return [
    {
      title: 'Follow a source', href: '/sources?show=others', isDone: followsAny(hub, viewer),
      how: html`Choose a source of this hub, <a href="/sources/add">add a feed</a>, or <a
  href="/sources/import">import the list of another reader</a> (OPML).`,
    },
    {
      title: 'Write something', href: '/write', isDone: sourcePosts(hub).newestOf(own).size > 0,
      how: html`For everybody or for yourself.`,
    },
  ];
}

/** Above a reader's list, the steps are only shown until there is something to read. */
export function stepsAboveList(hub: Hub, viewer: Viewer): Html | false {
  const followed = countsForPage(hub, viewer).folders.flatMap(({ sources }) => sources.map(({ id }) => id));
  return sourcePosts(hub).hasAny(followed) ? false : nextSteps(hub, viewer, '/');
}

/** Whether the viewer follows a source. Members automatically follow every source that they add. */
function followsAny(hub: Hub, viewer: Viewer): boolean {
  return countsForPage(hub, viewer).folders.length > 0;
}

/** An account older than DELIVERED_KEPT needs no delivered alert for this step, because old alerts are removed. */
function alertStep(hub: Hub, viewer: Viewer): NextStep {
  const [found] = findingOn('Alerts', takeSnapshot(hub));
  const isSetUp = hub.config.alertWebhookUrl !== null;
  const hasArrived = alertDeliveries(hub).list({ state: 'delivered', limit: 1 }).length > 0;
  const isForgotten = hasPassed(accounts(hub).find(viewer.id)?.createdAt ?? 0, DELIVERED_KEPT, hub.clock());
  return {
    title: 'Let the hub tell you of problems', href: '/admin/alerts',
    isDone: isSetUp && !found?.isBad && (hasArrived || isForgotten),
    how: html`${found?.whatToDo ? told(found) : 'See whether a test alert arrives at your receiver.'}${
      !isSetUp && ' Then restart the hub.'}`,
    button: isSetUp && TEST_BUTTON,
  };
}

function backupStep(hub: Hub): NextStep {
  const snapshot = takeSnapshot(hub);
  return {
    title: 'Make the first backup', href: '/admin#nights', isDone: snapshot.backups().newestVerified !== null,
    how: html`${findingOn('Backup here', snapshot).map(told)}`,
  };
}

function told({ level, problem, whatToDo }: Finding): Html {
  return html`${level === 'bad' && html`<span class="bad">${problem}</span> `}${whatToDo}`;
}
