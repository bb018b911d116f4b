import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BRIDGE_SETTINGS } from '../../src/app/clamd-bridge/bridge-settings.ts';
import { SETTINGS, type Setting, type SettingList } from '../../src/features/hub/settings.ts';
import { rowsIn, writeTables } from './document-tables.ts';
import { PROJECT_ROOT } from './run-program.ts';

/**
 * node test/support/settings-texts.ts
 * Writes README.md's table of settings and .env.example anew, out of the lists of settings.
 */
const HEAD = '| variable | default | meaning |\n|---|---|---|\n';
const WIDTH = 118;

/** The rows of the table in a document of the project. */
export function settingsTable(document: string): string {
  return rowsIn(document, HEAD);
}

/** The same rows, made from a list of settings. */
export function tableOf(list: SettingList): string {
  return Object.values(list).map(tableRow).join('');
}

/** The settings that the bridge to ClamAV has alone. */
export const BRIDGE_ONLY: SettingList = Object.fromEntries(
  Object.entries<Setting<unknown>>(BRIDGE_SETTINGS).filter(([, setting]) => setting !== SETTINGS.logLevel));

/** The settings of the hub and of the bridge, commented out, with their defaults. */
export function envExample(): string {
  const head = comment('Settings of Content Hub. Copy this file to .env, or set the settings in the environment, which ' +
    'overrides .env. The hub parses .env, and runs nothing in it: write NAME=value, with quotation marks where needed.');
  const bridge = comment('Settings of the bridge between uploads and ClamAV; see "scanning uploads" in scripts/README.md.');
  return `${head}\n${linesOf(SETTINGS)}\n${bridge}\n${linesOf(BRIDGE_ONLY)}`;
}

function tableRow({ name, default: standard, meaning, secret, seeHandbook }: Setting<unknown>): string {
  const variable = secret === 'bytes' ? `${name}_FILE` : name;
  const more = seeHandbook ? `, see [the handbook](scripts/README.md#${seeHandbook})` : '';
  const file = secret === 'text' ? `; \`${name}_FILE\` names a file that holds this value` : '';
  return `| \`${variable}\` |${standard ? ` \`${standard}\`` : ''} | ${meaning}${more}${file} |\n`;
}

function linesOf(list: SettingList): string {
  return Object.values(list).map((setting) => `\n${envLines(setting)}\n`).join('');
}

function envLines({ name, default: standard, meaning, secret, seeHandbook }: Setting<unknown>): string {
  const more = seeHandbook ? `; see "${seeHandbook.replaceAll('-', ' ')}" in scripts/README.md` : '';
  const names = { text: [name, `${name}_FILE`], bytes: [`${name}_FILE`], none: [name] }[secret ?? 'none'];
  const assignments = names.map((variable) => `#${variable}=${standard ?? ''}`);
  return [comment(meaning.replaceAll('`', '') + more), ...assignments].join('\n');
}

function comment(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`.trimStart();
    if (line.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines.map((line) => `# ${line}`).join('\n');
}

if (import.meta.main) {
  writeTables('README.md', [{ head: HEAD, rows: tableOf(SETTINGS) }]);
  writeFileSync(join(PROJECT_ROOT, '.env.example'), envExample());
}
