/**
 * Ways out of a confined process that its JavaScript can try, and what came of each. A way is the body of an async
 * function, which has Node's modules by name and the places below; an answer is the code of the error, or 'allowed'.
 *   out: a folder of somebody else with a file, a socket and room for more    data: DATA_DIR, with the same file
 *   parent: the process id of an unconfined process of the same account       port: where that process listens
 */
type Ways = Record<string, string>;

/** Files: each is ERR_ACCESS_DENIED. */
const FILES: Ways = {
  'read a file': "fs.readFileSync(out + '/file')",
  'read by bytes': "fs.readFileSync(Buffer.from(data + '/../out/file'))",
  'read by URL': "fs.readFileSync(url.pathToFileURL(out + '/file'))",
  'read later': "await fsp.readFile(out + '/file')",
  'open': "fs.openSync(out + '/file')",
  'open later': "await fsp.open(out + '/file')",
  'stream': "await events.once(fs.createReadStream(out + '/file'), 'data')",
  'as a blob': "await (await fs.openAsBlob(out + '/file')).text()",
  'exists': "fs.existsSync(out + '/file')",
  'list': 'fs.readdirSync(out)',
  'list one by one': 'fs.opendirSync(out).readSync()',
  'list all below': 'fs.readdirSync(out, { recursive: true })',
  'stat': "fs.statSync(out + '/file')",
  'lstat': "fs.lstatSync(out + '/file')",
  'access': "fs.accessSync(out + '/file')",
  'read a link': "fs.readlinkSync(out + '/link')",
  'file system': 'fs.statfsSync(out)',
  'watch': 'fs.watch(out).close()',
  'copy in': "fs.copyFileSync(out + '/file', data + '/copy')",
  'copy a folder in': "fs.cpSync(out, data + '/copies', { recursive: true })",
  'link in': "fs.linkSync(out + '/file', data + '/hard')",
  'link to': "fs.symlinkSync(out, data + '/soft')",
  'link to by a relative path': "fs.symlinkSync('../out', data + '/soft')",
  'move in': "fs.renameSync(out + '/file', data + '/moved')",
  'write': "fs.writeFileSync(out + '/new', '')",
  'write later': "await fsp.writeFile(out + '/new', '')",
  'append': "fs.appendFileSync(out + '/file', '')",
  'stream out': "await events.once(fs.createWriteStream(out + '/new').end('x'), 'finish')",
  'make a folder': "fs.mkdirSync(out + '/folder')",
  'make a temporary folder': "fs.mkdtempSync(out + '/folder')",
  'remove': "fs.rmSync(out + '/file')",
  'unlink': "fs.unlinkSync(out + '/file')",
  'remove a folder': "fs.rmdirSync(out + '/empty')",
  'cut': "fs.truncateSync(out + '/file')",
  'mode': "fs.chmodSync(out + '/file', 0o777)",
  'owner': "fs.chownSync(out + '/file', 0, 0)",
  'owner of a link': "fs.lchownSync(out + '/link', 0, 0)",
  'times': "fs.utimesSync(out + '/file', 1, 1)",
  'times of a link': "fs.lutimesSync(out + '/link', 1, 1)",
  'mode of a descriptor': "fs.fchmodSync(fs.openSync(data + '/file', 'r'), 0o777)",
  'owner of a descriptor': "fs.fchownSync(fs.openSync(data + '/file', 'r'), 0, 0)",
  'copy out': "fs.copyFileSync(data + '/file', out + '/new')",
  'copy a folder out': "fs.cpSync(data + '/folder', out + '/new', { recursive: true })",
  'move out': "fs.renameSync(data + '/file', out + '/new')",
  'link out': "fs.linkSync(data + '/file', out + '/new')",
  'temporary files': "fs.writeFileSync('/tmp/ways-out', '')",
  'shared memory': "fs.writeFileSync('/dev/shm/ways-out', '')",
  'the terminal': "fs.openSync('/dev/tty', 'w')",
  'memory of the machine': "fs.openSync('/dev/mem')",
  'the root': "fs.readFileSync('/proc/self/root' + out + '/file')",
  'the root of a process': "fs.readFileSync('/proc/' + process.pid + '/root' + out + '/file')",
  'the root of a thread': "fs.readFileSync('/proc/thread-self/root' + out + '/file')",
  'the working folder': "fs.readFileSync('/proc/self/cwd/out/file')",
  'above a descriptor': "fs.readFileSync(Buffer.from('/proc/self/fd/' + fs.openSync(data) + '/../out/file'))",
  'above a descriptor in /dev': "fs.readFileSync(Buffer.from('/dev/fd/' + fs.openSync(data) + '/../out/file'))",
  'a descriptor anew': "fs.openSync('/proc/self/fd/1', 'w')",
  'own memory': "fs.openSync('/proc/self/mem', 'r+')",
  'own environment': "fs.readFileSync('/proc/self/environ')",
  'own maps': "fs.readFileSync('/proc/self/maps')",
  'memory of the parent': "fs.openSync('/proc/' + parent + '/mem', 'r+')",
  'environment of the parent': "fs.readFileSync('/proc/' + parent + '/environ')",
  'files of the parent': "fs.readdirSync('/proc/' + parent + '/fd')",
  'processes': "fs.readdirSync('/proc')",
  'own control group': "fs.readFileSync('/proc/self/cgroup')",
  'a heap snapshot': "v8.writeHeapSnapshot(out + '/heap')",
  'a report': "process.report.writeReport(out + '/report')",
  'a report in a folder': "process.report.directory = out; process.report.writeReport()",
  'an environment file': "process.loadEnvFile(out + '/file')",
  'require': "module.createRequire(data + '/x')(out + '/module.cjs')",
  'import': "await import(out + '/module.mjs')",
  'import by a link of data': "await import('data:text/javascript,export * from \"' + url.pathToFileURL(out + '/module.mjs') + '\"')",
  'another realm': "new vm.Script('this.constructor.constructor(\"return process\")()').runInNewContext({}).getBuiltinModule('fs').readFileSync(out + '/file')",
  'another database': "new Database(out + '/other.db')",
  'a folder of modules': "const { status, message } = module.enableCompileCache(out + '/cache'); throw status === 1 ? 'allowed' : { code: /permission .* not granted/.test(message) && 'ERR_ACCESS_DENIED' }",
  'more rights by the environment': "process.env.NODE_OPTIONS = '--allow-fs-read=*'; fs.readFileSync(out + '/file')",
  'more rights by arguments': "process.execArgv.push('--allow-fs-read=*'); process.permission.has = () => true; fs.readFileSync(out + '/file')",
  'a forged working folder': "const { cwd } = process; process.cwd = () => out; try { fs.readFileSync('file') } finally { process.cwd = cwd }",
  'a forged comparison': "const { startsWith } = String.prototype; String.prototype.startsWith = () => true; try { fs.readFileSync(out + '/file') } finally { String.prototype.startsWith = startsWith }",
  'a forged prototype': "Object.prototype.flag = 'r'; try { fs.readFileSync(out + '/file') } finally { delete Object.prototype.flag }",
  'forged bytes': "class Forged extends Uint8Array { toString() { return data + '/file' } } fs.readFileSync(Forged.from(Buffer.from(out + '/file')))",
  'the working folder itself': 'process.chdir(out)',
};

