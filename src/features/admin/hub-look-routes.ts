import { readJson } from '../../platform/http/body.ts';
import { createInput } from '../../platform/http/input.ts';
import { json, type Reply } from '../../platform/http/reply.ts';
import type { MemberRequest } from '../../platform/http/router.ts';
import { audit, type By } from '../audit/audit.ts';
import { hubLook, type HubLook } from '../hub/hub-row-store.ts';
import type { Hub } from '../hub/hub.ts';

export const HUB_NAME_MAX = 60;
export const FRONT_TEXT_MAX = 500;
const HUE_MAX = 359;

export async function changeHub(hub: Hub, req: MemberRequest): Promise<Reply> {
  return json(changeLook(hub, await readJson(req), req));
}

/** Gives the hub another name, text or hue, and returns all three; 422. Everybody sees it with their next page. */
export function changeLook(hub: Hub, values: Record<string, unknown>, by: By): HubLook {
  const input = createInput(values);
  const name = input.optionalText('name', { max: HUB_NAME_MAX });
  const text = input.prose('text', FRONT_TEXT_MAX)?.trim();
  const hue = input.optionalInteger('hue', 0, HUE_MAX);
  if (values['name'] === '') input.refuse('name', 'must not be empty.');
  input.done();
  return hub.db.write('change look', () => {
    const before = hubLook(hub).read();
    const look = { name: name ?? before.name, text: text ?? before.text, hue: hue ?? before.hue };
    audit(hub, 'hub.changed', by, undefined, { name: look.name, hue: look.hue });
    hubLook(hub).change(look);
    return look;
  });
}
