import type { Hub } from '../../features/hub/hub.ts';
import { notifications } from '../../features/notifications/notification-store.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { icon, MARK, type IconName } from '../../platform/http/icons.ts';
import type { Viewer } from '../../platform/http/router.ts';

/** Counted no further: a reader with more knows enough. */
const MOST_UNREAD = 100;

/** What leads a member everywhere: beside the page on wide windows, a menu on others. `section`: where they are. */
export function rail(hub: Hub, viewer: Viewer, section: string | undefined, name: string): Html {
  return html`
<nav class="rail" id="rail" popover aria-label="Main">
<div class="rail-in">
<a class="brand" href="/">${MARK}<span class="name" dir="auto">${name}</span></a>
<div>
  ${item('/', 'inbox', 'Posts', section === 'posts')}
  ${item('/history', 'clock', 'Reading history', section === 'history')}
</div>
<div class="foot">
  ${item('/sources', 'sources', 'Sources', section === 'sources')}
  ${viewer.role === 'admin' && item('/admin', 'overview', 'Admin', section?.startsWith('admin/') === true)}
  ${item('/notifications', 'bell', 'Notifications', section === 'notifications', toldOf(hub, viewer))}
  ${item('/settings', 'person', viewer.displayName, section === 'settings')}
  <form method="post" action="/sign-out">
    <button class="item">${icon('leave')}<span class="name">Sign out</span></button></form>
</div>
</div>
</nav>`;
}

function item(href: string, iconName: IconName, name: string, isHere: boolean, count?: Html | false): Html {
  return html`<a class="item" href="${href}" ${isHere && html`aria-current="page"`}>${icon(iconName)}<span class="name"
    dir="auto">${name}</span>${count}</a>`;
}

function toldOf(hub: Hub, { id }: Viewer): Html | false {
  const unread = notifications(hub).countUnread(id, MOST_UNREAD);
  return unread > 0 && countOf(unread < MOST_UNREAD ? String(unread) : `${MOST_UNREAD - 1}+`);
}

function countOf(count: string): Html {
  return html`<span class="count">${count}<span class="unseen"> unread</span></span>`;
}
