// Protects the number of attempts to deliver an alert from workers that die in the middle of one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alertDeliveries, alertEvents } from '../../../src/features/alerts/alert-store.ts';
import { backupHub } from '../../support/backup-hub.ts';
import { killAt, startWorker } from '../../support/killed-worker.ts';
import { startReceiver } from '../../support/receiver.ts';
import { waitUntil } from '../../support/wait-until.ts';

test('an alert whose worker is killed in each attempt is tried five times in all, and then is final', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answerWith(() => {});
  const { db, dataDir } = backupHub(t);
  const raised = { isOpen: 1, isTold: 0, isUnsent: 0, untold: 1, subjects: ['Owls'], raisedAt: 0, toldAt: null, overToldAt: null };
  alertEvents({ db, clock: Date.now }).put({ event: 'sync-failed', ...raised });
  const env = { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_FORMAT: 'json' };
  const asked = (): number => receiver.alerts().filter(({ event }) => event === 'sync-failed').length;
  await killAt(t, db, dataDir, [1, 2, 3, 4, 5].map((n) => () => asked() === n), env, 'counted');

  startWorker(t, dataDir, env);
  const delivery = () => alertDeliveries({ db, clock: Date.now }).list({ limit: 100 }).find(({ event }) => event === 'sync-failed');
  await waitUntil('the delivery is final', () => delivery()?.state === 'failed', 30_000);
  assert.deepEqual([delivery()?.attempts, asked()], [5, 5]);
});
