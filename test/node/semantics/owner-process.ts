import { systemClock } from '../../../node/seams.js';
import { OwnerSocket } from '../../../node/semantics/owner-socket.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';
import { EVIDENCE, FakeIndex } from './fake-index.js';

/** Another process that owns a database: listens at the given path and answers from a fake index. */
const [path] = process.argv.slice(2);
const index = new FakeIndex('other process', async () => EVIDENCE);
await OwnerSocket.listen(path!, index, recordingLog());
process.stdout.write('listening\n');
// The socket keeps no process alive.
process.stdin.resume();
process.stdin.once('end', () => {
  process.stdout.write(JSON.stringify({ asked: index.asked, atMs: systemClock.nowMs() }), () =>
    process.exit(0),
  );
});
