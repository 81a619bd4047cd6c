import { execFileSync } from 'node:child_process';
import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './daemon-process.js';
import { PostgresServer } from './postgres-server.js';

/** A server on loopback, and two authorities: one vouches for it, the other does not. */
export interface TlsServer {
  readonly server: PostgresServer;
  readonly ca: string;
  readonly otherCa: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Starts a server that takes the role `mnemesh` only with its password, over an encrypted connection. */
export async function startTlsServer(): Promise<TlsServer> {
  const folder = temporaryFolder('tls');
  const at = (name: string) => join(folder, name);
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  for (const name of ['ca', 'other']) {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    openssl('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', `/CN=${name}`, ...files);
  }
  openssl('req', ...NEW_KEY, '-subj', '/CN=server', '-keyout', 'server.key', '-out', 'server.csr');
  writeFileSync(at('names'), 'subjectAltName = IP:127.0.0.1\n');
  const signedBy = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
  openssl('x509', '-req', '-in', 'server.csr', ...signedBy, '-extfile', 'names', '-out', 'server.pem');
  const hba = ['host all postgres 127.0.0.1/32 trust', 'hostssl all mnemesh 127.0.0.1/32 scram-sha-256', ''];
  writeFileSync(at('pg_hba.conf'), hba.join('\n'));
  const own = [folder, at('pg_hba.conf'), at('server.pem'), at('server.key')];
  if (process.getuid?.() === 0) for (const path of own) chownSync(path, 65_534, 65_534);
  const files = [`ssl_cert_file=${at('server.pem')}`, `ssl_key_file=${at('server.key')}`];
  const server = await PostgresServer.startOwn(['ssl=on', ...files, `hba_file=${at('pg_hba.conf')}`]);
  return { server, ca: at('ca.pem'), otherCa: at('other.pem') };
}
