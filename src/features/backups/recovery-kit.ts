import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** When scripts/recovery-kit.sh last printed the kit (unix ms), or null if it never has, or nothing usable is noted. */
export function recoveryKitPrintedAt(dataDir: string): number | null {
  try {
    const noted: unknown = JSON.parse(readFileSync(join(dataDir, 'run', 'recovery-kit.json'), 'utf8'));
    const at = typeof noted === 'object' && noted !== null && 'at' in noted ? noted.at : null;
    return typeof at === 'number' && Number.isFinite(at) ? at : null;
  } catch {
    return null;
  }
}
