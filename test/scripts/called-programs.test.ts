// Protects what auditors are told of scripts: which programs these call, by which names, with which arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONNECTIONS } from '../support/connections.ts';
import { calledPrograms, SCRIPT_PROGRAMS } from '../support/script-programs.ts';
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
    '$node', '$root/scripts/backup.sh', '$root/scripts/healthcheck.sh', '$root/scripts/verify-backup.sh',
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
