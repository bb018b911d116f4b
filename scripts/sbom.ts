/**
 * node scripts/sbom.ts
 * Prints a software bill of materials (CycloneDX 1.6, JSON) of what a hub runs: the packages with the hashes of
 * package-lock.json, this Node, and the SQLite within better-sqlite3. Asks no network; the same machine prints the same
 * bytes each time. `npm run --silent sbom` runs this program with the hub's Node.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

type Package = { version: string; integrity: string; license?: string; dev?: boolean; dependencies?: Record<string, string> };

const PROJECT = join(import.meta.dirname, '..');
const lock = JSON.parse(readFileSync(join(PROJECT, 'package-lock.json'), 'utf8')) as {
  name: string; version: string; packages: Record<string, Package>;
};
const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, one]) => ({ name: path.replace('node_modules/', ''), ...one }));

const refOf = (name: string, version: string, kind = 'npm'): string => `pkg:${kind}/${name}@${version}`;
const refOfPackage = (wanted: string): string =>
  packages.filter(({ name }) => name === wanted).map(({ name, version }) => refOf(name, version))[0] ?? wanted;
const hub = refOf(lock.name, lock.version, 'generic');
const node = refOf('node', process.versions.node, 'generic');
const sqliteVersion = new Database(':memory:').prepare<[], { v: string }>('SELECT sqlite_version() AS v').get()?.v ?? '';
const sqlite = refOf('sqlite', sqliteVersion, 'generic');

/** A Node that set-up has brought is a package of npm, with the hash in node.lock. */
function hashesOfNode(): object {
  const pinned = readFileSync(join(PROJECT, 'scripts/node.lock'), 'utf8').split('\n').map((line) => line.split(' '))
    .find(([platform, version]) => platform === `${process.platform}-${process.arch}` && version === process.versions.node);
  const isBrought = process.execPath.includes(`/.runtime/node-${process.versions.node}/`);
  if (!pinned || !isBrought) return {};
  const [platform = '', version = '', integrity = ''] = pinned;
  const from = { type: 'distribution', url: refOf(`node-${platform}`, version), hashes: hashOf(integrity) };
  return { externalReferences: [from] };
}

function hashOf(integrity: string): object[] {
  return [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }];
}

const components = [
  ...packages.map(({ name, version, integrity, license }) => ({
    type: 'library', 'bom-ref': refOf(name, version), name, version, purl: refOf(name, version),
    ...license !== undefined && { licenses: [{ license: { id: license } }] }, hashes: hashOf(integrity),
  })),
  { type: 'platform', 'bom-ref': node, name: 'node', version: process.versions.node, purl: node, ...hashesOfNode() },
  { type: 'library', 'bom-ref': sqlite, name: 'sqlite', version: sqliteVersion, purl: sqlite },
];
const dependencies = [
  { ref: hub, dependsOn: [...Object.keys(lock.packages['']?.dependencies ?? {}).map(refOfPackage), node] },
  ...packages.map(({ name, version, dependencies: needed = {} }) => ({
    ref: refOf(name, version),
    dependsOn: [...Object.keys(needed).map(refOfPackage), ...name === 'better-sqlite3' ? [sqlite] : []],
  })),
  { ref: node, dependsOn: [] },
  { ref: sqlite, dependsOn: [] },
];
const license = { license: { id: JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')).license } };
const component = { type: 'application', 'bom-ref': hub, name: lock.name, version: lock.version, licenses: [license] };
const head = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata: { component } };
console.log(JSON.stringify({ ...head, components, dependencies }, null, 2));
