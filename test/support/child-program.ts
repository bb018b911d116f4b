import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { watchHubProcess, type HubProcess } from './hub-process.ts';

export type ChildProgram = HubProcess;

/** Runs a program of this folder in a process of its own, killed after the test at the latest. */
export function startProgram(t: TestContext, name: string, ...args: string[]): ChildProgram {
  return watchHubProcess(t, spawn(process.execPath, [join(import.meta.dirname, name), ...args], { stdio: 'pipe' }));
}
