import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** `127.0.0.1` as /proc/net/tcp writes it. */
const LOOPBACK = '0100007F';
const INODE_COLUMN = 9;

/**
 * Which of some processes opened the loopback connection from one port to another, as Linux knows it; null for
 * another process, and on systems without /proc.
 */
export function ownerOfConnection(fromPort: number, toPort: number, pids: readonly number[]): number | null {
  const inode = inodeOf(`${LOOPBACK}:${hex(fromPort)}`, `${LOOPBACK}:${hex(toPort)}`);
  if (inode === null) return null;
  return pids.find((pid) => holds(pid, `socket:[${inode}]`)) ?? null;
}

function inodeOf(local: string, remote: string): string | null {
  let table: string;
  try {
    table = readFileSync('/proc/net/tcp', 'latin1');
  } catch {
    return null;
  }
  for (const line of table.split('\n')) {
    const columns = line.trim().split(/\s+/);
    if (columns[1] === local && columns[2] === remote) return columns[INODE_COLUMN] ?? null;
  }
  return null;
}

function holds(pid: number, socket: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === socket);
  } catch {
    return false;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