/** Programs, threads, native code and Node's own inside: each is ERR_ACCESS_DENIED, if nothing else is said. */
const PROGRAMS: Ways = {
  'a program': "const { error } = child.spawnSync('true'); if (error) throw error",
  'a program later': "await events.once(child.spawn('true'), 'exit')",
  'a shell': "child.execSync('true')",
  'a file': "child.execFileSync('true')",
  'a fork': "child.fork(data + '/file')",
  'a cluster': "cluster.fork()",
  'another program in place': 'process.emitWarning = () => {}; process.execve("/bin/true", ["true"], {})',
  'a thread': "new threads.Worker('', { eval: true })",
  'a thread with other rights': "new threads.Worker('', { eval: true, execArgv: ['--allow-fs-read=*'], env: { NODE_OPTIONS: '' } })",
  'tests in processes': "await events.once(tests.run({ files: [data + '/module.mjs'], isolation: 'process' }), 'test:fail').then(([{ details }]) => { throw details.error.cause ?? details.error })",
  'a loader in a thread': "module.register('data:text/javascript,')",
  'the debugger': 'inspector.open(0)',
  'a session of the debugger': 'new inspector.Session().connect()',
  'WASI': "new wasi.WASI({ version: 'preview1', preopens: { '/': '/' } })",
  'bindings': "process.binding('fs')",
  'bindings of processes': "process.binding('spawn_sync')",
};

