import { readForm } from '../../platform/http/body.ts';
import { faultOf, faulty } from '../../platform/http/form-faults.ts';
import { html, type Html } from '../../platform/http/html.ts';
import { HttpError, page, seeOther, type Page, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { hubLook } from '../hub/hub-row-store.ts';
import type { Hub } from '../hub/hub.ts';
import { saying } from '../hub/said.ts';
import { changeLook, FRONT_TEXT_MAX, HUB_NAME_MAX } from './hub-look-routes.ts';

/** Any other hue is as good: lightness and chroma are the stylesheet's. */
const HUES: [hue: number, name: string][] = [
  [268, 'Ink'], [295, 'Violet'], [325, 'Plum'], [355, 'Rose'], [25, 'Brick'], [55, 'Amber'], [90, 'Straw'],
  [125, 'Moss'], [155, 'Fern'], [185, 'Teal'], [215, 'Lake'], [240, 'Sea'],
];

type LookForm = { values: Record<string, string>; problem?: HttpError };

export function showLook(hub: Hub): Reply {
  const { name, text, hue } = hubLook(hub).read();
  return page(lookPage({ values: { name, text, hue: String(hue) } }));
}

export async function submitLook(hub: Hub, req: MemberRequest): Promise<Reply> {
  const values = await readForm(req);
  try {
    changeLook(hub, { text: '', ...values }, req);
    return seeOther(saying('/admin/hub', 'look-saved'));
  } catch (problem) {
    if (!(problem instanceof HttpError) || problem.status !== 422) throw problem;
    return page(lookPage({ values, problem }), problem.status);
  }
}

/** The hub's name, what its public page says, and its accent. */
function lookPage({ values, problem }: LookForm): Page {
  const main = html`
<form method="post" action="/admin/hub" class="stack narrow">
  <label>Name of the hub
    <input name="name" value="${values['name']}" required maxlength="${HUB_NAME_MAX}" dir="auto"
      ${faulty(problem, 'name')}>${faultOf(problem, 'name')}</label>
  <label>Text of the public page <span class="optional">optional; what this hub is, and for whom</span>
    <textarea name="text" rows="4" maxlength="${FRONT_TEXT_MAX}" class="text" dir="auto" ${faulty(problem, 'text')}>
${values['text']}</textarea>${faultOf(problem, 'text')}</label>
  ${hueChoice(values['hue'] ?? '', problem)}
  <button>Save</button>
</form>`;
  return { title: 'Appearance', bar: html`<h1>Appearance</h1>`, main, section: 'admin/hub' };
}

function hueChoice(chosen: string, problem: HttpError | undefined): Html {
  const isKnown = HUES.some(([hue]) => String(hue) === chosen);
  const own: typeof HUES = isKnown || !/^\d+$/.test(chosen) ? [] : [[Number(chosen), `Hue ${chosen}`]];
  const choice = ([hue, name]: [number, string], index: number): Html => html`
    <label class="check">
      <input type="radio" name="hue" value="${hue}" ${String(hue) === chosen && html`checked`} ${
        index === 0 && faulty(problem, 'hue')}>
      <svg class="favicon" viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20"
        fill="oklch(45% 0.19 ${hue})"/></svg>${name}</label>`;
  return html`<fieldset class="swatches"><legend>Accent</legend>
    ${[...own, ...HUES].map(choice)}
    ${faultOf(problem, 'hue')}</fieldset>`;
}
