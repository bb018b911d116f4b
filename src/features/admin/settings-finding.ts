import { settingsToApply } from '../history/changed-settings.ts';
import type { Hub } from '../hub/hub.ts';
import { finding, type Finding } from './finding.ts';

/** Finding: settings changed in .env need a restart. Empty if none. */
export function settingsFinding(hub: Hub): Finding[] {
  const names = settingsToApply(hub);
  if (names.length === 0) return [];
  const headline = 'Settings in .env have changed since the hub was started';
  return [finding({
    subject: 'Settings', level: 'warn', state: `${names.length} changed`,
    headline: `${headline}.`, problem: `${headline}; restart to apply: ${names.join(', ')}.`,
    whatToDo: 'Restart the hub (npm start, or systemctl restart content-hub-web content-hub-worker).',
  })];
}
