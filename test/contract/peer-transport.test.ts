import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { UndiciTransport } from '../../node/mesh/undici-transport.js';
import { systemScheduler } from '../../node/seams.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { SimNetwork } from '../sim/network.js';
import { World } from '../sim/world.js';
import { freePort, temporaryFolder } from '../support/daemon-process.js';
import { certificateIn, testAuthority } from '../support/mesh.js';
import { event, within } from '../support/wait.js';
import { type Answerer, peerTransportContract, type TransportUnderTest } from './peer-transport-contract.js';

const peerWith = (peerId: string, url: string): Peer => ({
  peerId,
  url,
  publicKey: new Uint8Array(32),
  fingerprints: [],
  allowedNamespaces: null,
  allowedSenderAgentIds: [],
  state: 'member',
});
const idOf = (number: number) => `peer-${String(number).padStart(16, '0')}`;

/** Real connections over TLS between this process and itself. */
async function overTls(): Promise<TransportUnderTest> {
  const folder = temporaryFolder('transport-contract');
  const authority = await testAuthority();
  const client = await certificateIn(folder, 'own', { peerId: idOf(0) });
  const certificate = await certificateIn(folder, 'peer', { peerId: idOf(1) });
  const servers: Server[] = [];
  const transport = new UndiciTransport({
    scheduler: systemScheduler,
    trustOf: () => ({ client, authorities: [authority.cert], names: 'peer', fingerprints: [] }),
  });
  const listen = async (answerer: Answerer) => {
    const { cert, key } = certificate;
    const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false });
    server.on('request', async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const [path, query = ''] = request.url!.split('?');
      const { method = '', headers } = request;
      const said = await answerer({ method, path: path!, query, headers, body: Buffer.concat(parts) });
      response.writeHead(said.status, said.status === 307 ? { location: '/elsewhere' } : {}).end(said.body);
    });
    servers.push(server);
    await event('the peer listens', server.listen(0, '127.0.0.1'), 'listening');
    // One name for all: the pool of a peer that is somewhere else now is another one.
    return peerWith(idOf(1), `https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  };
  return {
    transport,
    listen,
    absent: async () => peerWith(idOf(2), `https://127.0.0.1:${await freePort()}`),
    come: (replies) => within('the replies come', replies, { withinMs: 60_000 }),
    close: async () => {
      await transport.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

/** The network of the simulator, in which nothing goes wrong. */
async function simulated(): Promise<TransportUnderTest> {
  const world = new World(1);
  const network = new SimNetwork(world);
  let places = 0;
  const place = () => {
    places += 1;
    const peerId = idOf(places);
    network.enroll(peerId, `n${places}`);
    return peerWith(peerId, `https://n${places}.sim`);
  };
  return {
    transport: network.transport('n0', () => true),
    listen: async (answerer) => {
      const peer = place();
      network.listen(`n${places}`, answerer);
      return peer;
    },
    absent: async () => place(),
    come: async (replies) => {
      let come = false;
      const noted = replies.finally(() => {
        come = true;
      });
      await world.run(world.nowMs + 60_000, () => come);
      return within('the replies come', noted);
    },
    close: async () => undefined,
  };
}

peerTransportContract('undici over TLS', overTls);
peerTransportContract('the simulated network', simulated);
