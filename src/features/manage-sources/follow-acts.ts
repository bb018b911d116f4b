import { pathId } from '../../platform/http/input.ts';
import { act, byId, type Endpoint } from '../hub/acts.ts';
import { saying } from '../hub/said.ts';
import { FOLLOW_FIELDS, followSource, unfollowSource } from '../reading/follow-source.ts';
import { showFollowAgain } from './source-pages.ts';

export const FOLLOW_ROUTES: Endpoint[] = [
  ...act({
    api: 'PUT /api/sources/:id/follow', form: 'POST /sources/:id/follow',
    summary: 'Put a source into your reading list: {title?, folder?, notify?, hideGlobally?}; with notify its new '
      + 'posts make notifications, with hideGlobally they are in no list of all sources',
    fields: FOLLOW_FIELDS,
    run: (hub, changes, { viewer, params }) => followSource(hub, viewer, pathId(params), changes),
    typed: ({ title, folder, ...values }) => ({ ...values, title: cleared(title), folder: cleared(folder) }),
    again: showFollowAgain, againFor: [409, 422],
    next: (isNew) => (isNew ? saying('/sources/:id', 'sources-followed', { count: 1 })
      : saying('/sources/:id/settings', 'source-saved')),
  }),
  ...act({
    api: 'DELETE /api/sources/:id/follow', form: 'POST /sources/:id/unfollow',
    summary: 'Take a source out of your reading list',
    run: byId((hub, id, { viewer }) => unfollowSource(hub, viewer, id)), usesReserve: true,
    to: saying('/sources', 'source-unfollowed'),
  }),
];

/** An emptied field of the form ends the own name, or takes the source out of its folder. */
function cleared(text: string | undefined): string | null | undefined {
  return text?.trim() === '' ? null : text;
}
