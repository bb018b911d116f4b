import { choice, field, flag, line, orNull, type Field } from '../../platform/http/fields.ts';
import { localPath } from '../../platform/http/input.ts';
import { noContent } from '../../platform/http/reply.ts';
import type { Preferences } from '../../platform/http/router.ts';
import { isTimeZone } from '../../platform/http/times.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { CHOICES, SWITCHES } from '../hub/preferences.ts';
import { saying } from '../hub/said.ts';
import { settingsAgain } from './account-acts.ts';
import { preferences } from './preferences-store.ts';

const zone = field<string>({ type: 'string' }, (input, name) => {
  const typed = line({ max: 100 }).read(input, name);
  return typed === undefined || isTimeZone(typed) ? typed : input.refuse(name, 'is no known time zone.');
});

/** A field that has a value also where a form lacks it, as it lacks a box that is not ticked. */
function orElse<Value, Otherwise>(one: Field<Value>, otherwise: Otherwise) {
  return field<Value | Otherwise>(one.schema, (input, name) => one.read(input, name) ?? otherwise);
}

type OfForm = { [Name in keyof Preferences]: Field<Preferences[Name], Preferences[Name], Preferences[Name]> };

export const PREFERENCES = {
  timeZone: orElse(orNull(zone), null),
  ...Object.fromEntries(Object.entries(CHOICES).map(([name, all]) => [name, orElse(choice<string>(all), all[0])])),
  ...Object.fromEntries(SWITCHES.map((name) => [name, orElse(flag, false)])),
} as OfForm;

export const PREFERENCE_ROUTES: Endpoint[] = [
  ...act({
    form: 'POST /settings/preferences', summary: 'Change preferences',
    fields: PREFERENCES, run: (hub, chosen, { viewer }) => preferences(hub).set(viewer.id, chosen),
    to: saying('/settings', 'preferences-saved'), again: settingsAgain('preferences'),
  }),
  ...act({
    form: 'POST /settings/time-zone', summary: 'Store the time zone of the browser',
    fields: { timeZone: zone },
    run: (hub, { timeZone }, { viewer }) => preferences(hub).set(viewer.id, { ...viewer.preferences, timeZone }),
    next: (_stored, _hub, { headers }) => (headers.accept?.includes('json') ? noContent() : '/settings'),
  }),
  ...act({
    form: 'POST /settings/next-steps', summary: 'Hide the getting-started list', fields: {},
    run: (hub, _given, { viewer }) => preferences(hub).set(viewer.id, { ...viewer.preferences, nextSteps: false }),
    next: (_hidden, _hub, _req, { from }) => saying(localPath(from), 'steps-put-away'),
  }),
];
