/** The owner of the machine at a connection's other end. `this machine`: a connection within the hub's machine. */
type Owner = "the operator's" | "a publisher's" | 'the package registry' | 'the code’s authors' | 'this machine';

/**
 * One kind of connection that a program of this project opens. `files`: the source files or scripts that decide whether
 * and where the program connects. `unconfigured`: when a program opens the connection on a newly installed hub, with
 * default settings and without feeds.
 */
type Connection = {
  programs: string;
  trigger: string;
  to: string;
  owner: Owner;
  data: string;
  off: string;
  unconfigured: 'never' | 'always' | 'at set-up' | 'when run';
  files: readonly string[];
};

/**
 * Describes every network connection that the hub's processes and scripts open: `src/LEDGER.md` is made from CONNECTIONS,
 * and `test/app/connections.slow.test.ts` tests CONNECTIONS on a hub.
 */
export const CONNECTIONS = {
  names: {
    programs: 'web, worker, `hubctl` and the programs that scripts call',
    trigger: 'any other connection of this table whose address has a host name',
    to: 'the name server in the machine’s `/etc/resolv.conf`', owner: "the operator's",
    data: 'the host name of the address', off: 'switching off the other connections', unconfigured: 'never',
    files: ['platform/net/outbound-fetch.ts', 'platform/net/outbound-exchange.ts', 'platform/net/operator-fetch.ts'],
  },
  feed: {
    programs: 'worker, web',
    trigger: 'the worker synchronises a feed; web tries the address that a member adds or changes',
    to: 'the feed’s address, and where it redirects to; for a new web page, also the addresses where its feed may be',
    owner: "a publisher's", off: 'deleting or pausing the source', unconfigured: 'never',
    data: 'a GET request, up to twelve for a page, with the feed’s validators and password',
    files: ['features/feeds/fetch-feed.ts', 'features/feeds/discover-feed.ts', 'features/feeds/feed-passwords.ts',
      'platform/net/outbound-fetch.ts'],
  },
  icon: {
    programs: 'worker', trigger: 'a new feed, then once a week',
    to: 'the feed’s site and the address of the site’s icon', owner: "a publisher's",
    data: 'up to eight GET requests', off: 'deleting the source', unconfigured: 'never',
    files: ['features/feeds/fetch-icon.ts', 'platform/net/outbound-fetch.ts'],
  },
  picture: {
    programs: 'worker', trigger: 'a new post of a followed feed arrives',
    to: 'the address of the picture that stands for the post', owner: "a publisher's",
    data: 'a GET request, before anybody reads the post',
    off: '`LIST_PICTURES=0` or `ATTACHMENT_CACHE_MAX_BYTES=0`', unconfigured: 'never',
    files: ['features/feeds/fetch-pictures.ts', 'features/attachments/remote-cache.ts'],
  },
  image: {
    programs: 'web', trigger: 'a reader opens a publisher’s image or document that the cache lacks',
    to: 'the address of the image or document in the post', owner: "a publisher's",
    data: 'a GET request',
    off: '`ATTACHMENT_CACHE_MAX_BYTES=0`', unconfigured: 'never',
    files: ['features/attachments/remote-cache.ts', 'platform/net/outbound-fetch.ts'],
  },
  page: {
    programs: 'worker', trigger: 'a member wants the full text of a post; a post of a source with full texts arrives',
    to: 'the address of the post, where it redirects to, and `robots.txt` of its site', owner: "a publisher's",
    data: 'GET requests', off: '`FULL_TEXT_MAX_BYTES=0`',
    unconfigured: 'never', files: ['features/full-text/fetch-page.ts', 'platform/net/outbound-fetch.ts'],
  },
  scanner: {
    programs: 'web, worker', trigger: 'a member uploads a file; a post brings a picture within its text; the worker scans files that have no verdict',
    to: '`VIRUS_SCAN_URL`', owner: "the operator's", data: 'the whole uploaded file and its name',
    off: 'not setting `VIRUS_SCAN_URL`', unconfigured: 'never', files: ['features/attachments/scan-file.ts'],
  },
  clamd: {
    programs: 'clamd-bridge', trigger: 'web or the worker sends the bridge a file', to: '`CLAMD_ADDRESS`',
    owner: "the operator's", data: 'the whole uploaded file',
    off: 'not installing the bridge (`--with-bridge`)', unconfigured: 'never',
    files: ['platform/net/clamd-client.ts'],
  },
  alert: {
    programs: 'worker, web (while the worker is silent), `hubctl alerts test`',
    trigger: 'a condition raises or ends an alert', to: '`ALERT_WEBHOOK_URL`', owner: "the operator's",
    data: 'the alert’s text and `BASE_URL`', off: 'not setting `ALERT_WEBHOOK_URL`', unconfigured: 'never',
    files: ['features/alerts/send-alert.ts'],
  },
  heartbeat: {
    programs: '`hubctl heartbeat`', trigger: '`nightly-backup.sh` has made and verified a backup',
    to: '`HEARTBEAT_URL`', owner: "the operator's", data: 'a GET request',
    off: 'not setting `HEARTBEAT_URL`', unconfigured: 'never', files: ['features/backups/sign-of-life.ts'],
  },
  certificate: {
    programs: 'worker', trigger: 'every hour, if `BASE_URL` begins with `https:`', to: 'host and port of `BASE_URL`',
    owner: "the operator's", data: 'a TLS handshake without a request',
    off: 'a `BASE_URL` without `https:`, or no `BASE_URL`', unconfigured: 'never',
    files: ['features/history/watch-certificate.ts'],
  },
  ownAddress: {
    programs: '`npm start`, `healthcheck.sh`, `hubctl rehearse`', trigger: 'a start, a check or a rehearsal',
    to: '`HOST` and `PORT`', owner: 'this machine', data: 'a GET request for health, a page or a file',
    off: 'not running these programs', unconfigured: 'always',
    files: ['app/processes/readiness.ts', 'commands/restore.ts'],
  },
  copies: {
    programs: '`off-site.sh` (`backup.sh` calls it), `drill.sh`, `restore.sh`: rclone',
    trigger: 'a backup is sent, listed or fetched, also in a drill',
    to: '`BACKUP_RCLONE_REMOTE`', owner: "the operator's",
    data: 'the backup, encrypted if `BACKUP_AGE_RECIPIENT` is set', off: 'not setting `BACKUP_RCLONE_REMOTE`',
    unconfigured: 'never',
    files: ['scripts/off-site-remote.sh', 'scripts/fetch-backup.sh', 'scripts/fetch-newest.sh'],
  },
  snapshots: {
    programs: '`off-site.sh` (`backup.sh` calls it), `drill.sh`, `restic-backups.sh`, `restore.sh`: restic',
    trigger: 'a backup is sent, listed, checked or fetched, also in a drill',
    to: '`BACKUP_RESTIC_REPOSITORY`', owner: "the operator's",
    data: 'the backup, encrypted by restic', off: 'not setting `BACKUP_RESTIC_REPOSITORY`', unconfigured: 'never',
    files: ['scripts/restic-backups.sh', 'scripts/off-site-restic.sh'],
  },
  packages: {
    programs: 'npm (in `set-up.sh` and `bring-node.sh`, which `run.sh` and `upgrade.sh` call)',
    trigger: 'a package of the lock file, or Node itself, is not installed',
    to: 'the registry in npm’s configuration',
    owner: 'the package registry', data: 'names and versions of packages',
    off: 'installing packages and Node first, or a cache of npm and `npm_config_offline=true`',
    unconfigured: 'at set-up', files: ['scripts/set-up.sh', 'scripts/bring-node.sh'],
  },
  versions: {
    programs: '`upgrade.sh`: git', trigger: 'the operator runs `upgrade.sh`', to: 'the remote of this clone',
    owner: 'the code’s authors', data: 'the commits that this clone has', off: '`upgrade.sh --from` an archive',
    unconfigured: 'when run', files: ['scripts/new-version.sh'],
  },
} as const satisfies Record<string, Connection>;
