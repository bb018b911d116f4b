import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { waitUntil } from './wait-until.ts';

type QueryAnswer = { data: { result: { metric: Record<string, string>; value: [number, string] }[] } };

type QueryResult = { labels: Record<string, string>; value: string };

/**
 * Runs a Prometheus server that scrapes the targets (job name to address) with the token, and returns its query
 * function once all of them are up, which takes it five seconds.
 */
export async function startPrometheus(
  t: TestContext,
  targets: Record<string, string>,
  token: string,
): Promise<(query: string) => Promise<QueryResult[]>> {
  const folder = mkdtempSync(join(tmpdir(), 'hub-prometheus-'));
  writeFileSync(join(folder, 'token'), token);
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify({
    scrape_configs: Object.entries(targets).map(([name, address]) => ({
      job_name: name,
      scrape_interval: '300ms',
      scrape_timeout: '300ms',
      metrics_path: '/api/metrics',
      authorization: { type: 'Bearer', credentials_file: join(folder, 'token') },
      static_configs: [{ targets: [address] }],
    })),
  }));
  const child = spawn('prometheus', [
    `--config.file=${join(folder, 'prometheus.yml')}`, `--storage.tsdb.path=${join(folder, 'data')}`,
    '--web.listen-address=127.0.0.1:0',
  ], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true });
  });

  const api = `http://${await addressFromLog(child.stderr)}/api/v1`;
  await waitUntilUp(api, Object.keys(targets).length);
  return async (query) => {
    const response = await fetch(`${api}/query?${new URLSearchParams({ query })}`);
    const { data } = await response.json() as QueryAnswer;
    const results = data.result.map(({ metric, value }) => ({ labels: metric, value: value[1] }));
    return results.sort((a, b) => String(a.labels['job']).localeCompare(String(b.labels['job'])));
  };
}

async function addressFromLog(stderr: NodeJS.ReadableStream): Promise<string> {
  const seen: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    seen.push(line);
    const address = /msg="Listening on" address=(\S+)/.exec(line)?.[1];
    if (address) {
      stderr.resume(); // a full pipe would stop the server
      return address;
    }
  }
  throw new Error(`Prometheus did not start:\n${seen.join('\n')}`);
}

async function waitUntilUp(api: string, count: number): Promise<void> {
  type Target = { health: string; lastError: string; scrapeUrl: string };
  let active: Target[] = [];
  await waitUntil('all targets are up', async () => {
    const response = await fetch(`${api}/targets`);
    if (response.ok) active = (await response.json() as { data: { activeTargets: Target[] } }).data.activeTargets;
    return active.length === count && active.every(({ health }) => health === 'up');
  }, 60_000);
}
