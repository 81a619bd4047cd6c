/** The limit of HTTP itself: the same server library, a fixed answer, nothing behind it. With PEM files, by mutual TLS. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const [createdBytes, foundBytes] = process.argv.slice(2, 4).map(Number);
const [cert, key, ca] = process.argv.slice(4, 7).map((path) => readFileSync(path));
const filler = (bytes: number | undefined) =>
  JSON.stringify({ filler: 'x'.repeat(Math.max(0, (bytes ?? 0) - 13)) });
const created = Buffer.from(filler(createdBytes));
const found = Buffer.from(filler(foundBytes));

const answer: RequestListener = (request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': found.length });
    response.end(found);
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': created.length });
    response.end(created);
  });
};
const server =
  cert === undefined || key === undefined || ca === undefined
    ? createServer(answer)
    : createTlsServer({ cert, key, ca, requestCert: true, minVersion: 'TLSv1.3' }, answer);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send!({ port: address.port });
});
process.on('disconnect', () => process.exit());
