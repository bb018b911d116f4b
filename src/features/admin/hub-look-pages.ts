import { filled, line, object, optional, prose, whole } from '../../platform/http/fields.ts';
import { html, type Html } from '../../platform/http/html.ts';
import type { HttpError } from '../../platform/http/http-error.ts';
import { inputField, postForm, radios, textField, titledPage } from '../../platform/http/page-parts.ts';
import { page, type Page, type Reply } from '../../platform/http/reply.ts';
import { audit, type By } from '../audit/audit.ts';
import { act, type Endpoint } from '../hub/acts.ts';
import { hubLook, type HubLook } from '../hub/hub-row-store.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';

const HUB_NAME_MAX = 60;
const FRONT_TEXT_MAX = 500;
const HUE_MAX = 359;

/** The accent colours that the page offers. Any hue works, because the stylesheet sets lightness and chroma. */
const HUES: [hue: number, name: string][] = [
  [268, 'Ink'], [295, 'Violet'], [325, 'Plum'], [355, 'Rose'], [25, 'Brick'], [55, 'Amber'], [90, 'Straw'],
  [125, 'Moss'], [155, 'Fern'], [185, 'Teal'], [215, 'Lake'], [240, 'Sea'],
];

const LOOK = {
  name: filled(line({ max: HUB_NAME_MAX })), text: prose(FRONT_TEXT_MAX), hue: whole(0, HUE_MAX),
};

export const LOOK_ROUTES: Endpoint[] = act({
  api: 'PATCH /api/admin/hub', form: 'POST /admin/hub', access: 'admin',
  summary: 'Change name, front-page text or accent of the hub',
  fields: { name: optional(LOOK.name), text: optional(LOOK.text), hue: optional(LOOK.hue) },
  run: changeLook,
  shape: object(LOOK), show: (look) => look,
  typed: (values) => ({ text: '', ...values }), // a missing text clears it
  to: saying('/admin/hub', 'look-saved'),
  again: (_hub, _req, { values, problem }) => page(lookPage(values, problem), problem.status), againFor: [422],
});

function changeLook(hub: Hub, { name, text, hue }: Partial<HubLook>, by: By): HubLook {
  return hub.db.write('change look', () => {
    const before = hubLook(hub).read();
    const look = { name: name ?? before.name, text: text?.trim() ?? before.text, hue: hue ?? before.hue };
    audit(hub, 'hub.changed', by, undefined, { name: look.name, hue: look.hue });
    hubLook(hub).change(look);
    return look;
  });
}

/** Page: the form for the name, front-page text and accent of the hub. */
export function showLook(hub: Hub): Reply {
  const { name, text, hue } = hubLook(hub).read();
  return page(lookPage({ name, text, hue: String(hue) }));
}

function lookPage(values: Record<string, string>, problem?: HttpError): Page {
  const sent = { values, problem };
  const form = postForm('/admin/hub', html`
  ${inputField(sent, 'name', 'Name of the hub', html`required maxlength="${HUB_NAME_MAX}" dir="auto"`)}
  ${textField(sent, 'text', 'Text of the public page',
      html`rows="4" maxlength="${FRONT_TEXT_MAX}" class="text" dir="auto"`,
      { hint: 'optional; says what this hub is for, and for whom' })}
  ${hueChoice(values['hue'] ?? '', problem)}`, 'Save', 'stack narrow');
  return titledPage('Appearance', form, { section: 'admin/hub' });
}

function hueChoice(chosen: string, problem: HttpError | undefined): Html {
  const isKnown = HUES.some(([hue]) => String(hue) === chosen);
  const own: typeof HUES = isKnown || !/^\d+$/.test(chosen) ? [] : [[Number(chosen), `Hue ${chosen}`]];
  const options = [...own, ...HUES].map(([hue, name]) => [String(hue), html`
      <svg class="favicon" viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20"
        fill="oklch(45% 0.19 ${hue})"/></svg>${name}`] as const);
  return html`<fieldset class="swatches"><legend>Accent</legend>${
    radios(problem, 'hue', options, chosen, 'check')}</fieldset>`;
}
