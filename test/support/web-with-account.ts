import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { createClient, type Client } from './client.ts';
import { startHubProcess, type HubProcess } from './hub-process.ts';
import { hubctlProcess } from './hubctl.ts';
import { compiledIn } from './run-program.ts';

/** A real web process on that folder, and somebody who has joined there. */
export async function startWebWithAccount(
  t: TestContext, dataDir: string, env: Record<string, string> = {},
): Promise<{ web: HubProcess; address: string; client: Client }> {
  const web = startHubProcess(t, 'web', dataDir, env);
  const address = await web.address();
  const { stdout, stderr } = await hubctlProcess(dataDir, ['invite'], { ...compiledIn(dataDir), ...env });
  const client = createClient(address);
  const person = { invitation: stdout.trim(), username: 'ada', password: 'correct horse battery' };
  assert.equal((await client.post('/api/accounts', person)).status, 201, stderr);
  return { web, address, client };
}
