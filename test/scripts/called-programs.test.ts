// Protects what auditors are told of scripts: which programs these call, by which names, with which arguments.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CONNECTIONS } from '../support/connections.ts';
import { calledPrograms, SCRIPT_PROGRAMS } from '../support/script-programs.ts';
import { PROJECT_ROOT } from '../support/run-program.ts';
import { commandsIn, SCRIPTS } from '../support/shell-commands.ts';

const { named, putIn } = calledPrograms();

test('scripts call only programs that script-programs.ts lists, by their bare names', () => {
  const listed = Object.values(SCRIPT_PROGRAMS).flatMap(({ programs }) => programs);
  const found = new Set(named.map(({ text }) => text).filter((name) => !/^(?:src|test|scripts)\//.test(name)));
  // $switch holds setpriv, and nproc is within arithmetic; both are read from their text.
  for (const hidden of ['setpriv', 'nproc']) if (SCRIPTS.some(({ text }) => new RegExp(`\\b${hidden} |\\$\\(${hidden}\\)`).test(text))) found.add(hidden);
  assert.deepEqual([...found].toSorted(), listed.toSorted(), 'SCRIPT_PROGRAMS names what scripts call');
  assert.deepEqual(SCRIPTS.filter(({ text }) => /-(?:exec|execdir|ok)\b|\beval\b/.test(text)).map(({ name }) => name), [], 'no hidden calls');
});

test('the only programs that are put in at run time are scripts of the project, Node, and the operator’s own commands', () => {
  const known = [
    '$@', '$1', // functions that run their arguments: run_child; new_enough tries a Node
    '$switch', // setpriv with the owner of DATA_DIR, or nothing
    '$node', '$root/scripts/backup.sh', '$root/scripts/verify-backup.sh',
    '$start_command', '$stop_command', // HUB_START_COMMAND and HUB_STOP_COMMAND
  ];
  assert.deepEqual([...new Set(putIn.map(({ text }) => text))].toSorted(), known.toSorted());
});

test('each script that calls npm, rclone or restic, or fetches with git, is named by the connections that it opens', () => {
  const files = new Set<string>(Object.values(CONNECTIONS).flatMap((connection) => connection.files));
  const calling = named.filter(({ text }) => ['npm', 'rclone', 'restic'].includes(text)).map(({ script }) => script);
  const fetching = SCRIPTS.filter(({ text }) => commandsIn(text).some((words) =>
    words.some((word) => word.text === 'git') && words.some((word) => /^(?:fetch|clone|pull|ls-remote|push)$/.test(word.text)))).map(({ name }) => name);
  assert.ok(calling.length > 4 && fetching.length > 0);
  assert.deepEqual([...new Set([...calling, ...fetching])].filter((script) => !files.has(`scripts/${script}`)), []);
});

test('every Node that scripts, units or the image start for the hub opens no debugger at SIGUSR1', () => {
  const started = SCRIPTS.flatMap(({ name, text }) => commandsIn(text).filter((words) =>
    words.some((word) => /(?:^|\/)(?:src\/bin|scripts)\/[a-z-]+\.ts$/.test(word.text))).map((words) =>
    `${name}: ${words.map((word) => word.text).join(' ')}`)).filter((line) => line.includes('$node'));
  const folder = (name: string): string => join(PROJECT_ROOT, 'scripts', name);
  const units = readdirSync(folder('systemd')).flatMap((name) => readFileSync(join(folder('systemd'), name), 'utf8').split('\n'))
    .filter((line) => /^Exec\w+=.*@NODE@" /.test(line) && !line.startsWith('ExecPaths'));
  const image = readFileSync(folder('container/Containerfile'), 'utf8').split('\n').filter((line) => /^CMD .*node/.test(line));
  assert.deepEqual([started.length >= 12, units.length, image.length], [true, 3, 1], started.join('\n'));
  assert.deepEqual([...started, ...units, ...image].filter((line) =>
    !/(?:\$node|"@NODE@"|"node",) "?--disable-sigusr1\b/.test(line)), []);
});

/** Scripts that only the owner of DATA_DIR runs: they begin with go_on_as_owner, are parts of one, or refuse others. */
const OF_OWNER = /^(?:backup|interim-backup|nightly-backup|off-site.*|restic-backups|rehearse-restore|try-version|install-backup-cron)\.sh$/;

/** Variables that hold DATA_DIR or a path below it. */
const BELOW = String.raw`"?\$\{?(?:data|kept|work|opened|backup|trial_data|upgrade_dir|staged|staging)\b"?\}?/`;

function rootsWrites(text: string): string[] {
  const lines = text.replaceAll('\\\n', ' ').replaceAll(/(?:\$switch|as_owner|as_coder) sh -c '[^']*'/g, 'as_owner').split('\n').filter((line) => !/^\s*#/.test(line));
  const opens = new RegExp(`(?:>[>|]?|<>)\\s*${BELOW}`);
  const changes = new RegExp(
    `(?:^|[;&|({!]|\\b(?:if|while|until|then|do|else)|&&|\\|\\|)\\s*(?:touch|mkdir|mktemp|tee|cp|mv|ln|chmod|chown|install|truncate|dd|split|sed -i)\\b[^;&|]*${BELOW}`);
  return lines.filter((line) => opens.test(line) || changes.test(line)).map((line) => line.trim());
}

test('no script that root may run opens anything for writing below DATA_DIR: the hub’s account could put a link there', () => {
  const found = SCRIPTS.filter(({ name }) => !OF_OWNER.test(name)).flatMap(({ name, text }) => rootsWrites(text).map((line) => `${name}: ${line}`));
  assert.deepEqual(found, []);
  for (const bad of [
    'exec 9>>"$data/run/backup.flock"', 'exec 7<>"$data/run/x"', 'date >"$data/x"', 'date > $data/x', 'touch -- "$data/run/x"', 'true && mkdir -p "$data/y"',
    'if mktemp -d "$data/tmp/x.XXX"; then :; fi', 'echo a | tee "$data"/x', 'cp a \\\n "$data/b"', '{ mv a "${data}/b"; }', ': >"$kept/x"',
  ]) assert.equal(rootsWrites(bad).length, 1, bad);
  for (const good of ['exec 9<"$data/run/x"', 'as_owner touch -- "$data/run/x"', 'cat "$data/x" >"$scratch/y"', '# touch "$data/x"']) {
    assert.deepEqual(rootsWrites(good), [], good);
  }
});

test('each place where a word is not quoted says why the word cannot become several arguments by accident', () => {
  const silent = SCRIPTS.flatMap(({ name, text }) => text.split('\n').map((line, index) => ({ place: `${name}:${index + 1}`, line })))
    .filter(({ line }) => /^ *# shellcheck disable=.*SC20(?:86|46)/.test(line) && !/disable=\S+ # \S/.test(line));
  assert.deepEqual(silent, []);
});

test('commands are found in substitutions, here-documents, patterns and other shells', () => {
  const script = 'case $x in a | b) one "$(two "$(three)")" ;; esac\nA=b four | if five; then sh -c \'six && seven\'; fi # eight\ncat <<E >f\n$(nine)\nE\nten\ntrap "eleven" EXIT\n';
  assert.deepEqual(commandsIn(script).map((words) => words.map(({ text }) => text).filter((text) => /^[a-z]+$/.test(text)).at(-1)),
    ['three', 'two', 'one', 'four', 'five', 'six', 'seven', 'sh', 'fi', 'cat', 'nine', 'ten', 'eleven', 'eleven']);
});
