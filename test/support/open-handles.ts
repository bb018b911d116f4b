/** How many connections and timers this process has open. */
export function openHandles(): number {
  return process.getActiveResourcesInfo().filter((kind) => /TCPSocket|TLS|Timeout/.test(kind)).length;
}
