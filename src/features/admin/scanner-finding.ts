import { scannerSilentSince } from '../attachments/scan-file.ts';
import type { Hub } from '../hub/hub.ts';
import { finding, type Finding } from './finding.ts';

/** Whether the operator's virus scanner answers; nothing where there is none. */
export function scannerFinding(hub: Hub): Finding[] {
  const { virusScanUrl, virusScanRequired } = hub.config;
  if (virusScanUrl === null) return [];
  const subject = 'Virus scanner';
  const since = scannerSilentSince(hub);
  if (since === null) return [finding({ subject, state: 'no trouble seen' })];
  return [finding({
    subject, level: virusScanRequired ? 'bad' : 'warn', state: 'does not answer', since,
    problem: 'The virus scanner does not answer: ' +
      (virusScanRequired ? 'every upload is refused.' : 'uploads are taken unscanned and scanned later.'),
    whatToDo: 'See whether the scanner at VIRUS_SCAN_URL runs; the log of the hub says why it gave no verdict (file ' +
      'not scanned).',
  })];
}
