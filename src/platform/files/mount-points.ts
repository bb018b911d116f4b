import { readFileSync, realpathSync } from 'node:fs';

/** Whether a file system, or a part of one, is mounted at that path. False where the system does not tell (proc(5)). */
export function isMountPoint(path: string): boolean {
  try {
    return mountPoints(readFileSync('/proc/self/mountinfo', 'utf8')).includes(realpathSync(path));
  } catch {
    return false;
  }
}

/** The fifth field of each line; spaces, tabs, line breaks and backslashes in it are written in octal. */
function mountPoints(mountinfo: string): string[] {
  const fields = mountinfo.split('\n').map((line) => line.split(' ')[4] ?? '');
  const toCharacter = (_: string, octal: string): string => String.fromCharCode(parseInt(octal, 8));
  return fields.map((path) => path.replace(/\\([0-7]{3})/g, toCharacter));
}
