/**
 * node:http, taken so that only what is used of it is loaded. An `import` reads all of its exports, among them
 * WebSocket, for which Node loads the whole of fetch: 13 MiB, and much of what an empty server takes to start.
 */
export default process.getBuiltinModule('node:http');