/** Past other guards than Node's permission model, or nowhere; each with the code of its error. */
const ELSEWHERE: Record<string, Ways> = {
  ERR_ACCESS_DENIED: { ...FILES, ...PROGRAMS },
  ERR_UNKNOWN_BUILTIN_MODULE: {
    'node:sqlite': "await import('node:sqlite')",
    'node:sqlite by its old name': "process.getBuiltinModule('sqlite') ?? await import('node:sqlite')",
    'a file system of its own': "await import('node:vfs')",
    'QUIC': "await import('node:quic')",
  },
  ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED: {
    'an engine of OpenSSL': "crypto.setEngine(out + '/file')",
    'an engine for certificates': "tls.createSecureContext({ clientCertEngine: out + '/file' })",
    'an engine for keys': "tls.createSecureContext({ privateKeyEngine: out + '/file', privateKeyIdentifier: 'x' })",
  },
  ERR_INVALID_ARG_TYPE: { 'a path that changes': "let n = 0; fs.readFileSync({ toString: () => (n++ ? out : data) + '/file' })" },
  ERR_INVALID_ARG_VALUE: { 'a path with an end': "fs.readFileSync(out + '/file\\0/' + data)" },
  ERR_OSSL_UNSUPPORTED: { 'a key by its address': "crypto.createPrivateKey('file:' + out + '/file')" },
  ERR_INVALID_MODULE: { 'a linked binding': "process._linkedBinding('fs')" },
  ERR_DLOPEN_FAILED: { 'a library': "process.dlopen({ exports: {} }, 'libc.so.6')" },
  ERR_INSPECTOR_NOT_WORKER: { 'a session with the main thread': 'new inspector.Session().connectToMainThread()' },
  SQLITE_ERROR: {
    'an extension of SQLite': "new Database(':memory:').loadExtension(out + '/file')",
    'an extension by SQL': "new Database(':memory:').prepare(`SELECT load_extension('${out}/file')`).get()",
    'a file by SQL': "new Database(':memory:').prepare(`SELECT readfile('${out}/file')`).get()",
  },
  MODULE_NOT_FOUND: { 'another binding of SQLite': "new Database(':memory:', { nativeBinding: out + '/file' })" },
  ESRCH: { 'the debugger of nobody': 'process._debugProcess(0x3fffffff)' },
};

/** Rights of other accounts. */
const AS_ROOT: Ways = {
  'another account': 'process.setuid(0)',
  'another account for now': 'process.seteuid(0)',
  'another group': 'process.setgid(0)',
  'other groups': 'process.setgroups([0])',
  'the groups of an account': "process.initgroups('root', 0)",
  'the first process': 'process.kill(1, 0)',
};
const ONLY_ROOT = process.getuid?.() === 0 ? 'allowed' : 'EPERM';

/** What goes, under the sentence of src/LEDGER.md that says so. */
export const OPEN_WAYS: Record<string, Ways> = {
  'load a native addon': {
    'an addon in DATA_DIR': "fs.copyFileSync(addon, data + '/addon.node'); process.dlopen({ exports: {} }, data + '/addon.node')",
  },
  'open, make and copy databases': {
    'ATTACH': "new Database(':memory:').exec(`ATTACH '${out}/other.db' AS other; CREATE TABLE other.t (x)`)",
    'VACUUM INTO': "new Database(data + '/x.db').exec(`VACUUM INTO '${out}/copy.db'`)",
  },
  'Unix sockets': {
    'a socket': "await events.once(net.connect(out + '/socket'), 'connect')",
    'HTTP by a socket': "await events.once(http.get({ socketPath: out + '/socket' }), 'response')",
    'a socket of its own': "await events.once(net.createServer().listen(out + '/mine').unref(), 'listening')",
    'an abstract socket': "await events.once(net.createServer().listen('\\0ways-' + process.pid).unref(), 'listening')",
  },
  'connect to any address': {
    'this machine': "await events.once(net.connect(port, '127.0.0.1'), 'connect')",
    'HTTP of this machine': "await fetch('http://127.0.0.1:' + port)",
    'the cloud’s metadata': "const socket = net.connect(80, '169.254.169.254'); if (!socket.connecting) throw Error('refused'); socket.on('error', () => {}).destroy()",
    'a datagram': "await promised((done) => dgram.createSocket('udp4').unref().send('x', 9, '127.0.0.1', done))",
    'a name': "await promised((done) => dns.lookup('localhost', done))",
  },
  'listen': {
    'a port': "await events.once(net.createServer().listen(0, '127.0.0.1').unref(), 'listening')",
    'a port for datagrams': "await events.once(dgram.createSocket('udp4').unref().bind(0, '127.0.0.1'), 'listening')",
  },
  'send signals': {
    'whether it runs': 'process.kill(parent, 0)',
    'its priority': 'os.setPriority(parent, 0)',
    'SIGUSR1': "process.kill(parent, 'SIGUSR1')",
  },
  'V8’s flags': {
    'a flag': "v8.setFlagsFromString('--allow-natives-syntax'); new Function('%DebugPrint(1)')",
    'a file of V8': "v8.setFlagsFromString('--logfile=' + out + '/log'); v8.setFlagsFromString('--log-all')",
  },
  'certificates and accounts': {
    'certificates': "process.env.SSL_CERT_FILE = out + '/file'; tls.getCACertificates('system')",
    'its account': 'os.userInfo()',
  },
  'inherited descriptors': { 'a descriptor': 'fs.fstatSync(1)', 'a descriptor as a socket': 'new net.Socket({ fd: 1 })' },
};

