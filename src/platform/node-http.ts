/**
 * node:http without `import`, which reads every export. Reading WebSocket makes Node load all of fetch: 13 MiB, and a
 * large part of an empty server's start.
 */
export default process.getBuiltinModule('node:http');
