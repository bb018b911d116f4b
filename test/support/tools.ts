import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';

const DEBIAN_PACKAGES: Record<string, string> = {
  Xvfb: 'xvfb',
  age: 'age',
  caddy: 'caddy',
  chromedriver: 'chromium-driver',
  chromium: 'chromium',
  clamd: 'clamav-daemon',
  cron: 'cron',
  crontab: 'cron',
  curl: 'curl',
  'dbus-daemon': 'dbus',
  gpg: 'gpg',
  'gpg-agent': 'gpg-agent',
  gpgv: 'gpgv',
  ip: 'iproute2',
  newsboat: 'newsboat',
  nginx: 'nginx-light',
  openssl: 'openssl',
  podman: 'podman',
  'podman-compose': 'podman-compose',
  prometheus: 'prometheus',
  promtool: 'prometheus',
  rclone: 'rclone',
  restic: 'restic',
  rssguard: 'rssguard',
  runc: 'runc',
  script: 'bsdutils',
  shellcheck: 'shellcheck',
  sqlite3: 'sqlite3',
  'ssh-keygen': 'openssh-client',
  systemctl: 'systemd',
  'systemd-analyze': 'systemd',
  'systemd-nspawn': 'systemd-container',
  unshare: 'util-linux',
  xdotool: 'xdotool',
  xmllint: 'libxml2-utils',
};

/**
 * Whether a program the test needs is installed. Where it is not, the test is skipped with the name of the package
 * that brings it; with REQUIRE_TOOLS=1 in the environment it fails instead.
 */
export function requireTool(t: TestContext, tool: string): boolean {
  if (isInstalled(tool)) return true;
  return cannotRun(t, `${tool} is not installed; Debian's package ${DEBIAN_PACKAGES[tool] ?? tool} brings it`);
}

/** `test` for a file whose tests all need those programs, or `root`: as requireTool where one of them is missing. */
export function testWith(...needed: string[]): typeof test {
  const isRoot = process.getuid?.() === 0;
  const missing = needed.find((one) => one === 'root' ? !isRoot : !isInstalled(one));
  if (missing === undefined) return test;
  const refuse = (name?: unknown): Promise<void> =>
    test(String(name), (t) => void (missing === 'root' ? cannotRun(t, 'only root can run this test') : requireTool(t, missing)));
  return refuse as typeof test;
}

/** The same for a test that only root can run. */
export function requireRoot(t: TestContext, why: string): boolean {
  return process.getuid?.() === 0 || cannotRun(t, why);
}

/** Skips a test that this machine cannot run, and says why; with REQUIRE_TOOLS=1 it fails. */
export function cannotRun(t: TestContext, why: string): false {
  if (process.env.REQUIRE_TOOLS === '1') throw new Error(why);
  t.skip(why);
  return false;
}

export function isInstalled(tool: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => isExecutable(join(folder, tool)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