/** What depends on the Node: the answers of 24.7, 24.21 and 26.12. */
const BY_NODE: Record<string, [body: string, answers: [string, string, string]]> = {
  'real path': ["fs.realpathSync(out + '/file')", ['allowed', 'allowed', 'ERR_ACCESS_DENIED']],
  'a package': ["module.findPackageJSON(url.pathToFileURL(out + '/module.mjs'))", ['allowed', 'allowed', 'ERR_ACCESS_DENIED']],
  'real path of the system': ["fs.realpathSync.native(out + '/file')", ['allowed', 'ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED']],
  ...Object.fromEntries(Object.entries({
    'times of a descriptor': "fs.futimesSync(fs.openSync(data + '/file'), 1, 1)",
    'mode of a handle': "await (await fsp.open(data + '/file')).chmod(0o600)",
    'owner of a handle': "await (await fsp.open(data + '/file')).chown(process.getuid(), process.getgid())",
    'times of a handle': "await (await fsp.open(data + '/file')).utimes(1, 1)",
    'traces': "const traces = trace.createTracing({ categories: ['node.fs'] }); traces.enable(); traces.disable()",
    'a snapshot when memory ends': 'v8.setHeapSnapshotNearHeapLimit(1)',
  }).map(([name, body]) => [name, [body, ['allowed', 'ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED']]])),
  'a list by a pattern': ["if (fs.globSync(out + '/*').length === 0) throw Error('nothing')", ['ERR_ACCESS_DENIED', 'nothing', 'nothing']],
  'functions of libraries': ["(await import('node:ffi')).dlopen('libc.so.6', {})",
    ['ERR_UNKNOWN_BUILTIN_MODULE', 'ERR_UNKNOWN_BUILTIN_MODULE', 'ERR_ACCESS_DENIED']],
};

/** The answers that this Node may give: exactly one if it is one of the three. */
function answersHere(answers: readonly string[]): string[] {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const at = major > 25 ? 2 : major === 24 && minor >= 21 ? 1 : major === 24 && minor < 8 ? 0 : null;
  return at === null ? [...answers] : answers.slice(at, at + 1);
}

const answered = (ways: Ways, answers: string[]): [string, { body: string; answers: string[] }][] =>
  Object.entries(ways).map(([name, body]) => [name, { body, answers }]);

export const WAYS: Record<string, { body: string; answers: string[] }> = Object.fromEntries([
  ...Object.entries(ELSEWHERE).flatMap(([code, ways]) => answered(ways, [code])),
  ...answered(AS_ROOT, [ONLY_ROOT]),
  ...Object.values(OPEN_WAYS).flatMap((ways) => answered(ways, ['allowed'])),
  ...Object.entries(BY_NODE).map(([name, [body, answers]]) => [name, { body, answers: answersHere(answers) }] as const),
]);

/** The program that tries all of them and prints the answers. Its argument: the places as JSON. */
export const PROBER = `
  import * as fs from 'node:fs'; import * as fsp from 'node:fs/promises'; import * as url from 'node:url';
  import * as child from 'node:child_process'; import * as threads from 'node:worker_threads'; import v8 from 'node:v8';
  import vm from 'node:vm'; import module from 'node:module'; import inspector from 'node:inspector'; import net from 'node:net';
  import cluster from 'node:cluster'; import events from 'node:events'; import os from 'node:os';
  import stream from 'node:stream'; import dgram from 'node:dgram'; import http from 'node:http'; import tls from 'node:tls';
  import crypto from 'node:crypto'; import dns from 'node:dns'; import * as tests from 'node:test'; import trace from 'node:trace_events';
  const { ways, ...places } = JSON.parse(process.argv[2]);
  process.emitWarning = () => {};
  const wasi = process.getBuiltinModule('wasi');
  const addon = places.project + '/node_modules/better-sqlite3/prebuilds/linux-' + process.arch + '.node';
  const Database = module.createRequire(places.project + '/package.json')('better-sqlite3');
  const promised = (act) => new Promise((resolve, reject) => act((error, value) => error ? reject(error) : resolve(value)));
  const names = { fs, fsp, url, child, threads, v8, vm, module, inspector, net, cluster, events, os, stream, dgram, http, tls,
    crypto, dns, tests, trace, wasi, addon, Database, promised, ...places };
  const AsyncFunction = (async () => {}).constructor;
  const outcome = {};
  for (const [name, body] of Object.entries(ways)) {
    try {
      await new AsyncFunction(...Object.keys(names), body)(...Object.values(names));
      outcome[name] = 'allowed';
    } catch (error) { outcome[name] = error.code ?? error.message; }
  }
  process.stdout.write(JSON.stringify(outcome), () => process.exit());
`;
