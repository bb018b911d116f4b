import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import type { Killable } from './killed-upgrade.ts';

/** OpenPGP keys of the account that owns the clone, each with a subkey for its signatures. */
export function keyring({ at, env }: Killable) {
  mkdirSync(at('.gnupg'), { mode: 0o700 });
  const gpg = (...args: string[]): string => execFileSync('gpg', ['--batch', '--quiet', '--pinentry-mode', 'loopback',
    '--passphrase', '', ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const makeKey = (name: string): string => {
    gpg('--quick-generate-key', name, 'ed25519', 'cert', 'never');
    const [, key = ''] = /^fpr:+(\w+)/m.exec(gpg('--with-colons', '--list-keys', name)) ?? [];
    gpg('--quick-add-key', key, 'ed25519', 'sign', 'never');
    return key;
  };
  return { gpg, makeKey, stop: () => execFileSync('gpgconf', ['--kill', 'all'], { env }) };
}
