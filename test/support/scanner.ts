import type { TestContext } from 'node:test';
import { auditRecords } from '../../src/features/audit/audit-store.ts';
import type { Hub } from './hub.ts';
import { reply, startOrigin, type Origin, type OriginHandler } from './origin.ts';

export const CLEAN = reply(200, {}, '{"clean":true}');
export const INFECTED = reply(200, {}, '{"clean":false,"signature":"Test.Virus"}');

/** A scanner that answers as `answers` says at the time. */
type Scanner = Origin & { answers: OriginHandler };

export async function startScanner(t: TestContext, answers: OriginHandler): Promise<Scanner> {
  const origin = await startOrigin(t, (request, response) => scanner.answers(request, response));
  const scanner: Scanner = { ...origin, answers };
  return scanner;
}

/** How many scans ended how, as the metrics say. */
export async function scanCounts(hub: Hub): Promise<Record<string, number>> {
  const { text } = await hub.anybody.get('/api/metrics');
  const found = text.matchAll(/^service_attachment_scans_total\{result="(\w+)"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, result = '', count]) => [result, Number(count)]));
}

type Act = { act: string; actor: string; name: string; detail: Record<string, unknown> };

/** Audit records about files. */
export function fileActs({ handle }: Hub): Act[] {
  const acts = auditRecords(handle).list({}, undefined, 1_000).filter(({ act }) => /^attachment\.(refused|quarantined)$/.test(act));
  return acts.reverse().map(({ act, actorName: actor, targetName, detail }) => ({ act, actor, name: targetName ?? '', detail: JSON.parse(detail) }));
}
