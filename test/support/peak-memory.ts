import { readFileSync } from 'node:fs';

/** The most bytes that a process has had in memory so far. */
export function peakMemory(pid: number | undefined): number {
  return Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
