import { loadMachineIdentity } from '../../../node/identity/machine-key.js';
import { systemRandom } from '../../../node/seams.js';

/** Waits for a line, so that several of these begin together, then loads the identity and prints what it is. */
const [keyDir] = process.argv.slice(2);
process.stdout.write('ready\n');
process.stdin.once('data', () => {
  const { peerId, key } = loadMachineIdentity(keyDir!, systemRandom);
  const signature = Buffer.from(key.sign(Buffer.from('the same text'))).toString('hex');
  process.stdout.write(`${peerId} ${Buffer.from(key.publicKey).toString('hex')} ${signature}\n`, () =>
    process.exit(0),
  );
});
