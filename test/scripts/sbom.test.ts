// Protects what auditors feed to their tools: a bill of materials that names all that runs, as CycloneDX wants it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PROJECT_ROOT, runProgram } from '../support/run-program.ts';

type Component = {
  type: string; name: string; version: string; purl: string; 'bom-ref': string;
  licenses?: { license: { id: string } }[]; hashes?: { alg: string; content: string }[];
};
type Bill = {
  bomFormat: string; specVersion: string; version: number; metadata: { component: Component };
  components: Component[]; dependencies: { ref: string; dependsOn: string[] }[];
};

async function printBill(): Promise<{ text: string; bill: Bill }> {
  const { status, stdout, stderr } = await runProgram(process.execPath, [join(PROJECT_ROOT, 'scripts/sbom.ts')], { cwd: '/' });
  assert.equal(status, 0, stderr);
  return { text: stdout, bill: JSON.parse(stdout) };
}

test('the bill has every member that CycloneDX 1.6 requires, with values that it allows', async () => {
  const { text, bill } = await printBill();
  assert.deepEqual([bill.bomFormat, bill.specVersion, bill.version], ['CycloneDX', '1.6', 1]);
  const all = [bill.metadata.component, ...bill.components];
  for (const component of all) {
    assert.match(component.type, /^(?:application|library|platform)$/);
    assert.ok(component.name && component.version, JSON.stringify(component));
    for (const { license } of component.licenses ?? []) assert.match(license.id, /^[\w.+-]+$/, 'an SPDX id, no expression');
    for (const { alg, content } of component.hashes ?? []) assert.match(`${alg} ${content}`, /^SHA-512 [0-9a-f]{128}$/);
  }
  const refs = all.map((component) => component['bom-ref']);
  assert.equal(new Set(refs).size, refs.length, 'references are unique');
  assert.deepEqual(bill.dependencies.map(({ ref }) => ref).toSorted(), refs.toSorted(), 'each part says what it needs');
  assert.deepEqual(bill.dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !refs.includes(ref)), []);
  assert.equal((await printBill()).text, text, 'the same bytes each time');
});

test('the bill names the packages that run, with the hashes of the lock file, Node and SQLite, and nothing else', async () => {
  const { bill } = await printBill();
  const { packages } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package-lock.json'), 'utf8'));
  const running = Object.entries<{ dev?: boolean; version: string; integrity: string }>(packages)
    .filter(([path, { dev }]) => path !== '' && !dev).map(([path, { version, integrity }]) =>
      [path.replace('node_modules/', ''), version, Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')]);
  const named = bill.components.map(({ name, version, hashes }) => [name, version, hashes?.[0]?.content]);
  assert.deepEqual(named.slice(0, -2), running);
  const [node, sqlite] = named.slice(-2);
  assert.deepEqual(node, ['node', process.versions.node, undefined]);
  const header = readFileSync(join(PROJECT_ROOT, 'node_modules/better-sqlite3/deps/sqlite3/sqlite3.h'), 'utf8');
  assert.deepEqual(sqlite, ['sqlite', /SQLITE_VERSION +"([\d.]+)"/.exec(header)?.[1], undefined], 'as in the source');
});
